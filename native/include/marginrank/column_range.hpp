// The least and the largest value of each column over rows of a matrix, and the entries of its longest row.
//
// Minima and maxima do not depend on their order, so the bits are the same for any number of threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"

namespace marginrank {

// What is known of the columns after some rows. Every worker has one of its own.
struct ColumnRange {
    std::vector<double> low, high;
    std::vector<std::int64_t> stored;  // rows that have an entry of the column
    std::vector<std::pair<std::int64_t, double>> row;  // scratch: a row whose entries are out of order
    std::int64_t longest = 0;

    explicit ColumnRange(std::int64_t n_cols)
        : low(static_cast<std::size_t>(n_cols), std::numeric_limits<double>::infinity()),
          high(static_cast<std::size_t>(n_cols), -std::numeric_limits<double>::infinity()),
          stored(static_cast<std::size_t>(n_cols), 0) {}

    void take(std::int64_t column, double least, double largest) {
        const auto j = static_cast<std::size_t>(column);
        low[j] = std::min(low[j], least);
        high[j] = std::max(high[j], largest);
    }

    void merge(const ColumnRange& other) {
        for (std::size_t j = 0; j < low.size(); ++j) {
            low[j] = std::min(low[j], other.low[j]);
            high[j] = std::max(high[j], other.high[j]);
            stored[j] += other.stored[j];
        }
        longest = std::max(longest, other.longest);
    }
};

namespace kernels {

template <class Real>
void extend_range(const DenseMatrix<Real>& X, RowList rows, std::int64_t begin, std::int64_t end, ColumnRange& range) {
    double* low = range.low.data();
    double* high = range.high.data();
    for (std::int64_t k = begin; k < end; ++k) {
        const Real* x = X.row(rows[k]);
        for (std::int64_t j = 0; j < X.n_cols; ++j) {
            const double value = static_cast<double>(x[j]);
            low[j] = value < low[j] ? value : low[j];
            high[j] = value > high[j] ? value : high[j];
        }
    }
    for (auto& count : range.stored) count += end - begin;
    range.longest = X.n_cols;
}

// Entries of a row that are stored twice stand for their sum. Products add them one by one, so that what they
// may round is that of the sum of their sizes: both signs of it are taken into the range, and the column does not
// count as stored in this row.
inline void extend_by_unordered_row(ColumnRange& range) {
    auto& row = range.row;
    std::sort(row.begin(), row.end());
    for (std::size_t s = 0, stop; s < row.size(); s = stop) {
        stop = s + 1;
        double size = std::abs(row[s].second);
        while (stop < row.size() && row[stop].first == row[s].first) size += std::abs(row[stop++].second);
        if (stop == s + 1) {
            range.take(row[s].first, row[s].second, row[s].second);
            ++range.stored[static_cast<std::size_t>(row[s].first)];
            continue;
        }
        size *= 1.0 + static_cast<double>(stop - s) * std::numeric_limits<double>::epsilon();
        range.take(row[s].first, -size, size);
    }
}

template <class Real, class Index>
void extend_range(const CsrMatrix<Real, Index>& X, RowList rows, std::int64_t begin, std::int64_t end,
                  ColumnRange& range) {
    for (std::int64_t k = begin; k < end; ++k) {
        const std::int64_t first = X.start(rows[k]), last = X.start(rows[k] + 1);
        range.longest = std::max(range.longest, last - first);
        bool ordered = true;
        for (std::int64_t s = first + 1; s < last; ++s) ordered &= X.indices[s - 1] < X.indices[s];
        if (!ordered) {
            range.row.clear();
            for (std::int64_t s = first; s < last; ++s)
                range.row.emplace_back(static_cast<std::int64_t>(X.indices[s]), static_cast<double>(X.data[s]));
            extend_by_unordered_row(range);
            continue;
        }
        for (std::int64_t s = first; s < last; ++s) {
            const double value = static_cast<double>(X.data[s]);
            range.take(static_cast<std::int64_t>(X.indices[s]), value, value);
            ++range.stored[static_cast<std::size_t>(X.indices[s])];
        }
    }
}

}  // namespace kernels

// Fills in low, high and full (whether each row has one entry of the column) and returns the entries of the longest
// row. What is not stored is 0 and lies within the range; a range over no rows is [0, 0].
template <class Matrix>
std::int64_t column_range(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, double* low, double* high,
                          std::uint8_t* full) {
    const std::int64_t work = X.n_rows > 0 ? X.stored() / X.n_rows * n : 0;
    // Each worker's range has to be filled and merged: few blocks where that costs more than the rows.
    const std::int64_t n_blocks = std::clamp<std::int64_t>(work / std::max<std::int64_t>(16 * X.n_cols, 65536), 1, 256);
    std::vector<std::vector<ColumnRange>> by_worker(static_cast<std::size_t>(crew.threads()));
    crew.run(n_blocks, [&](std::int64_t b, int worker) {
        auto& mine = by_worker[static_cast<std::size_t>(worker)];
        if (mine.empty()) mine.emplace_back(X.n_cols);
        for_each_piece(X, rows, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
                       [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
                           kernels::extend_range(piece, list, from, to, mine.front());
                       });
    });
    ColumnRange all(X.n_cols);
    for (const auto& mine : by_worker)
        for (const auto& range : mine) all.merge(range);
    for (std::int64_t j = 0; j < X.n_cols; ++j) {
        const auto at = static_cast<std::size_t>(j);
        full[j] = n > 0 && all.stored[at] == n;
        low[j] = full[j] ? all.low[at] : std::min(all.low[at], 0.0);
        high[j] = full[j] ? all.high[at] : std::max(all.high[at], 0.0);
    }
    return all.longest;
}

}  // namespace marginrank
