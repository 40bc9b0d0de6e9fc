// A B for rows of A, each of them computed as if it stood alone.
//
// BLAS gives a row other last bits with other rows beside it: its kernels round by the place of a row in a block and
// by the shape of the block. Here every entry is summed over k in one order, which depends on the length of the row
// only: blocks of 256 products each, one after the other. So the bits are the same for any rows beside it, any
// processor and either compiled module.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "simd.hpp"

namespace marginrank {

// B, packed into panels of columns that fit two vectors and blocks of rows that fit the first cache.
template <class Real>
class RowProduct {
public:
    RowProduct(const Real* B, std::size_t depth, std::size_t width)
        : depth_(depth), width_(width), panels_((width + kColumns - 1) / kColumns), packed_(panels_ * kColumns * depth) {
        Real* to = packed_.data();
        for (std::size_t begin = 0; begin < depth; begin += kDepth)
            for (std::size_t panel = 0; panel < panels_; ++panel)
                for (std::size_t k = begin; k < std::min(begin + kDepth, depth); ++k)
                    for (std::size_t c = panel * kColumns; c < (panel + 1) * kColumns; ++c)
                        *to++ = c < width ? B[k * width + c] : Real(0);
    }

    std::size_t depth() const { return depth_; }
    std::size_t width() const { return width_; }

    // out (n_rows x width) = A (n_rows x depth) times B.
    void apply(const Real* A, std::size_t n_rows, Real* out) const {
        std::fill(out, out + n_rows * width_, Real(0));
        for (std::size_t first = 0; first < n_rows; first += kBlock) {
            const std::size_t rows = std::min(kBlock, n_rows - first);
            const Real* panel = packed_.data();
            for (std::size_t begin = 0; begin < depth_; begin += kDepth) {
                const std::size_t depth = std::min(kDepth, depth_ - begin);
                for (std::size_t p = 0; p < panels_; ++p, panel += depth * kColumns)
                    apply_panel(A + first * depth_ + begin, rows, depth, panel, p * kColumns, out + first * width_);
            }
        }
    }

private:
    // A vector is a register, and twelve sums leave four of sixteen registers for what is added to them.
#if defined(__AVX__)
    static constexpr std::size_t kBytes = 32;
#else
    static constexpr std::size_t kBytes = 16;
#endif
    typedef Real Vector __attribute__((vector_size(kBytes)));
    static constexpr std::size_t kLanes = kBytes / sizeof(Real);
    static constexpr std::size_t kVectors = 2;
    static constexpr std::size_t kColumns = kVectors * kLanes;
    static constexpr int kRows = 6;
    static constexpr std::size_t kDepth = 256;
    static constexpr std::size_t kBlock = 96;

    static Vector load(const Real* from) {
        Vector v;
        std::memcpy(&v, from, sizeof v);
        return v;
    }

    void apply_panel(const Real* A, std::size_t rows, std::size_t depth, const Real* panel, std::size_t column,
                     Real* out) const {
        std::size_t row = 0;
        for (; row + kRows <= rows; row += kRows)
            add_rows<kRows>(A + row * depth_, depth, panel, column, out + row * width_);
        for (; row < rows; ++row) add_rows<1>(A + row * depth_, depth, panel, column, out + row * width_);
    }

    template <int n>
    void add_rows(const Real* A, std::size_t depth, const Real* panel, std::size_t column, Real* out) const {
        Vector sum[n][kVectors] = {};
        for (std::size_t k = 0; k < depth; ++k) {
            const Vector left = load(panel + k * kColumns), right = load(panel + k * kColumns + kLanes);
#pragma GCC unroll 8
            for (int r = 0; r < n; ++r) {
                const Real a = A[static_cast<std::size_t>(r) * depth_ + k];
                sum[r][0] += a * left;
                sum[r][1] += a * right;
            }
        }
        const std::size_t columns = std::min(kColumns, width_ - column);
#pragma GCC unroll 8
        for (int r = 0; r < n; ++r) {
            Real* to = out + static_cast<std::size_t>(r) * width_ + column;
            if (columns == kColumns) {
                const Vector left = load(to) + sum[r][0], right = load(to + kLanes) + sum[r][1];
                std::memcpy(to, &left, sizeof left);
                std::memcpy(to + kLanes, &right, sizeof right);
            } else {
                Real part[kColumns];
                std::memcpy(part, sum[r], sizeof part);
                for (std::size_t c = 0; c < columns; ++c) to[c] += part[c];
            }
        }
    }

    std::size_t depth_, width_, panels_;
    AlignedVector<Real> packed_;
};

}  // namespace marginrank
