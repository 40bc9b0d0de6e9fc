// The best place of every bad document among the good ones, where each may choose for itself.
//
// Let gain(t, j) be what Delta grows by when bad document j goes above good document t while j others are
// there. Where gain does not increase in j, neither does
//   delta(t, j) = gain(t, j) + c (b_j - g_t),
// since the b_j descend. So the best slot of bad j (the first good document that it is above, all later ones
// included) does not decrease in j: choosing each slot alone gives a ranking, and that is the best one. The
// same monotonicity lets the middle document's slot halve the range for all others: O((P + N) log N)
// instead of O(P N).
#pragma once

#include <cstdint>
#include <vector>

#include "marginrank/structured_lists.hpp"

namespace marginrank {

namespace kernels {

template <class Gain>
void best_slots(const Gain& gain, const ListScratch& lists, double c, std::int64_t from, std::int64_t to,
                std::int64_t low, std::int64_t high, std::vector<std::int64_t>& slot) {
    while (from < to) {
        if (low == high) {
            for (std::int64_t j = from; j < to; ++j) slot[static_cast<std::size_t>(j)] = low;
            return;
        }
        const std::int64_t middle = from + (to - from) / 2;
        // From the last slot upward; only a strict gain moves a document, so ties stay in order.
        double sum = 0.0, most = 0.0;
        std::int64_t best = high;
        for (std::int64_t t = high - 1; t >= low; --t) {
            sum += gain(t, middle) + c * (lists.bad[middle] - lists.good[t]);
            if (sum > most) {
                most = sum;
                best = t;
            }
        }
        slot[static_cast<std::size_t>(middle)] = best;
        best_slots(gain, lists, c, from, middle, low, best, slot);
        from = middle + 1;
        low = best;
    }
}

// above[t] = number of bad documents whose slot is t or before.
inline void slots_to_above(const std::vector<std::int64_t>& slot, std::vector<std::int64_t>& above) {
    std::size_t j = 0;
    for (std::size_t t = 0; t < above.size(); ++t) {
        while (j < slot.size() && slot[j] <= static_cast<std::int64_t>(t)) ++j;
        above[t] = static_cast<std::int64_t>(j);
    }
}

}  // namespace kernels

}  // namespace marginrank
