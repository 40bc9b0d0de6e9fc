// Views of the user's matrix: dense rows or CSR, never a copy.
//
// Both answer the same two questions for positions [begin, end) of a list of rows: scores X w, and the
// adjoint X' g added to an accumulator. Accumulation is in float64 whatever the data are. Where the rows lie in
// a file, brought() gives the view of some of them in memory, which answers for these.
//
// Where there is a shift, one number for each column is subtracted from its stored entries on the way, in float64:
// a common offset changes no ranking, and would drown the rest in its rounding. Data without offsets have kernels
// without a subtraction. The products are not inlined: they are called once for a piece, and every pass would have a copy.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "marginrank/function_ref.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/row_file.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {

// Rows of X that a worker reads for the scores and finds in its cache again for the adjoint.
constexpr std::int64_t kPieceBytes = 192 * 1024;
// Bytes between rows of a file that are read along with them: as long as another read would take.
constexpr std::int64_t kGapBytes = 8 * 1024;

// The k-th row of the loss is row rows[k] of the matrix, or k itself where rows is null.
struct RowList {
    const std::int64_t* rows;
    std::int64_t operator[](std::int64_t k) const { return rows == nullptr ? k : rows[k]; }
};

namespace kernels {

// What to subtract from the entries of a dense row: nothing, or a number for each column.
struct NoShift {
    template <class Real>
    static Real4 load(const Real* x, std::int64_t j) { return load4(x + j); }
    template <class Real>
    static double at(const Real* x, std::int64_t j) { return static_cast<double>(x[j]); }
};
struct ColumnShift {
    const double* shift;
    template <class Real>
    Real4 load(const Real* x, std::int64_t j) const { return load4(x + j) - load4(shift + j); }
    template <class Real>
    double at(const Real* x, std::int64_t j) const { return static_cast<double>(x[j]) - shift[j]; }
};

// Calls use(less) with what a matrix subtracts.
template <class Use>
inline void with_shift(const double* shift, Use&& use) {
    if (shift == nullptr)
        use(NoShift{});
    else
        use(ColumnShift{shift});
}

// Four rows at once share the loads of w.
template <class Real, class Less>
inline void dense_dot4(const Real* const* x, const Less& less, const double* w, std::int64_t n, double* out) {
    Real4 a[4] = {}, b[4] = {};
    std::int64_t j = 0;
    for (; j + 8 <= n; j += 8) {
        const Real4 w0 = load4(w + j), w1 = load4(w + j + 4);
        for (int r = 0; r < 4; ++r) {
            a[r] += less.load(x[r], j) * w0;
            b[r] += less.load(x[r], j + 4) * w1;
        }
    }
    // What is left of the columns, of all four rows at once.
    Real4 tail = all4(0.0);
    for (; j < n; ++j) tail += Real4{less.at(x[0], j), less.at(x[1], j), less.at(x[2], j), less.at(x[3], j)} * w[j];
    for (int r = 0; r < 4; ++r) out[r] = sum4(a[r] + b[r]) + tail[r];
}

template <class Real, class Less>
inline void dense_axpy4(const Real* const* x, const Less& less, const double* g, std::int64_t n, double* sum) {
    const Real4 g0 = all4(g[0]), g1 = all4(g[1]), g2 = all4(g[2]), g3 = all4(g[3]);
    std::int64_t j = 0;
    for (; j + 4 <= n; j += 4)
        store4(sum + j, load4(sum + j) + ((g0 * less.load(x[0], j) + g1 * less.load(x[1], j)) +
                                          (g2 * less.load(x[2], j) + g3 * less.load(x[3], j))));
    for (; j < n; ++j)
        sum[j] += (g[0] * less.at(x[0], j) + g[1] * less.at(x[1], j)) +
                  (g[2] * less.at(x[2], j) + g[3] * less.at(x[3], j));
}

}  // namespace kernels

template <class Real>
struct DenseMatrix {
    const Real* data;
    std::int64_t n_rows, n_cols, stride;
    std::int64_t first = 0;  // the row that data begins with
    const RowFile* file = nullptr;
    std::int64_t offset = 0;  // of row 0 in the file
    bool in_cache = false;    // the rows that are asked for were read just now
    bool gathered = false;    // they lie one after the other: row k is the k-th of the list
    const double* shift = nullptr;  // subtracted from the columns

    std::int64_t row_bytes() const { return n_cols * static_cast<std::int64_t>(sizeof(Real)); }
    std::int64_t stored() const { return n_rows * n_cols; }
    const Real* row(std::int64_t r) const { return data + (r - first) * stride; }

