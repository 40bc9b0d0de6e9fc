// Sorting scores: the step that every counting loss repeats for every evaluation.
//
// An affine key of 16 or 22 bits, two radix passes and an insertion fix-up. Where the scores are badly
// spread for that (an outlier puts nearly all of them into one bucket) the fix-up gives up and a radix
// sort over all 64 bits takes over. Both are stable, so the order is unique and depends on the scores
// only, not on the method or the threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "marginrank/parallel.hpp"

namespace marginrank {

struct ScoreKey {
    std::uint32_t key;
    std::int32_t row;
};

struct SortScratch {
    std::vector<ScoreKey> a, b;
    std::vector<std::uint64_t> wide, wide_swap;
    std::vector<std::int32_t> row_swap;
    std::vector<std::int64_t> histogram;

    void reserve(std::int64_t n) {
        if (static_cast<std::int64_t>(a.size()) < n) {
            a.resize(static_cast<std::size_t>(n));
            b.resize(static_cast<std::size_t>(n));
        }
    }
};

namespace kernels {

// One stable counting pass: item k goes to the bucket digit(k) by place(k, destination).
template <class Digit, class Place>
void radix_pass(const Crew& crew, std::int64_t n, int bits, std::int64_t n_blocks,
                std::vector<std::int64_t>& histogram, Digit&& digit, Place&& place) {
    const std::int64_t buckets = std::int64_t{1} << bits;
    histogram.assign(static_cast<std::size_t>(buckets * n_blocks), 0);
    crew.run(n_blocks, [&](std::int64_t b, int) {
        std::int64_t* count = histogram.data() + b * buckets;
        const std::int64_t stop = block_bound(n, n_blocks, b + 1);
        for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k) ++count[digit(k)];
    });
    std::int64_t offset = 0;
    for (std::int64_t d = 0; d < buckets; ++d)
        for (std::int64_t b = 0; b < n_blocks; ++b) {
            std::int64_t& cell = histogram[static_cast<std::size_t>(b * buckets + d)];
            const std::int64_t count = cell;
            cell = offset;
            offset += count;
        }
    crew.run(n_blocks, [&](std::int64_t b, int) {
        std::int64_t* next = histogram.data() + b * buckets;
        const std::int64_t stop = block_bound(n, n_blocks, b + 1);
        for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k) place(k, next[digit(k)]++);
    });
}

// Bits whose unsigned order is the order of the numbers (-0.0 and 0.0 are equal, and get equal bits).
inline std::uint64_t ordered_bits(double x) {
    x += 0.0;
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}

// Radix sort over all 64 bits, eight at a time; passes in which all digits agree are skipped.
inline void sort_by_bits(const double* scores, std::int64_t n, double* sorted, std::int32_t* row,
                         SortScratch& scratch) {
    const Crew alone(1);
    scratch.wide.resize(static_cast<std::size_t>(n));
    scratch.wide_swap.resize(static_cast<std::size_t>(n));
    scratch.row_swap.resize(static_cast<std::size_t>(n));
    std::uint64_t* key = scratch.wide.data();
    std::uint64_t* other = scratch.wide_swap.data();
    std::int32_t* from = row;
    std::int32_t* to = scratch.row_swap.data();
    std::uint64_t differ = 0;
    for (std::int64_t k = 0; k < n; ++k) {
        key[k] = ordered_bits(scores[k]);
        from[k] = static_cast<std::int32_t>(k);
        differ |= key[k] ^ key[0];
    }
    for (int shift = 0; shift < 64; shift += 8) {
        if (((differ >> shift) & 255) == 0) continue;
        radix_pass(
            alone, n, 8, 1, scratch.histogram,
            [&](std::int64_t k) { return static_cast<std::int64_t>((key[k] >> shift) & 255); },
            [&](std::int64_t k, std::int64_t at) {
                other[at] = key[k];
                to[at] = from[k];
            });
        std::swap(key, other);
        std::swap(from, to);
    }
    if (from != row) std::copy(from, from + n, row);
    for (std::int64_t k = 0; k < n; ++k) sorted[k] = scores[row[k]];
}

