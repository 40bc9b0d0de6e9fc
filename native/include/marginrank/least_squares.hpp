// Least squares within queries: R = sum_q scale_q sum_i s_i (e_i - mean_q e)^2 for errors e = scores - labels.
//
// Scores and labels are taken relative to those of the query's first row before anything is added up, so a
// constant in the scores costs no digits. Sums run over fixed blocks of rows and meet in a fixed tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {

struct SquaresScratch : QueryScratch {
    std::vector<double> block_sums;
};

class LeastSquares : public QueryLoss {
public:
    // weight may be null: all one. y, weight and query_ptr must outlive this.
    LeastSquares(const double* y, const double* weight, const double* scale, const std::int64_t* query_ptr,
                 std::int64_t n_queries)
        : LeastSquares(y, weight, scale, query_ptr, totals(weight, query_ptr, n_queries)) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<SquaresScratch>(); }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        return visit_query<true>(crew, q, scores, factor, gradient, scratch);
    }

    // The Hessian is the same at all scores.
    void hessian_query(const Crew& crew, std::int64_t q, const double*, const double* direction, double factor,
                       double* product, QueryScratch& scratch) const override {
        visit_query<false>(crew, q, direction, factor, product, scratch);
    }

private:
    static constexpr std::int64_t kBlockRows = 4096;

    LeastSquares(const double* y, const double* weight, const double* scale, const std::int64_t* query_ptr,
                 std::vector<double> total)
        : QueryLoss(query_ptr, scale_of(scale, total), QueryGrain{kBlockRows, 4 * kBlockRows}),
          y_(y), weight_(weight), total_(std::move(total)) {}

    // The factors of the queries, and 0 for those that weigh nothing.
    static std::vector<double> scale_of(const double* scale, const std::vector<double>& total) {
        std::vector<double> out(scale, scale + total.size());
        for (std::size_t q = 0; q < out.size(); ++q)
            if (!(total[q] > 0.0)) out[q] = 0.0;
        return out;
    }

    // The weight of each query.
    static std::vector<double> totals(const double* weight, const std::int64_t* query_ptr, std::int64_t n_queries) {
        SquaresScratch scratch;
        std::vector<double> out;
        out.reserve(at(n_queries));
        for (std::int64_t q = 0; q < n_queries; ++q) {
            const std::int64_t n = query_ptr[q + 1] - query_ptr[q];
            const double* own = weight + (weight == nullptr ? 0 : query_ptr[q]);
            out.push_back(weight == nullptr ? static_cast<double>(n)
                                            : sum_blocks(Crew(1), n, scratch, [&](std::int64_t from, std::int64_t to) {
                                                  return std::accumulate(own + from, own + to, 0.0);
                                              }));
        }
        return out;
    }

    // What the first row leaves of the others: scores, and labels where they take part.
    template <bool Labels>
    struct Relative {
        const double *x, *y;
        double x0, y0;
        double at(std::int64_t i) const { return Labels ? (x[i] - x0) - (y[i] - y0) : x[i] - x0; }
        Real4 at4(std::int64_t i) const {
            return Labels ? (load4(x + i) - all4(x0)) - (load4(y + i) - all4(y0)) : load4(x + i) - all4(x0);
        }
    };

    static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

    // Sum of sum_block(from, to) over the blocks of n rows.
    template <class SumBlock>
    static double sum_blocks(const Crew& crew, std::int64_t n, SquaresScratch& scratch, SumBlock&& sum_block) {
        if (n <= kBlockRows) return sum_block(0, n);
        const std::int64_t n_blocks = (n + kBlockRows - 1) / kBlockRows;
        scratch.block_sums.resize(at(n_blocks));
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t from = b * kBlockRows;
            scratch.block_sums[at(b)] = sum_block(from, std::min(from + kBlockRows, n));
        });
        return tree_sum(scratch.block_sums.data(), n_blocks);
    }

    // Weighted squares of query q; out becomes 2 factor s_i (x_i - mean), for errors or, without labels, for x
    // itself.
    template <bool Labels>
    double visit_query(const Crew& crew, std::int64_t q, const double* x, double factor, double* out,
                       QueryScratch& scratch) const {
        auto& own = static_cast<SquaresScratch&>(scratch);
        return weight_ == nullptr ? visit_rows<Labels, false>(crew, q, x, factor, out, own)
                                  : visit_rows<Labels, true>(crew, q, x, factor, out, own);
    }

    template <bool Labels, bool Weighted>
    double visit_rows(const Crew& crew, std::int64_t q, const double* x, double factor, double* out,
                      SquaresScratch& scratch) const {
        const double *y = y_ + query_ptr()[q], *weight = Weighted ? weight_ + query_ptr()[q] : nullptr;
        const Relative<Labels> error{x, y, x[0], y[0]};
        const double sum = sum_blocks(crew, rows(q), scratch, [&](std::int64_t from, std::int64_t to) {
            return sum_errors<Weighted>(error, weight, from, to);
        });
        const double mean = sum / total_[at(q)];
        return sum_blocks(crew, rows(q), scratch, [&](std::int64_t from, std::int64_t to) {
            return centre_errors<Weighted>(error, weight, mean, 2.0 * factor, from, to, out);
        });
    }

    template <bool Weighted, class Error>
    static double sum_errors(const Error& error, const double* weight, std::int64_t from, std::int64_t to) {
        Real4 sum = {};
        std::int64_t i = from;
        for (; i + 4 <= to; i += 4) sum += Weighted ? load4(weight + i) * error.at4(i) : error.at4(i);
        double tail = 0.0;
        for (; i < to; ++i) tail += Weighted ? weight[i] * error.at(i) : error.at(i);
        return sum4(sum) + tail;
    }

    // Returns the weighted squares of the centred errors.
    template <bool Weighted, class Error>
    static double centre_errors(const Error& error, const double* weight, double mean, double factor, std::int64_t from,
                                std::int64_t to, double* out) {
        Real4 squares = {};
        std::int64_t i = from;
        for (; i + 4 <= to; i += 4) {
            const Real4 centred = error.at4(i) - all4(mean);
            const Real4 pull = Weighted ? load4(weight + i) * centred : centred;
            store4(out + i, all4(factor) * pull);
            squares += pull * centred;
        }
        double tail = 0.0;
        for (; i < to; ++i) {
            const double centred = error.at(i) - mean, pull = Weighted ? weight[i] * centred : centred;
            out[i] = factor * pull;
            tail += pull * centred;
        }
        return sum4(squares) + tail;
    }

    const double *y_, *weight_;
    std::vector<double> total_;
};

}  // namespace marginrank