    // Whether to ask for rows before they are needed. The processor follows a row, but does not foresee where the
    // next four begin. For rows of 544 bytes in memory it halves the time of the scores; it costs a tenth where
    // they are in the cache, and gains nothing for rows that are a line or two, or long.
    bool prefetches() const {
        return !in_cache && row_bytes() >= 160 && row_bytes() <= 1280 && n_rows * row_bytes() >= std::int64_t{8} << 20;
    }
    // Always inlined: the compiler takes a function that only prefetches for one without effect, and drops it.
    [[gnu::always_inline]] inline void prefetch(RowList rows, std::int64_t k, std::int64_t end) const {
        for (const std::int64_t stop = std::min(k + 4, end); k < stop; ++k) {
            const char* from = reinterpret_cast<const char*>(row(rows[k]));
            for (std::int64_t byte = 0; byte < row_bytes(); byte += 64) __builtin_prefetch(from + byte);
        }
    }
    void mark_cached() { in_cache = true; }

    // How the rows of the loss are listed here.
    RowList listed(RowList rows) const { return gathered ? RowList{nullptr} : rows; }
    // Whether positions [begin, end) make up one piece at most.
    bool is_piece(RowList, std::int64_t begin, std::int64_t end) const {
        return end - begin <= kPieceBytes / std::max<std::int64_t>(row_bytes(), 1);
    }
    // Pieces begin at multiples of 16 rows from the first, as the kernels' groups of rows do.
    std::int64_t piece_end(RowList, std::int64_t begin, std::int64_t end) const {
        const std::int64_t most = kPieceBytes / std::max<std::int64_t>(row_bytes(), 1);
        return std::min(begin + std::max<std::int64_t>(most / 16 * 16, 16), end);
    }

    // The rows at positions [begin, end) in memory: all from the first to the last of them in one read, or where
    // they lie far apart, each run of them in its own.
    DenseMatrix brought(RowList rows, std::int64_t begin, std::int64_t end, PieceRoom& room) const {
        const std::int64_t from = rows[begin], n = end - begin, span = rows[end - 1] + 1 - from;
        std::int64_t runs = 1;
        for (std::int64_t k = begin + 1; span > n && k < end; ++k) runs += rows[k] != rows[k - 1] + 1;
        const bool apart = (span - n) * row_bytes() > runs * kGapBytes;
        char* into = room.of_size(static_cast<std::size_t>((apart ? n : span) * row_bytes()));
        for (std::int64_t k = begin, stop; k < end; k = stop) {
            stop = apart ? k + 1 : end;
            while (stop < end && rows[stop] == rows[stop - 1] + 1) ++stop;
            const std::int64_t count = apart ? stop - k : span;
            file->read(offset + rows[k] * row_bytes(), into, static_cast<std::size_t>(count * row_bytes()));
            into += count * row_bytes();
        }
        const auto* values = reinterpret_cast<const Real*>(room.of_size(0));
        return {values, n_rows, n_cols, n_cols, apart ? begin : from, nullptr, 0, true, apart, shift};
    }

    void scores(RowList rows, std::int64_t begin, std::int64_t end, const double* w, double* out) const {
        kernels::with_shift(shift, [&](const auto& less) { scores(less, rows, begin, end, w, out); });
    }
    template <class Less>
    [[gnu::noinline]] void scores(const Less& less, RowList rows, std::int64_t begin, std::int64_t end, const double* w,
                double* out) const {
        const bool ahead = prefetches();
        for (std::int64_t k = begin; k < end; k += 4) {
            const Real* x[4];
            double four[4];
            const std::int64_t width = end - k < 4 ? end - k : 4;
            for (int r = 0; r < 4; ++r) x[r] = row(rows[k + (r < width ? r : 0)]);
            if (ahead) prefetch(rows, k + 4, end);
            kernels::dense_dot4(x, less, w, n_cols, four);
            for (int r = 0; r < width; ++r) out[k + r] = four[r];
        }
    }

    void add_adjoint(RowList rows, std::int64_t begin, std::int64_t end, const double* g, double* sum) const {
        kernels::with_shift(shift, [&](const auto& less) { add_adjoint(less, rows, begin, end, g, sum); });
    }
    template <class Less>
    [[gnu::noinline]] void add_adjoint(const Less& less, RowList rows, std::int64_t begin, std::int64_t end, const double* g,
                     double* sum) const {
        const bool ahead = prefetches();
        for (std::int64_t k = begin; k < end; k += 4) {
            const Real* x[4];
            double four[4];
            const std::int64_t width = end - k < 4 ? end - k : 4;
            for (int r = 0; r < 4; ++r) {
                x[r] = row(rows[k + (r < width ? r : 0)]);
                four[r] = r < width ? g[k + r] : 0.0;
            }
            if (ahead) prefetch(rows, k + 4, end);
            if (four[0] != 0.0 || four[1] != 0.0 || four[2] != 0.0 || four[3] != 0.0)
                kernels::dense_axpy4(x, less, four, n_cols, sum);
        }
    }
};

