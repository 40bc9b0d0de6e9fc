// Dense linear algebra of the exact path: products with the kernel matrix, the inverse of the active system
// under bordering, and a Cholesky factor that leaves dependent rows out.
//
// Sums run in four lanes or element by element, so they have the same bits for any register width.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "marginrank/simd.hpp"

namespace marginrank {

inline double dot_product(const double* a, const double* b, std::size_t n) {
    Real4 even = all4(0.0), odd = all4(0.0);
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        even += load4(a + i) * load4(b + i);
        odd += load4(a + i + 4) * load4(b + i + 4);
    }
    double sum = sum4(even + odd);
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// The products of four rows with the same one, each as dot_product has it.
inline void dot_products4(const double* const* a, const double* b, std::size_t n, double* out) {
    Real4 even[4] = {}, odd[4] = {};
    std::size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const Real4 b0 = load4(b + i), b1 = load4(b + i + 4);
        for (int r = 0; r < 4; ++r) {
            even[r] += load4(a[r] + i) * b0;
            odd[r] += load4(a[r] + i + 4) * b1;
        }
    }
    for (int r = 0; r < 4; ++r) {
        out[r] = sum4(even[r] + odd[r]);
        for (std::size_t k = i; k < n; ++k) out[r] += a[r][k] * b[k];
    }
}

