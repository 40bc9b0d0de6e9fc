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

#include "marginrank/fixed_numbers.hpp"
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

// What some members of a batch add up to.
struct Found {
    std::int64_t count, sum;
};

// Sixteen consecutive positions, which are inserted together. Rows that ask while they go in look at
// them one by one; a loop that alternates single insertions and queries spends most of its time in
// mispredicted branches (measured: 20 of 37 ns an element). Valued: with a number each; else they are counted only.
template <bool Valued>
struct Batch {
    // Written four at a time: a wide load from four narrow stores would wait for all of them.
    Real4 score[kBatch / 4], key[kBatch / 4];
    Mask4 value[kBatch / 4];

    void load(const double* s, const LabelKey* keys, const std::int64_t* values, std::int64_t begin,
              std::int64_t end) {
        // Padding stands above every score: never active for a lower row, never below a higher one.
        constexpr double kNever = std::numeric_limits<double>::max();
        for (int g = 0; g < kBatch / 4; ++g) {
            const std::int64_t k = begin + 4 * g;
            if (k + 4 <= end) {
                score[g] = load4(s + k);
                key[g] = Real4{real(keys[k].key), real(keys[k + 1].key), real(keys[k + 2].key), real(keys[k + 3].key)};
                if constexpr (Valued) value[g] = load4(values + k);
                continue;
            }
            score[g] = all4(kNever);
            key[g] = all4(0.0);
            value[g] = Mask4{0, 0, 0, 0};
            for (int l = 0; k + l < end; ++l) {
                score[g][l] = s[k + l];
                key[g][l] = real(keys[k + l].key);
                if constexpr (Valued) value[g][l] = values[k + l];
            }
        }
    }

    // The members within the margin of a lower row at score s whose key is at least bound.
    Found active_from(double s, std::int32_t bound) const {
        return over([&](int g) -> Mask4 { return (score[g] - s < 1.0) & (key[g] >= real(bound)); });
    }

    // The members that are not within the margin of a higher row at s whose key is below bound.
    Found idle_below(double s, std::int32_t bound) const {
        return over([&](int g) -> Mask4 { return (s - score[g] >= 1.0) & (key[g] < real(bound)); });
    }

private:
    static double real(std::int32_t x) { return static_cast<double>(x); }

    template <class Chosen>
    Found over(Chosen&& chosen) const {
        Mask4 count{0, 0, 0, 0}, sum{0, 0, 0, 0};
        for (int g = 0; g < kBatch / 4; ++g) {
            const Mask4 mask = chosen(g);
            count -= mask;
            if constexpr (Valued) sum += mask & value[g];
        }
        return {sum4(count), sum4(sum)};
    }
};

// A tally inserts positions into a set, and writes down what the set and the batch say of a row: as_lower when of the
// rows within the margin above it all but some of the batch are in, as_higher likewise for those that are not within
// the margin below it.
template <class Set>
struct CountTally {
    Set& set;
    const LabelKey* key;
    std::int32_t inserted;
    std::int32_t *up, *down;

    void insert(std::int64_t k) {
        set.insert(key[k].key);
        ++inserted;
    }
    void as_lower(std::int64_t t, const Found& more) {
        up[t] = inserted - set.count_below(key[t].upto) + static_cast<std::int32_t>(more.count);
    }
    void as_higher(std::int64_t t, const Found& idle) {
        down[t] = key[t].n_below - set.count_below(key[t].below) - static_cast<std::int32_t>(idle.count);
    }
};

// idle: the sum over the rows below that are not within the margin; what is left of all of them is known at the end.
struct SumTally {
    IntegerSums& set;
    const LabelKey* key;
    const std::int64_t* value;
    std::int64_t n, inserted;
    std::int64_t *up, *idle;

    void insert(std::int64_t k) {
        set.expect(key[ahead(k)].key);
        set.insert(key[k].key, value[k]);
        inserted += value[k];
    }
    void as_lower(std::int64_t t, const Found& more) {
        set.expect(key[ahead(t)].upto);
        up[t] = inserted - set.sum_below(key[t].upto) + more.sum;
    }
    void as_higher(std::int64_t t, const Found& not_in) {
        set.expect(key[ahead(t)].below);
        idle[t] = set.sum_below(key[t].below) + not_in.sum;
    }

private:
    std::int64_t ahead(std::int64_t k) const { return k + kBatch < n ? k + kBatch : k; }
};

// Inserts positions [begin, end) batch by batch into all tallies.
template <bool Valued, class... Tally>
inline void sweep(const double* s, const LabelKey* key, const std::int64_t* value, std::int64_t n,
                  std::int64_t begin, std::int64_t end, Tally... tally) {
    std::int64_t lower = 0, higher = 0;
    if (begin > 0) {
        const double edge = s[begin - 1];
        lower = std::partition_point(s, s + n, [&](double x) { return !(edge - x < 1.0); }) - s;
        higher = std::partition_point(s, s + n, [&](double x) { return x - edge < 1.0; }) - s;
    }
    Batch<Valued> batch;
    for (std::int64_t k = begin; k < end; k += kBatch) {
        const std::int64_t stop = std::min(k + kBatch, end);
        const double edge = s[stop - 1];
        batch.load(s, key, value, k, stop);
        for (; lower < n && (stop == n || !(edge - s[lower] < 1.0)); ++lower) {
            const Found more = batch.active_from(s[lower], key[lower].upto);
            (tally.as_lower(lower, more), ...);
        }
        for (; higher < n && s[higher] - edge < 1.0; ++higher) {
            const Found idle = batch.idle_below(s[higher], key[higher].below);
            (tally.as_higher(higher, idle), ...);
        }
        for (std::int64_t at = k; at < stop; ++at) (tally.insert(at), ...);
    }
}