template <class Real, class Index>
struct CsrMatrix {
    const Real* data;
    const Index* indices;
    const Index* indptr;
    std::int64_t n_rows, n_cols;
    std::int64_t first = 0;  // the entry that data and indices begin with
    const RowFile* file = nullptr;
    std::int64_t data_offset = 0, indices_offset = 0;  // of entry 0 in the file
    const double* shift = nullptr;  // subtracted from the stored entries of the columns

    void mark_cached() {}  // the processor foresees what is next in a CSR matrix

    // Where the entries of row r begin in data and indices; those of the next row begin where they end.
    std::int64_t start(std::int64_t r) const { return static_cast<std::int64_t>(indptr[r]) - first; }
    std::int64_t stored() const { return static_cast<std::int64_t>(indptr[n_rows]); }
    std::int64_t row_bytes() const {
        const std::int64_t rows = n_rows > 0 ? n_rows : 1;
        return stored() / rows * static_cast<std::int64_t>(sizeof(Real) + sizeof(Index));
    }

    // Whether columns just read are those of the matrix. They were when the file was looked through, but whoever
    // writes to it since must not make the kernels write outside of their sums.
    bool columns_within(const Index* columns, std::int64_t n) const {
        using Unsigned = std::make_unsigned_t<Index>;
        Unsigned largest = 0;  // negative ones are larger than all others
        for (std::int64_t s = 0; s < n; ++s) largest = std::max(largest, static_cast<Unsigned>(columns[s]));
        return n == 0 || static_cast<std::uint64_t>(largest) < static_cast<std::uint64_t>(n_cols);
    }

    RowList listed(RowList rows) const { return rows; }
    // Whether positions [first, last) make up one piece at most. Rows differ in length; in a file those between
    // them count, too, because they are read along.
    bool is_piece(RowList rows, std::int64_t first, std::int64_t last) const {
        if (file == nullptr) return last - first <= kPieceBytes / std::max<std::int64_t>(row_bytes(), 1);
        const std::int64_t entries = first == last ? 0 : start(rows[last - 1] + 1) - start(rows[first]);
        return entries <= kPieceBytes / static_cast<std::int64_t>(sizeof(Real) + sizeof(Index));
    }
    // A piece may end with any row: the kernels take one row after the other.
    std::int64_t piece_end(RowList rows, std::int64_t first, std::int64_t end) const {
        std::int64_t fits = first + 1, beyond = end + 1;
        while (beyond - fits > 1) {
            const std::int64_t middle = fits + (beyond - fits) / 2;
            (is_piece(rows, first, middle) ? fits : beyond) = middle;
        }
        return fits;
    }

    // The rows at positions [first, last) in memory. The row pointers always are.
    CsrMatrix brought(RowList rows, std::int64_t first, std::int64_t last, PieceRoom& room) const {
        const std::int64_t begin = start(rows[first]), entries = start(rows[last - 1] + 1) - begin;
        const auto data_bytes = static_cast<std::size_t>(entries) * sizeof(Real);
        const auto indices_bytes = static_cast<std::size_t>(entries) * sizeof(Index);
        const std::size_t indices_at = (data_bytes + 63) / 64 * 64;
        char* into = room.of_size(indices_at + indices_bytes);
        file->read(data_offset + begin * static_cast<std::int64_t>(sizeof(Real)), into, data_bytes);
        file->read(indices_offset + begin * static_cast<std::int64_t>(sizeof(Index)), into + indices_at, indices_bytes);
        const auto* columns = reinterpret_cast<const Index*>(into + indices_at);
        if (!columns_within(columns, entries)) file->fail("The file was changed while it was read");
        return {reinterpret_cast<const Real*>(into), columns, indptr, n_rows, n_cols, begin, nullptr, 0, 0, shift};
    }

    // Entry s of column j, less what is subtracted there.
    double entry(kernels::NoShift, std::int64_t s, Index) const { return static_cast<double>(data[s]); }
    double entry(kernels::ColumnShift less, std::int64_t s, Index j) const {
        return static_cast<double>(data[s]) - less.shift[j];
    }

