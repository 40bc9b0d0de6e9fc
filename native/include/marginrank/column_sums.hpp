// What the columns of a matrix hold over some rows: range, mean, squares about the mean and about those of queries,
// zeros; all from one read.
//
// Rows come in blocks that the caller chose, whole queries each, and a block is summed up by one worker, row after row.
// So the bits depend neither on the number of threads nor on the pieces in which a file is read. Blocks are merged by
// the caller.
//
// Values are summed about a reference, the first one: a common offset would drown the rest in its rounding, and if the
// reference is far from all others, then so is a value of the column, and squares are lost to rounding by no more than
// the number of rows that share the reference.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {

// The rows of a block's table, one number for each column. Squares are those about the mean of the block; within it,
// about the means of its queries. Nonzero is the weight of the values that are not 0, stored the number of rows with
// one entry, and parts the largest size of an entry that is stored in parts: the sum of their sizes. The mean is the
// difference from the reference: next to a large offset its own digits would be lost.
enum ColumnField { kLow, kHigh, kNonzero, kReference, kMean, kSquares, kWithin, kStored, kParts, kColumnFields };

// Which rows are summed up, by positions in the list of rows. Without queries a block is a single one; a weight counts
// as so many repetitions; columns are multiplied by their units.
struct SummedRows {
    const std::int64_t* block_ptr;
    std::int64_t n_blocks;
    const std::int64_t* query_ptr = nullptr;
    std::int64_t n_queries = 0;
    const double* weight = nullptr;
    const double* unit = nullptr;

    double weight_of(std::int64_t k) const { return weight == nullptr ? 1.0 : weight[k]; }
    // The query of the first row of a block.
    std::int64_t query_at(std::int64_t begin) const {
        return std::upper_bound(query_ptr, query_ptr + n_queries + 1, begin) - query_ptr - 1;
    }
};

namespace kernels {

// Squares about a mean are not negative, whatever rounding makes of them.
inline double about_mean(double sum, double squares, double weight) {
    return std::max(0.0, squares - sum * (sum / weight));
}

template <class Matrix, bool kByQuery>
class ColumnSums;

// Dense rows, tile by tile of columns: sums stay in registers over a segment of rows, which the cache holds.
template <class Real, bool kByQuery>
class ColumnSums<DenseMatrix<Real>, kByQuery> {
public:
    explicit ColumnSums(std::int64_t n_cols)
        : n_cols_(n_cols), scratch_(static_cast<std::size_t>(6 * n_cols), 0.0), longest_(n_cols) {}

    std::int64_t longest() const { return longest_; }

    void begin(const SummedRows& given, std::int64_t begin, std::int64_t end, double* out) {
        out_ = out;
        std::fill(out, out + kColumnFields * n_cols_, 0.0);
        std::fill(out, out + n_cols_, std::numeric_limits<double>::infinity());
        std::fill(out + n_cols_, out + 2 * n_cols_, -std::numeric_limits<double>::infinity());
        block_weight_ = query_weight_ = segment_weight_ = 0.0;
        in_segment_ = 0;
        end_ = end;
        if (kByQuery) query_ = given.query_at(begin);
        query_end_ = kByQuery ? given.query_ptr[query_ + 1] : end;
    }

    void take(const DenseMatrix<Real>& X, RowList rows, const SummedRows& given, std::int64_t from, std::int64_t to) {
        for (std::int64_t k = from, stop; k < to; k = stop) {
            if (in_segment_ == 0) {
                const Real* x = X.row(rows[k]);
                for (std::int64_t j = 0; j < n_cols_; ++j)
                    reference()[j] = static_cast<double>(x[j]) * (given.unit == nullptr ? 1.0 : given.unit[j]);
                if (query_weight_ == 0.0) std::copy(reference(), reference() + n_cols_, query_reference());
                if (query_weight_ + block_weight_ == 0.0) std::copy(reference(), reference() + n_cols_, field(kReference));
            }
            stop = std::min({to, query_end_, k + kSegment - in_segment_});
            std::int64_t j = 0;
            for (; j + 4 <= n_cols_; j += 4) add_tile<Real4>(X, rows, given, k, stop, j);
            for (; j < n_cols_; ++j) add_tile<double>(X, rows, given, k, stop, j);
            for (std::int64_t i = k; i < stop; ++i) segment_weight_ += given.weight_of(i);
            in_segment_ += stop - k;
            if (in_segment_ == kSegment || stop == query_end_) close_segment();
            if (stop == query_end_) close_query(given);
        }
    }

