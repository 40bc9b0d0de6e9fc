// What the pairwise losses know about the labels: the order of each query by label, its levels, and
// how many pairs each query has. Built once; every evaluation only reads it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "marginrank/parallel.hpp"
#include "marginrank/score_sort.hpp"

namespace marginrank {

// Where a row stands among the labels of its query, for counting with a prefix set.
struct LabelKey {
    std::int32_t key;      // its own key
    std::int32_t below;    // keys below this bound belong to lower labels
    std::int32_t upto;     // keys from this bound on belong to higher labels
    std::int32_t n_below;  // number of rows with a lower label
};

// Up to this many rows, looking at every pair in cache beats sorting.
constexpr std::int64_t kBruteRows = 320;
// Up to this many levels, keys are levels and one node of counters holds them all.
constexpr std::int32_t kFewLevels = 15;

class PairLabels {
public:
    // y and weight (null: all one) are in the order of the queries; both are read here only, except
    // that weight must outlive this object.
    PairLabels(const Crew& crew, const double* y, const double* weight, const std::int64_t* query_ptr,
               std::int64_t n_queries)
        : query_ptr_(query_ptr), n_queries_(n_queries), weight_(weight) {
        const auto queries = static_cast<std::size_t>(n_queries);
        const auto rows = static_cast<std::size_t>(query_ptr[n_queries]);
        order_.resize(rows);
        n_pairs_.assign(queries, 0);
        pair_weight_.assign(queries, 0.0);
        level_ptr_.assign(queries + 1, 0);
        std::vector<std::vector<std::int32_t>> starts(queries == 0 ? 0 : block_count());
        sort_labels(crew, y, starts);
        gather_levels(starts);
        bool any_large = false;
        for (std::int64_t q = 0; q < n_queries; ++q) any_large = any_large || !brute(q);
        if (any_large) {
            keys_.resize(rows);
            for (std::int64_t q = 0; q < n_queries; ++q)
                if (!brute(q)) make_keys(q);
        }
    }

    std::int64_t n_queries() const { return n_queries_; }
    const std::int64_t* query_ptr() const { return query_ptr_; }
    std::int64_t rows(std::int64_t q) const { return query_ptr_[q + 1] - query_ptr_[q]; }
    bool brute(std::int64_t q) const { return rows(q) <= kBruteRows; }
    const double* weight() const { return weight_; }
    // Null without weights.
    const double* weights_of(std::int64_t q) const { return weight_ == nullptr ? nullptr : weight_ + query_ptr_[q]; }

    // Rows of query q (counted from its first) in the order of their labels.
    const std::int32_t* order(std::int64_t q) const { return order_.data() + query_ptr_[q]; }
    std::int32_t n_levels(std::int64_t q) const {
        return static_cast<std::int32_t>(level_ptr_[static_cast<std::size_t>(q) + 1] -
                                         level_ptr_[static_cast<std::size_t>(q)]) - 1;
    }
    // Starts of the levels in that order; n_levels + 1 of them.
    const std::int32_t* levels(std::int64_t q) const {
        return levels_.data() + level_ptr_[static_cast<std::size_t>(q)];
    }
    bool few_levels(std::int64_t q) const { return n_levels(q) <= kFewLevels; }
    const LabelKey* keys(std::int64_t q) const { return keys_.data() + query_ptr_[q]; }
    std::int64_t n_keys(std::int64_t q) const { return few_levels(q) ? n_levels(q) : rows(q); }

    const std::vector<std::int64_t>& n_pairs() const { return n_pairs_; }
    const std::vector<double>& pair_weight() const { return pair_weight_; }

    // Sum of the weights of the partners of each row: twice the Hessian's diagonal at equal scores.
    void partner_weight(double* out) const {
        for (std::int64_t q = 0; q < n_queries_; ++q) {
            const std::int32_t* start = levels(q);
            const std::int32_t* at = order(q);
            if (weight_ == nullptr) {
                for (std::int32_t l = 0; l < n_levels(q); ++l)
                    for (std::int32_t k = start[l]; k < start[l + 1]; ++k)
                        out[query_ptr_[q] + at[k]] = static_cast<double>(rows(q) - (start[l + 1] - start[l]));
                continue;
            }
            double total = 0.0;
            for (std::int64_t k = 0; k < rows(q); ++k) total += weight_of(q, at[k]);
            for (std::int32_t l = 0; l < n_levels(q); ++l) {
                double own = 0.0;
                for (std::int32_t k = start[l]; k < start[l + 1]; ++k) own += weight_of(q, at[k]);
                for (std::int32_t k = start[l]; k < start[l + 1]; ++k)
                    out[query_ptr_[q] + at[k]] = (total - own) * weight_of(q, at[k]);
            }
        }
    }

private:
    double weight_of(std::int64_t q, std::int32_t local) const {
        return weight_ == nullptr ? 1.0 : weight_[query_ptr_[q] + local];
    }

