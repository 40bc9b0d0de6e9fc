// Forward selection for least squares within queries: what each further feature would make of the leave-query-out error.
//
// Rows are centred within their queries. Without query q, k chosen columns S leave the system A_q w = b_q with
// A_q = L L' = X_S'X_S + lambda, sums over the other queries. For each query and each column j there is kept
//
//     V_ij    row i of L^-1 (X_S'x_j) over the other queries, one for each chosen column
//     d_j     what is left of x_j'x_j + lambda over the other queries: its Schur complement
//     beta_j  what is left of x_j'y over the other queries; beta_j / d_j is the weight that j would get
//     tau_j   t_j't_j, and rho_j = r't_j, over the query itself: r is what its held-out scores leave of y, and
//             t_j = x_j - X_S A_q^-1 (X_S'x_j) what the held-out model leaves of x_j
//
// so that the error of the query with j would be r'r - 2 v rho_j + v^2 tau_j, v = beta_j / d_j. A column c that is chosen
// moves all of that by v_j, its new row of V, and h_j = e't_j, e = t_c / sqrt(d_c), for which x_c'x_j and e'x_j within
// each query are needed: one read of X, with two sums for each column. Nothing of the size of X is stored.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/function_ref.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_rows.hpp"

namespace marginrank {

class QuerySelection {
public:
    using Vector = std::vector<double>;

    // query_ptr: first row of each query, and the number of rows. weight: of each row, that of its query included.
    // unit: what columns are multiplied by. most: features that will be chosen at most.
    QuerySelection(std::vector<std::int64_t> query_ptr, Vector y, Vector weight, Vector unit, double lambda,
                   std::int64_t most)
        : query_ptr_(std::move(query_ptr)),
          residual_(std::move(y)),
          weight_(std::move(weight)),
          unit_(std::move(unit)),
          lambda_(lambda),
          most_(most),
          n_cols_(static_cast<std::int64_t>(unit_.size())) {
        for (std::size_t q = 0; q + 1 < query_ptr_.size(); ++q)  // a row alone in its query is 0
            if (query_ptr_[q + 1] - query_ptr_[q] > 1) compared_.push_back(static_cast<std::int64_t>(q));
        error_.resize(query_ptr_.size() - 1, 0.0);
        cut_blocks();
    }

    std::int64_t n_rows() const { return query_ptr_.back(); }
    std::int64_t n_queries() const { return static_cast<std::int64_t>(query_ptr_.size()) - 1; }
    std::int64_t n_cols() const { return n_cols_; }
    std::int64_t n_chosen() const { return static_cast<std::int64_t>(chosen_.size()); }
    std::int64_t most() const { return most_; }
    bool has_begun() const { return d_ != nullptr; }
    bool is_chosen(std::int64_t column) const { return std::count(chosen_.begin(), chosen_.end(), column) > 0; }
    // y less the held-out scores, both centred within the query; weighted squares of it, by query.
    const Vector& residual() const { return residual_; }
    const Vector& error() const { return error_; }
    // Over all queries: squares of the columns and then their products with y, after begin; products of all columns with
    // the column that was chosen last.
    const Vector& sums() const { return sums_; }

    // Reads X; errors[j] becomes the sum over queries of the held-out error with column j alone.
    template <class Matrix>
    void begin(const Crew& crew, const Matrix& X, RowList rows, double* errors) {
        begin(crew, [&]() -> Reader { return std::make_unique<QueryRows<Matrix>>(X, rows); }, errors);
    }

    // Chooses a column; errors as above, with it and each further one.
    template <class Matrix>
    void choose(const Crew& crew, const Matrix& X, RowList rows, std::int64_t column, double* errors) {
        choose(crew, [&]() -> Reader { return std::make_unique<QueryRows<Matrix>>(X, rows); }, column, errors);
    }

private:
    // Relative to the squares of a column: less is rounding of what the chosen ones have in common with it.
    static constexpr double kRounding = 1e-13;

    struct Scratch {
        Vector x, t, a, b, sums, v, h, small, model;
        std::vector<std::int64_t> columns;
    };

    // Who reads the queries of a matrix; each worker has its own.
    using Reader = std::unique_ptr<OpenQuery>;
    using NewReader = FunctionRef<Reader()>;