    void end(std::int64_t begin, std::int64_t end) {
        std::fill(out_ + kStored * n_cols_, out_ + (kStored + 1) * n_cols_, static_cast<double>(end - begin));
    }

private:
    static constexpr std::int64_t kSegment = 64;

    double* reference() { return scratch_.data(); }
    double* sum() { return scratch_.data() + n_cols_; }
    double* squares() { return scratch_.data() + 2 * n_cols_; }
    double* query_mean() { return scratch_.data() + 3 * n_cols_; }
    double* query_squares() { return scratch_.data() + 4 * n_cols_; }
    double* query_reference() { return scratch_.data() + 5 * n_cols_; }
    double* field(ColumnField f) { return out_ + f * n_cols_; }

    static double get(const double* from, double) { return *from; }
    static double get(const float* from, double) { return static_cast<double>(*from); }
    template <class Any>
    static Real4 get(const Any* from, Real4) { return load4(from); }
    static void put(double* to, double v) { *to = v; }
    static void put(double* to, Real4 v) { store4(to, v); }

    template <class Lane>
    void add_tile(const DenseMatrix<Real>& X, RowList rows, const SummedRows& given, std::int64_t from, std::int64_t to,
                  std::int64_t j) {
        const Lane zero = {}, one = zero + 1.0;
        const Lane middle = get(reference() + j, zero), unit = given.unit == nullptr ? one : get(given.unit + j, zero);
        Lane low = get(field(kLow) + j, zero), high = get(field(kHigh) + j, zero);
        Lane nonzero = get(field(kNonzero) + j, zero), total = get(sum() + j, zero), square = get(squares() + j, zero);
        for (std::int64_t k = from; k < to; ++k) {
            const Lane x = get(X.row(rows[k]) + j, zero) * unit;
            const Lane weight = zero + given.weight_of(k), step = x - middle, weighed = weight * step;
            low = x < low ? x : low;
            high = x > high ? x : high;
            nonzero += x != zero ? weight : zero;
            total += weighed;
            square += weighed * step;
        }
        put(field(kLow) + j, low);
        put(field(kHigh) + j, high);
        put(field(kNonzero) + j, nonzero);
        put(sum() + j, total);
        put(squares() + j, square);
    }

    // mean and about become those of two groups of rows; the first one weighs so much, and the second has these.
    template <class Second>
    void merge(double* mean, double* about, double& weight, double added, Second&& second) {
        const double all = weight + added, share = added / all, product = weight * share;
        const bool is_first = weight == 0.0;
        for (std::int64_t j = 0; j < n_cols_; ++j) {
            const auto [other, squares] = second(j);
            const double step = is_first ? 0.0 : other - mean[j];
            mean[j] = is_first ? other : mean[j] + step * share;
            about[j] = (is_first ? 0.0 : about[j] + step * step * product) + squares;
        }
        weight = all;
    }

    void close_segment() {
        const double weight = segment_weight_;
        if (weight > 0.0)
            merge(query_mean(), query_squares(), query_weight_, weight, [&](std::int64_t j) {
                return std::pair((reference()[j] - query_reference()[j]) + sum()[j] / weight,
                                 about_mean(sum()[j], squares()[j], weight));
            });
        std::fill(sum(), sum() + 2 * n_cols_, 0.0);
        segment_weight_ = 0.0;
        in_segment_ = 0;
    }

    void close_query(const SummedRows& given) {
        if (query_weight_ > 0.0) {
            for (std::int64_t j = 0; j < n_cols_; ++j) field(kWithin)[j] += query_squares()[j];
            merge(field(kMean), field(kSquares), block_weight_, query_weight_, [&](std::int64_t j) {
                return std::pair((query_reference()[j] - field(kReference)[j]) + query_mean()[j], query_squares()[j]);
            });
        }
        query_weight_ = 0.0;
        while (kByQuery && query_end_ < end_ && given.query_ptr[query_ + 1] <= query_end_) ++query_;
        if (kByQuery) query_end_ = given.query_ptr[query_ + 1];
    }

