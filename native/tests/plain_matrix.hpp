// A matrix of small integers in every storage, and its products by plain loops: every sum is exact, so the
// results must be equal, whatever the order of the sums.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "marginrank/matrix.hpp"

namespace {

using marginrank::CsrMatrix;
using marginrank::DenseMatrix;
using marginrank::RowList;
using Vec = std::vector<double>;
using Rows = std::vector<std::int64_t>;
using Random = std::mt19937_64;

double small_integer(Random& random) { return static_cast<double>(random() % 9) - 4.0; }

Vec integers(Random& random, std::int64_t n) {
    Vec x(static_cast<std::size_t>(n));
    for (double& v : x) v = small_integer(random);
    return x;
}

// The matrix that all storages hold; about two thirds of it is zero, and every fifth row altogether.
struct Plain {
    std::int64_t n_rows, n_cols;
    Vec entries;

    Plain(Random& random, std::int64_t rows, std::int64_t cols)
        : n_rows(rows), n_cols(cols), entries(static_cast<std::size_t>(rows * cols)) {
        for (std::size_t k = 0; k < entries.size(); ++k) {
            const auto row = static_cast<std::int64_t>(k) / cols;
            entries[k] = random() % 3 == 0 && row % 5 != 3 ? small_integer(random) : 0.0;
        }
    }
    double at(std::int64_t r, std::int64_t c) const { return entries[static_cast<std::size_t>(r * n_cols + c)]; }

    Vec times(const Rows& rows, const Vec& w) const {
        Vec out;
        for (std::int64_t r : rows) {
            double sum = 0.0;
            for (std::int64_t c = 0; c < n_cols; ++c) sum += at(r, c) * w[static_cast<std::size_t>(c)];
            out.push_back(sum);
        }
        return out;
    }
    Vec transposed_times(const Rows& rows, const Vec& g) const {
        Vec out(static_cast<std::size_t>(n_cols), 0.0);
        for (std::size_t k = 0; k < rows.size(); ++k)
            for (std::int64_t c = 0; c < n_cols; ++c) out[static_cast<std::size_t>(c)] += at(rows[k], c) * g[k];
        return out;
    }
};

// Storages own arrays of exactly the right length, so that the sanitizer sees a step beyond.
template <class Real>
struct Dense {
    std::vector<Real> data;
    DenseMatrix<Real> view;
    explicit Dense(const Plain& p) : data(p.entries.begin(), p.entries.end()) {
        view = {data.data(), p.n_rows, p.n_cols, p.n_cols};
    }
};

template <class Real, class Index>
struct Csr {
    std::vector<Real> data;
    std::vector<Index> indices, indptr{0};
    CsrMatrix<Real, Index> view;
    explicit Csr(const Plain& p) {
        for (std::int64_t r = 0; r < p.n_rows; ++r) {
            for (std::int64_t c = 0; c < p.n_cols; ++c)
                if (p.at(r, c) != 0.0) {
                    data.push_back(static_cast<Real>(p.at(r, c)));
                    indices.push_back(static_cast<Index>(c));
                }
            indptr.push_back(static_cast<Index>(data.size()));
        }
        data.shrink_to_fit();
        indices.shrink_to_fit();
        view = {data.data(), indices.data(), indptr.data(), p.n_rows, p.n_cols};
    }
};

template <class Body>
void for_each_storage(const Plain& p, Body&& body) {
    body(Dense<float>(p).view);
    body(Dense<double>(p).view);
    body(Csr<float, std::int32_t>(p).view);
    body(Csr<float, std::int64_t>(p).view);
    body(Csr<double, std::int32_t>(p).view);
    body(Csr<double, std::int64_t>(p).view);
}

// All rows as they stand (an empty list means that), or a list with repetitions and omissions.
Rows some_rows(Random& random, std::int64_t n_rows, std::int64_t n) {
    Rows rows(static_cast<std::size_t>(n_rows > 0 ? n : 0));
    for (auto& r : rows) r = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n_rows));
    return rows;
}
Rows all_rows(std::int64_t n_rows) {
    Rows rows(static_cast<std::size_t>(n_rows));
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = static_cast<std::int64_t>(k);
    return rows;
}

}  // namespace
