// Structured losses by their definition: every ranking of a small query is looked at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

using Vec = std::vector<double>;
using Ranking = std::vector<std::size_t>;  // the document at each rank

// The discounts of n ranks, LETOR's or the usual ones, 0 from a cut-off on (0 is none).
inline Vec discount_of(bool letor, std::size_t n, std::size_t cutoff) {
    Vec d(n);
    for (std::size_t k = 0; k < n; ++k) {
        const auto rank = static_cast<double>(k + 1);
        d[k] = letor ? 1.0 / std::log2(std::max(rank, 2.0)) : 1.0 / std::log2(1.0 + rank);
        if (cutoff > 0 && k >= cutoff) d[k] = 0.0;
    }
    return d;
}

// Calls visit for every ranking of n documents.
inline void for_rankings(std::size_t n, const std::function<void(const Ranking&)>& visit) {
    Ranking ranking(n);
    std::iota(ranking.begin(), ranking.end(), std::size_t{0});
    do visit(ranking);
    while (std::next_permutation(ranking.begin(), ranking.end()));
}

// c sum over good documents and the bad ones above them of (bad - good).
inline double averaged_differences(const Ranking& ranking, const Vec& y, const Vec& s) {
    double sum = 0.0, pairs = 0.0;
    for (std::size_t r = 0; r < ranking.size(); ++r)
        for (std::size_t below = r + 1; below < ranking.size(); ++below) {
            const std::size_t i = ranking[r], j = ranking[below];
            if (y[i] == y[j]) continue;
            pairs += 1.0;
            if (y[i] < y[j]) sum += s[i] - s[j];
        }
    return 2.0 * sum / pairs;
}

inline double map_delta(const Ranking& ranking, const Vec& y) {
    double good = 0.0, sum = 0.0;
    for (std::size_t r = 0; r < ranking.size(); ++r)
        if (y[ranking[r]] > 0.0) sum += ++good / static_cast<double>(r + 1);
    return 1.0 - sum / good;
}

// The discount must be 0 from the cut-off on.
inline double ndcg_delta(const Ranking& ranking, const Vec& gain, const Vec& discount) {
    Vec ideal(gain);
    std::sort(ideal.rbegin(), ideal.rend());
    double sum = 0.0, most = 0.0;
    for (std::size_t r = 0; r < ranking.size(); ++r) {
        sum += gain[ranking[r]] * discount[r];
        most += ideal[r] * discount[r];
    }
    return 1.0 - sum / most;
}

inline std::size_t first_good(const Ranking& ranking, const Vec& y) {
    std::size_t r = 0;
    while (!(y[ranking[r]] > 0.0)) ++r;
    return r;
}

inline double mrr_delta(const Ranking& ranking, const Vec& y, std::size_t cutoff) {
    const std::size_t r = first_good(ranking, y);
    return cutoff > 0 && r >= cutoff ? 1.0 : 1.0 - 1.0 / static_cast<double>(r + 1);
}

inline double first_against_above(const Ranking& ranking, const Vec& y, const Vec& s) {
    const std::size_t first = first_good(ranking, y);
    double sum = 0.0;
    for (std::size_t r = 0; r < first; ++r) sum += s[ranking[r]] - s[ranking[first]];
    return sum;
}

inline double best_ranking(std::size_t n, const std::function<double(const Ranking&)>& value) {
    double best = -std::numeric_limits<double>::infinity();
    for_rankings(n, [&](const Ranking& ranking) { best = std::max(best, value(ranking)); });
    return best;
}
