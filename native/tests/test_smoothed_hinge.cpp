// The smoothed hinge against its definition in long double, and its planes against the hinge.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "marginrank/smoothed_hinge.hpp"

namespace {

using marginrank::Crew;
using Vec = std::vector<double>;
using LongVec = std::vector<long double>;

constexpr long double kUnit = 0x1p-53L;

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
    long double value = 0.0L, level = 0.0L, pairs = 0.0L;
    LongVec gradient, product, size;
    explicit Sums(std::size_t n) : gradient(n), product(n), size(n) {}
};

// By the three pieces of the smoothed hinge; size is the weight of the pairs of a row.
Sums by_definition(const Query& query, bool weighted, long double width) {
    Sums sums(query.y.size());
    for (std::size_t i = 0; i < query.y.size(); ++i)
        for (std::size_t j = 0; j < query.y.size(); ++j) {
            if (!(query.y[i] < query.y[j])) continue;
            const long double weight = weighted ? static_cast<long double>(query.weight[i]) * query.weight[j] : 1.0L;
            const long double slack = 1.0L - (static_cast<long double>(query.scores[j]) - query.scores[i]);
            const long double half = width / 2.0L, u = static_cast<long double>(query.direction[i]) - query.direction[j];
            const bool inside = std::abs(slack) < half;
            const long double mu = inside ? (slack + half) / width : slack > 0.0L ? 1.0L : 0.0L;
            sums.value += weight * (inside ? (slack + half) * (slack + half) / (2.0L * width) : std::max(slack, 0.0L));
            sums.level += weight * mu;
            sums.pairs += weight;
            sums.gradient[i] += weight * mu;
            sums.gradient[j] -= weight * mu;
            if (inside) {
                sums.product[i] += weight * u / width;
                sums.product[j] -= weight * u / width;
            }
            for (const std::size_t row : {i, j}) sums.size[row] += weight;
        }
    return sums;
}

// A slack is right to a few units of its own size and of 1, so mu is right to that over the width.
void equals_its_definition() {
    for (const double width : {0.5, 0.1, 1e-3})
        for (const double spread : {0.0, 0.3, 20.0})
            for (const std::int64_t n : {2, 3, 5, 12, 97, 320, 641, 1030})
                for (const bool weighted : {false, true}) {
                    const Query query = random_query(static_cast<std::uint32_t>(n), n, spread);
                    const std::vector<std::int64_t> ptr{0, n};
                    const double scale = 0.25;
                    const marginrank::PairLabels labels(Crew(1), query.y.data(),
                                                        weighted ? query.weight.data() : nullptr, ptr.data(), 1);
                    const marginrank::SmoothedHinge loss(labels, &scale, width);
                    const Sums want = by_definition(query, weighted, width);
                    Vec g(query.y.size(), NAN), h(query.y.size(), NAN);
                    const double value = loss.evaluate_all(Crew(1), query.scores.data(), g.data());
                    loss.hessian_all(Crew(1), query.scores.data(), query.direction.data(), h.data());
                    const long double units = (64.0L + 2.0L * n + 20.0L * spread) * kUnit;
                    CHECK(std::abs(value - scale * want.value) <= units * (want.value + want.pairs));
                    const double level = loss.level(Crew(1), query.scores.data());
                    CHECK(std::abs(level - scale * want.level) <= units * want.pairs / width);
                    for (std::size_t k = 0; k < g.size(); ++k) {
                        const long double allowed = units * want.size[k] / width;
                        CHECK(std::abs(g[k] - scale * want.gradient[k]) <= allowed);
                        CHECK(std::abs(h[k] - scale * want.product[k]) <= 8.0L * allowed);
                    }
                }
}

