// Sums over the columns of dense rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "marginrank/column_fields.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// Dense rows, tile by tile of columns: sums stay in registers over a strip of rows, which the cache holds. Whether there
// are queries is asked at the end of a strip only.
template <class Real>
class DenseColumnSums {
public:
    DenseColumnSums(std::int64_t n_cols, bool by_query)
        : by_query_(by_query), n_cols_(n_cols), scratch_(static_cast<std::size_t>(6 * n_cols), 0.0), longest_(n_cols) {}

    std::int64_t longest() const { return longest_; }

    void begin(const SummedRows& given, std::int64_t begin, std::int64_t end, double* out) {
        out_ = out;
        std::fill(out, out + kColumnFields * n_cols_, 0.0);
        std::fill(out, out + n_cols_, std::numeric_limits<double>::infinity());
        std::fill(out + n_cols_, out + 2 * n_cols_, -std::numeric_limits<double>::infinity());
        block_weight_ = query_weight_ = segment_weight_ = 0.0;
        in_segment_ = 0;
        end_ = end;
        if (by_query_) query_ = given.query_at(begin);
        query_end_ = by_query_ ? given.query_ptr[query_ + 1] : end;
    }

    void take(const DenseMatrix<Real>& X, RowList rows, const SummedRows& given, std::int64_t from, std::int64_t to) {
        const std::int64_t strip = std::clamp<std::int64_t>(kStripBytes / (X.row_bytes() + 1), 4, 32);
        for (std::int64_t k = from, stop; k < to; k = stop) {
            if (in_segment_ == 0) {
                const Real* x = X.row(rows[k]);
                for (std::int64_t j = 0; j < n_cols_; ++j)
                    reference()[j] = static_cast<double>(x[j]) * (given.unit == nullptr ? 1.0 : given.unit[j]);
                if (query_weight_ == 0.0) std::copy(reference(), reference() + n_cols_, query_reference());
                if (query_weight_ + block_weight_ == 0.0) std::copy(reference(), reference() + n_cols_, field(kReference));
            }
            stop = std::min({to, query_end_, k + kSegment - in_segment_, k + strip});
            std::int64_t j = 0;
            for (; j + 4 <= n_cols_; j += 4) {
                if (!X.in_cache && j % kLine == 0)
                    for (std::int64_t i = stop; i < std::min(stop + strip, to); ++i)
                        __builtin_prefetch(X.row(rows[i]) + j);
                add_tile<Real4>(X, rows, given, k, stop, j);
            }
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
    // Tiles go down the rows, which the processor does not foresee: without being asked for while the strip before is
    // summed up, rows in memory take three times as long.
    static constexpr std::int64_t kStripBytes = 1 << 14;
    static constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Real));  // values of a cache line

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
        while (by_query_ && query_end_ < end_ && given.query_ptr[query_ + 1] <= query_end_) ++query_;
        if (by_query_) query_end_ = given.query_ptr[query_ + 1];
    }

    bool by_query_;
    std::int64_t n_cols_;
    AlignedVector<double> scratch_;
    double* out_ = nullptr;
    double block_weight_ = 0.0, query_weight_ = 0.0, segment_weight_ = 0.0;
    std::int64_t in_segment_ = 0, query_ = 0, query_end_ = 0, end_ = 0, longest_;
};

template <class Real, bool kByQuery>
class ColumnSums<DenseMatrix<Real>, kByQuery> : public DenseColumnSums<Real> {
public:
    explicit ColumnSums(std::int64_t n_cols) : DenseColumnSums<Real>(n_cols, kByQuery) {}
};

}  // namespace kernels
}  // namespace marginrank
