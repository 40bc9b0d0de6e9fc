// Pair counts and sums of one query without visiting its pairs.
//
// After sorting by score, the partners of a row on the other side of the margin form a prefix of the
// order, and its partners by label a range of keys. So one sweep that inserts the rows in the order of
// their scores into a prefix set answers for each row, when the sweep reaches the row's bound, how many
// (or how much) of what is below that bound has a lower key.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "marginrank/pair_labels.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/prefix_sets.hpp"
#include "marginrank/score_sort.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {

// A query in the order of its scores.
struct SortedQuery {
    std::int64_t n = 0;
    std::vector<double> score;
    std::vector<std::int32_t> row;
    std::vector<LabelKey> key;
    SortScratch sort_scratch;

    void assign(const Crew& crew, const double* scores, const LabelKey* keys, std::int64_t rows) {
        n = rows;
        if (static_cast<std::int64_t>(score.size()) < n) {
            score.resize(static_cast<std::size_t>(n));
            row.resize(static_cast<std::size_t>(n));
            key.resize(static_cast<std::size_t>(n));
        }
        sort_scores(crew, scores, n, score.data(), row.data(), sort_scratch);
        const std::int64_t n_blocks = n < 65536 ? 1 : crew.threads();
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t stop = block_bound(n, n_blocks, b + 1);
            for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k)
                key[static_cast<std::size_t>(k)] = keys[row[static_cast<std::size_t>(k)]];
        });
    }
};

namespace kernels {

constexpr int kBatch = 16;

// The keys of the rows as they are, less a base where only a range of them takes part.
struct RowKeys {
    const LabelKey* row;
    std::int32_t base = 0;
    std::int32_t key(std::int64_t k) const { return row[k].key - base; }
    std::int32_t below(std::int64_t k) const { return row[k].below - base; }
    std::int32_t upto(std::int64_t k) const { return row[k].upto - base; }
};

// Ranges of 2^shift keys in place of the keys. Rows with the same label share a range.
struct RangeKeys {
    const LabelKey* row;
    int shift;
    std::int32_t key(std::int64_t k) const { return row[k].below >> shift; }
    std::int32_t below(std::int64_t k) const { return key(k); }
    std::int32_t upto(std::int64_t k) const { return key(k) + 1; }
};

// Sixteen consecutive positions, which are inserted together. Rows that ask while they go in look at
// them one by one; a loop that alternates single insertions and queries spends most of its time in
// mispredicted branches (measured: 20 of 37 ns an element).
struct Batch {
    // Written four at a time: a wide load from four narrow stores would wait for all of them.
    Real4 score[kBatch / 4], key[kBatch / 4], value[kBatch / 4];

    template <class Keys>
    void load(const double* s, const Keys& keys, const double* values, std::int64_t begin, std::int64_t end) {
        // Padding stands above every score: never active for a lower row, never below a higher one.
        constexpr double kNever = std::numeric_limits<double>::max();
        for (int g = 0; g < kBatch / 4; ++g) {
            const std::int64_t k = begin + 4 * g;
            if (k + 4 <= end) {
                score[g] = load4(s + k);
                key[g] = Real4{real(keys.key(k)), real(keys.key(k + 1)), real(keys.key(k + 2)), real(keys.key(k + 3))};
                value[g] = values == nullptr ? all4(1.0) : load4(values + k);
                continue;
            }
            score[g] = all4(kNever);
            key[g] = value[g] = all4(0.0);
            for (int l = 0; k + l < end; ++l) {
                score[g][l] = s[k + l];
                key[g][l] = real(keys.key(k + l));
                value[g][l] = values == nullptr ? 1.0 : values[k + l];
            }
        }
    }

    // Sum over the members within the margin of a lower row at score s whose key is at least bound.
    double active_from(double s, std::int32_t bound) const {
        Real4 sum = all4(0.0);
        for (int g = 0; g < kBatch / 4; ++g)
            sum += where4((score[g] - s < 1.0) & (key[g] >= real(bound)), value[g]);
        return sum4(sum);
    }

