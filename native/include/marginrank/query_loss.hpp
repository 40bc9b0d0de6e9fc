// A loss that is a sum over queries. A loss writes one query; what all of them share is here: the factors of the
// queries, the loop over them, threads, blocks and the tree of their sums, and the queries of a pass over X.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "marginrank/parallel.hpp"

namespace marginrank {

// Memory that a loss needs while it evaluates a query; one per worker, made by the loss.
struct QueryScratch {
    virtual ~QueryScratch() = default;

    std::vector<double> moved;  // the scores of a query with their offset
};

// How the work is cut, by the data only: rows of a block of short queries, and from how many rows on one query has
// all threads to itself.
struct QueryGrain {
    std::int64_t block_rows = 4096;
    std::int64_t long_query = 32768;
};

class QueryLoss {
public:
    virtual ~QueryLoss() = default;

    std::int64_t n_queries() const { return static_cast<std::int64_t>(scale_.size()); }
    const std::int64_t* query_ptr() const { return query_ptr_; }
    std::int64_t n_rows() const { return query_ptr_[n_queries()]; }
    std::int64_t rows(std::int64_t q) const { return query_ptr_[q + 1] - query_ptr_[q]; }
    std::int64_t longest_query() const { return longest_; }

    virtual std::unique_ptr<QueryScratch> make_scratch() const = 0;

    // Add a number to the score of each row before the loss sees it; once, before any evaluation.
    void add_offset(const double* offset) { offset_.assign(offset, offset + n_rows()); }

    // Value of query q, times its factor, and the gradient; both arrays start at the first row of the query.
    double evaluate_rows(const Crew& crew, std::int64_t q, const double* scores, double* gradient,
                         QueryScratch& scratch) const {
        const double factor = scale_[static_cast<std::size_t>(q)];
        if (factor == 0.0) {
            std::fill(gradient, gradient + rows(q), 0.0);
            return 0.0;
        }
        // No loss is negative; what is below 0 is the rounding of terms that cancel.
        const double* at = moved(q, scores, scratch);
        return factor * std::max(evaluate_query(crew, q, at, factor, gradient, scratch), 0.0);
    }

    // The level of query q, times its factor; only of losses that have one.
    double level_rows(const Crew& crew, std::int64_t q, const double* scores, QueryScratch& scratch) const {
        const double factor = scale_[static_cast<std::size_t>(q)];
        return factor == 0.0 ? 0.0 : factor * level_query(crew, q, moved(q, scores, scratch), scratch);
    }

    // Product of the Hessian of query q at the scores with the direction, times its factor.
    void hessian_rows(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                      double* product, QueryScratch& scratch) const {
        const double factor = scale_[static_cast<std::size_t>(q)];
        if (factor == 0.0)
            std::fill(product, product + rows(q), 0.0);
        else
            hessian_query(crew, q, moved(q, scores, scratch), direction, factor, product, scratch);
    }

    // The same for a pass over X, which has threads of its own; all arrays span all rows.
    double evaluate(std::int64_t q, const double* scores, double* gradient, QueryScratch& scratch) const {
        return evaluate_rows(Crew(1), q, scores + query_ptr_[q], gradient + query_ptr_[q], scratch);
    }
    void hessian(std::int64_t q, const double* scores, const double* direction, double* product,
                 QueryScratch& scratch) const {
        const std::int64_t first = query_ptr_[q];
        hessian_rows(Crew(1), q, scores + first, direction + first, product + first, scratch);
    }

    // The queries [first, last), one after the other. Several threads may call this at once.
    double evaluate_range(const Crew& crew, std::int64_t first, std::int64_t last, const double* scores,
                          double* gradient) const {
        const auto scratch = make_scratch();
        double value = 0.0;
        for (std::int64_t q = first; q < last; ++q)
            value += evaluate_rows(crew, q, scores + query_ptr_[q], gradient + query_ptr_[q], *scratch);
        return value;
    }
    void hessian_range(const Crew& crew, std::int64_t first, std::int64_t last, const double* scores,
                       const double* direction, double* product) const {
        const auto scratch = make_scratch();
        for (std::int64_t q = first; q < last; ++q) {
            const std::int64_t at = query_ptr_[q];
            hessian_rows(crew, q, scores + at, direction + at, product + at, *scratch);
        }
    }