    std::size_t block_count() const {
        return static_cast<std::size_t>(std::clamp<std::int64_t>(n_queries_ / 16, 1, 256));
    }

    void sort_labels(const Crew& crew, const double* y, std::vector<std::vector<std::int32_t>>& starts) {
        const auto n_blocks = static_cast<std::int64_t>(starts.size());
        crew.run(n_blocks, [&](std::int64_t b, int) {
            SortScratch scratch;
            std::vector<double> sorted;
            // One big query may use all threads; many small ones run side by side.
            const Crew inner(n_blocks == 1 ? crew.threads() : 1);
            const std::int64_t last = block_bound(n_queries_, n_blocks, b + 1);
            for (std::int64_t q = block_bound(n_queries_, n_blocks, b); q < last; ++q) {
                const std::int64_t n = rows(q);
                sorted.resize(static_cast<std::size_t>(n));
                sort_scores(inner, y + query_ptr_[q], n, sorted.data(), order_.data() + query_ptr_[q], scratch);
                add_levels(q, sorted, starts[static_cast<std::size_t>(b)]);
            }
        });
    }

    void add_levels(std::int64_t q, const std::vector<double>& sorted, std::vector<std::int32_t>& starts) {
        const std::int64_t n = rows(q);
        const std::size_t first = starts.size();
        for (std::int64_t k = 0; k < n; ++k)
            if (k == 0 || sorted[static_cast<std::size_t>(k)] != sorted[static_cast<std::size_t>(k) - 1])
                starts.push_back(static_cast<std::int32_t>(k));
        starts.push_back(static_cast<std::int32_t>(n));
        level_ptr_[static_cast<std::size_t>(q) + 1] = static_cast<std::int64_t>(starts.size() - first);
        std::int64_t pairs = 0;
        double weighted = 0.0, lower = 0.0;
        const std::int32_t* at = order(q);
        for (std::size_t l = first; l + 1 < starts.size(); ++l) {
            pairs += static_cast<std::int64_t>(starts[l]) * (starts[l + 1] - starts[l]);
            if (weight_ == nullptr) continue;
            double own = 0.0;
            for (std::int32_t k = starts[l]; k < starts[l + 1]; ++k) own += weight_of(q, at[k]);
            weighted += lower * own;
            lower += own;
        }
        n_pairs_[static_cast<std::size_t>(q)] = pairs;
        pair_weight_[static_cast<std::size_t>(q)] = weight_ == nullptr ? static_cast<double>(pairs) : weighted;
    }

    void gather_levels(const std::vector<std::vector<std::int32_t>>& starts) {
        for (std::size_t q = 0; q + 1 < level_ptr_.size(); ++q) level_ptr_[q + 1] += level_ptr_[q];
        levels_.reserve(static_cast<std::size_t>(level_ptr_.back()));
        for (const auto& part : starts) levels_.insert(levels_.end(), part.begin(), part.end());
    }

    void make_keys(std::int64_t q) {
        LabelKey* key = keys_.data() + query_ptr_[q];
        const std::int32_t* at = order(q);
        const std::int32_t* start = levels(q);
        const bool few = few_levels(q);
        for (std::int32_t l = 0; l < n_levels(q); ++l)
            for (std::int32_t k = start[l]; k < start[l + 1]; ++k)
                key[at[k]] = few ? LabelKey{l, l, l + 1, start[l]} : LabelKey{k, start[l], start[l + 1], start[l]};
    }

    const std::int64_t* query_ptr_;
    std::int64_t n_queries_;
    const double* weight_;
    std::vector<std::int32_t> order_, levels_;
    std::vector<std::int64_t> level_ptr_, n_pairs_;
    std::vector<double> pair_weight_;
    std::vector<LabelKey> keys_;
};

// The factors of the queries, and 0 for those without a pair.
inline std::vector<double> scale_of_pairs(const PairLabels& labels, const double* scale) {
    std::vector<double> out(scale, scale + labels.n_queries());
    for (std::int64_t q = 0; q < labels.n_queries(); ++q)
        if (labels.n_levels(q) < 2) out[static_cast<std::size_t>(q)] = 0.0;
    return out;
}

}  // namespace marginrank
