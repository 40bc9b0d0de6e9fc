// Products with several vectors in one pass over the matrix.
//
// Up to eight vectors are packed side by side, one group of K numbers per column of X, so that an entry of
// X meets all of them in one or two registers and, for eight, in exactly one cache line. Each vector's sums
// are formed in the same order whichever others are beside it in a group of 2, 4 or 8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/passes.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {

constexpr int kBlockWidth = 8;

// K numbers, one for each vector. Halves instead of an array: the compiler keeps arrays of registers in memory.
template <int K>
struct Lanes {
    Lanes<K / 2> low, high;

    static Lanes load(const double* from) { return {Lanes<K / 2>::load(from), Lanes<K / 2>::load(from + K / 2)}; }
    void store(double* to) const {
        low.store(to);
        high.store(to + K / 2);
    }
    void operator+=(const Lanes& other) {
        low += other.low;
        high += other.high;
    }
    void add_scaled(double x, const Lanes& other) {
        low.add_scaled(x, other.low);
        high.add_scaled(x, other.high);
    }
};

template <class Register>
struct OneRegister {
    Register all;

    void store(double* to) const { std::memcpy(to, &all, sizeof all); }
    void operator+=(const OneRegister& other) { all += other.all; }
    void add_scaled(double x, const OneRegister& other) { all += x * other.all; }
    static OneRegister load(const double* from) {
        OneRegister lanes;
        std::memcpy(&lanes.all, from, sizeof lanes.all);
        return lanes;
    }
};
typedef double Real2 __attribute__((vector_size(16)));
template <>
struct Lanes<4> : OneRegister<Real4> {
    static Lanes load(const double* from) { return {OneRegister::load(from)}; }
};
template <>
struct Lanes<2> : OneRegister<Real2> {
    static Lanes load(const double* from) { return {OneRegister::load(from)}; }
};

