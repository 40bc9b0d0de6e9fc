// Sets with fast prefix queries: how many (or how much) of what was inserted has a key below a bound.
//
// All are trees of fixed width whose nodes hold prefix counts (or sums) of their children. Inserting adds a
// masked row to one node per level, without a branch; a query loads one entry per level.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "marginrank/simd.hpp"

namespace marginrank {

namespace kernels {

// after[d][c] = 1 where c > d: what a key with digit d adds to the prefix counts of its node.
template <class T>
struct AfterTable {
    alignas(64) T after[16][16];
    constexpr AfterTable() : after() {
        for (int d = 0; d < 16; ++d)
            for (int c = 0; c < 16; ++c) after[d][c] = static_cast<T>(c > d ? 1 : 0);
    }
};
template <class T>
inline constexpr AfterTable<T> kAfter{};

// The same as masks, for nodes of any width.
template <int Width>
struct MaskTable {
    alignas(64) std::int64_t after[Width][Width];
    constexpr MaskTable() : after() {
        for (int d = 0; d < Width; ++d)
            for (int c = 0; c < Width; ++c) after[d][c] = c > d ? -1 : 0;
    }
};
template <int Width>
inline constexpr MaskTable<Width> kMasks{};

inline int popcount(std::uint64_t x) { return __builtin_popcountll(x); }

}  // namespace kernels

// Keys from 0 to size, each inserted at most once: a bitset with counters above it. The two lowest
// levels of counters fit 16 bits, which keeps the whole set for half a million keys within L2.
class UniqueKeySet {
public:
    void reset(std::int64_t size) {
        const std::size_t words = static_cast<std::size_t>(size / 64 + 1);
        words_.assign((words + 15) / 16 * 16, 0);
        small_[0].assign((words_.size() + 15) / 16 * 16, 0);
        small_[1].assign((small_[0].size() / 16 + 15) / 16 * 16, 0);
        std::size_t entries = small_[1].size() / 16;
        n_large_ = 0;
        do {
            large_[n_large_].assign((entries + 15) / 16 * 16, 0);
            entries = large_[n_large_++].size() / 16;
        } while (entries > 1);
    }

    void insert(std::int32_t key) {
        const std::uint32_t word = static_cast<std::uint32_t>(key) >> 6;
        words_[word] |= std::uint64_t{1} << (key & 63);
        add(small_[0].data(), word);
        add(small_[1].data(), word >> 4);
        std::uint32_t child = word >> 8;
        for (int l = 0; l < n_large_; ++l, child >>= 4) add(large_[l].data(), child);
    }

    // Number of inserted keys below bound.
    std::int32_t count_below(std::int32_t bound) const {
        const std::uint32_t word = static_cast<std::uint32_t>(bound) >> 6;
        const std::uint64_t below = (std::uint64_t{1} << (bound & 63)) - 1;
        std::int32_t count = kernels::popcount(words_[word] & below) + small_[0][word] + small_[1][word >> 4];
        std::uint32_t child = word >> 8;
        for (int l = 0; l < n_large_; ++l, child >>= 4) count += large_[l][child];
        return count;
    }

    // Inserts many keys at once: set the bits, then build the counters level by level.
    template <class KeyAt>
    void build(std::int64_t n, KeyAt&& key_at) {
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int32_t key = key_at(k);
            words_[static_cast<std::uint32_t>(key) >> 6] |= std::uint64_t{1} << (key & 63);
        }
        std::vector<std::int32_t> counts(words_.size());
        for (std::size_t k = 0; k < words_.size(); ++k) counts[k] = kernels::popcount(words_[k]);
        prefix(small_[0], counts);
        prefix(small_[1], counts);
        for (int l = 0; l < n_large_; ++l) prefix(large_[l], counts);
    }

private:
    template <class T>
    static void add(T* counters, std::uint32_t child) {
        add16(counters + (child & ~15u), kernels::kAfter<T>.after[child & 15]);
    }

