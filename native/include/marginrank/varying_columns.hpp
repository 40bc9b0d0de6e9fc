// Which columns differ between rows that are compared: those of a query.
//
// Whether two numbers differ does not depend on who looks, so the answer is the same for any number of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"

namespace marginrank {

namespace kernels {

// What a worker knows of columns that have not been seen to vary, and their values in the first row of a query.
// Most columns vary within the first rows, so that there soon is little left to look at.
template <class Matrix>
class OpenColumns;

template <class Real>
class OpenColumns<DenseMatrix<Real>> {
public:
    explicit OpenColumns(std::int64_t) {}

    void open(const std::vector<std::atomic<std::uint8_t>>& varies) {
        columns_.clear();
        for (std::size_t j = 0; j < varies.size(); ++j)
            if (varies[j].load(std::memory_order_relaxed) == 0) columns_.push_back(static_cast<std::int64_t>(j));
        first_.resize(columns_.size());
    }
    bool any() const { return !columns_.empty(); }

    void begin(const DenseMatrix<Real>& X, std::int64_t r) {
        const Real* x = X.row(r);
        for (std::size_t k = 0; k < columns_.size(); ++k) first_[k] = x[columns_[k]];
    }

    void compare(const DenseMatrix<Real>& X, std::int64_t r, std::vector<std::atomic<std::uint8_t>>& varies) {
        const Real* x = X.row(r);
        for (std::size_t k = 0; k < columns_.size();) {
            if (x[columns_[k]] == first_[k]) {
                ++k;
                continue;
            }
            varies[static_cast<std::size_t>(columns_[k])].store(1, std::memory_order_relaxed);
            columns_[k] = columns_.back();
            first_[k] = first_.back();
            columns_.pop_back();
            first_.pop_back();
        }
    }

private:
    std::vector<std::int64_t> columns_;
    std::vector<Real> first_;
};

// Entries that are not stored are 0. A column with an entry stored in parts counts as one that varies: parts that
// stand for equal numbers need not look alike.
template <class Real, class Index>
class OpenColumns<CsrMatrix<Real, Index>> {
public:
    explicit OpenColumns(std::int64_t n_cols)
        : is_open_(static_cast<std::size_t>(n_cols)), first_(is_open_.size(), Real{0}), seen_(is_open_.size(), 0) {}

    void open(const std::vector<std::atomic<std::uint8_t>>& varies) {
        n_open_ = 0;
        for (std::size_t j = 0; j < varies.size(); ++j) {
            is_open_[j] = varies[j].load(std::memory_order_relaxed) == 0;
            n_open_ += is_open_[j];
        }
    }
    bool any() const { return n_open_ > 0; }

    void begin(const CsrMatrix<Real, Index>& X, std::int64_t r) {
        for (const std::size_t j : stored_) first_[j] = Real{0};
        stored_.clear();
        parts_.clear();
        ++row_;
        for (std::int64_t s = X.start(r), stop = X.start(r + 1); s < stop; ++s) {
            const auto j = static_cast<std::size_t>(X.indices[s]);
            if (seen_[j] == row_) parts_.push_back(j);
            seen_[j] = row_;
            if (X.data[s] == Real{0}) continue;
            first_[j] = X.data[s];
            stored_.push_back(j);
        }
    }

    void compare(const CsrMatrix<Real, Index>& X, std::int64_t r, std::vector<std::atomic<std::uint8_t>>& varies) {
        const auto close = [&](std::size_t j) {
            n_open_ -= is_open_[j];
            is_open_[j] = 0;
            varies[j].store(1, std::memory_order_relaxed);
        };
        for (const std::size_t j : parts_) close(j);
        ++row_;
        for (std::int64_t s = X.start(r), stop = X.start(r + 1); s < stop; ++s) {
            const auto j = static_cast<std::size_t>(X.indices[s]);
            if (is_open_[j] && (seen_[j] == row_ || X.data[s] != first_[j])) close(j);
            seen_[j] = row_;
        }
        for (const std::size_t j : stored_)
            if (is_open_[j] && seen_[j] != row_) close(j);
    }

private:
    std::vector<std::uint8_t> is_open_;
    std::vector<Real> first_;            // values in the first row of the query
    std::vector<std::size_t> stored_;    // columns of these that are not 0
    std::vector<std::size_t> parts_;     // columns of these that are stored in parts
    std::vector<std::int64_t> seen_;     // the last row that had an entry
    std::int64_t row_ = 0, n_open_ = 0;
};

}  // namespace kernels

// Sets varies[j] where column j differs between two rows of a query, and leaves it as it is elsewhere: columns that are
// set before are not looked at. query_ptr: first row of each query, and the number of rows.
template <class Matrix>
void find_varying_columns(const Crew& crew, const Matrix& X, RowList rows, const std::int64_t* query_ptr,
                          std::int64_t n_queries, std::uint8_t* varies) {
    const std::int64_t n = query_ptr[n_queries];
    const std::int64_t work = X.n_rows > 0 ? X.stored() / X.n_rows * n : 0;
    const std::int64_t n_blocks = std::clamp<std::int64_t>(work / std::max<std::int64_t>(16 * X.n_cols, 65536), 1, 256);
    std::vector<std::atomic<std::uint8_t>> shared(static_cast<std::size_t>(X.n_cols));
    for (std::size_t j = 0; j < shared.size(); ++j) shared[j].store(varies[j], std::memory_order_relaxed);
    std::vector<std::unique_ptr<kernels::OpenColumns<Matrix>>> by_worker(static_cast<std::size_t>(crew.threads()));
    crew.run(n_blocks, [&](std::int64_t b, int worker) {
        auto& own = by_worker[static_cast<std::size_t>(worker)];
        if (!own) own = std::make_unique<kernels::OpenColumns<Matrix>>(X.n_cols);
        auto& columns = *own;
        columns.open(shared);
        const std::int64_t start = block_bound(n, n_blocks, b), end = block_bound(n, n_blocks, b + 1);
        if (start >= end || !columns.any()) return;
        // A query that began before is compared with its last row there.
        const std::int64_t* next = std::upper_bound(query_ptr, query_ptr + n_queries + 1, start);
        const std::int64_t from_row = next[-1] == start ? start : start - 1;
        bool first = true;
        for_each_piece(X, rows, from_row, end,
                       [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
                           for (std::int64_t k = from; k < to && columns.any(); ++k) {
                               if (first || k == *next)
                                   columns.begin(piece, list[k]);
                               else
                                   columns.compare(piece, list[k], shared);
                               first = false;
                               while (*next <= k) ++next;
                           }
                       });
    });
    for (std::size_t j = 0; j < shared.size(); ++j) varies[j] = shared[j].load(std::memory_order_relaxed);
}

}  // namespace marginrank