// Tallies are integers, so the number of blocks may follow the number of threads. Each block has sets of its own, of
// eight bytes a row where it sums: beyond eight of them, more would cost more to fill than they save.
inline std::int64_t block_count(const Crew& crew, std::int64_t n) {
    return n < 65536 ? 1 : std::min(crew.threads(), 8);
}

// make(b, begin): the tally of block b, with all positions before begin in it.
template <bool Valued, class... Make>
inline void sweep_blocks(const Crew& crew, const SortedQuery& query, const std::int64_t* value,
                         std::int64_t n_blocks, Make... make) {
    crew.run(n_blocks, [&](std::int64_t b, int) {
        const std::int64_t begin = block_bound(query.n, n_blocks, b), end = block_bound(query.n, n_blocks, b + 1);
        sweep<Valued>(query.score.data(), query.key.data(), value, query.n, begin, end, make(b, begin)...);
    });
}

template <class T>
void grow(std::vector<T>& v, std::int64_t n) {
    if (static_cast<std::int64_t>(v.size()) < n) v.resize(static_cast<std::size_t>(n));
}

}  // namespace kernels

// How many active partners each position has: up with a higher label, down with a lower one.
class PartnerCounts {
    // Makes the tally of a block from what comes before it.
    template <class Set>
    auto tallies(std::vector<Set>& sets, const SortedQuery& query, std::int64_t n_keys) {
        return [this, &sets, key = query.key.data(), n_keys](std::int64_t b, std::int64_t begin) {
            Set& set = sets[static_cast<std::size_t>(b)];
            set.reset(n_keys);
            if (begin > 0) set.build(begin, [&](std::int64_t k) { return key[k].key; });
            return kernels::CountTally<Set>{set, key, static_cast<std::int32_t>(begin), up_.data(), down_.data()};
        };
    }

public:
    void assign(const Crew& crew, const SortedQuery& query, std::int64_t n_keys, bool few_levels) {
        const std::int64_t n_blocks = reserve(crew, query.n);
        if (few_levels)
            kernels::sweep_blocks<false>(crew, query, nullptr, n_blocks, tallies(few_, query, n_keys));
        else
            kernels::sweep_blocks<false>(crew, query, nullptr, n_blocks, tallies(unique_, query, n_keys));
    }

    double up(std::size_t t) const { return up_[t]; }
    double down(std::size_t t) const { return down_[t]; }

private:
    friend class PartnerSums;

    std::int64_t reserve(const Crew& crew, std::int64_t n) {
        const std::int64_t n_blocks = kernels::block_count(crew, n);
        kernels::grow(up_, n);
        kernels::grow(down_, n);
        kernels::grow(unique_, n_blocks);
        kernels::grow(few_, n_blocks);
        return n_blocks;
    }

    std::vector<std::int32_t> up_, down_;
    std::vector<UniqueKeySet> unique_;
    std::vector<FewKeysSet> few_;
};

// The same with the sum of a number of each position in place of the count. They have to be read before the query is
// sorted again.
class PartnerSums {
    auto tallies(const SortedQuery& query, std::int64_t n_keys) {
        return [this, n = query.n, n_keys](std::int64_t b, std::int64_t begin) {
            IntegerSums& set = sets_[static_cast<std::size_t>(b)];
            set.reset(n_keys);
            const std::int64_t inserted =
                begin == 0 ? 0 : set.build(begin, [&](std::int64_t k) { return key_[k].key; }, numbers_.data());
            return kernels::SumTally{set, key_, numbers_.data(), n, inserted, up_.data(), idle_.data()};
        };
    }

public:
    // value(k): the number of position k.
    template <class Value>
    void assign(const Crew& crew, const SortedQuery& query, std::int64_t n_keys, Value&& value) {
        const std::int64_t n_blocks = reserve(crew, query, value);
        kernels::sweep_blocks<true>(crew, query, numbers_.data(), n_blocks, tallies(query, n_keys));
    }

    // Counts in the same sweep: that costs less than half of two.
    template <class Value>
    void assign(const Crew& crew, const SortedQuery& query, std::int64_t n_keys, bool few_levels, Value&& value,
                PartnerCounts& counts) {
        const std::int64_t n_blocks = reserve(crew, query, value);
        counts.reserve(crew, query.n);
        if (few_levels)
            kernels::sweep_blocks<true>(crew, query, numbers_.data(), n_blocks, tallies(query, n_keys),
                                        counts.tallies(counts.few_, query, n_keys));
        else
            kernels::sweep_blocks<true>(crew, query, numbers_.data(), n_blocks, tallies(query, n_keys),
                                        counts.tallies(counts.unique_, query, n_keys));
    }

    double up(std::size_t t) const { return numbers_.real(up_[t]); }
    // The set of the last block holds all rows at the end.
    double down(std::size_t t) const { return numbers_.real(sets_[last_].sum_below(key_[t].below) - idle_[t]); }

private:
    template <class Value>
    std::int64_t reserve(const Crew& crew, const SortedQuery& query, Value&& value) {
        const std::int64_t n_blocks = kernels::block_count(crew, query.n);
        numbers_.assign(crew, query.n, value);
        kernels::grow(up_, query.n);
        kernels::grow(idle_, query.n);
        kernels::grow(sets_, n_blocks);
        key_ = query.key.data();
        last_ = static_cast<std::size_t>(n_blocks) - 1;
        return n_blocks;
    }

    FixedNumbers numbers_;
    std::vector<IntegerSums> sets_;
    std::vector<std::int64_t> up_, idle_;
    const LabelKey* key_ = nullptr;
    std::size_t last_ = 0;
};

}  // namespace marginrank
