// The logistic loss against its definition over all pairs in long double, and its exp and log against those of the
// C library in long double.
#include "marginrank/logistic.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "marginrank/preference_pairs.hpp"

namespace {

using marginrank::Crew;
using marginrank::Real4;
using marginrank::kernels::exp_of_minus;
using marginrank::kernels::log_of_one_plus;
using marginrank::kernels::Logistic;
using Vec = std::vector<double>;
using LongVec = std::vector<long double>;

constexpr double kUnit = 0x1p-53;

// Whether got is within so many units of itself; a long double has 11 bits more.
bool within(double got, long double want, double units) {
    return std::abs(static_cast<long double>(got) - want) <= units * kUnit * std::abs(want);
}

// Numbers of all sizes: spread evenly, by their logarithms, and around the borders of the series.
Vec arguments(double largest) {
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform;
    Vec out{0.0, 1e-307, 1e-300, 1e-16, 0.41421356237309503, 0.4142135623730951};
    for (int k = 0; k < 20000; ++k) {
        out.push_back(largest * uniform(random));
        out.push_back(largest * std::exp(-60.0 * uniform(random)));
        out.push_back(std::min(largest, 3.0 * uniform(random)));
    }
    for (int n = 0; n < 1021; ++n) {
        const double border = std::min(largest, (n + 0.5) * 0.6931471805599453);
        out.push_back(border);
        out.push_back(std::nextafter(border, 0.0));
    }
    return out;
}

void exp_and_log_are_right_to_eight_units() {
    for (const double t : arguments(707.999)) CHECK(within(exp_of_minus(t), std::exp(-static_cast<long double>(t)), 8.0));
    for (const double e : arguments(1.0)) CHECK(within(log_of_one_plus(e), log1pl(e), 8.0));
}

// What the certificate builds on: 16 units for the loss and its slope, where they are not too small for numbers.
void the_loss_and_its_derivatives_are_right_in_both_tails() {
    for (const double t : arguments(707.999))
        for (const double x : {t, -t}) {
            const long double e = std::exp(-static_cast<long double>(t));
            const Logistic<double> at(x);
            CHECK(within(at.value(), (x > 0.0 ? x : 0.0L) + log1pl(e), 16.0));
            CHECK(within(at.slope(), (x < 0.0 ? e : 1.0L) / (1.0L + e), 16.0));
            CHECK(within(at.curvature(), e / ((1.0L + e) * (1.0L + e)), 16.0));
        }
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double far : {708.0, 1e3, 1e300, infinity}) {
        CHECK(Logistic<double>(-far).value() == 0.0 && Logistic<double>(-far).slope() == 0.0);
        CHECK(Logistic<double>(far).value() == far && Logistic<double>(far).slope() == 1.0);
        CHECK(Logistic<double>(far).curvature() == 0.0);
    }
}

void lanes_have_the_bits_of_numbers() {
    const Vec numbers = arguments(720.0);
    for (std::size_t k = 0; k + 4 <= numbers.size(); k += 4) {
        const Real4 x{numbers[k], -numbers[k + 1], numbers[k + 2], -numbers[k + 3]};
        const Logistic<Real4> lanes(x);
        const Real4 value = lanes.value(), slope = lanes.slope(), curvature = lanes.curvature();
        for (int lane = 0; lane < 4; ++lane) {
            const Logistic<double> one(x[lane]);
            CHECK(value[lane] == one.value() && slope[lane] == one.slope() && curvature[lane] == one.curvature());
        }
    }
}

struct Query {
    Vec y, scores, weight, direction;
};

Query random_query(std::uint32_t seed, std::int64_t n, double spread) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Query query;
    for (std::int64_t i = 0; i < n; ++i) {
        query.y.push_back(static_cast<double>(random() % 4));
        query.scores.push_back(spread * normal(random));
        query.weight.push_back(i % 7 == 3 ? 0.0 : std::exp(normal(random)));
        query.direction.push_back(normal(random));
    }
    return query;
}

struct Sums {
    long double value = 0.0L;
    LongVec gradient, product, size;
    explicit Sums(std::size_t n) : gradient(n), product(n), size(n) {}
};

