// Sums over the columns of sparse rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "marginrank/column_fields.hpp"
#include "marginrank/matrix.hpp"

namespace marginrank {
namespace kernels {

// What is known of a column of sparse rows, in one cache line: the sums of its stored entries about the first of them.
struct alignas(64) StoredColumn {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double reference = 0.0, sum = 0.0, squares = 0.0, weight = 0.0;
    std::int64_t rows = 0;  // with an entry
    double zeros = 0.0;     // weight of entries that are stored and 0
};
// The same where there are queries. The first cache line has the sums of the last query with an entry, and all that
// most entries change; the second one those of the queries before, about the first reference.
struct alignas(64) StoredQueryColumn {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double reference = 0.0, sum = 0.0, squares = 0.0, weight = 0.0;
    std::int64_t rows = 0, query = -1;
    double zeros = 0.0, base = 0.0, all_sum = 0.0, all_squares = 0.0, all_weight = 0.0, within = 0.0;
    std::int64_t all_rows = 0;
};

// Sparse rows: entries that are not stored are 0, and come in at the end of a query or block, as many as there are.
template <class Real, class Index, bool kByQuery>
class ColumnSums<CsrMatrix<Real, Index>, kByQuery> {
    using Column = std::conditional_t<kByQuery, StoredQueryColumn, StoredColumn>;

public:
    explicit ColumnSums(std::int64_t n_cols) : n_cols_(static_cast<std::size_t>(n_cols)) {}

    std::int64_t longest() const { return longest_; }

    void begin(const SummedRows& given, std::int64_t begin, std::int64_t, double* out) {
        out_ = out;
        columns_.assign(n_cols_, Column{});
        parts_.clear();
        in_parts_.clear();
        block_weight_ = query_weight_ = 0.0;
        n_touched_ = 0;
        if (kByQuery) query_ = given.query_at(begin);
        if (kByQuery) touched_.resize(columns_.size() + 1);  // one more: the place after the last is written, too
    }

    void take(const CsrMatrix<Real, Index>& X, RowList rows, const SummedRows& given, std::int64_t from,
              std::int64_t to) {
        for (std::int64_t k = from; k < to; ++k) {
            const std::int64_t first = X.start(rows[k]), last = X.start(rows[k] + 1);
            longest_ = std::max(longest_, last - first);
            const double weight = given.weight_of(k);
            block_weight_ += weight;
            bool ordered = true;
            for (std::int64_t s = first + 1; s < last; ++s) ordered &= X.indices[s - 1] < X.indices[s];
            if (ordered) {
                for (std::int64_t s = first; s < last; ++s) {
                    __builtin_prefetch(&columns_[static_cast<std::size_t>(X.indices[std::min(s + 16, last - 1)])], 1);
                    add(X.indices[s], value(X, given, s), weight);
                }
            } else {
                row_.clear();
                for (std::int64_t s = first; s < last; ++s)
                    row_.emplace_back(static_cast<std::int64_t>(X.indices[s]), value(X, given, s));
                take_unordered_row(weight);
            }
            if constexpr (kByQuery) {
                query_weight_ += weight;
                if (k + 1 < given.query_ptr[query_ + 1]) continue;
                close_query(query_weight_, k + 1 - given.query_ptr[query_]);
                while (query_ < given.n_queries && given.query_ptr[query_ + 1] <= k + 1) ++query_;
            }
        }
    }

    void end(std::int64_t begin, std::int64_t end) {
        const auto n_cols = static_cast<std::int64_t>(columns_.size());
        for (std::int64_t j = 0; j < n_cols; ++j) {
            Column& c = columns_[static_cast<std::size_t>(j)];
            const auto put = [&](ColumnField f, double v) { out_[f * n_cols + j] = v; };
            double reference = c.reference, sum = c.sum, squares = c.squares, weight = c.weight, within = 0.0;
            std::int64_t stored = c.rows;
            if constexpr (kByQuery) {
                reference = c.base, sum = c.all_sum, squares = c.all_squares, weight = c.all_weight;
                within = c.within;
                stored = c.all_rows;
            }
            const bool full = stored == end - begin && stored > 0;
            const double mean = weight > 0.0 ? sum / weight : 0.0;
            const double about = weight > 0.0 ? about_mean(sum, squares, weight) : 0.0;
            put(kWithin, within);
            const double rest = full ? 0.0 : std::max(0.0, block_weight_ - weight);
            put(kLow, full ? c.low : std::min(c.low, 0.0));
            put(kHigh, full ? c.high : std::max(c.high, 0.0));
            put(kNonzero, weight - c.zeros);
            // With values that are not stored, the range reaches from 0, and the mean needs no reference.
            const double from_zero = reference + mean;
            put(kReference, full ? reference : 0.0);
            put(kMean, full || weight == 0.0 ? mean : from_zero * (weight / block_weight_));
            put(kSquares, rest > 0.0 ? about + from_zero * from_zero * (weight * (rest / block_weight_)) : about);
            put(kStored, static_cast<double>(stored - (in_parts_.empty() ? 0 : in_parts_[static_cast<std::size_t>(j)])));
            put(kParts, parts_.empty() ? 0.0 : parts_[static_cast<std::size_t>(j)]);
        }
    }

private:
    static double value(const CsrMatrix<Real, Index>& X, const SummedRows& given, std::int64_t s) {
        const double v = static_cast<double>(X.data[s]);
        return given.unit == nullptr ? v : v * given.unit[X.indices[s]];
    }