    void scores(RowList rows, std::int64_t begin, std::int64_t end, const double* w, double* out) const {
        kernels::with_shift(shift, [&](const auto& less) { scores(less, rows, begin, end, w, out); });
    }
    template <class Less>
    [[gnu::noinline]] void scores(const Less& less, RowList rows, std::int64_t begin, std::int64_t end, const double* w,
                double* out) const {
        const auto term = [&](std::int64_t s) {
            const Index j = indices[s];
            return entry(less, s, j) * w[j];
        };
        for (std::int64_t k = begin; k < end; ++k) {
            const std::int64_t r = rows[k];
            const std::int64_t stop = start(r + 1);
            std::int64_t s = start(r);
            double a = 0.0, b = 0.0, c = 0.0, d = 0.0;
            for (; s + 4 <= stop; s += 4) {
                a += term(s);
                b += term(s + 1);
                c += term(s + 2);
                d += term(s + 3);
            }
            for (; s < stop; ++s) a += term(s);
            out[k] = (a + b) + (c + d);
        }
    }

    void add_adjoint(RowList rows, std::int64_t begin, std::int64_t end, const double* g, double* sum) const {
        kernels::with_shift(shift, [&](const auto& less) { add_adjoint(less, rows, begin, end, g, sum); });
    }
    template <class Less>
    [[gnu::noinline]] void add_adjoint(const Less& less, RowList rows, std::int64_t begin, std::int64_t end, const double* g,
                     double* sum) const {
        for (std::int64_t k = begin; k < end; ++k) {
            const double gk = g[k];
            if (gk == 0.0) continue;
            const std::int64_t r = rows[k];
            const std::int64_t stop = start(r + 1);
            for (std::int64_t s = start(r); s < stop; ++s) {
                const Index j = indices[s];
                sum[j] += gk * entry(less, s, j);
            }
        }
    }
};

// Calls use(view, list, from, to) for [begin, end), in pieces that a core's cache holds where the rows lie in a
// file; the list says where the rows of the loss are in the view.
template <class Matrix>
struct PieceVisitor {  // a struct, so that Matrix is not deduced from the lambda
    using Use = FunctionRef<void(const Matrix&, RowList, std::int64_t, std::int64_t)>;
};
template <class Matrix>
void for_each_piece(const Matrix& X, RowList rows, std::int64_t begin, std::int64_t end,
                    typename PieceVisitor<Matrix>::Use use) {
    if (X.file == nullptr) return use(X, rows, begin, end);
    for (std::int64_t k = begin, stop; k < end; k = stop) {
        stop = X.piece_end(rows, k, end);
        const Matrix piece = X.brought(rows, k, stop, worker_room());
        use(piece, piece.listed(rows), k, stop);
    }
}

// First row whose pointers are out of order or that has a column outside the matrix, or -1. The kernels
// rely on it: they index without looking.
template <class Real, class Index>
std::int64_t first_bad_row(const Crew& crew, const CsrMatrix<Real, Index>& X, std::int64_t stored) {
    std::atomic<std::int64_t> first{X.n_rows};
    auto found = [&](std::int64_t row) {
        std::int64_t seen = first.load();
        while (row < seen && !first.compare_exchange_weak(seen, row)) {
        }
    };
    if (X.indptr[0] != 0) return 0;
    for (std::int64_t r = 0; r < X.n_rows; ++r)
        if (X.indptr[r + 1] < X.indptr[r] || static_cast<std::int64_t>(X.indptr[r + 1]) > stored) return r;
    constexpr std::int64_t kRows = 4096;
    crew.run((X.n_rows + kRows - 1) / kRows, [&](std::int64_t b, int) {
        const std::int64_t begin = b * kRows, end = begin + kRows < X.n_rows ? begin + kRows : X.n_rows;
        auto outside = [&](std::int64_t from, std::int64_t to) {
            Index low = 0, high = 0;
            for (std::int64_t s = from; s < to; ++s) {
                low = X.indices[s] < low ? X.indices[s] : low;
                high = X.indices[s] > high ? X.indices[s] : high;
            }
            return low < 0 || (to > from && static_cast<std::int64_t>(high) >= X.n_cols);
        };
        if (!outside(static_cast<std::int64_t>(X.indptr[begin]), static_cast<std::int64_t>(X.indptr[end]))) return;
        for (std::int64_t r = begin; r < end; ++r)
            if (outside(static_cast<std::int64_t>(X.indptr[r]), static_cast<std::int64_t>(X.indptr[r + 1]))) {
                found(r);
                return;
            }
    });
    return first.load() == X.n_rows ? -1 : first.load();
}

}  // namespace marginrank
