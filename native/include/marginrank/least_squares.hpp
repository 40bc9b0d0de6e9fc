// Least squares within queries: R = sum_q scale_q sum_i s_i (e_i - mean_q e)^2 for errors e = scores - labels.
//
// Scores and labels are taken relative to those of the query's first row before anything is added up, so a
// constant in the scores costs no digits. Sums run over fixed blocks of rows and meet in a fixed tree.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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
    // weight may be null: all one. The arrays must outlive this.
    LeastSquares(const double* y, const double* weight, const double* scale, const std::int64_t* query_ptr,
                 std::int64_t n_queries)
        : QueryLoss(query_ptr, n_queries), y_(y), weight_(weight), scale_(scale) {
        SquaresScratch scratch;
        total_.reserve(static_cast<std::size_t>(n_queries));
        for (std::int64_t q = 0; q < n_queries; ++q) total_.push_back(query_total(q, scratch));
    }

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<SquaresScratch>(); }

    double evaluate(std::int64_t q, const double* scores, double* gradient, QueryScratch& scratch) const override {
        return visit_query<true>(Crew(1), q, scores, gradient, static_cast<SquaresScratch&>(scratch));
    }

    void hessian(std::int64_t q, const double*, const double* direction, double* product,
                 QueryScratch& scratch) const override {
        visit_query<false>(Crew(1), q, direction, product, static_cast<SquaresScratch&>(scratch));
    }

    double evaluate_all(const Crew& crew, const double* scores, double* gradient) const {
        return visit_all<true>(crew, scores, gradient);
    }

    // The Hessian is the same at all scores.
    void hessian_all(const Crew& crew, const double*, const double* direction, double* product) const {
        visit_all<false>(crew, direction, product);
    }

private:
    static constexpr std::int64_t kBlockRows = 4096;
    // From this many rows on, one query uses all threads.
    static constexpr std::int64_t kLargeRows = 4 * kBlockRows;

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

    // Sum of sum_block(from, to) over the blocks of rows [first, last).
    template <class SumBlock>
    static double sum_blocks(const Crew& crew, std::int64_t first, std::int64_t last, SquaresScratch& scratch,
                             SumBlock&& sum_block) {
        if (last - first <= kBlockRows) return sum_block(first, last);
        const std::int64_t n_blocks = (last - first + kBlockRows - 1) / kBlockRows;
        scratch.block_sums.resize(at(n_blocks));
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t from = first + b * kBlockRows;
            scratch.block_sums[at(b)] = sum_block(from, std::min(from + kBlockRows, last));
        });
        return tree_sum(scratch.block_sums.data(), n_blocks);
    }

    double query_total(std::int64_t q, SquaresScratch& scratch) const {
        const std::int64_t first = query_ptr()[q], last = query_ptr()[q + 1];
        if (weight_ == nullptr) return static_cast<double>(last - first);
        return sum_blocks(Crew(1), first, last, scratch, [&](std::int64_t from, std::int64_t to) {
            double sum = 0.0;
            for (std::int64_t i = from; i < to; ++i) sum += weight_[i];
            return sum;
        });
    }

    // Value of query q; out becomes 2 scale_q s_i (x_i - mean), for errors or, without labels, for x itself.
    template <bool Labels>
    double visit_query(const Crew& crew, std::int64_t q, const double* x, double* out, SquaresScratch& scratch) const {
        const std::int64_t first = query_ptr()[q], last = query_ptr()[q + 1];
        if (!(total_[at(q)] > 0.0) || scale_[q] == 0.0) {
            std::fill(out + first, out + last, 0.0);
            return 0.0;
        }
        return weight_ == nullptr ? visit_rows<Labels, false>(crew, q, x, out, scratch)
                                  : visit_rows<Labels, true>(crew, q, x, out, scratch);
    }

    template <bool Labels, bool Weighted>
    double visit_rows(const Crew& crew, std::int64_t q, const double* x, double* out, SquaresScratch& scratch) const {
        const std::int64_t first = query_ptr()[q], last = query_ptr()[q + 1];
        const Relative<Labels> error{x, y_, x[first], y_[first]};
        const double sum = sum_blocks(crew, first, last, scratch, [&](std::int64_t from, std::int64_t to) {
            return sum_errors<Weighted>(error, from, to);
        });
        const double mean = sum / total_[at(q)], factor = 2.0 * scale_[q];
        const double squares = sum_blocks(crew, first, last, scratch, [&](std::int64_t from, std::int64_t to) {
            return centre_errors<Weighted>(error, mean, factor, from, to, out);
        });
        return scale_[q] * squares;
    }

    template <bool Weighted, class Error>
    double sum_errors(const Error& error, std::int64_t from, std::int64_t to) const {
        Real4 sum = {};
        std::int64_t i = from;
        for (; i + 4 <= to; i += 4) sum += Weighted ? load4(weight_ + i) * error.at4(i) : error.at4(i);
        double tail = 0.0;
        for (; i < to; ++i) tail += Weighted ? weight_[i] * error.at(i) : error.at(i);
        return sum4(sum) + tail;
    }

    // Returns the weighted squares of the centred errors.
    template <bool Weighted, class Error>
    double centre_errors(const Error& error, double mean, double factor, std::int64_t from, std::int64_t to,
                         double* out) const {
        Real4 squares = {};
        std::int64_t i = from;
        for (; i + 4 <= to; i += 4) {
            const Real4 centred = error.at4(i) - all4(mean);
            const Real4 pull = Weighted ? load4(weight_ + i) * centred : centred;
            store4(out + i, all4(factor) * pull);
            squares += pull * centred;
        }
        double tail = 0.0;
        for (; i < to; ++i) {
            const double centred = error.at(i) - mean, pull = Weighted ? weight_[i] * centred : centred;
            out[i] = factor * pull;
            tail += pull * centred;
        }
        return sum4(squares) + tail;
    }

    // The large queries one after the other with all threads, the others side by side.
    template <bool Labels>
    double visit_all(const Crew& crew, const double* x, double* out) const {
        if (n_queries() == 0) return 0.0;
        std::vector<SquaresScratch> scratch(at(crew.threads()));
        const auto is_large = [&](std::int64_t q) { return query_ptr()[q + 1] - query_ptr()[q] >= kLargeRows; };
        double large = 0.0;
        for (std::int64_t q = 0; q < n_queries(); ++q)
            if (is_large(q)) large += visit_query<Labels>(crew, q, x, out, scratch[0]);
        const std::int64_t n_blocks =
            std::clamp<std::int64_t>(n_rows() / kBlockRows, 1, std::min<std::int64_t>(n_queries(), 256));
        std::vector<double> values(at(n_blocks), 0.0);
        crew.run(n_blocks, [&](std::int64_t b, int worker) {
            const Crew alone(1);
            const std::int64_t stop = block_bound(n_queries(), n_blocks, b + 1);
            for (std::int64_t q = block_bound(n_queries(), n_blocks, b); q < stop; ++q)
                if (!is_large(q)) values[at(b)] += visit_query<Labels>(alone, q, x, out, scratch[at(worker)]);
        });
        return large + tree_sum(values.data(), n_blocks);
    }

    const double *y_, *weight_, *scale_;
    std::vector<double> total_;
};

}  // namespace marginrank