    void add(std::int64_t column, double v, double weight) {
        Column& c = columns_[static_cast<std::size_t>(column)];
        if constexpr (kByQuery) {
            // Whether a query has had the column cannot be foreseen, so there is no branch.
            const std::int64_t fresh = -static_cast<std::int64_t>(c.query != query_);
            touched_[n_touched_] = static_cast<std::size_t>(column);
            n_touched_ -= fresh;
            c.query = query_;
            c.reference = either(fresh, v, c.reference);
            c.sum = either(fresh, 0.0, c.sum);
            c.squares = either(fresh, 0.0, c.squares);
            c.weight = either(fresh, 0.0, c.weight);
            c.rows &= ~fresh;
        } else if (c.rows == 0) {
            c.reference = v;
        }
        ++c.rows;
        c.low = v < c.low ? v : c.low;
        c.high = v > c.high ? v : c.high;
        if (v == 0.0) c.zeros += weight;
        const double step = v - c.reference, weighed = weight * step;
        c.sum += weighed;
        c.squares += weighed * step;
        c.weight += weight;
    }

    // One of two numbers, by a mask of all bits or none.
    static double either(std::int64_t mask, double first, double second) {
        std::int64_t a, b;
        std::memcpy(&a, &first, sizeof a);
        std::memcpy(&b, &second, sizeof b);
        b = (a & mask) | (b & ~mask);
        std::memcpy(&second, &b, sizeof b);
        return second;
    }

    // The entries of the columns in a query that ends, with those that are not stored, are added to what is known.
    void close_query(double weight, std::int64_t rows) {
        const double inverse = weight > 0.0 ? 1.0 / weight : 0.0;
        for (std::size_t k = 0; k < n_touched_; ++k) {
            Column& c = columns_[touched_[k]];
            const Column* ahead = &columns_[touched_[std::min(k + 8, n_touched_)]];
            __builtin_prefetch(ahead, 1);
            __builtin_prefetch(&ahead->zeros, 1);  // its second cache line
            const double shift = c.weight > 0.0 ? c.sum / c.weight : 0.0;
            const double about = std::max(0.0, c.squares - c.sum * shift);
            const double rest = c.rows == rows ? 0.0 : std::max(0.0, weight - c.weight) * inverse;
            const double mean = rest > 0.0 ? c.reference + shift : 0.0;
            c.within += about + mean * mean * (c.weight * rest);
            c.base = c.all_rows == 0 ? c.reference : c.base;
            const double step = (c.reference - c.base) + shift, weighed = c.weight * step;
            c.all_sum += weighed;
            c.all_squares += about + weighed * step;
            c.all_weight += c.weight;
            c.all_rows += c.rows;
        }
        n_touched_ = 0;
        query_weight_ = 0.0;
    }

    // Entries of a row that are stored twice stand for their sum. Products add them one by one, so that what they may
    // round is that of the sum of their sizes.
    void take_unordered_row(double weight) {
        std::sort(row_.begin(), row_.end());
        for (std::size_t s = 0, stop; s < row_.size(); s = stop) {
            stop = s + 1;
            double size = std::abs(row_[s].second), sum = row_[s].second;
            for (; stop < row_.size() && row_[stop].first == row_[s].first; ++stop) {
                size += std::abs(row_[stop].second);
                sum += row_[stop].second;
            }
            add(row_[s].first, sum, weight);
            if (stop == s + 1) continue;
            parts_.resize(columns_.size(), 0.0);
            in_parts_.resize(columns_.size(), 0);
            const auto j = static_cast<std::size_t>(row_[s].first);
            size *= 1.0 + static_cast<double>(stop - s) * std::numeric_limits<double>::epsilon();
            parts_[j] = std::max(parts_[j], size);
            ++in_parts_[j];
        }
    }

    std::size_t n_cols_;
    std::vector<Column> columns_;
    std::vector<double> parts_;          // empty where no entry is stored in parts
    std::vector<std::int64_t> in_parts_;
    std::vector<std::pair<std::int64_t, double>> row_;  // scratch: a row whose entries are out of order
    std::vector<std::size_t> touched_;  // columns that the query has had
    std::size_t n_touched_ = 0;
    double* out_ = nullptr;
    double block_weight_ = 0.0, query_weight_ = 0.0;
    std::int64_t query_ = 0, longest_ = 0;
};

}  // namespace kernels
}  // namespace marginrank