    void begin(const Crew& crew, NewReader reader, double* errors) {
        const auto size = compared_.size() * columns();
        for (auto* field : {&d_, &beta_, &tau_, &rho_, &product_, &projection_}) field->reset(new double[size]);
        rows_of_v_.reset(new double[size * static_cast<std::size_t>(most_)]);
        const auto width = static_cast<std::size_t>(most_) * compared_.size();
        diagonal_.assign(width, 0.0);
        length_.assign(compared_.size(), 0.0);
        sums_.assign(2 * columns(), 0.0);
        const double* sums = sums_.data();
        over_blocks(crew, reader, 2, sums_.data(),
                    [&](std::int64_t c, OpenQuery& query, Scratch& room, double* partial) { measure(c, query, room, partial); });
        floor_.resize(columns());
        for (std::size_t j = 0; j < columns(); ++j) floor_[j] = std::max(lambda_, kRounding * (lambda_ + sums[j]));
        predict(crew, errors, [&](std::int64_t c, Scratch&) {
            const std::size_t at = place(c);
            for (std::size_t j = 0; j < columns(); ++j) {
                d_[at + j] = std::max(lambda_ + (sums[j] - tau_[at + j]), floor_[j]);
                beta_[at + j] = sums[columns() + j] - rho_[at + j];
            }
        });
    }

    void choose(const Crew& crew, NewReader reader, std::int64_t column, double* errors) {
        sums_.assign(columns(), 0.0);
        over_blocks(crew, reader, 1, sums_.data(), [&](std::int64_t c, OpenQuery& query, Scratch& room, double* partial) {
            project(c, column, query, room, partial);
        });
        predict(crew, errors, [&](std::int64_t c, Scratch& room) { eliminate(c, column, sums_.data(), room); });
        chosen_.push_back(column);
    }

    std::size_t columns() const { return static_cast<std::size_t>(n_cols_); }
    std::size_t place(std::int64_t c) const { return static_cast<std::size_t>(c) * columns(); }
    double* v_row(std::int64_t c, std::int64_t i) const {
        return rows_of_v_.get() + static_cast<std::size_t>(c * most_ + i) * columns();
    }

    // Blocks of whole queries, by the number of rows: the same for any number of threads.
    void cut_blocks() {
        const std::int64_t rows = n_rows(), n = static_cast<std::int64_t>(compared_.size());
        const std::int64_t work = std::max(rows, n * 8) * std::max<std::int64_t>(n_cols_, 1);
        const std::int64_t n_blocks = std::clamp<std::int64_t>(work >> 16, 1, std::min<std::int64_t>(256, std::max<std::int64_t>(n, 1)));
        block_.push_back(0);
        for (std::int64_t b = 1; b < n_blocks; ++b) {
            const std::int64_t row = block_bound(rows, n_blocks, b);
            const auto found = std::lower_bound(compared_.begin() + block_.back(), compared_.end(), row,
                                                [&](std::int64_t q, std::int64_t r) { return query_ptr_[static_cast<std::size_t>(q)] < r; });
            block_.push_back(found - compared_.begin());
        }
        block_.push_back(n);
    }

    // Calls use(c, rows of the query, scratch, partial sums) for each query that has pairs; sums in the order of blocks.
    void over_blocks(const Crew& crew, NewReader reader, std::size_t n_sums, double* sums,
                     FunctionRef<void(std::int64_t, OpenQuery&, Scratch&, double*)> use) {
        const std::size_t n_blocks = block_.size() - 1, width = n_sums * columns();
        Vector partial(n_blocks * width, 0.0);
        struct Worker {
            Reader rows;
            Scratch room;
        };
        std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(crew.threads()));
        crew.run(static_cast<std::int64_t>(n_blocks), [&](std::int64_t b, int number) {
            auto& worker = workers[static_cast<std::size_t>(number)];
            if (!worker) worker.reset(new Worker{reader(), {}});
            for (std::int64_t c = block_[static_cast<std::size_t>(b)]; c < block_[static_cast<std::size_t>(b) + 1]; ++c) {
                const auto q = static_cast<std::size_t>(compared_[static_cast<std::size_t>(c)]);
                worker->rows->open(query_ptr_[q], query_ptr_[q + 1]);
                use(c, *worker->rows, worker->room, partial.data() + static_cast<std::size_t>(b) * width);
            }
        });
        add_blocks(partial, n_blocks, width, sums);
    }

    static void add_blocks(const Vector& partial, std::size_t n_blocks, std::size_t width, double* sums) {
        std::fill(sums, sums + width, 0.0);
        for (std::size_t b = 0; b < n_blocks; ++b)
            for (std::size_t j = 0; j < width; ++j) sums[j] += partial[b * width + j];
    }

