// The error with each further feature when pairs are left out, against a regression without the two rows.
#include "marginrank/pair_selection.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using namespace marginrank;
using Vec = std::vector<double>;

double mean_without(const Vec& x, std::size_t a, std::size_t b) {
    double sum = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) sum += k == a || k == b ? 0.0 : x[k];
    return sum / static_cast<double>(x.size() - 2);
}

// y_a - f_a - (y_b - f_b) of a ridge regression on one feature, with a free intercept, of all rows but a and b.
double left_by_definition(const Vec& x, const Vec& y, double lambda, std::size_t a, std::size_t b) {
    const double middle = mean_without(x, a, b), level = mean_without(y, a, b);
    double square = lambda, product = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        if (k == a || k == b) continue;
        square += (x[k] - middle) * (x[k] - middle);
        product += (x[k] - middle) * (y[k] - level);
    }
    return (y[a] - y[b]) - product / square * (x[a] - x[b]);
}

void errors_equal_regressions_without_the_pair() {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    for (const std::size_t m : {4u, 7u, 50u})
        for (const double lambda : {1e-3, 1.0, 100.0}) {
            constexpr std::size_t n_cols = 3;
            Vec y(m), residual(m), leverage(m, 1.0 / static_cast<double>(m)), T(n_cols * m), d(n_cols), beta(n_cols);
            std::vector<Vec> X(n_cols, Vec(m));
            double level = 0.0;
            for (double& v : y) level += (v = normal(random)) / static_cast<double>(m);
            for (std::size_t k = 0; k < m; ++k) residual[k] = y[k] - level;
            for (std::size_t j = 0; j < n_cols; ++j) {
                double middle = 0.0;
                for (double& v : X[j]) middle += (v = normal(random)) / static_cast<double>(m);
                d[j] = lambda;
                for (std::size_t k = 0; k < m; ++k) {
                    const double t = T[j * m + k] = X[j][k] - middle;
                    d[j] += t * t;
                    beta[j] += t * residual[k];
                }
            }
            // All pairs: more than are summed at a time with 50 rows.
            std::vector<std::int32_t> first, second;
            for (std::size_t a = 0; a < m; ++a)
                for (std::size_t b = 0; b < a; ++b) {
                    first.push_back(static_cast<std::int32_t>(a));
                    second.push_back(static_cast<std::int32_t>(b));
                }
            const Vec shared(first.size(), 1.0 / static_cast<double>(m));
            const HeldOutPairs pairs{first.data(), second.data(), shared.data(), static_cast<std::int64_t>(first.size())};
            const RidgeFit fit{residual.data(), leverage.data(), static_cast<std::int64_t>(m)};
            const std::uint8_t open[n_cols] = {1, 0, 1};
            const double untouched = std::numeric_limits<double>::infinity();
            Vec errors(n_cols, untouched), again(n_cols, untouched);
            pair_errors(Crew(1), fit, pairs, T.data(), d.data(), beta.data(), open, n_cols, errors.data());
            pair_errors(Crew(3), fit, pairs, T.data(), d.data(), beta.data(), open, n_cols, again.data());
            CHECK(errors == again);
            CHECK(errors[1] == untouched);
            for (const std::size_t j : {0u, 2u}) {
                double want = 0.0;
                for (std::size_t p = 0; p < first.size(); ++p) {
                    const double left = left_by_definition(X[j], y, lambda, static_cast<std::size_t>(first[p]),
                                                           static_cast<std::size_t>(second[p]));
                    want += 0.5 * left * left / static_cast<double>(first.size());
                }
                // With four rows and a small lambda 1 - H is of the order of lambda: some digits are lost.
                CHECK(std::fabs(errors[j] - want) <= 1e-9 * want);
            }
        }
}

}  // namespace

int main() {
    errors_equal_regressions_without_the_pair();
    return marginrank_failures() != 0;
}
