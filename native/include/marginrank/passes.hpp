// Passes over the matrix: scores, adjoint, and both fused with a loss that is a sum over queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/function_ref.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"

namespace marginrank {

// Number of partial sums of the adjoint: enough to share the work, few enough that clearing and
// adding them up costs little beside the products and that they stay in cache.
inline std::int64_t adjoint_blocks(std::int64_t stored, std::int64_t n_cols) {
    const std::int64_t by_work = stored / (16 * std::max<std::int64_t>(n_cols, 64));
    const std::int64_t by_memory = (std::int64_t{8} << 20) / (8 * std::max<std::int64_t>(n_cols, 1));
    const std::int64_t limit = std::min<std::int64_t>({by_work, std::max<std::int64_t>(by_memory, 4), 64});
    std::int64_t blocks = 1;
    while (2 * blocks <= limit) blocks *= 2;
    return blocks;
}

// First query of each block when queries are cut into blocks of nearly equal rows.
inline std::vector<std::int64_t> query_blocks(const std::int64_t* query_ptr, std::int64_t n_queries,
                                              std::int64_t n_blocks) {
    std::vector<std::int64_t> first(static_cast<std::size_t>(n_blocks) + 1, n_queries);
    const std::int64_t n_rows = query_ptr[n_queries];
    for (std::int64_t b = 0; b < n_blocks; ++b)
        first[static_cast<std::size_t>(b)] =
            std::lower_bound(query_ptr, query_ptr + n_queries, block_bound(n_rows, n_blocks, b)) - query_ptr;
    return first;
}

template <class Matrix>
void multiply(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* w, double* out) {
    const std::int64_t work = X.n_rows > 0 ? X.stored() / X.n_rows * n : 0;
    const std::int64_t n_blocks = std::clamp<std::int64_t>(work / 65536, 1, 256);
    crew.run(n_blocks, [&](std::int64_t b, int) {
        for_each_piece(X, rows, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
                       [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
                           piece.scores(list, from, to, w, out);
                       });
    });
}

// Adds the partial sums up into the first, in a fixed binary tree over the blocks; take(from, to) is called for
// each finished part of it.
inline void combine_parts(const Crew& crew, double* partial, std::int64_t n_blocks, std::int64_t n,
                          FunctionRef<void(std::int64_t, std::int64_t)> take) {
    const std::int64_t n_parts = n_blocks * n < 262144 ? 1 : std::min<std::int64_t>(16, n / 1024 + 1);
    crew.run(n_parts, [&](std::int64_t part, int) {
        const std::int64_t from = block_bound(n, n_parts, part), to = block_bound(n, n_parts, part + 1);
        for (std::int64_t step = 1; step < n_blocks; step *= 2)
            for (std::int64_t b = 0; b + step < n_blocks; b += 2 * step) {
                double* into = partial + b * n;
                const double* other = partial + (b + step) * n;
                for (std::int64_t j = from; j < to; ++j) into[j] += other[j];
            }
        take(from, to);
    });
}

// out = sum of the partial sums.
inline void combine(const Crew& crew, double* partial, std::int64_t n_blocks, std::int64_t n, double* out) {
    combine_parts(crew, partial, n_blocks, n,
                  [&](std::int64_t from, std::int64_t to) { std::copy(partial + from, partial + to, out + from); });
}

// partial: n_blocks rows of n_cols numbers, kept by the caller from one pass to the next.
template <class Matrix>
void multiply_transposed(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* g,
                         std::int64_t n_blocks, double* partial, double* out) {
    crew.run(n_blocks, [&](std::int64_t b, int) {
        double* sum = partial + b * X.n_cols;
        std::fill(sum, sum + X.n_cols, 0.0);
        for_each_piece(X, rows, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
                       [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
                           piece.add_adjoint(list, from, to, g, sum);
                       });
    });
    combine(crew, partial, n_blocks, X.n_cols, out);
}

// Some of the queries of a loss: [first, last).
struct QueryRange {
    std::int64_t first, last;
};

// What a fused pass needs besides the matrix: the rows of the queries in range, counted from the first of them, the
// first query of each block, room for each worker, and a value for each block.
struct FusedPass {
    std::int64_t base;
    std::vector<std::int64_t> local, first;
    std::vector<std::unique_ptr<QueryScratch>> scratch;
    std::vector<double> values;

    FusedPass(const QueryLoss& loss, QueryRange range, std::int64_t n_blocks, int threads)
        : base(loss.query_ptr()[range.first]), values(static_cast<std::size_t>(n_blocks), 0.0) {
        local.resize(static_cast<std::size_t>(range.last - range.first) + 1);
        for (std::size_t k = 0; k < local.size(); ++k) local[k] = loss.query_ptr()[range.first + static_cast<std::int64_t>(k)] - base;
        first = query_blocks(local.data(), range.last - range.first, n_blocks);
        for (int worker = 0; worker < threads; ++worker) scratch.push_back(loss.make_scratch());
    }
};

// What a pass does with a query: its value, from the scores to the gradient.
using VisitOfQuery = FunctionRef<double(std::int64_t, QueryScratch&)>;

// Runs visit(q, scratch) for the queries of each chunk between the chunk's scores and its adjoint.
// The rows of X are those of the queries in range; scores and gradient span all rows of the loss.
// Returns the sum of what visit returned.
template <class Matrix>
double fused_pass(const Crew& crew, const Matrix& X, RowList rows, const QueryLoss& loss, QueryRange range,
                  const double* w, double* scores, double* gradient, std::int64_t n_blocks, double* partial,
                  double* out, VisitOfQuery visit) {
    FusedPass pass(loss, range, n_blocks, crew.threads());
    const std::int64_t base = pass.base, *ptr = pass.local.data();
    crew.run(n_blocks, [&](std::int64_t b, int worker) {
        double* sum = partial + b * X.n_cols;
        std::fill(sum, sum + X.n_cols, 0.0);
        double value = 0.0;
        QueryScratch& scratch = *pass.scratch[static_cast<std::size_t>(worker)];
        const std::int64_t last = pass.first[static_cast<std::size_t>(b) + 1];
        for (std::int64_t q = pass.first[static_cast<std::size_t>(b)]; q < last;) {
            std::int64_t stop = q + 1;
            while (stop < last && X.is_piece(rows, ptr[q], ptr[stop + 1])) ++stop;
            Matrix piece =
                X.file == nullptr || ptr[q] == ptr[stop] ? X : X.brought(rows, ptr[q], ptr[stop], worker_room());
            const RowList list = piece.listed(rows);
            piece.scores(list, ptr[q], ptr[stop], w, scores + base);
            piece.mark_cached();
            for (std::int64_t k = q; k < stop; ++k) value += visit(range.first + k, scratch);
            piece.add_adjoint(list, ptr[q], ptr[stop], gradient + base, sum);
            q = stop;
        }
        pass.values[static_cast<std::size_t>(b)] = value;
    });
    combine(crew, partial, n_blocks, X.n_cols, out);
    return tree_sum(pass.values.data(), n_blocks);
}

// The same over all queries of the loss.
template <class Matrix>
double fused_pass(const Crew& crew, const Matrix& X, RowList rows, const QueryLoss& loss, const double* w,
                  double* scores, double* gradient, std::int64_t n_blocks, double* partial, double* out,
                  VisitOfQuery visit) {
    return fused_pass(crew, X, rows, loss, QueryRange{0, loss.n_queries()}, w, scores, gradient, n_blocks, partial,
                      out, visit);
}

}  // namespace marginrank