// Differences of values and gradients: no pair crosses an end of its piece within the step.
void derivatives_are_limits_of_differences() {
    const Query query = random_query(5, 40, 0.8);
    const std::vector<std::int64_t> ptr{0, 40};
    const double scale = 1.0, step = 1e-7;
    const marginrank::PairLabels labels(Crew(1), query.y.data(), query.weight.data(), ptr.data(), 1);
    const marginrank::SmoothedHinge loss(labels, &scale, 0.4);
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
    bool curved = false;
    for (std::size_t k = 0; k < 40; ++k) {
        slope += g[k] * query.direction[k];
        curved = curved || h[k] != 0.0;
        CHECK(std::abs((after[k] - before[k]) / (2.0 * step) - h[k]) <= 1e-5 * value);
    }
    CHECK(curved);
    CHECK(std::abs(rise / (2.0 * step) - slope) <= 1e-5 * value);
}

// Gradient and level of any point are a plane below the hinge at every other.
void planes_lie_below_the_hinge() {
    const std::vector<std::int64_t> ptr{0, 60};
    const double scale = 1.0;
    for (const double width : {1.0, 0.2, 1e-4}) {
        const Query query = random_query(7, 60, 0.7);
        const marginrank::PairLabels labels(Crew(1), query.y.data(), query.weight.data(), ptr.data(), 1);
        const marginrank::SmoothedHinge loss(labels, &scale, width);
        Vec g(60);
        loss.evaluate_all(Crew(1), query.scores.data(), g.data());
        const double level = loss.level(Crew(1), query.scores.data());
        for (std::uint32_t other = 0; other < 20; ++other) {
            const Query at = random_query(100 + other, 60, 0.1 + 0.2 * other);
            Query moved = query;
            moved.scores = other == 0 ? query.scores : at.scores;
            const Sums hinge = by_definition(moved, true, 0.0L);
            long double plane = level;
            for (std::size_t k = 0; k < 60; ++k) plane += static_cast<long double>(g[k]) * moved.scores[k];
            CHECK(plane <= hinge.value + 1e-12L * hinge.pairs);
        }
    }
}

void the_bits_do_not_depend_on_the_threads() {
    const std::vector<std::int64_t> ptr{0, 3000, 3040, 3040, 4100, 4101, 4700};
    const Query query = random_query(11, ptr.back(), 1.0);
    const Vec scale{0.5, 1.0, 1.0, 0.0, 1.0, 2.0};
    for (const bool weighted : {false, true}) {
        const marginrank::PairLabels labels(Crew(1), query.y.data(), weighted ? query.weight.data() : nullptr,
                                            ptr.data(), 6);
        const marginrank::SmoothedHinge loss(labels, scale.data(), 0.1);
        Vec g1(query.y.size());
        const double value = loss.evaluate_all(Crew(1), query.scores.data(), g1.data());
        const double level = loss.level(Crew(1), query.scores.data());
        for (const int threads : {2, 5}) {
            Vec g(query.y.size(), NAN);
            CHECK(loss.evaluate_all(Crew(threads), query.scores.data(), g.data()) == value);
            CHECK(loss.level(Crew(threads), query.scores.data()) == level);
            CHECK(g == g1);
        }
        Vec g(query.y.size(), NAN);
        loss.evaluate_range(Crew(1), 0, 6, query.scores.data(), g.data());
        CHECK(g == g1);
    }
}

// Any scores: differences that overflow cost nothing, or more than any number, but never no number.
void no_score_is_too_large() {
    const Vec y{0.0, 1.0, 2.0, 1.0}, scores{1e308, -1e308, 1e308, 3.0};
    const std::vector<std::int64_t> ptr{0, 4};
    const double scale = 1.0;
    const marginrank::PairLabels labels(Crew(1), y.data(), nullptr, ptr.data(), 1);
    const marginrank::SmoothedHinge loss(labels, &scale, 0.1);
    Vec g(4);
    CHECK(!std::isnan(loss.evaluate_all(Crew(1), scores.data(), g.data())));
    CHECK(std::isfinite(loss.level(Crew(1), scores.data())));
    for (std::size_t k = 0; k < 4; ++k) CHECK(std::isfinite(g[k]));
}

}  // namespace

int main() {
    equals_its_definition();
    derivatives_are_limits_of_differences();
    planes_lie_below_the_hinge();
    the_bits_do_not_depend_on_the_threads();
    no_score_is_too_large();
    return marginrank_failures() != 0;
}
