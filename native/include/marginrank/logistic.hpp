// The pairwise logistic loss log(1 + exp(x)) of x = low - high, over queries: every pair is looked at.
//
// The C library's exp and log round differently from one version to the next. These are our own, of nothing but
// additions, products, quotients and shifts, so they give the same bits on every machine, for a number and in lanes.
// Each is right to 8 u of itself, u = 2^-53: in tails as in the middle, nothing overflows and nothing cancels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "marginrank/pair_brute.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// 2^-n from n + 1.5 * 2^52, whose last bits are those of n.
inline double power_of_half(double shifted) {
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (std::uint64_t{1023} << 52) - (bits << 52);
    std::memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}
inline Real4 power_of_half(Real4 shifted) {
    typedef unsigned long long Bits4 __attribute__((vector_size(32)));
    return reinterpret_cast<Real4>((1023ULL << 52) - (reinterpret_cast<Bits4>(shifted) << 52));
}

// c[0] z^N + ... + c[N - 1] z + c[N].
template <class Real, std::size_t Size>
inline Real polynomial(Real z, const double (&c)[Size]) {
    Real sum = z * c[0] + c[1];
    for (std::size_t k = 2; k < Size; ++k) sum = sum * z + c[k];
    return sum;
}

// exp(-t) for t >= 0; 0 from 708 on, where it is below 4e-308.
template <class Real>
inline Real exp_of_minus(Real t) {
    constexpr double kShift = 0x1.8p52, kLog2E = 0x1.71547652b82fep0;
    // Products of up to 2^20 with the first part are exact, and so is the difference that they are taken for.
    constexpr double kLn2 = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;
    const Real inside = choose(t < 708.0, t, 708.0);
    const Real shifted = inside * kLog2E + kShift, n = shifted - kShift;
    const Real z = (n * kLn2 - inside) + n * kLn2Rest;
    // |z| <= log(2) / 2: after z^13 / 13! the series has 5e-18 left.
    constexpr double kSeries[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                  1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
                                  1.0 / 6,          1.0 / 2,         1.0,            1.0};
    return choose(t < 708.0, polynomial(z, kSeries) * power_of_half(shifted), 0.0);
}

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