namespace kernels {

// Rows whose products are gathered before they are spread over the K vectors of the result.
constexpr std::int64_t kTileRows = 16;

// Scores of up to four rows: they share the loads of the packed vectors.
template <int K, class Real, class Less>
inline void block_dot4(const Real* const* x, const Less& less, const double* packed, std::int64_t n, double* out) {
    Lanes<K> sum[4] = {};
    for (std::int64_t j = 0; j < n; ++j) {
        const auto w = Lanes<K>::load(packed + j * K);
        for (int r = 0; r < 4; ++r) sum[r].add_scaled(less.at(x[r], j), w);
    }
    for (int r = 0; r < 4; ++r) sum[r].store(out + r * K);
}

template <int K, class Real, class Less>
inline void block_axpy4(const Real* const* x, const Less& less, const double* g, std::int64_t n, double* sum) {
    Lanes<K> by_row[4];
    for (int r = 0; r < 4; ++r) by_row[r] = Lanes<K>::load(g + r * K);
    for (std::int64_t j = 0; j < n; ++j) {
        auto s = Lanes<K>::load(sum + j * K);
        for (int r = 0; r < 4; ++r) s.add_scaled(less.at(x[r], j), by_row[r]);
        s.store(sum + j * K);
    }
}

// out[r * K + v] for rows k, ..., k + width - 1, which are at most a tile; there is room for a whole tile.
template <int K, class Less, class Real>
void tile_scores(const Less& less, const DenseMatrix<Real>& X, RowList rows, std::int64_t k, std::int64_t width,
                 const double* packed, double* out) {
    for (std::int64_t t = 0; t < width; t += 4) {
        const Real* x[4];
        for (std::int64_t r = 0; r < 4; ++r) x[r] = X.row(rows[k + (t + r < width ? t + r : t)]);
        block_dot4<K>(x, less, packed, X.n_cols, out + t * K);
    }
}

template <int K, class Less, class Real, class Index>
void tile_scores(const Less& less, const CsrMatrix<Real, Index>& X, RowList rows, std::int64_t k, std::int64_t width,
                 const double* packed, double* out) {
    for (std::int64_t t = 0; t < width; ++t) {
        const std::int64_t r = rows[k + t];
        const std::int64_t stop = X.start(r + 1);
        std::int64_t s = X.start(r);
        const auto column = [&](std::int64_t at) {
            return Lanes<K>::load(packed + static_cast<std::int64_t>(X.indices[at]) * K);
        };
        Lanes<K> a{}, b{};
        for (; s + 2 <= stop; s += 2) {
            a.add_scaled(X.entry(less, s, X.indices[s]), column(s));
            b.add_scaled(X.entry(less, s + 1, X.indices[s + 1]), column(s + 1));
        }
        if (s < stop) a.add_scaled(X.entry(less, s, X.indices[s]), column(s));
        a += b;
        a.store(out + t * K);
    }
}

// g[r * K + v] for the rows of a tile, zero beyond its width.
template <int K, class Less, class Real>
void tile_adjoint(const Less& less, const DenseMatrix<Real>& X, RowList rows, std::int64_t k, std::int64_t width,
                  const double* g, double* sum) {
    for (std::int64_t t = 0; t < width; t += 4) {
        const Real* x[4];
        for (std::int64_t r = 0; r < 4; ++r) x[r] = X.row(rows[k + (t + r < width ? t + r : t)]);
        block_axpy4<K>(x, less, g + t * K, X.n_cols, sum);
    }
}

template <int K, class Less, class Real, class Index>
void tile_adjoint(const Less& given, const CsrMatrix<Real, Index>& given_X, RowList rows, std::int64_t k,
                  std::int64_t width, const double* g, double* sum) {
    // Copies, which no store to the sums can change: the loop need not load them again.
    const Less less = given;
    const CsrMatrix<Real, Index> X = given_X;
    for (std::int64_t t = 0; t < width; ++t) {
        const auto mine = Lanes<K>::load(g + t * K);
        const std::int64_t r = rows[k + t];
        const std::int64_t stop = X.start(r + 1);
        for (std::int64_t s = X.start(r); s < stop; ++s) {
            const Index j = X.indices[s];
            double* at = sum + static_cast<std::int64_t>(j) * K;
            auto lanes = Lanes<K>::load(at);
            lanes.add_scaled(X.entry(less, s, j), mine);
            lanes.store(at);
        }
    }
}

}  // namespace kernels

// Number of partial sums of the adjoint with several vectors. Clearing and adding them up grows with the
// vectors where reading X does not, so they are fewer than for one vector.
inline std::int64_t block_adjoint_blocks(std::int64_t stored, std::int64_t n_cols) {
    return adjoint_blocks(stored, 2 * n_cols);
}

// Runs pass(first, used, width) for groups of eight vectors and what is left, which is filled up to the next
// width: lanes of zeros cost less than a second pass. One vector alone has width 1.
template <class Pass>
void for_each_group(std::int64_t n_vectors, Pass&& pass) {
    for (std::int64_t first = 0; first < n_vectors; first += kBlockWidth) {
        const std::int64_t used = std::min<std::int64_t>(n_vectors - first, kBlockWidth);
        if (used == 1)
            pass(first, used, std::integral_constant<int, 1>{});
        else if (used == 2)
            pass(first, used, std::integral_constant<int, 2>{});
        else if (used <= 4)
            pass(first, used, std::integral_constant<int, 4>{});
        else
            pass(first, used, std::integral_constant<int, 8>{});
    }
}

// Calls use(view, list, k, width) for the tiles of rows of [begin, end).
template <class Matrix, class Use>
void for_each_tile(const Matrix& X, RowList rows, std::int64_t begin, std::int64_t end, Use&& use) {
    for_each_piece(X, rows, begin, end, [&](const Matrix& piece, RowList list, std::int64_t from, std::int64_t to) {
        for (std::int64_t k = from; k < to; k += kernels::kTileRows)
            use(piece, list, k, std::min(to - k, kernels::kTileRows));
    });
}

