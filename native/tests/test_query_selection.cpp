// Forward selection within queries against refits: every candidate, every query, every step.
#include "marginrank/query_selection.hpp"

#include <cmath>
#include <cstring>

#include "check.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;
using marginrank::QuerySelection;

struct Problem {
    Plain plain;
    Rows rows, query_ptr;
    Vec y, weight, unit;
    double lambda;
};

Problem make_problem(Random& random, std::int64_t n_cols, bool weighted) {
    Plain plain(random, 40, n_cols);
    for (double& entry : plain.entries) entry += 0.125 * static_cast<double>(random() % 64);
    Rows ptr{0};
    for (const std::int64_t size : {1, 2, 7, 3, 1, 6, 4, 16}) ptr.push_back(ptr.back() + size);
    const Rows rows = weighted ? some_rows(random, 40, ptr.back()) : all_rows(ptr.back());
    Vec y = integers(random, ptr.back()), weight(y.size(), 1.0), unit(static_cast<std::size_t>(n_cols), 1.0);
    for (double& w : weight) w = weighted ? 0.5 + 0.25 * static_cast<double>(random() % 5) : 1.0;
    for (std::size_t j = 1; j < unit.size(); j += 2) unit[j] = 0.5;
    return {plain, rows, ptr, y, weight, unit, 0.75};
}

// Centred columns of the chosen features and the labels, times the roots of the weights.
std::vector<Vec> centred(const Problem& p, const Rows& columns) {
    std::vector<Vec> out;
    for (std::size_t s = 0; s <= columns.size(); ++s) {
        Vec x(p.y);
        if (s < columns.size())
            for (std::size_t k = 0; k < x.size(); ++k)
                x[k] = p.plain.at(p.rows[k], columns[s]) * p.unit[static_cast<std::size_t>(columns[s])];
        for (std::size_t q = 0; q + 1 < p.query_ptr.size(); ++q) {
            double sum = 0.0, mass = 0.0;
            for (std::int64_t k = p.query_ptr[q]; k < p.query_ptr[q + 1]; ++k) {
                sum += p.weight[static_cast<std::size_t>(k)] * x[static_cast<std::size_t>(k)];
                mass += p.weight[static_cast<std::size_t>(k)];
            }
            for (auto k = static_cast<std::size_t>(p.query_ptr[q]); k < static_cast<std::size_t>(p.query_ptr[q + 1]); ++k)
                x[k] = std::sqrt(p.weight[k]) * (x[k] - sum / mass);
        }
        out.push_back(x);
    }
    return out;
}

// Solves A w = b by elimination; A is positive definite.
Vec solved(std::vector<Vec> A, Vec b) {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t r = i + 1; r < n; ++r) {
            const double f = A[r][i] / A[i][i];
            for (std::size_t c = i; c < n; ++c) A[r][c] -= f * A[i][c];
            b[r] -= f * b[i];
        }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t c = i + 1; c < n; ++c) b[i] -= A[i][c] * b[c];
        b[i] /= A[i][i];
    }
    return b;
}

// The error of the query by the model of these columns that was fitted without it.
double refitted(const Problem& p, const Rows& columns, std::size_t q) {
    const auto X = centred(p, columns);
    const Vec& y = X.back();
    const auto begin = static_cast<std::size_t>(p.query_ptr[q]), end = static_cast<std::size_t>(p.query_ptr[q + 1]);
    std::vector<Vec> A(columns.size(), Vec(columns.size(), 0.0));
    Vec b(columns.size(), 0.0);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        A[i][i] = p.lambda;
        for (std::size_t k = 0; k < y.size(); ++k) {
            if (k >= begin && k < end) continue;
            for (std::size_t j = 0; j < columns.size(); ++j) A[i][j] += X[i][k] * X[j][k];
            b[i] += X[i][k] * y[k];
        }
    }
    const Vec w = solved(A, b);
    double error = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
        double left = y[k];
        for (std::size_t i = 0; i < columns.size(); ++i) left -= w[i] * X[i][k];
        error += left * left;
    }
    return error;
}

double refitted(const Problem& p, const Rows& columns) {
    double sum = 0.0;
    for (std::size_t q = 0; q + 1 < p.query_ptr.size(); ++q) sum += refitted(p, columns, q);
    return sum;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-11 * (1.0 + std::abs(b)); }

template <class Matrix>
void every_candidate_has_the_error_of_refits(const Problem& p, const Matrix& X) {
    const Crew crew(2);
    const std::int64_t n = p.plain.n_cols, most = std::min<std::int64_t>(n, 5);
    QuerySelection selection(p.query_ptr, p.y, p.weight, p.unit, p.lambda, most);
    Vec errors(static_cast<std::size_t>(n));
    const RowList list{p.rows.data()};
    selection.begin(crew, X, list, errors.data());
    Rows chosen;
    for (std::int64_t step = 0; step <= most; ++step) {
        for (std::int64_t j = 0; j < n; ++j) {
            if (std::count(chosen.begin(), chosen.end(), j) > 0) continue;
            Rows with = chosen;
            with.push_back(j);
            CHECK(close(errors[static_cast<std::size_t>(j)], refitted(p, with)));
        }
        for (std::size_t q = 0; q + 1 < p.query_ptr.size(); ++q) CHECK(close(selection.error()[q], refitted(p, chosen, q)));
        if (step == most) break;
        chosen.push_back((step * 3 + 1) % n);
        while (std::count(chosen.begin(), chosen.end() - 1, chosen.back()) > 0) chosen.back() = (chosen.back() + 1) % n;
        selection.choose(crew, X, list, chosen.back(), errors.data());
    }
}

template <class Matrix>
void threads_do_not_change_a_bit(const Problem& p, const Matrix& X) {
    Vec before;
    for (const int threads : {1, 2, 5}) {
        const Crew crew(threads);
        QuerySelection selection(p.query_ptr, p.y, p.weight, p.unit, p.lambda, 2);
        Vec errors(static_cast<std::size_t>(p.plain.n_cols));
        selection.begin(crew, X, {p.rows.data()}, errors.data());
        selection.choose(crew, X, {p.rows.data()}, 0, errors.data());
        CHECK(before.empty() || std::memcmp(before.data(), errors.data(), errors.size() * sizeof(double)) == 0);
        before = errors;
    }
}

}  // namespace

int main() {
    Random random(3);
    for (const std::int64_t n_cols : {1, 4, 6, 9})
        for (const bool weighted : {false, true}) {
            const Problem p = make_problem(random, n_cols, weighted);
            for_each_storage(p.plain, [&](const auto& X) {
                every_candidate_has_the_error_of_refits(p, X);
                threads_do_not_change_a_bit(p, X);
            });
        }
    return marginrank_failures() != 0;
}