    // Sum over the members that are not within the margin of a higher row at s whose key is below bound.
    double idle_below(double s, std::int32_t bound) const {
        Real4 sum = all4(0.0);
        for (int g = 0; g < kBatch / 4; ++g)
            sum += where4((s - score[g] >= 1.0) & (key[g] < real(bound)), value[g]);
        return sum4(sum);
    }

private:
    static double real(std::int32_t x) { return static_cast<double>(x); }
};

// Inserts positions [begin, end) batch by batch. as_lower(t, batch) is called when of the rows within
// the margin above t all but some of the batch are in, as_higher(t, batch) likewise for those that are
// not within the margin below t.
template <class Keys, class Insert, class AsLower, class AsHigher>
inline void sweep(const double* s, const Keys& keys, const double* value, std::int64_t n, std::int64_t begin,
                  std::int64_t end, Insert&& insert, AsLower&& as_lower, AsHigher&& as_higher) {
    std::int64_t lower = 0, higher = 0;
    if (begin > 0) {
        const double edge = s[begin - 1];
        lower = std::partition_point(s, s + n, [&](double x) { return !(edge - x < 1.0); }) - s;
        higher = std::partition_point(s, s + n, [&](double x) { return x - edge < 1.0; }) - s;
    }
    Batch batch;
    for (std::int64_t k = begin; k < end; k += kBatch) {
        const std::int64_t stop = std::min(k + kBatch, end);
        const double edge = s[stop - 1];
        batch.load(s, keys, value, k, stop);
        while (lower < n && (stop == n || !(edge - s[lower] < 1.0))) as_lower(lower++, batch);
        while (higher < n && s[higher] - edge < 1.0) as_higher(higher++, batch);
        for (std::int64_t at = k; at < stop; ++at) insert(at);
    }
}

template <class Set>
inline void count_block(const double* s, const LabelKey* key, std::int64_t n, std::int64_t begin, std::int64_t end,
                        Set& set, std::int32_t* up, std::int32_t* down) {
    std::int32_t inserted = static_cast<std::int32_t>(begin);
    sweep(
        s, RowKeys{key}, nullptr, n, begin, end,
        [&](std::int64_t k) {
            set.insert(key[k].key);
            ++inserted;
        },
        [&](std::int64_t t, const Batch& batch) {
            const auto more = static_cast<std::int32_t>(batch.active_from(s[t], key[t].upto));
            up[t] = inserted - set.count_below(key[t].upto) + more;
        },
        [&](std::int64_t t, const Batch& batch) {
            const auto idle = static_cast<std::int32_t>(batch.idle_below(s[t], key[t].below));
            down[t] = key[t].n_below - set.count_below(key[t].below) - idle;
        });
}

// below_all[b]: sum over all rows whose key is below b. Calls up(t, sum) and down(t, sum).
template <class Keys, class Up, class Down>
inline void sum_block(const double* s, const Keys& keys, const double* value, const double* below_all,
                      std::int64_t n, std::int64_t begin, std::int64_t end, double inserted, PrefixSums& set, Up&& up,
                      Down&& down) {
    sweep(
        s, keys, value, n, begin, end,
        [&](std::int64_t k) {
            set.insert(keys.key(k), value[k]);
            inserted += value[k];
        },
        [&](std::int64_t t, const Batch& batch) {
            const std::int32_t bound = keys.upto(t);
            up(t, inserted - set.sum_below(bound) + batch.active_from(s[t], bound));
        },
        [&](std::int64_t t, const Batch& batch) {
            const std::int32_t bound = keys.below(t);
            down(t, below_all[bound] - set.sum_below(bound) - batch.idle_below(s[t], bound));
        });
}

}  // namespace kernels

struct CountScratch {
    std::vector<UniqueKeySet> unique;
    std::vector<FewKeysSet> few;
};

