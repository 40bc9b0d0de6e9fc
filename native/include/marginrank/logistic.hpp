// The pairwise logistic loss log(1 + exp(x)) of x = low - high, over queries: every pair is looked at.
//
// The logarithm is our own, as the exponential is (exponential.hpp), so it gives the same bits on every machine, for a
// number and in lanes. Each is right to 8 u of itself, u = 2^-53: in tails as in the middle, nothing overflows and
// nothing cancels.
#pragma once

#include <cstddef>
#include <memory>

#include "marginrank/exponential.hpp"
#include "marginrank/pair_brute.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// log(1 + e) for e of 0, or from 1e-307 to 1, as the artanh of e / (2 + e), or of its distance from log 2.
template <class Real>
inline Real log_of_one_plus(Real e) {
    constexpr double kLn2 = 0x1.62e42fefa39efp-1, kHalfway = 0.41421356237309503;
    const Real s = choose(e > kHalfway, e - 1.0, e) / choose(e > kHalfway, e + 3.0, e + 2.0);
    // s^2 <= 0.02944: after s^18 / 19 the series has 3e-17 left.
    constexpr double kSeries[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                  1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    const Real part = 2.0 * s * polynomial(s * s, kSeries);
    return choose(e > kHalfway, part + kLn2, part);
}

// log(1 + exp(x)) and its derivatives: 1 / (1 + exp(-x)), and that times 1 / (1 + exp(x)).
template <class Real>
struct Logistic {
    Real x, e, inverse;
    explicit Logistic(Real at) : x(at), e(exp_of_minus(choose(at < 0.0, -at, at))), inverse(1.0 / (1.0 + e)) {}
    Real value() const { return choose(x > 0.0, x, 0.0) + log_of_one_plus(e); }
    Real slope() const { return choose(x < 0.0, e * inverse, inverse); }
    Real curvature() const { return e * inverse * inverse; }
};

struct LogisticTerm {
    static constexpr bool kCosts = true;
    Real4 pull, value;
    LogisticTerm(Real4 difference, Real4, Real4) : LogisticTerm(Logistic<Real4>(-difference)) {}
    Real4 cost(Real4 w_low, Real4 w_high) const { return w_low * (w_high * value); }

private:
    explicit LogisticTerm(const Logistic<Real4>& at) : pull(at.slope()), value(at.value()) {}
};
struct LogisticHessianTerm {
    static constexpr bool kCosts = false;
    Real4 pull;
    LogisticHessianTerm(Real4 difference, Real4 u_low, Real4 u_high)
        : pull(Logistic<Real4>(-difference).curvature() * (u_low - u_high)) {}
};

}  // namespace kernels

// The term of an explicit pair, whose slack takes the place of x.
struct LogisticPair {
    static constexpr double kMargin = 0.0, kFactor = 1.0;
    static double pull(double slack) { return kernels::Logistic<double>(slack).slope(); }
    static double cost(double weight, double slack) { return weight * kernels::Logistic<double>(slack).value(); }
    static double curvature(double slack) { return kernels::Logistic<double>(slack).curvature(); }
};

class LogisticLoss : public QueryLoss {
public:
    // scale[q] multiplies the sum over the pairs of query q. labels must outlive this.
    LogisticLoss(const PairLabels& labels, const double* scale)
        : QueryLoss(labels.query_ptr(), scale_of_pairs(labels, scale), QueryGrain{1024, 1024}), labels_(labels) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<BruteScratch>(); }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& rows = static_cast<BruteScratch&>(scratch);
        rows.gather(labels_, q, scores, nullptr);
        const double value = rows.sum_pairs<kernels::LogisticTerm>(crew, labels_, q);
        rows.scatter(labels_, q, factor, gradient);
        return value;
    }

    void hessian_query(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                       double factor, double* product, QueryScratch& scratch) const override {
        auto& rows = static_cast<BruteScratch&>(scratch);
        rows.gather(labels_, q, scores, direction);
        rows.sum_pairs<kernels::LogisticHessianTerm>(crew, labels_, q, true);
        rows.scatter(labels_, q, factor, product);
    }

private:
    const PairLabels& labels_;
};

}  // namespace marginrank
