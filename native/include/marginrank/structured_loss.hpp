// Structured losses: R_q(s) = max over rankings y of [ Delta(y) + s.(phi(y) - phi(y*)) ], in score space.
//
// The maximum of linear functions of the scores is convex, and the ranking that attains it gives a
// subgradient: phi(y) - phi(y*). Each loss has its own exact inference. The ideal ranking has the value 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "marginrank/query_loss.hpp"

namespace marginrank {

class StructuredLoss : public QueryLoss {
protected:
    // scale[q] multiplies the loss of query q; queries with scale 0 are left out. query_ptr must outlive this.
    StructuredLoss(const std::int64_t* query_ptr, std::vector<double> scale)
        : QueryLoss(query_ptr, std::move(scale), QueryGrain{1024, 32768}) {}

    // Piecewise linear: the Hessian is zero wherever there is one.
    void hessian_query(const Crew&, std::int64_t q, const double*, const double*, double, double* product,
                       QueryScratch&) const final {
        std::fill(product, product + rows(q), 0.0);
    }
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
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
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