// Sums over the comparable pairs; size is what the terms of a gradient or product are in absolute value.
Sums by_definition(const Query& query, bool weighted) {
    Sums sums(query.y.size());
    for (std::size_t i = 0; i < query.y.size(); ++i)
        for (std::size_t j = 0; j < query.y.size(); ++j) {
            if (!(query.y[i] < query.y[j])) continue;
            const long double weight = weighted ? static_cast<long double>(query.weight[i]) * query.weight[j] : 1.0L;
            const long double x = static_cast<long double>(query.scores[i]) - query.scores[j];
            const long double e = std::exp(-std::abs(x)), slope = (x < 0.0L ? e : 1.0L) / (1.0L + e);
            const long double u = static_cast<long double>(query.direction[i]) - query.direction[j];
            const long double turn = weight * u * e / ((1.0L + e) * (1.0L + e));
            sums.value += weight * (std::max(x, 0.0L) + log1pl(e));
            sums.gradient[i] += weight * slope;
            sums.gradient[j] -= weight * slope;
            sums.product[i] += turn;
            sums.product[j] -= turn;
            for (const std::size_t row : {i, j}) sums.size[row] += weight * slope + std::abs(turn);
        }
    return sums;
}

// A difference of scores is right to a unit of itself, so a term is right to as many units as that is long; the sums
// add their own.
void equals_its_definition() {
    for (const double spread : {0.0, 1.0, 30.0})
        for (const std::int64_t n : {2, 3, 5, 12, 97, 320, 641, 1030})
            for (const bool weighted : {false, true}) {
                const Query query = random_query(static_cast<std::uint32_t>(n), n, spread);
                const std::vector<std::int64_t> ptr{0, n};
                const double scale = 0.25;
                const marginrank::PairLabels labels(Crew(1), query.y.data(),
                                                    weighted ? query.weight.data() : nullptr, ptr.data(), 1);
                const marginrank::LogisticLoss loss(labels, &scale);
                const Sums want = by_definition(query, weighted);
                Vec g(query.y.size(), NAN), h(query.y.size(), NAN);
                const double value = loss.evaluate_all(Crew(1), query.scores.data(), g.data());
                loss.hessian_all(Crew(1), query.scores.data(), query.direction.data(), h.data());
                const double units = 64.0 + 2.0 * static_cast<double>(n) + 10.0 * spread;
                CHECK(within(value, scale * want.value, units));
                for (std::size_t k = 0; k < g.size(); ++k) {
                    const long double allowed = units * kUnit * scale * want.size[k];
                    CHECK(std::abs(g[k] - scale * want.gradient[k]) <= allowed);
                    CHECK(std::abs(h[k] - scale * want.product[k]) <= allowed);
                }
            }
}

// A derivative is what differences of values and of gradients come to: their error is of the order of the square of
// the step, and of rounding over the step.
void derivatives_are_limits_of_differences() {
    const Query query = random_query(5, 40, 1.5);
    const std::vector<std::int64_t> ptr{0, 40};
    const double scale = 1.0, step = 1e-5;
    const marginrank::PairLabels labels(Crew(1), query.y.data(), query.weight.data(), ptr.data(), 1);
    const marginrank::LogisticLoss loss(labels, &scale);
    Vec g(40), h(40), before(40), after(40), low(query.scores), high(query.scores);
    for (std::size_t k = 0; k < 40; ++k) {
        low[k] -= step * query.direction[k];
        high[k] += step * query.direction[k];
    }
    const double value = loss.evaluate_all(Crew(1), query.scores.data(), g.data());
    loss.hessian_all(Crew(1), query.scores.data(), query.direction.data(), h.data());
    const double rise = loss.evaluate_all(Crew(1), high.data(), after.data()) -
                        loss.evaluate_all(Crew(1), low.data(), before.data());
    double slope = 0.0;
    for (std::size_t k = 0; k < 40; ++k) {
        slope += g[k] * query.direction[k];
        CHECK(std::abs((after[k] - before[k]) / (2.0 * step) - h[k]) <= 1e-6 * value);
    }
    CHECK(std::abs(rise / (2.0 * step) - slope) <= 1e-6 * value);
}

