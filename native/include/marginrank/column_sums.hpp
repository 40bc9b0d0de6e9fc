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
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/column_fields.hpp"
#include "marginrank/dense_column_sums.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/sparse_column_sums.hpp"

namespace marginrank {
namespace kernels {

template <bool kByQuery, class Matrix>
std::int64_t sum_columns(const Crew& crew, const Matrix& X, RowList rows, const SummedRows& given, double* out) {
    using Sums = ColumnSums<Matrix, kByQuery>;
    std::vector<std::unique_ptr<Sums>> by_worker(static_cast<std::size_t>(crew.threads()));
    crew.run(given.n_blocks, [&](std::int64_t b, int worker) {
        auto& own = by_worker[static_cast<std::size_t>(worker)];
        if (!own) own = std::make_unique<Sums>(X.n_cols);
        const std::int64_t begin = given.block_ptr[b], end = given.block_ptr[b + 1];
        own->begin(given, begin, end, out + b * kColumnFields * X.n_cols);
        for_each_piece(X, rows, begin, end, [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
            own->take(piece, list, given, from, to);
        });
        own->end(begin, end);
    });
    std::int64_t longest = 0;
    for (const auto& own : by_worker)
        if (own) longest = std::max(longest, own->longest());
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