    std::int64_t n_cols_;
    AlignedVector<double> scratch_;
    double* out_ = nullptr;
    double block_weight_ = 0.0, query_weight_ = 0.0, segment_weight_ = 0.0;
    std::int64_t in_segment_ = 0, query_ = 0, query_end_ = 0, end_ = 0, longest_;
};

// What is known of a column of sparse rows, in one cache line: its stored entries since the reference was taken.
struct alignas(64) StoredColumn {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double reference = 0.0, sum = 0.0, squares = 0.0, weight = 0.0;
    double zeros = 0.0;        // weight of entries that are stored and 0
    std::int64_t stored = 0;   // rows with an entry
};
// The same where there are queries: the sums are those of the last query with an entry.
struct StoredQueryColumn : StoredColumn {
    double base = 0.0;  // the first reference, from which the mean differs
    double mean = 0.0, about = 0.0, total = 0.0;  // of the stored entries of queries before
    double within = 0.0;
    std::int64_t rows = 0, query = -1;
};

// Sparse rows: entries that are not stored are 0, and come in at the end of a query or block, as many as there are.
template <class Real, class Index, bool kByQuery>
class ColumnSums<CsrMatrix<Real, Index>, kByQuery> {
    using Column = std::conditional_t<kByQuery, StoredQueryColumn, StoredColumn>;

public:
    explicit ColumnSums(std::int64_t n_cols) : columns_(static_cast<std::size_t>(n_cols)) {}

    std::int64_t longest() const { return longest_; }

    void begin(const SummedRows& given, std::int64_t begin, std::int64_t end, double* out) {
        out_ = out;
        std::fill(columns_.begin(), columns_.end(), Column{});
        parts_.clear();
        in_parts_.clear();
        block_weight_ = 0.0;
        for (std::int64_t k = begin; k < end; ++k) block_weight_ += given.weight_of(k);
        if constexpr (kByQuery) {
            first_query_ = query_ = given.query_at(begin);
            query_weight_.clear();
            query_rows_.clear();
            for (std::int64_t q = query_; q < given.n_queries && given.query_ptr[q] < end; ++q) {
                double weight = 0.0;
                for (std::int64_t k = given.query_ptr[q]; k < given.query_ptr[q + 1]; ++k) weight += given.weight_of(k);
                query_weight_.push_back(weight);
                query_rows_.push_back(given.query_ptr[q + 1] - given.query_ptr[q]);
            }
        }
    }

    void take(const CsrMatrix<Real, Index>& X, RowList rows, const SummedRows& given, std::int64_t from,
              std::int64_t to) {
        for (std::int64_t k = from; k < to; ++k) {
            if constexpr (kByQuery)
                while (given.query_ptr[query_ + 1] <= k) ++query_;
            const std::int64_t first = X.start(rows[k]), last = X.start(rows[k] + 1);
            longest_ = std::max(longest_, last - first);
            const double weight = given.weight_of(k);
            bool ordered = true;
            for (std::int64_t s = first + 1; s < last; ++s) ordered &= X.indices[s - 1] < X.indices[s];
            if (!ordered) {
                row_.clear();
                for (std::int64_t s = first; s < last; ++s)
                    row_.emplace_back(static_cast<std::int64_t>(X.indices[s]), value(X, given, s));
                take_unordered_row(weight);
                continue;
            }
            for (std::int64_t s = first; s < last; ++s) add(X.indices[s], value(X, given, s), weight);
        }
    }