template <int K, class Matrix>
void multiply_group(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* W,
                    std::int64_t used, double* out) {
    AlignedVector<double> packed(static_cast<std::size_t>(X.n_cols * K), 0.0);
    for (std::int64_t j = 0; j < X.n_cols; ++j)
        for (std::int64_t v = 0; v < used; ++v) packed[static_cast<std::size_t>(j * K + v)] = W[v * X.n_cols + j];
    const std::int64_t work = X.n_rows > 0 ? X.stored() / X.n_rows * n : 0;
    const std::int64_t n_blocks = std::clamp<std::int64_t>(work / 65536, 1, 256);
    crew.run(n_blocks, [&](std::int64_t b, int) {
        alignas(64) double tile[kernels::kTileRows * K];
        for_each_tile(X, rows, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
                      [&](const Matrix& piece, RowList list, std::int64_t k, std::int64_t width) {
                          kernels::with_shift(piece.shift, [&](const auto& less) {
                              kernels::tile_scores<K>(less, piece, list, k, width, packed.data(), tile);
                          });
                          for (std::int64_t v = 0; v < used; ++v)
                              for (std::int64_t t = 0; t < width; ++t) out[v * n + k + t] = tile[t * K + v];
                      });
    });
}

// out (n_vectors x n) = W (n_vectors x n_cols) X'.
template <class Matrix>
void multiply_block(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* W,
                    std::int64_t n_vectors, double* out) {
    for_each_group(n_vectors, [&](std::int64_t first, std::int64_t used, auto width) {
        constexpr int K = decltype(width)::value;
        if constexpr (K == 1)
            multiply(crew, X, rows, n, W + first * X.n_cols, out + first * n);
        else
            multiply_group<K>(crew, X, rows, n, W + first * X.n_cols, used, out + first * n);
    });
}

template <int K, class Matrix>
void multiply_transposed_group(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* G,
                               std::int64_t used, std::int64_t n_blocks, double* partial, double* out) {
    crew.run(n_blocks, [&](std::int64_t b, int) {
        double* sum = partial + b * X.n_cols * K;
        std::fill(sum, sum + X.n_cols * K, 0.0);
        alignas(64) double tile[kernels::kTileRows * K];
        for_each_tile(X, rows, block_bound(n, n_blocks, b), block_bound(n, n_blocks, b + 1),
                      [&](const Matrix& piece, RowList list, std::int64_t k, std::int64_t width) {
                          std::fill(tile, tile + kernels::kTileRows * K, 0.0);
                          for (std::int64_t v = 0; v < used; ++v)
                              for (std::int64_t t = 0; t < width; ++t) tile[t * K + v] = G[v * n + k + t];
                          kernels::with_shift(piece.shift, [&](const auto& less) {
                              kernels::tile_adjoint<K>(less, piece, list, k, width, tile, sum);
                          });
                      });
    });
    combine_parts(crew, partial, n_blocks, X.n_cols * K, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t e = from; e < to; ++e)
            if (e % K < used) out[e % K * X.n_cols + e / K] = partial[e];
    });
}

// out (n_vectors x n_cols) = G (n_vectors x n) X. partial: n_blocks rows of kBlockWidth * n_cols numbers, best
// at the start of a cache line.
template <class Matrix>
void multiply_transposed_block(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const double* G,
                               std::int64_t n_vectors, std::int64_t n_blocks, double* partial, double* out) {
    for_each_group(n_vectors, [&](std::int64_t first, std::int64_t used, auto width) {
        constexpr int K = decltype(width)::value;
        if constexpr (K == 1)
            multiply_transposed(crew, X, rows, n, G + first * n, n_blocks, partial, out + first * X.n_cols);
        else
            multiply_transposed_group<K>(crew, X, rows, n, G + first * n, used, n_blocks, partial,
                                         out + first * X.n_cols);
    });
}

}  // namespace marginrank
