// Rows of one query as a forward selection reads them: some columns, and sums of all columns over the rows.
//
// Dense rows are taken less the first row of the query, so that a column that is constant within it is exactly 0,
// however large its numbers are. Coefficients of the sums add up to 0 within a query, so no sum sees the difference.
// Sparse rows are taken as they are stored, less the shift of the matrix.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/matrix.hpp"

namespace marginrank {

// Whatever the matrix is stored as: a call for each query is nothing beside its rows.
class OpenQuery {
public:
    virtual ~OpenQuery() = default;
    virtual void open(std::int64_t begin, std::int64_t end) = 0;
    // out[k] = sum of weights[s] times the entry in columns[s]: the scores of the rows by a model of few features.
    virtual void scores(const std::int64_t* columns, const double* weights, std::int64_t count, double* out) = 0;
    // sums[s n + j] += coefficients[s][k] x_kj, s < 2, n the number of columns.
    virtual void add_two(const double* const* coefficients, double* sums) const = 0;
    // squares[j] += weight[k] x_kj^2.
    virtual void add_squares(const double* weight, double* squares) const = 0;
};

template <class Matrix>
class QueryRows;

template <class Real>
class QueryRows<DenseMatrix<Real>> final : public OpenQuery {
public:
    QueryRows(const DenseMatrix<Real>& X, RowList rows) : X_(X), rows_(rows), first_(static_cast<std::size_t>(X.n_cols)) {}

    void open(std::int64_t begin, std::int64_t end) override {
        begin_ = begin;
        end_ = end;
        const Real* x = X_.row(rows_[begin]);
        for (std::size_t j = 0; j < first_.size(); ++j) first_[j] = static_cast<double>(x[j]);
    }

    void scores(const std::int64_t* columns, const double* weights, std::int64_t count, double* out) override {
        for (std::int64_t k = begin_; k < end_; ++k) {
            const Real* x = X_.row(rows_[k]);
            const auto term = [&](std::int64_t s) {
                const std::int64_t j = columns[s];
                return weights[s] * (static_cast<double>(x[j]) - first_[static_cast<std::size_t>(j)]);
            };
            double a = 0.0, b = 0.0, c = 0.0, d = 0.0;  // one sum would wait for each of its additions
            std::int64_t s = 0;
            for (; s + 4 <= count; s += 4) {
                a += term(s);
                b += term(s + 1);
                c += term(s + 2);
                d += term(s + 3);
            }
            for (; s < count; ++s) a += term(s);
            out[k - begin_] = (a + b) + (c + d);
        }
    }

    void add_two(const double* const* coefficients, double* sums) const override {
        const std::int64_t n = X_.n_cols;
        const kernels::ColumnShift less{first_.data()};
        const bool ahead = X_.prefetches();
        for (std::int64_t k = begin_; k < end_; k += 4) {
            const std::int64_t width = end_ - k < 4 ? end_ - k : 4;
            const Real* x[4];
            double four[kSums][4];
            for (int r = 0; r < 4; ++r) {
                x[r] = X_.row(rows_[k + (r < width ? r : 0)]);
                for (int s = 0; s < kSums; ++s) four[s][r] = r < width ? coefficients[s][k - begin_ + r] : 0.0;
            }
            if (ahead) X_.prefetch(rows_, k + 4, end_);
            add_four(x, less, four, n, sums);
        }
    }

    void add_squares(const double* weight, double* squares) const override {
        const kernels::ColumnShift less{first_.data()};
        const std::int64_t n = X_.n_cols;
        for (std::int64_t k = begin_; k < end_; ++k) {
            const Real* x = X_.row(rows_[k]);
            const Real4 w = all4(weight[k - begin_]);
            std::int64_t j = 0;
            for (; j + 4 <= n; j += 4) {
                const Real4 v = less.load(x, j);
                store4(squares + j, load4(squares + j) + w * v * v);
            }
            for (; j < n; ++j) squares[j] += weight[k - begin_] * less.at(x, j) * less.at(x, j);
        }
    }

private:
    static constexpr int kSums = 2;

    static void add_four(const Real* const* x, const kernels::ColumnShift& less, const double (*c)[4], std::int64_t n,
                         double* sums) {
        std::int64_t j = 0;
        for (; j + 4 <= n; j += 4) {
            const Real4 v0 = less.load(x[0], j), v1 = less.load(x[1], j), v2 = less.load(x[2], j),
                        v3 = less.load(x[3], j);
            for (int s = 0; s < kSums; ++s) {
                double* to = sums + s * n + j;
                store4(to, load4(to) + ((c[s][0] * v0 + c[s][1] * v1) + (c[s][2] * v2 + c[s][3] * v3)));
            }
        }
        for (; j < n; ++j)
            for (int s = 0; s < kSums; ++s)
                sums[s * n + j] += (c[s][0] * less.at(x[0], j) + c[s][1] * less.at(x[1], j)) +
                                   (c[s][2] * less.at(x[2], j) + c[s][3] * less.at(x[3], j));
    }

    const DenseMatrix<Real>& X_;
    RowList rows_;
    std::vector<double> first_;
    std::int64_t begin_ = 0, end_ = 0;
};

template <class Real, class Index>
class QueryRows<CsrMatrix<Real, Index>> final : public OpenQuery {
public:
    QueryRows(const CsrMatrix<Real, Index>& X, RowList rows) : X_(X), rows_(rows) {}

    void open(std::int64_t begin, std::int64_t end) override {
        begin_ = begin;
        end_ = end;
    }

    void scores(const std::int64_t* columns, const double* weights, std::int64_t count, double* out) override {
        weight_.resize(static_cast<std::size_t>(X_.n_cols), 0.0);
        for (std::int64_t s = 0; s < count; ++s) weight_[static_cast<std::size_t>(columns[s])] = weights[s];
        std::fill(out, out + (end_ - begin_), 0.0);
        each([&](std::int64_t k, std::int64_t j, double x) { out[k] += weight_[static_cast<std::size_t>(j)] * x; });
        for (std::int64_t s = 0; s < count; ++s) weight_[static_cast<std::size_t>(columns[s])] = 0.0;
    }

    void add_two(const double* const* coefficients, double* sums) const override {
        each([&](std::int64_t k, std::int64_t j, double x) {
            for (int s = 0; s < 2; ++s) sums[s * X_.n_cols + j] += coefficients[s][k] * x;
        });
    }

    void add_squares(const double* weight, double* squares) const override {
        each([&](std::int64_t k, std::int64_t j, double x) { squares[j] += weight[k] * x * x; });
    }

private:
    template <class Use>
    void each(Use&& use) const {
        kernels::with_shift(X_.shift, [&](const auto& less) {
            for (std::int64_t k = begin_; k < end_; ++k)
                for (std::int64_t s = X_.start(rows_[k]), stop = X_.start(rows_[k] + 1); s < stop; ++s) {
                    const Index j = X_.indices[s];
                    use(k - begin_, static_cast<std::int64_t>(j), X_.entry(less, s, j));
                }
        });
    }

    const CsrMatrix<Real, Index>& X_;
    RowList rows_;
    std::vector<double> weight_;  // of each column, 0 but for those of a model
    std::int64_t begin_ = 0, end_ = 0;
};

}  // namespace marginrank
