// What sums over columns are made of: which rows are summed up, and what is found of each column.
#pragma once

#include <algorithm>
#include <cstdint>

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

}  // namespace kernels

}  // namespace marginrank