inline void add_multiple(double* __restrict y, double factor, const double* __restrict x, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

// Eight rows at once: the result is read and written an eighth as often.
inline void add_eight(double* __restrict y, const double* factor, const double* const* row, std::size_t n) {
    const double *r0 = row[0], *r1 = row[1], *r2 = row[2], *r3 = row[3];
    const double *r4 = row[4], *r5 = row[5], *r6 = row[6], *r7 = row[7];
    const double f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
    const double f4 = factor[4], f5 = factor[5], f6 = factor[6], f7 = factor[7];
    for (std::size_t j = 0; j < n; ++j)
        y[j] += ((f0 * r0[j] + f1 * r1[j]) + (f2 * r2[j] + f3 * r3[j])) +
                ((f4 * r4[j] + f5 * r5[j]) + (f6 * r6[j] + f7 * r7[j]));
}

// out = K c for a symmetric K. Rows where c is 0 are not read: few rows have active pairs for most of a path.
inline void multiply_kernel(const double* kernel, std::size_t n, const double* c, double* __restrict out) {
    std::fill(out, out + n, 0.0);
    constexpr int kRows = 8;
    const double* row[kRows];
    double factor[kRows];
    int filled = 0;
    for (std::size_t r = 0; r < n; ++r) {
        if (c[r] == 0.0) continue;
        row[filled] = kernel + r * n;
        factor[filled] = c[r];
        if (++filled < kRows) continue;
        filled = 0;
        add_eight(out, factor, row, n);
    }
    for (int f = 0; f < filled; ++f) add_multiple(out, factor[f], row[f], n);
}

// Lower Cholesky factor of a symmetric matrix that may be singular: a row that depends on those before it up
// to rounding is left out, and its unknown stays 0 in solve().
class PartialCholesky {
public:
    // q      lower triangle, row stride size; overwritten by the factor
    // scale  size of the terms that each diagonal entry was computed from
    PartialCholesky(std::vector<double> q, std::size_t size, const double* scale)
        : size_(size), factor_(std::move(q)), left_out_(size, false) {
        for (std::size_t first = 0; first < size_; first += 4) {
            const std::size_t last = std::min(first + 4, size_);
            if (last - first == 4) eliminate4(first);
            else
                for (std::size_t i = first; i < last; ++i) eliminate(i, 0, first);
            for (std::size_t i = first; i < last; ++i) {
                eliminate(i, first, i);
                finish(i, scale[i]);
            }
        }
    }

    bool left_out(std::size_t i) const { return left_out_[i]; }

    void solve(double* x) const {
        for (std::size_t i = 0; i < size_; ++i)
            x[i] = left_out_[i] ? 0.0 : (x[i] - dot_product(row(i), x, i)) / row(i)[i];
        for (std::size_t i = size_; i-- > 0;) {
            x[i] /= row(i)[i];
            add_multiple(x, -x[i], row(i), i);
        }
    }

    // The inverse in full, for a factor without rows left out; row stride `stride`.
    void invert(double* inverse, std::size_t stride) const {
        std::vector<double> lower(size_ * size_, 0.0);
        for (std::size_t i = 0; i < size_; ++i) {
            double* mine = &lower[i * size_];
            for (std::size_t j = 0; j < i; ++j) add_multiple(mine, -row(i)[j], &lower[j * size_], j + 1);
            mine[i] = 1.0;
            for (std::size_t j = 0; j <= i; ++j) mine[j] /= row(i)[i];
        }
        for (std::size_t a = 0; a < size_; ++a) std::fill(inverse + a * stride, inverse + a * stride + size_, 0.0);
        for (std::size_t i = 0; i < size_; ++i)
            for (std::size_t a = 0; a <= i; ++a)
                add_multiple(inverse + a * stride, lower[i * size_ + a], &lower[i * size_], i + 1);
    }

private:
    static constexpr double kRounding = 1e-14;

    double* row(std::size_t i) { return factor_.data() + i * size_; }
    const double* row(std::size_t i) const { return factor_.data() + i * size_; }

    // Entries [from, to) of row i, from those before them.
    void eliminate(std::size_t i, std::size_t from, std::size_t to) {
        double* mine = row(i);
        for (std::size_t j = from; j < to; ++j)
            mine[j] = left_out_[j] ? 0.0 : (mine[j] - dot_product(mine, row(j), j)) / row(j)[j];
    }

    // Entries before i of four rows from i on, which share the reads of the rows above.
    void eliminate4(std::size_t i) {
        const double* mine[4] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
        double products[4];
        for (std::size_t j = 0; j < i; ++j) {
            dot_products4(mine, row(j), j, products);
            for (std::size_t r = 0; r < 4; ++r) {
                double& entry = row(i + r)[j];
                entry = left_out_[j] ? 0.0 : (entry - products[r]) / row(j)[j];
            }
        }
    }

    void finish(std::size_t i, double scale) {
        double* mine = row(i);
        const double rest = mine[i] - dot_product(mine, mine, i);
        left_out_[i] = !(rest > kRounding * scale);
        if (left_out_[i]) std::fill(mine, mine + i, 0.0);
        mine[i] = left_out_[i] ? 1.0 : std::sqrt(rest);
    }

    std::size_t size_;
    std::vector<double> factor_;
    std::vector<bool> left_out_;
};

// The inverse of a symmetric positive definite matrix that gains and loses one row and column at a time.
class BorderedInverse {
public:
    std::size_t size() const { return size_; }
    const double* row(std::size_t i) const { return values_.data() + i * stride_; }

    void multiply(const double* x, double* y) const {
        for (std::size_t i = 0; i < size_; ++i) y[i] = dot_product(row(i), x, size_);
    }

    // Border with a row whose product with this inverse is u and whose Schur complement is d > 0.
    void append(const double* u, double d) {
        reserve(size_ + 1);
        double* last = mutable_row(size_);
        for (std::size_t i = 0; i < size_; ++i) {
            add_multiple(mutable_row(i), u[i] / d, u, size_);
            last[i] = mutable_row(i)[size_] = -u[i] / d;
        }
        last[size_++] = 1.0 / d;
    }

    // Take row j out; the last row moves into its place.
    void remove(std::size_t j) {
        const std::vector<double> out(row(j), row(j) + size_);
        for (std::size_t i = 0; i < size_; ++i)
            if (i != j) add_multiple(mutable_row(i), -out[i] / out[j], out.data(), size_);
        const std::size_t last = --size_;
        if (j == last) return;
        std::copy(row(last), row(last) + size_ + 1, mutable_row(j));
        mutable_row(j)[j] = row(last)[last];
        for (std::size_t i = 0; i < size_; ++i)
            if (i != j) mutable_row(i)[j] = row(last)[i];
    }

    void assign(const PartialCholesky& factor, std::size_t size) {
        reserve(size);
        size_ = size;
        factor.invert(values_.data(), stride_);
    }

private:
    double* mutable_row(std::size_t i) { return values_.data() + i * stride_; }

    void reserve(std::size_t size) {
        if (size <= stride_) return;
        // A stride of an odd number of cache lines: rows a power of two apart would share cache sets.
        const std::size_t wanted = (std::max(size, stride_ + stride_ / 2) + 15) / 16 * 16 + 8;
        AlignedVector<double> larger(wanted * wanted, 0.0);
        for (std::size_t i = 0; i < size_; ++i) std::copy(row(i), row(i) + size_, larger.data() + i * wanted);
        values_.swap(larger);
        stride_ = wanted;
    }

    std::size_t size_ = 0, stride_ = 0;
    AlignedVector<double> values_;
};

}  // namespace marginrank