    // Calls prepare for each query, and adds up its error with each column.
    void predict(const Crew& crew, double* errors, FunctionRef<void(std::int64_t, Scratch&)> prepare) {
        const std::size_t n_blocks = block_.size() - 1, n = columns();
        Vector partial(n_blocks * n, 0.0);
        std::vector<Scratch> rooms(static_cast<std::size_t>(crew.threads()));
        crew.run(static_cast<std::int64_t>(n_blocks), [&](std::int64_t b, int number) {
            double* own = partial.data() + static_cast<std::size_t>(b) * n;
            for (std::int64_t c = block_[static_cast<std::size_t>(b)]; c < block_[static_cast<std::size_t>(b) + 1]; ++c) {
                prepare(c, rooms[static_cast<std::size_t>(number)]);
                const double rest = error_[static_cast<std::size_t>(compared_[static_cast<std::size_t>(c)])];
                const double* d = d_.get() + place(c);
                const double* beta = beta_.get() + place(c);
                const double* tau = tau_.get() + place(c);
                const double* rho = rho_.get() + place(c);
                for (std::size_t j = 0; j < n; ++j) {
                    const double v = beta[j] / d[j];
                    own[j] += rest + v * (v * tau[j] - 2.0 * rho[j]);
                }
            }
        });
        add_blocks(partial, n_blocks, n, errors);
    }

    // Subtracts the weighted mean.
    static void centre(double* x, const double* weight, std::size_t m) {
        double sum = 0.0, mass = 0.0;
        for (std::size_t k = 0; k < m; ++k) {
            sum += weight[k] * x[k];
            mass += weight[k];
        }
        for (std::size_t k = 0; k < m; ++k) x[k] -= sum / mass;
    }

    struct Rows {
        double *r;
        const double* weight;
        std::size_t m, q;
    };
    Rows rows_of(std::int64_t c) {
        const auto q = static_cast<std::size_t>(compared_[static_cast<std::size_t>(c)]);
        const auto begin = static_cast<std::size_t>(query_ptr_[q]);
        return {residual_.data() + begin, weight_.data() + begin, static_cast<std::size_t>(query_ptr_[q + 1]) - begin, q};
    }

    // tau and rho of all columns at the start, where t_j = x_j and r = y.
    void measure(std::int64_t c, OpenQuery& query, Scratch& room, double* partial) {
        const Rows rows = rows_of(c);
        const std::size_t n = columns(), at = place(c);
        const double first = rows.r[0];
        for (std::size_t k = 0; k < rows.m; ++k) rows.r[k] -= first;
        for (int twice = 0; twice < 2; ++twice) centre(rows.r, rows.weight, rows.m);
        room.a.resize(rows.m);
        double mass = 0.0, error = 0.0;
        for (std::size_t k = 0; k < rows.m; ++k) {
            mass += rows.weight[k];
            room.a[k] = rows.weight[k] * rows.r[k];
            error += room.a[k] * rows.r[k];
        }
        error_[rows.q] = error;
        room.sums.assign(3 * n, 0.0);
        const double* both[2] = {rows.weight, room.a.data()};
        query.add_two(both, room.sums.data());
        query.add_squares(rows.weight, room.sums.data() + 2 * n);
        for (std::size_t j = 0; j < n; ++j) {
            const double sum = room.sums[j], squares = room.sums[2 * n + j];
            const double tau = std::max(squares - sum * sum / mass, 0.0) * unit_[j] * unit_[j];
            const double rho = room.sums[n + j] * unit_[j];
            tau_[at + j] = tau;
            rho_[at + j] = rho;
            partial[j] += tau;
            partial[n + j] += rho;
        }
    }

    // L of a query, one row below the other, from what its V has at the chosen columns.
    double lower(std::int64_t c, std::int64_t row, std::int64_t i) const {
        return v_row(c, i)[chosen_[static_cast<std::size_t>(row)]];
    }
    double diagonal(std::int64_t c, std::int64_t i) const { return diagonal_[static_cast<std::size_t>(c * most_ + i)]; }