    // Writes prefix counts of the children into a level and leaves the totals of its nodes in counts.
    template <class T>
    static void prefix(AlignedVector<T>& level, std::vector<std::int32_t>& counts) {
        const std::size_t nodes = level.size() / 16;
        for (std::size_t node = 0; node < nodes; ++node) {
            std::int32_t running = 0;
            for (std::size_t c = 0; c < 16; ++c) {
                const std::size_t child = 16 * node + c;
                level[child] = static_cast<T>(running);
                if (child < counts.size()) running += counts[child];
            }
            counts[node] = running;
        }
        counts.resize(nodes);
    }

    AlignedVector<std::uint64_t> words_;
    AlignedVector<std::uint16_t> small_[2];
    AlignedVector<std::int32_t> large_[6];
    int n_large_ = 1;
};

// Keys from 0 to size <= 15, each inserted any number of times: a single node.
class FewKeysSet {
public:
    void reset(std::int64_t) { std::fill(std::begin(node_), std::end(node_), 0); }

    void insert(std::int32_t key) {
        add16(node_, kernels::kAfter<std::int32_t>.after[key]);
    }

    std::int32_t count_below(std::int32_t bound) const { return node_[bound]; }

    template <class KeyAt>
    void build(std::int64_t n, KeyAt&& key_at) {
        for (std::int64_t k = 0; k < n; ++k) insert(key_at(k));
    }

private:
    alignas(64) std::int32_t node_[16] = {};
};

// Keys from 0 to size with an integer weight each, inserted any number of times: sums below a bound. Nodes of eight
// are one cache line each; the root has sixteen.
class IntegerSums {
public:
    void reset(std::int64_t size) {
        n_levels_ = 0;
        std::int64_t entries = size + 1;
        while (entries > 16) {
            entries = (entries + 7) / 8 * 8;
            level_[n_levels_++].assign(static_cast<std::size_t>(entries), 0);
            entries /= 8;
        }
        std::fill(std::begin(root_), std::end(root_), 0);
    }

    void insert(std::int32_t key, std::int64_t weight) {
        auto child = static_cast<std::uint32_t>(key);
        const Mask4 w{weight, weight, weight, weight};
        for (int l = 0; l < n_levels_; ++l, child >>= 3)
            add<8>(level_[l].data() + (child & ~7u), w, kernels::kMasks<8>.after[child & 7]);
        add<16>(root_, w, kernels::kMasks<16>.after[child]);
    }

    std::int64_t sum_below(std::int32_t bound) const {
        auto child = static_cast<std::uint32_t>(bound);
        std::int64_t sum = 0;
        for (int l = 0; l < n_levels_; ++l, child >>= 3) sum += level_[l][child];
        return sum + root_[child];
    }

    // Has the line brought that an operation on this key will miss first.
    void expect(std::int32_t key) const {
        if (n_levels_ > 0) __builtin_prefetch(level_[0].data() + key);
    }

    // Inserts many keys at once into an empty set, and returns the sum of their weights.
    template <class KeyAt>
    std::int64_t build(std::int64_t n, KeyAt&& key_at, const std::int64_t* weight) {
        std::int64_t* lowest = n_levels_ > 0 ? level_[0].data() : root_;
        for (std::int64_t k = 0; k < n; ++k) lowest[key_at(k)] += weight[k];
        for (int l = 0; l < n_levels_; ++l) {
            std::int64_t* above = l + 1 < n_levels_ ? level_[l + 1].data() : root_;
            for (std::size_t node = 0; node < level_[l].size() / 8; ++node)
                above[node] = prefix(level_[l].data() + 8 * node, 8);
        }
        return prefix(root_, 16);
    }

private:
    template <int Width>
    static void add(std::int64_t* node, Mask4 weight, const std::int64_t* after) {
        for (int c = 0; c < Width; c += 4) store4(node + c, load4(node + c) + (weight & load4(after + c)));
    }

    // Makes prefix sums of the sums of the children, and returns their total.
    static std::int64_t prefix(std::int64_t* node, int width) {
        std::int64_t running = 0;
        for (int c = 0; c < width; ++c) {
            const std::int64_t own = node[c];
            node[c] = running;
            running += own;
        }
        return running;
    }

    AlignedVector<std::int64_t> level_[10];
    alignas(64) std::int64_t root_[16] = {};
    int n_levels_ = 0;
};

}  // namespace marginrank