// Puts [begin, end) in order by insertion; false when that takes more than budget moves.
inline bool insertion_fix_up(double* sorted, std::int32_t* row, std::int64_t begin, std::int64_t end,
                             std::int64_t budget) {
    for (std::int64_t k = begin + 1; k < end; ++k) {
        if (!(sorted[k] < sorted[k - 1])) continue;
        const double s = sorted[k];
        const std::int32_t r = row[k];
        std::int64_t at = k;
        do {
            sorted[at] = sorted[at - 1];
            row[at] = row[at - 1];
            --at;
        } while (at > begin && s < sorted[at - 1]);
        sorted[at] = s;
        row[at] = r;
        budget -= k - at;
        if (budget < 0) return false;
    }
    return true;
}

}  // namespace kernels

// sorted[k] = scores[row[k]], ascending, equal scores in the order of their rows.
inline void sort_scores(const Crew& crew, const double* scores, std::int64_t n, double* sorted,
                        std::int32_t* row, SortScratch& scratch) {
    if (n <= 0) return;
    if (n <= 32) {
        for (std::int64_t k = 0; k < n; ++k) {
            sorted[k] = scores[k];
            row[k] = static_cast<std::int32_t>(k);
        }
        kernels::insertion_fix_up(sorted, row, 0, n, n * n);
        return;
    }
    double low = scores[0], high = scores[0];
    for (std::int64_t k = 1; k < n; ++k) {
        low = scores[k] < low ? scores[k] : low;
        high = scores[k] > high ? scores[k] : high;
    }
    const int bits = n < 8192 ? 8 : 11;
    const double top = static_cast<double>((std::uint32_t{1} << (2 * bits)) - 1);
    const double scale = top / (high - low);
    if (!(scale > 0.0) || !std::isfinite(scale)) {
        kernels::sort_by_bits(scores, n, sorted, row, scratch);
        return;
    }
    scratch.reserve(n);
    ScoreKey* a = scratch.a.data();
    ScoreKey* b = scratch.b.data();
    const std::int64_t n_blocks = n < 65536 ? 1 : crew.threads();
    const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
    auto key_of = [&](std::int64_t k) {
        const double key = (scores[k] - low) * scale;
        return static_cast<std::uint32_t>(key < top ? key : top);  // NaN goes last
    };
    kernels::radix_pass(
        crew, n, bits, n_blocks, scratch.histogram, [&](std::int64_t k) { return key_of(k) & mask; },
        [&](std::int64_t k, std::int64_t at) { a[at] = {key_of(k), static_cast<std::int32_t>(k)}; });
    kernels::radix_pass(
        crew, n, bits, n_blocks, scratch.histogram, [&](std::int64_t k) { return a[k].key >> bits; },
        [&](std::int64_t k, std::int64_t at) { b[at] = a[k]; });

    std::atomic<bool> fixed{true};
    crew.run(n_blocks, [&](std::int64_t block, int) {
        // Equal keys stay in one block, so blocks can be put in order apart.
        auto bound = [&](std::int64_t at) {
            while (at > 0 && at < n && b[at].key == b[at - 1].key) ++at;
            return at;
        };
        const std::int64_t begin = bound(block_bound(n, n_blocks, block));
        const std::int64_t end = bound(block_bound(n, n_blocks, block + 1));
        for (std::int64_t k = begin; k < end; ++k) {
            row[k] = b[k].row;
            sorted[k] = scores[b[k].row];
        }
        if (!kernels::insertion_fix_up(sorted, row, begin, end, 8 * n)) fixed = false;
    });
    if (!fixed) kernels::sort_by_bits(scores, n, sorted, row, scratch);
}

}  // namespace marginrank
