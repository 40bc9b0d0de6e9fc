// Looking for NaN and infinity at the speed of memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "marginrank/parallel.hpp"

namespace marginrank {

// Index of the first entry that is not finite, or -1.
template <class Real>
std::int64_t first_nonfinite(const Crew& crew, const Real* x, std::int64_t n) {
    constexpr std::int64_t kBlock = 1 << 16;
    std::atomic<std::int64_t> first{n};
    crew.run((n + kBlock - 1) / kBlock, [&](std::int64_t b, int) {
        const std::int64_t begin = b * kBlock, end = std::min(n, begin + kBlock);
        if (begin >= first.load(std::memory_order_relaxed)) return;
        // x * 0 is 0 unless x is not finite, and NaN stays NaN through the sum.
        Real lanes[16] = {};
        std::int64_t k = begin;
        for (; k + 16 <= end; k += 16)
            for (int l = 0; l < 16; ++l) lanes[l] += x[k + l] * Real(0);
        Real sum = 0;
        for (Real lane : lanes) sum += lane;
        for (; k < end; ++k) sum += x[k] * Real(0);
        if (sum == Real(0)) return;
        for (k = begin; x[k] * Real(0) == Real(0);) ++k;
        std::int64_t seen = first.load();
        while (k < seen && !first.compare_exchange_weak(seen, k)) {
        }
    });
    return first.load() == n ? -1 : first.load();
}

}  // namespace marginrank