void the_bits_do_not_depend_on_the_threads() {
    const std::vector<std::int64_t> ptr{0, 3000, 3040, 3040, 4100, 4101, 4700};
    const Query query = random_query(11, ptr.back(), 2.0);
    const Vec scale{0.5, 1.0, 1.0, 0.0, 1.0, 2.0};
    for (const bool weighted : {false, true}) {
        const marginrank::PairLabels labels(Crew(1), query.y.data(), weighted ? query.weight.data() : nullptr,
                                            ptr.data(), 6);
        const marginrank::LogisticLoss loss(labels, scale.data());
        Vec g1(query.y.size()), h1(query.y.size());
        const double value = loss.evaluate_all(Crew(1), query.scores.data(), g1.data());
        loss.hessian_all(Crew(1), query.scores.data(), query.direction.data(), h1.data());
        for (const int threads : {2, 5}) {
            Vec g(query.y.size(), NAN), h(query.y.size(), NAN);
            CHECK(loss.evaluate_all(Crew(threads), query.scores.data(), g.data()) == value);
            loss.hessian_all(Crew(threads), query.scores.data(), query.direction.data(), h.data());
            CHECK(g == g1);
            CHECK(h == h1);
        }
        Vec g(query.y.size(), NAN);
        loss.evaluate_range(Crew(1), 0, 6, query.scores.data(), g.data());
        CHECK(g == g1);
    }
}

// Any scores: differences that overflow, and such that are lost.
void no_score_is_too_large() {
    const Vec y{0.0, 1.0, 2.0, 1.0}, scores{1e308, -1e308, 1e308, 3.0};
    const std::vector<std::int64_t> ptr{0, 4};
    const double scale = 1.0;
    const marginrank::PairLabels labels(Crew(1), y.data(), nullptr, ptr.data(), 1);
    const marginrank::LogisticLoss loss(labels, &scale);
    Vec g(4), h(4);
    CHECK(!std::isnan(loss.evaluate_all(Crew(1), scores.data(), g.data())));
    loss.hessian_all(Crew(1), scores.data(), y.data(), h.data());
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::isfinite(g[k]) && std::isfinite(h[k]));
}

// Explicit pairs with margins, each with a slack of its own.
void pairs_equal_a_loop_over_them() {
    const std::vector<std::int64_t> pairs{0, 1, 2, 1, 0, 2, 1, 0};
    const Vec weight{1.0, 2.0, 0.5, 3.0}, margin{1.0, 0.0, -2.0, 40.0}, scores{0.25, -1.5, 30.0}, u{1.0, -2.0, 0.5};
    const marginrank::PairsOf<marginrank::LogisticPair> loss(pairs.data(), weight.data(), margin.data(), 4, 3);
    long double value = 0.0L;
    LongVec gradient(3), product(3);
    for (std::size_t k = 0; k < 4; ++k) {
        const auto win = static_cast<std::size_t>(pairs[2 * k]), lose = static_cast<std::size_t>(pairs[2 * k + 1]);
        const long double x = margin[k] - (static_cast<long double>(scores[win]) - scores[lose]);
        const long double slope = 1.0L / (1.0L + std::exp(-x)), turn = slope * (1.0L - slope) * (u[win] - u[lose]);
        const long double share = weight[k] / 6.5L;
        value += share * log1pl(std::exp(x));
        gradient[win] -= share * slope;
        gradient[lose] += share * slope;
        product[win] += share * turn;
        product[lose] -= share * turn;
    }
    Vec g(3), h(3);
    CHECK(within(loss.evaluate(Crew(1), scores.data(), g.data()), value, 64.0));
    loss.hessian(Crew(1), scores.data(), u.data(), h.data());
    for (std::size_t k = 0; k < 3; ++k) {
        CHECK(within(g[k], gradient[k], 64.0));
        CHECK(std::abs(h[k] - product[k]) <= 1e-15L);
    }
}

}  // namespace

int main() {
    exp_and_log_are_right_to_eight_units();
    the_loss_and_its_derivatives_are_right_in_both_tails();
    lanes_have_the_bits_of_numbers();
    equals_its_definition();
    derivatives_are_limits_of_differences();
    the_bits_do_not_depend_on_the_threads();
    no_score_is_too_large();
    pairs_equal_a_loop_over_them();
    return marginrank_failures() != 0;
}
