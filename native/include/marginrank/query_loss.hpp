// A loss that is a sum over queries, as the fused pass sees it: one virtual call per query.
#pragma once

#include <cstdint>
#include <memory>

namespace marginrank {

// Memory that a loss needs while it evaluates a query; one per worker, made by the loss.
struct QueryScratch {
    virtual ~QueryScratch() = default;
};

class QueryLoss {
public:
    virtual ~QueryLoss() = default;

    std::int64_t n_queries() const { return n_queries_; }
    const std::int64_t* query_ptr() const { return query_ptr_; }
    std::int64_t n_rows() const { return query_ptr_[n_queries_]; }
    std::int64_t longest_query() const { return longest_; }

    virtual std::unique_ptr<QueryScratch> make_scratch() const = 0;
    // Value of query q; writes the gradient for the rows of the query. Both arrays span all rows.
    virtual double evaluate(std::int64_t q, const double* scores, double* gradient,
                            QueryScratch& scratch) const = 0;
    // Hessian product for the rows of query q at the given scores.
    virtual void hessian(std::int64_t q, const double* scores, const double* direction, double* product,
                         QueryScratch& scratch) const = 0;

protected:
    QueryLoss(const std::int64_t* query_ptr, std::int64_t n_queries)
        : query_ptr_(query_ptr), n_queries_(n_queries) {
        for (std::int64_t q = 0; q < n_queries; ++q) {
            const std::int64_t rows = query_ptr[q + 1] - query_ptr[q];
            if (rows > longest_) longest_ = rows;
        }
    }

private:
    const std::int64_t* query_ptr_;
    std::int64_t n_queries_;
    std::int64_t longest_ = 0;
};

}  // namespace marginrank