// up[t]: active partners of position t with a higher label; down[t]: with a lower one.
inline void pair_counts(const Crew& crew, const SortedQuery& query, std::int64_t n_keys, bool few_levels,
                        CountScratch& scratch, std::int32_t* up, std::int32_t* down) {
    // Counts are integers, so the number of blocks may follow the number of threads.
    const std::int64_t n = query.n, n_blocks = n < 65536 ? 1 : crew.threads();
    const double* s = query.score.data();
    const LabelKey* key = query.key.data();
    auto& unique = scratch.unique;
    auto& few = scratch.few;
    if (static_cast<std::int64_t>(unique.size()) < n_blocks) unique.resize(static_cast<std::size_t>(n_blocks));
    if (static_cast<std::int64_t>(few.size()) < n_blocks) few.resize(static_cast<std::size_t>(n_blocks));
    crew.run(n_blocks, [&](std::int64_t b, int) {
        const std::int64_t begin = block_bound(n, n_blocks, b), end = block_bound(n, n_blocks, b + 1);
        auto key_at = [&](std::int64_t k) { return key[k].key; };
        if (few_levels) {
            FewKeysSet& set = few[static_cast<std::size_t>(b)];
            set.reset(n_keys);
            set.build(begin, key_at);
            kernels::count_block(s, key, n, begin, end, set, up, down);
        } else {
            UniqueKeySet& set = unique[static_cast<std::size_t>(b)];
            set.reset(n_keys);
            if (begin > 0) set.build(begin, key_at);
            kernels::count_block(s, key, n, begin, end, set, up, down);
        }
    });
}

// A tree of sums over 2^12 keys has three levels and stays in the first cache.
constexpr int kRangeBits = 12;

struct SumScratch {
    struct Worker {
        PrefixSums set;
        std::vector<double> below_all;
    };
    std::vector<Worker> workers;
    // The rows of each range of keys, still in the order of the scores.
    std::vector<double> score, value;
    std::vector<LabelKey> key;
    std::vector<std::int32_t> position;
    std::vector<std::int64_t> histogram;
    std::vector<double> before;

    void reserve(std::int64_t n) {
        if (static_cast<std::int64_t>(score.size()) >= n) return;
        const auto size = static_cast<std::size_t>(n);
        score.resize(size);
        value.resize(size);
        key.resize(size);
        position.resize(size);
    }
};

