// Structured losses: R_q(s) = max over rankings y of [ Delta(y) + s.(phi(y) - phi(y*)) ], in score space.
//
// The maximum of linear functions of the scores is convex, and the ranking that attains it gives a
// subgradient: phi(y) - phi(y*). Each loss has its own exact inference; what they share is here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "marginrank/pair_loss.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"

namespace marginrank {

class StructuredLoss : public QueryLoss {
public:
    std::int64_t rows(std::int64_t q) const { return query_ptr()[q + 1] - query_ptr()[q]; }

    double evaluate(std::int64_t q, const double* scores, double* gradient, QueryScratch& scratch) const final {
        return evaluate_rows(Crew(1), q, scores + query_ptr()[q], gradient + query_ptr()[q], scratch);
    }

    // Piecewise linear: the Hessian is zero wherever there is one.
    void hessian(std::int64_t q, const double*, const double*, double* product, QueryScratch&) const final {
        std::fill(product + query_ptr()[q], product + query_ptr()[q + 1], 0.0);
    }

    // As evaluate, with both arrays starting at the first row of query q.
    double evaluate_rows(const Crew& crew, std::int64_t q, const double* scores, double* gradient,
                         QueryScratch& scratch) const {
        const double scale = scale_[static_cast<std::size_t>(q)];
        if (scale == 0.0) {
            std::fill(gradient, gradient + rows(q), 0.0);
            return 0.0;
        }
        // The ideal ranking has the value 0, so what is below is rounding.
        return scale * std::max(infer(crew, q, scores, scale, gradient, scratch), 0.0);
    }

    // All queries: the large ones one after the other with all threads, the others side by side.
    double evaluate_all(const Crew& crew, const double* scores, double* gradient) const {
        if (n_queries() == 0) return 0.0;
        const std::lock_guard<std::mutex> guard(lock_);
        while (scratch_.size() < static_cast<std::size_t>(crew.threads())) scratch_.push_back(make_scratch());
        const auto visit = [&](const Crew& inner, std::int64_t q, std::size_t worker) {
            const std::int64_t first = query_ptr()[q];
            return evaluate_rows(inner, q, scores + first, gradient + first, *scratch_[worker]);
        };
        double large = 0.0;
        for (std::int64_t q = 0; q < n_queries(); ++q)
            if (rows(q) >= kLargeQuery) large += visit(crew, q, 0);
        const std::int64_t n_blocks =
            std::clamp<std::int64_t>(n_rows() / 1024, 1, std::min<std::int64_t>(n_queries(), 256));
        std::vector<double> values(static_cast<std::size_t>(n_blocks), 0.0);
        const Crew alone(1);
        crew.run(n_blocks, [&](std::int64_t b, int worker) {
            double value = 0.0;
            const std::int64_t last = block_bound(n_queries(), n_blocks, b + 1);
            for (std::int64_t q = block_bound(n_queries(), n_blocks, b); q < last; ++q)
                if (rows(q) < kLargeQuery) value += visit(alone, q, static_cast<std::size_t>(worker));
            values[static_cast<std::size_t>(b)] = value;
        });
        return large + tree_sum(values.data(), n_blocks);
    }

protected:
    // scale[q] multiplies the loss of query q; queries with scale 0 are left out. query_ptr must outlive this.
    StructuredLoss(const std::int64_t* query_ptr, std::vector<double> scale)
        : QueryLoss(query_ptr, static_cast<std::int64_t>(scale.size())), scale_(std::move(scale)) {}

    // Returns the loss of query q and writes factor times its subgradient.
    virtual double infer(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                         QueryScratch& scratch) const = 0;

private:
    std::vector<double> scale_;
    mutable std::mutex lock_;
    mutable std::vector<std::unique_ptr<QueryScratch>> scratch_;
};

// Weighted sum of losses over the same queries, each with a slack of its own.
class StructuredSum : public StructuredLoss {
public:
    // The parts must outlive this.
    StructuredSum(std::vector<const StructuredLoss*> parts, std::vector<double> weight)
        : StructuredLoss(parts.front()->query_ptr(),
                         std::vector<double>(static_cast<std::size_t>(parts.front()->n_queries()), 1.0)),
          parts_(std::move(parts)),
          weight_(std::move(weight)) {}

    std::unique_ptr<QueryScratch> make_scratch() const override {
        auto scratch = std::make_unique<Scratch>();
        for (const StructuredLoss* part : parts_) scratch->parts.push_back(part->make_scratch());
        return scratch;
    }

protected:
    double infer(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                 QueryScratch& scratch) const override {
        auto& own = static_cast<Scratch&>(scratch);
        const std::int64_t n = rows(q);
        own.gradient.resize(static_cast<std::size_t>(n));
        std::fill(gradient, gradient + n, 0.0);
        double value = 0.0;
        for (std::size_t k = 0; k < parts_.size(); ++k) {
            value += weight_[k] * parts_[k]->evaluate_rows(crew, q, scores, own.gradient.data(), *own.parts[k]);
            const double times = factor * weight_[k];
            for (std::int64_t i = 0; i < n; ++i) gradient[i] += times * own.gradient[static_cast<std::size_t>(i)];
        }
        return value;
    }

private:
    struct Scratch : QueryScratch {
        std::vector<std::unique_ptr<QueryScratch>> parts;
        std::vector<double> gradient;
    };

    std::vector<const StructuredLoss*> parts_;
    std::vector<double> weight_;
};

}  // namespace marginrank
