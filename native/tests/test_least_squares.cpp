// Least squares within queries against the sum over all pairs of each query.
#include "marginrank/least_squares.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;
using marginrank::LeastSquares;
using Vec = std::vector<double>;

struct Problem {
    std::vector<std::int64_t> ptr{0};
    Vec y, weight, scale, scores, direction;

    explicit Problem(std::uint32_t seed, const std::vector<std::int64_t>& sizes) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (std::int64_t size : sizes) {
            ptr.push_back(ptr.back() + size);
            scale.push_back(std::exp(normal(random)));
        }
        for (std::int64_t i = 0; i < ptr.back(); ++i) {
            y.push_back(static_cast<double>(random() % 5));
            weight.push_back(i % 11 == 0 ? 0.0 : std::exp(normal(random)));
            scores.push_back(normal(random));
            direction.push_back(normal(random));
        }
    }
    LeastSquares loss(bool weighted) const {
        return {y.data(), weighted ? weight.data() : nullptr, scale.data(), ptr.data(),
                static_cast<std::int64_t>(scale.size())};
    }
};

struct Expected {
    double value = 0.0;
    Vec gradient, product;
};

// sum_i s_i (e_i - mean)^2 is the sum of s_i s_j (e_i - e_j)^2 over i < j, divided by the sum of the weights.
Expected by_pairs(const Problem& p, bool weighted) {
    Expected e{0.0, Vec(p.y.size(), 0.0), Vec(p.y.size(), 0.0)};
    for (std::size_t q = 0; q < p.scale.size(); ++q) {
        const auto first = static_cast<std::size_t>(p.ptr[q]), last = static_cast<std::size_t>(p.ptr[q + 1]);
        double total = 0.0;
        for (std::size_t i = first; i < last; ++i) total += weighted ? p.weight[i] : 1.0;
        if (total == 0.0) continue;
        for (std::size_t i = first; i < last; ++i)
            for (std::size_t j = first; j < last; ++j) {
                const double c = p.scale[q] * (weighted ? p.weight[i] * p.weight[j] : 1.0) / total;
                const double d = (p.scores[i] - p.scores[j]) - (p.y[i] - p.y[j]);
                e.value += 0.5 * c * d * d;
                e.gradient[i] += 2.0 * c * d;
                e.product[i] += 2.0 * c * (p.direction[i] - p.direction[j]);
            }
    }
    return e;
}

bool near(const Vec& got, const Vec& want) {
    double largest = 0.0, error = 0.0;
    for (std::size_t k = 0; k < got.size(); ++k) {
        largest = std::max(largest, std::abs(want[k]));
        error = std::max(error, std::abs(got[k] - want[k]));
    }
    return error <= 1e-12 * largest;
}

void equals_the_sum_over_all_pairs() {
    const Problem p(1, {1, 2, 0, 5, 3, 700, 1, 64, 2000, 7});
    for (bool weighted : {false, true}) {
        const LeastSquares loss = p.loss(weighted);
        const Expected e = by_pairs(p, weighted);
        Vec g(p.y.size(), NAN), h(p.y.size(), NAN);
        const double value = loss.evaluate_all(Crew(2), p.scores.data(), g.data());
        loss.hessian_all(Crew(2), p.scores.data(), p.direction.data(), h.data());
        CHECK(std::abs(value - e.value) <= 1e-12 * e.value);
        CHECK(near(g, e.gradient));
        CHECK(near(h, e.product));
    }
}

void a_query_alone_has_the_bits_it_has_among_all() {
    const Problem p(2, {3, 40000, 1, 4096, 4097, 16383, 16384});
    for (bool weighted : {false, true}) {
        const LeastSquares loss = p.loss(weighted);
        Vec g1(p.y.size()), h1(p.y.size());
        const double value = loss.evaluate_all(Crew(1), p.scores.data(), g1.data());
        loss.hessian_all(Crew(1), p.scores.data(), p.direction.data(), h1.data());
        for (int threads : {2, 4}) {
            Vec g(p.y.size()), h(p.y.size());
            CHECK(loss.evaluate_all(Crew(threads), p.scores.data(), g.data()) == value);
            loss.hessian_all(Crew(threads), p.scores.data(), p.direction.data(), h.data());
            CHECK(g == g1 && h == h1);
        }
        Vec g(p.y.size()), h(p.y.size());
        const auto scratch = loss.make_scratch();
        for (std::int64_t q = 0; q < loss.n_queries(); ++q) {
            loss.evaluate(q, p.scores.data(), g.data(), *scratch);
            loss.hessian(q, p.scores.data(), p.direction.data(), h.data(), *scratch);
        }
        CHECK(g == g1 && h == h1);
    }
}

// Scores on a lattice of 2^-20 stay exact when 2^20 is added, so every bit must be the same.
void a_constant_in_the_scores_changes_no_bit() {
    Problem p(3, {50000, 30, 2});
    for (double& s : p.scores) s = std::round(s * 1048576.0) / 1048576.0;
    const LeastSquares loss = p.loss(true);
    Vec here(p.y.size()), there(p.y.size()), moved = p.scores;
    for (double& s : moved) s += 1048576.0;
    const double value = loss.evaluate_all(Crew(2), p.scores.data(), here.data());
    CHECK(loss.evaluate_all(Crew(2), moved.data(), there.data()) == value);
    CHECK(here == there);
}

void a_query_without_weight_counts_for_nothing() {
    Problem p(4, {4, 6});
    for (std::size_t i = 0; i < 4; ++i) p.weight[i] = 0.0;
    const LeastSquares loss = p.loss(true);
    Vec g(p.y.size(), NAN);
    CHECK(std::isfinite(loss.evaluate_all(Crew(1), p.scores.data(), g.data())));
    CHECK(g[0] == 0.0 && g[1] == 0.0 && g[2] == 0.0 && g[3] == 0.0);
    const std::vector<std::int64_t> nothing{0};
    const LeastSquares empty(nullptr, nullptr, nullptr, nothing.data(), 0);
    CHECK(empty.evaluate_all(Crew(2), nullptr, nullptr) == 0.0);
}

}  // namespace

int main() {
    equals_the_sum_over_all_pairs();
    a_query_alone_has_the_bits_it_has_among_all();
    a_constant_in_the_scores_changes_no_bit();
    a_query_without_weight_counts_for_nothing();
    return marginrank_failures() != 0;
}