    void end(std::int64_t begin, std::int64_t end) {
        const auto n_cols = static_cast<std::int64_t>(columns_.size());
        for (std::int64_t j = 0; j < n_cols; ++j) {
            Column& c = columns_[static_cast<std::size_t>(j)];
            const auto put = [&](ColumnField f, double v) { out_[f * n_cols + j] = v; };
            const bool full = c.stored == end - begin && c.stored > 0;
            double reference = c.reference, mean = 0.0, about = 0.0, weight = c.weight;
            if constexpr (kByQuery) {
                close(c);
                reference = c.base, mean = c.mean, about = c.about, weight = c.total;
                put(kWithin, c.within);
            } else {
                if (weight > 0.0) mean = c.sum / weight, about = about_mean(c.sum, c.squares, weight);
                put(kWithin, 0.0);
            }
            const double rest = full ? 0.0 : std::max(0.0, block_weight_ - weight);
            put(kLow, full ? c.low : std::min(c.low, 0.0));
            put(kHigh, full ? c.high : std::max(c.high, 0.0));
            put(kNonzero, weight - c.zeros);
            // With values that are not stored, the range reaches from 0, and the mean needs no reference.
            const double from_zero = reference + mean;
            put(kReference, full ? reference : 0.0);
            put(kMean, full || weight == 0.0 ? mean : from_zero * (weight / block_weight_));
            put(kSquares, rest > 0.0 ? about + from_zero * from_zero * (weight * (rest / block_weight_)) : about);
            put(kStored, static_cast<double>(c.stored - (in_parts_.empty() ? 0 : in_parts_[static_cast<std::size_t>(j)])));
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
            if (c.query != query_) {
                close(c);
                c.query = query_;
                c.reference = v;
                c.sum = c.squares = c.weight = 0.0;
                c.rows = 0;
            }
            ++c.rows;
        } else if (c.stored == 0) {
            c.reference = v;
        }
        ++c.stored;
        c.low = v < c.low ? v : c.low;
        c.high = v > c.high ? v : c.high;
        if (v == 0.0) c.zeros += weight;
        const double step = v - c.reference, weighed = weight * step;
        c.sum += weighed;
        c.squares += weighed * step;
        c.weight += weight;
    }

    // The entries of a column in one query, with those that are not stored, are added to what is known.
    void close(StoredQueryColumn& c) const {
        if (!(c.weight > 0.0)) return;
        const auto q = static_cast<std::size_t>(c.query - first_query_);
        const double shift = c.sum / c.weight, about = about_mean(c.sum, c.squares, c.weight);
        const double rest = c.rows == query_rows_[q] ? 0.0 : std::max(0.0, query_weight_[q] - c.weight);
        const double from_zero = c.reference + shift;
        c.within += rest > 0.0 ? about + from_zero * from_zero * (c.weight * (rest / query_weight_[q])) : about;
        if (c.total == 0.0) {
            c.base = c.reference;
            c.mean = shift;
            c.about = about;
            c.total = c.weight;
        } else {
            const double all = c.total + c.weight, share = c.weight / all, step = ((c.reference - c.base) + shift) - c.mean;
            c.about += about + step * step * (c.total * share);
            c.mean += step * share;
            c.total = all;
        }
        c.weight = 0.0;
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

    std::vector<Column> columns_;
    std::vector<double> parts_;          // empty where no entry is stored in parts
    std::vector<std::int64_t> in_parts_;
    std::vector<std::pair<std::int64_t, double>> row_;  // scratch: a row whose entries are out of order
    std::vector<double> query_weight_;
    std::vector<std::int64_t> query_rows_;
    double* out_ = nullptr;
    double block_weight_ = 0.0;
    std::int64_t query_ = 0, first_query_ = 0, longest_ = 0;
};

template <bool kByQuery, class Matrix>
std::int64_t sum_columns(const Crew& crew, const Matrix& X, RowList rows, const SummedRows& given, double* out) {
    using Sums = ColumnSums<Matrix, kByQuery>;
    std::vector<std::vector<Sums>> by_worker(static_cast<std::size_t>(crew.threads()));
    crew.run(given.n_blocks, [&](std::int64_t b, int worker) {
        auto& own = by_worker[static_cast<std::size_t>(worker)];
        if (own.empty()) own.emplace_back(X.n_cols);
        const std::int64_t begin = given.block_ptr[b], end = given.block_ptr[b + 1];
        own.front().begin(given, begin, end, out + b * kColumnFields * X.n_cols);
        for_each_piece(X, rows, begin, end, [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
            own.front().take(piece, list, given, from, to);
        });
        own.front().end(begin, end);
    });
    std::int64_t longest = 0;
    for (const auto& own : by_worker)
        for (const auto& sums : own) longest = std::max(longest, sums.longest());
    return longest;
}

}  // namespace kernels

// Fills in a table for each block, and returns the entries of the longest row. Blocks are not empty, and where there
// are queries, begin with one.
template <class Matrix>
std::int64_t sum_columns(const Crew& crew, const Matrix& X, RowList rows, const SummedRows& given, double* out) {
    return given.query_ptr == nullptr ? kernels::sum_columns<false>(crew, X, rows, given, out)
                                      : kernels::sum_columns<true>(crew, X, rows, given, out);
}

}  // namespace marginrank
