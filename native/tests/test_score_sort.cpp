// The score sort against std::stable_sort, for spreads that suit the radix keys and for those that do not.
#include "marginrank/score_sort.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;
using marginrank::SortScratch;
using Vec = std::vector<double>;
using Random = std::mt19937_64;

bool sorts_as_the_standard_library(const Vec& scores, SortScratch& scratch, int threads) {
    std::vector<std::int32_t> expected(scores.size());
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        return scores[static_cast<std::size_t>(a)] < scores[static_cast<std::size_t>(b)];
    });
    Vec sorted(scores.size());
    std::vector<std::int32_t> row(scores.size());
    marginrank::sort_scores(Crew(threads), scores.data(), static_cast<std::int64_t>(scores.size()), sorted.data(),
                            row.data(), scratch);
    if (row != expected) return false;
    for (std::size_t k = 0; k < row.size(); ++k)
        if (sorted[k] != scores[static_cast<std::size_t>(row[k])]) return false;
    return true;
}

double normal(Random& random) { return std::normal_distribution<double>()(random); }

struct Kind {
    const char* name;
    std::function<double(Random&, std::size_t)> draw;
};

const std::vector<Kind>& kinds() {
    constexpr double kMax = std::numeric_limits<double>::max();
    constexpr double kTiny = std::numeric_limits<double>::denorm_min();
    static const std::vector<Kind> all = {
        {"normal", [](Random& r, std::size_t) { return normal(r); }},
        {"lattice", [](Random& r, std::size_t) { return 0.5 * static_cast<double>(r() % 21) - 5.0; }},
        {"all equal", [](Random&, std::size_t) { return 0.1; }},
        {"ascending", [](Random&, std::size_t k) { return static_cast<double>(k); }},
        {"descending", [](Random&, std::size_t k) { return -static_cast<double>(k); }},
        {"one outlier", [](Random& r, std::size_t k) { return k == 0 ? 1e300 : normal(r); }},
        {"outlier in the middle", [](Random& r, std::size_t k) { return k == 17 ? -1e9 : normal(r); }},
        {"range beyond double", [](Random& r, std::size_t k) { return k % 7 == 0 ? (k % 2 ? kMax : -kMax) : normal(r); }},
        {"tiny spread", [](Random& r, std::size_t) { return 1.0 + 2.3e-16 * static_cast<double>(r() % 9); }},
        {"subnormal", [](Random& r, std::size_t) { return kTiny * static_cast<double>(r() % 1000); }},
        {"signed zeros", [](Random& r, std::size_t) { return r() % 2 ? 0.0 : -0.0; }},
        {"zeros among others", [](Random& r, std::size_t) { return r() % 3 ? (r() % 2 ? 0.0 : -0.0) : normal(r); }},
        {"signed zeros and an outlier", [](Random& r, std::size_t k) { return k == 5 ? 1e300 : (r() % 2 ? 0.0 : -0.0); }},
        {"float32", [](Random& r, std::size_t) { return static_cast<double>(static_cast<float>(normal(r))); }},
        {"two clusters", [](Random& r, std::size_t) { return (r() % 2 ? 1e6 : -1e6) + 1e-3 * normal(r); }},
    };
    return all;
}

void equals_the_stable_sort_for_any_spread_size_and_threads() {
    Random random(1);
    SortScratch scratch;  // shared, so that what an earlier call left behind must not matter
    for (std::size_t n : {0, 1, 2, 3, 31, 32, 33, 100, 8191, 8192, 8193, 65536})
        for (const Kind& kind : kinds()) {
            Vec scores(n);
            for (std::size_t k = 0; k < n; ++k) scores[k] = kind.draw(random, k);
            for (int threads : {1, 2, 3}) {
                if (threads > 1 && n < 65536) continue;  // one block, whoever runs it
                const bool same = sorts_as_the_standard_library(scores, scratch, threads);
                if (!same) std::fprintf(stderr, "%s, %zu rows, %d threads\n", kind.name, n, threads);
                CHECK(same);
            }
        }
}

void every_small_arrangement_is_sorted() {
    Random random(2);
    SortScratch scratch;
    for (int repeat = 0; repeat < 2000; ++repeat) {
        Vec scores(random() % 80);
        for (double& s : scores) s = static_cast<double>(random() % 7) - 3.0;
        CHECK(sorts_as_the_standard_library(scores, scratch, 1));
    }
}

void more_threads_than_keys_differ() {
    Vec scores(70000, 1.0);
    for (std::size_t k = 0; k < scores.size(); k += 2) scores[k] = 0.0;
    SortScratch scratch;
    for (int threads : {2, 16}) CHECK(sorts_as_the_standard_library(scores, scratch, threads));
}

// Scores so close that the radix keys cannot tell them apart, in the wrong order, just where threads share the work.
void close_scores_where_blocks_meet_are_put_in_order() {
    constexpr std::size_t n = 65536;
    for (int threads : {2, 3, 5, 16}) {
        Vec scores(n);
        for (std::size_t k = 0; k < n; ++k) scores[k] = static_cast<double>(k);
        for (std::int64_t b = 1; b < threads; ++b) {
            const auto at = static_cast<std::size_t>(marginrank::block_bound(static_cast<std::int64_t>(n), threads, b));
            for (std::size_t k = at - 2; k < at + 2; ++k)  // four of a key, two on each side of the border
                scores[k] = static_cast<double>(at) - 1e-6 * static_cast<double>(k + 2 - at);
        }
        SortScratch scratch;
        CHECK(sorts_as_the_standard_library(scores, scratch, threads));
    }
}

}  // namespace

int main() {
    close_scores_where_blocks_meet_are_put_in_order();
    equals_the_stable_sort_for_any_spread_size_and_threads();
    every_small_arrangement_is_sorted();
    more_threads_than_keys_differ();
    return marginrank_failures() != 0;
}