    // The rows of the query: t of the column, and what the held-out model leaves of y with it; its products with all columns.
    void project(std::int64_t c, std::int64_t column, OpenQuery& query, Scratch& room, double* partial) {
        const Rows rows = rows_of(c);
        const std::size_t n = columns(), at = place(c);
        const std::int64_t k = n_chosen();
        const double root = std::sqrt(d_[at + static_cast<std::size_t>(column)]);
        const double weight_of_column = beta_[at + static_cast<std::size_t>(column)] / (root * root);
        room.model.resize(static_cast<std::size_t>(k));
        for (std::int64_t i = k - 1; i >= 0; --i) {  // L' model = what V has at the column
            double left = v_row(c, i)[column];
            for (std::int64_t later = i + 1; later < k; ++later) left -= lower(c, later, i) * room.model[static_cast<std::size_t>(later)];
            room.model[static_cast<std::size_t>(i)] = left / diagonal(c, i);
        }
        room.small.resize(static_cast<std::size_t>(k));
        for (std::int64_t i = 0; i < k; ++i) {
            const auto s = static_cast<std::size_t>(i);
            room.small[s] = room.model[s] * unit_[static_cast<std::size_t>(chosen_[s])];
        }
        for (auto* rows_room : {&room.x, &room.t, &room.a, &room.b}) rows_room->resize(rows.m);
        const double unit = unit_[static_cast<std::size_t>(column)];
        query.scores(&column, &unit, 1, room.x.data());
        query.scores(chosen_.data(), room.small.data(), k, room.t.data());
        for (std::size_t i = 0; i < rows.m; ++i) room.t[i] = room.x[i] - room.t[i];
        for (int twice = 0; twice < 2; ++twice) {
            centre(room.x.data(), rows.weight, rows.m);
            centre(room.t.data(), rows.weight, rows.m);
        }
        double error = 0.0, length = 0.0;
        for (std::size_t i = 0; i < rows.m; ++i) {
            rows.r[i] -= weight_of_column * room.t[i];
            error += rows.weight[i] * rows.r[i] * rows.r[i];
            room.a[i] = rows.weight[i] * room.x[i];
            room.b[i] = rows.weight[i] * room.t[i] / root;
            length += room.b[i] * room.t[i] / root;
        }
        error_[rows.q] = error;
        length_[static_cast<std::size_t>(c)] = length;
        room.sums.assign(2 * n, 0.0);
        const double* both[2] = {room.a.data(), room.b.data()};
        query.add_two(both, room.sums.data());
        for (std::size_t j = 0; j < n; ++j) {
            const double product = room.sums[j] * unit_[j];
            product_[at + j] = product;
            projection_[at + j] = room.sums[n + j] * unit_[j];
            partial[j] += product;
        }
    }

    // A further row of V, and what d, beta, tau and rho become with it.
    void eliminate(std::int64_t c, std::int64_t column, const double* sums, Scratch& room) {
        const std::size_t n = columns(), at = place(c), own = at + static_cast<std::size_t>(column);
        const std::int64_t k = n_chosen();
        const double root = std::sqrt(d_[own]), part = beta_[own] / root, along = rho_[own] / root;
        const double length = length_[static_cast<std::size_t>(c)];
        room.small.resize(static_cast<std::size_t>(k));  // e' times what is left of each chosen column
        for (std::int64_t i = 0; i < k; ++i) {
            double left = projection_[at + static_cast<std::size_t>(chosen_[static_cast<std::size_t>(i)])];
            for (std::int64_t before = 0; before < i; ++before) left -= lower(c, i, before) * room.small[static_cast<std::size_t>(before)];
            room.small[static_cast<std::size_t>(i)] = left / diagonal(c, i);
        }
        double* __restrict v = v_row(c, k);
        double* __restrict h = projection_.get() + at;
        const double* __restrict within = product_.get() + at;
        for (std::size_t j = 0; j < n; ++j) v[j] = sums[j] - within[j];
        for (std::int64_t i = 0; i < k; ++i) {
            const double* __restrict row = v_row(c, i);
            const double of_v = row[column], of_h = room.small[static_cast<std::size_t>(i)];
            for (std::size_t j = 0; j < n; ++j) {
                v[j] -= of_v * row[j];
                h[j] -= of_h * row[j];
            }
        }
        double* __restrict d = d_.get() + at;
        double* __restrict beta = beta_.get() + at;
        double* __restrict tau = tau_.get() + at;
        double* __restrict rho = rho_.get() + at;
        const double* __restrict least = floor_.data();
        for (std::size_t j = 0; j < n; ++j) {
            v[j] /= root;
            const double bent = v[j] * length - h[j];
            const double left = tau[j] + v[j] * (bent - h[j]), less = d[j] - v[j] * v[j];
            tau[j] = left > 0.0 ? left : 0.0;
            rho[j] += part * bent - v[j] * along;
            beta[j] -= v[j] * part;
            d[j] = less > least[j] ? less : least[j];
        }
        diagonal_[static_cast<std::size_t>(c * most_ + k)] = root;
    }

    std::vector<std::int64_t> query_ptr_;
    Vector residual_, weight_, unit_, error_, floor_, diagonal_, length_, sums_;
    double lambda_;
    std::int64_t most_, n_cols_;
    std::vector<std::int64_t> compared_, block_, chosen_;
    std::unique_ptr<double[]> d_, beta_, tau_, rho_, product_, projection_, rows_of_v_;
};

}  // namespace marginrank