    // All queries.
    double evaluate_all(const Crew& crew, const double* scores, double* gradient) const {
        return visit_all(crew, [&](const Crew& inner, std::int64_t q, QueryScratch& scratch) {
            return evaluate_rows(inner, q, scores + query_ptr_[q], gradient + query_ptr_[q], scratch);
        });
    }
    void hessian_all(const Crew& crew, const double* scores, const double* direction, double* product) const {
        visit_all(crew, [&](const Crew& inner, std::int64_t q, QueryScratch& scratch) {
            const std::int64_t at = query_ptr_[q];
            hessian_rows(inner, q, scores + at, direction + at, product + at, scratch);
            return 0.0;
        });
    }

protected:
    // scale[q] multiplies query q, and 0 leaves it out. query_ptr must outlive this.
    QueryLoss(const std::int64_t* query_ptr, std::vector<double> scale, QueryGrain grain = {})
        : query_ptr_(query_ptr), scale_(std::move(scale)), grain_(grain) {
        for (std::int64_t q = 0; q < n_queries(); ++q) longest_ = std::max(longest_, rows(q));
    }

    // What a loss writes: the value of query q, and `factor` times its gradient. The crew has more than one thread
    // only where the query is long.
    virtual double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor,
                                  double* gradient, QueryScratch& scratch) const = 0;
    // And `factor` times the product of its Hessian with the direction.
    virtual void hessian_query(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                               double factor, double* product, QueryScratch& scratch) const = 0;

    // And, where it has planes of its own, the height of its plane at scores of 0.
    virtual double level_query(const Crew&, std::int64_t, const double*, QueryScratch&) const { return 0.0; }

    // Sum of visit(crew, q, scratch): the long queries one after the other with all threads, the others side by
    // side.
    template <class Visit>
    double visit_all(const Crew& crew, Visit&& visit) const {
        if (n_queries() == 0) return 0.0;
        const std::lock_guard<std::mutex> guard(lock_);
        while (scratch_.size() < static_cast<std::size_t>(crew.threads())) scratch_.push_back(make_scratch());
        double in_long = 0.0;
        for (std::int64_t q = 0; q < n_queries(); ++q)
            if (rows(q) >= grain_.long_query) in_long += visit(crew, q, *scratch_[0]);
        const std::int64_t n_blocks = std::clamp<std::int64_t>(n_rows() / grain_.block_rows, 1,
                                                               std::min<std::int64_t>(n_queries(), 256));
        std::vector<double> values(static_cast<std::size_t>(n_blocks), 0.0);
        const Crew alone(1);
        crew.run(n_blocks, [&](std::int64_t b, int worker) {
            double value = 0.0;
            const std::int64_t last = block_bound(n_queries(), n_blocks, b + 1);
            for (std::int64_t q = block_bound(n_queries(), n_blocks, b); q < last; ++q)
                if (rows(q) < grain_.long_query) value += visit(alone, q, *scratch_[static_cast<std::size_t>(worker)]);
            values[static_cast<std::size_t>(b)] = value;
        });
        return in_long + tree_sum(values.data(), n_blocks);
    }

private:
    // The scores of query q with their offset; as they are where there is none.
    const double* moved(std::int64_t q, const double* scores, QueryScratch& scratch) const {
        if (offset_.empty()) return scores;
        scratch.moved.resize(static_cast<std::size_t>(rows(q)));
        const double* offset = offset_.data() + query_ptr_[q];
        for (std::size_t i = 0; i < scratch.moved.size(); ++i) scratch.moved[i] = scores[i] + offset[i];
        return scratch.moved.data();
    }

    const std::int64_t* query_ptr_;
    std::vector<double> scale_;
    std::vector<double> offset_;
    QueryGrain grain_;
    std::int64_t longest_ = 0;
    mutable std::mutex lock_;
    mutable std::vector<std::unique_ptr<QueryScratch>> scratch_;
};

}  // namespace marginrank