namespace kernels {

template <class Keys>
void fill_below_all(const Keys& keys, const double* value, std::int64_t n, std::int64_t n_keys,
                    std::vector<double>& below_all) {
    below_all.assign(static_cast<std::size_t>(n_keys) + 1, 0.0);
    for (std::int64_t k = 0; k < n; ++k) below_all[static_cast<std::size_t>(keys.key(k)) + 1] += value[k];
    for (std::size_t k = 1; k < below_all.size(); ++k) below_all[k] += below_all[k - 1];
}

// Sums by a sweep over all positions. Where there are many, they are cut into blocks that each start from
// the sums of what came before; there are few keys then. The bits of a sum depend on the blocks, so their
// number depends on the data only.
template <class Keys>
void sums_over_all(const Crew& crew, const double* s, const Keys& keys, const double* value, std::int64_t n,
                   std::int64_t n_keys, SumScratch& scratch, double* up, double* down) {
    const std::int64_t n_blocks = std::clamp<std::int64_t>(n / 32768, 1, 16);
    const auto width = static_cast<std::size_t>(n_keys);
    // before[b * n_keys + k]: sum over the rows with key k in the blocks before b.
    auto& before = scratch.before;
    before.assign((static_cast<std::size_t>(n_blocks) + 1) * width, 0.0);
    crew.run(n_blocks, [&](std::int64_t b, int) {
        double* sums = before.data() + (static_cast<std::size_t>(b) + 1) * width;
        const std::int64_t end = block_bound(n, n_blocks, b + 1);
        for (std::int64_t k = block_bound(n, n_blocks, b); k < end; ++k) sums[keys.key(k)] += value[k];
    });
    for (std::size_t k = width; k < before.size(); ++k) before[k] += before[k - width];
    const double* total = before.data() + static_cast<std::size_t>(n_blocks) * width;
    std::vector<double> below_all(width + 1, 0.0);
    for (std::size_t k = 0; k < width; ++k) below_all[k + 1] = below_all[k] + total[k];
    crew.run(n_blocks, [&](std::int64_t b, int worker) {
        const double* start = before.data() + static_cast<std::size_t>(b) * width;
        double inserted = 0.0;
        for (std::size_t k = 0; k < width; ++k) inserted += start[k];
        PrefixSums& set = scratch.workers[static_cast<std::size_t>(worker)].set;
        set.reset(n_keys);
        if (b > 0) set.build(start, n_keys);
        sum_block(
            s, keys, value, below_all.data(), n, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
            inserted, set, [&](std::int64_t t, double sum) { up[t] = sum; },
            [&](std::int64_t t, double sum) { down[t] = sum; });
    });
}

// Adds the sums over partners in the same range of keys, each range by itself.
inline void sums_within_ranges(const Crew& crew, const SortedQuery& query, const double* value, std::int64_t n_ranges,
                               int bits, SumScratch& scratch, double* up, double* down) {
    const std::int64_t n = query.n;
    const RangeKeys ranges{query.key.data(), kRangeBits};
    scratch.reserve(n);
    const std::int64_t n_blocks = n < 65536 ? 1 : crew.threads();
    radix_pass(
        crew, n, bits, n_blocks, scratch.histogram,
        [&](std::int64_t k) { return static_cast<std::int64_t>(ranges.key(k)); },
        [&](std::int64_t k, std::int64_t to) {
            const auto from = static_cast<std::size_t>(k), at = static_cast<std::size_t>(to);
            scratch.score[at] = query.score[from];
            scratch.value[at] = value[from];
            scratch.key[at] = query.key[from];
            scratch.position[at] = static_cast<std::int32_t>(k);
        });
    // What the last block leaves behind is where each range ends.
    const std::int64_t* range_end = scratch.histogram.data() + ((n_blocks - 1) << bits);
    crew.run(n_ranges, [&](std::int64_t r, int worker) {
        const std::int64_t first = r == 0 ? 0 : range_end[r - 1];
        const std::int64_t rows = range_end[r] - first;
        if (rows == 0) return;
        // Keys are ranks, so the keys of a range start at the number of rows in the ranges before it.
        const RowKeys keys{scratch.key.data() + first, static_cast<std::int32_t>(first)};
        const double* v = scratch.value.data() + first;
        const std::int32_t* position = scratch.position.data() + first;
        auto& mine = scratch.workers[static_cast<std::size_t>(worker)];
        fill_below_all(keys, v, rows, rows, mine.below_all);
        mine.set.reset(rows);
        sum_block(
            scratch.score.data() + first, keys, v, mine.below_all.data(), rows, 0, rows, 0.0, mine.set,
            [&](std::int64_t t, double sum) { up[position[t]] += sum; },
            [&](std::int64_t t, double sum) { down[position[t]] += sum; });
    });
}

}  // namespace kernels

// The same with the sum of value (in the order of the scores) in place of the count. Where there are
// many keys, partners are summed first over ranges of keys and then within each range, so that no tree
// outgrows the cache and the ranges can be shared out.
inline void pair_sums(const Crew& crew, const SortedQuery& query, const double* value, std::int64_t n_keys,
                      SumScratch& scratch, double* up, double* down) {
    if (static_cast<int>(scratch.workers.size()) < crew.threads())
        scratch.workers.resize(static_cast<std::size_t>(crew.threads()));
    const double* s = query.score.data();
    const LabelKey* key = query.key.data();
    if (n_keys <= (std::int64_t{1} << (kRangeBits + 1))) {
        kernels::sums_over_all(crew, s, kernels::RowKeys{key}, value, query.n, n_keys, scratch, up, down);
        return;
    }
    const std::int64_t n_ranges = ((n_keys - 1) >> kRangeBits) + 1;
    int bits = 1;
    while ((std::int64_t{1} << bits) < n_ranges) ++bits;
    kernels::sums_over_all(crew, s, kernels::RangeKeys{key, kRangeBits}, value, query.n, n_ranges, scratch, up, down);
    kernels::sums_within_ranges(crew, query, value, n_ranges, bits, scratch, up, down);
}

}  // namespace marginrank
