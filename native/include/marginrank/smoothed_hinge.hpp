// The pairwise hinge over queries, smoothed: quadratic for differences within half a width of 1, as it is elsewhere.
//
// With t = (1 - (high - low)) / width + 1/2 and mu = min(max(t, 0), 1) a pair costs width mu (t - mu/2), and its
// derivative is -mu. The hinge is the largest of mu (1 - (high - low)) over all mu from 0 to 1, so whichever mu a pair
// has, and however t was rounded, the slope of this loss together with its level, the sum of all mu, is a plane below
// the hinge itself. Every pair is looked at: sums over sorted rows would divide their rounding by the width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "marginrank/pair_brute.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

struct SmoothedTerm {
    static constexpr bool kCosts = true;
    Real4 pull, above;  // mu, and t where it is not below 0: no product of 0 and infinity can arise
    Real4 cost(Real4 w_low, Real4 w_high) const { return w_low * (w_high * pull) * (above - 0.5 * pull); }
};
struct SmoothedHessianTerm {
    static constexpr bool kCosts = false;
    Real4 pull;
};

// Makes the terms of pairs; the reciprocal of the width is what slacks are multiplied with.
struct MakeSmoothed {
    double rate;
    SmoothedTerm operator()(Real4 difference, Real4, Real4) const {
        const Real4 t = (1.0 - difference) * rate + 0.5, above = where4(t > 0.0, t);
        return {choose(above < 1.0, above, 1.0), above};
    }
};
struct MakeSmoothedHessian {
    double rate;
    SmoothedHessianTerm operator()(Real4 difference, Real4 u_low, Real4 u_high) const {
        const Real4 t = (1.0 - difference) * rate + 0.5;
        return {where4((t > 0.0) & (t < 1.0), (u_low - u_high) * rate)};
    }
};

}  // namespace kernels

class SmoothedHinge : public QueryLoss {
public:
    // scale[q] multiplies the sum over the pairs of query q. labels must outlive this.
    SmoothedHinge(const PairLabels& labels, const double* scale, double width)
        : QueryLoss(labels.query_ptr(), scale_of_pairs(labels, scale), QueryGrain{4096, 1024}),
          labels_(labels),
          width_(width) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<BruteScratch>(); }

    // Sum of mu over all pairs, with the weights of their rows and the factors of their queries.
    double level(const Crew& crew, const double* scores) const {
        return visit_all(crew, [&](const Crew& inner, std::int64_t q, QueryScratch& scratch) {
            return level_rows(inner, q, scores + query_ptr()[q], scratch);
        });
    }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& rows = static_cast<BruteScratch&>(scratch);
        const double value = sum_query(crew, q, scores, rows);
        rows.scatter(labels_, q, factor, gradient);
        return value;
    }

    double level_query(const Crew& crew, std::int64_t q, const double* scores, QueryScratch& scratch) const override {
        auto& rows = static_cast<BruteScratch&>(scratch);
        sum_query(crew, q, scores, rows);
        const bool weighted = labels_.weight() != nullptr;
        double sum = 0.0;
        for (std::size_t k = 0; k < static_cast<std::size_t>(labels_.rows(q)); ++k)
            sum += weighted ? rows.w[k] * rows.down[k] : rows.down[k];
        return sum;
    }

    void hessian_query(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                       double factor, double* product, QueryScratch& scratch) const override {
        auto& rows = static_cast<BruteScratch&>(scratch);
        rows.gather(labels_, q, scores, direction);
        rows.sum_pairs<kernels::SmoothedHessianTerm>(crew, labels_, q, true,
                                                     kernels::MakeSmoothedHessian{1.0 / width_});
        rows.scatter(labels_, q, factor, product);
    }

private:
    double sum_query(const Crew& crew, std::int64_t q, const double* scores, BruteScratch& rows) const {
        rows.gather(labels_, q, scores, nullptr);
        return width_ * rows.sum_pairs<kernels::SmoothedTerm>(crew, labels_, q, false,
                                                              kernels::MakeSmoothed{1.0 / width_});
    }

    const PairLabels& labels_;
    double width_;
};

}  // namespace marginrank
