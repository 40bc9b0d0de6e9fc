// Forward selection for one ranking: the leave-pair-out error with each further feature.
//
// Fitted without rows a and b, a ridge regression with a free intercept leaves (I - H_ab)^-1 r_ab of them, H_ab the 2 x 2
// part of its hat matrix, r what the fit to all rows leaves of y. With a further feature, of which the chosen ones leave
// t, H grows by t t'/d and r shrinks by v t, v = beta / d.
#pragma once

#include <cstdint>

#include "marginrank/parallel.hpp"

namespace marginrank {

struct HeldOutPairs {
    const std::int32_t *first, *second;  // rows of each pair
    const double* shared;                // H at (first, second)
    std::int64_t n_pairs;
};

struct RidgeFit {
    const double *residual, *leverage;  // r, and the diagonal of H, by row
    std::int64_t n_rows;
};

// What the held-out model of a pair leaves of the difference of their labels.
inline double held_out_difference(double ra, double rb, double ha, double hb, double hab) {
    const double a = 1.0 - ha, b = 1.0 - hb;
    // (1, -1) (I - H)^-1 (ra, rb)'
    return ((b - hab) * ra - (a - hab) * rb) / (a * b - hab * hab);
}

// errors[j]: mean over the pairs of half the squared differences that are left with feature j. T holds t of one feature
// after the other; those that are not open get no error.
inline void pair_errors(const Crew& crew, const RidgeFit& fit, const HeldOutPairs& pairs, const double* T,
                        const double* d, const double* beta, const std::uint8_t* open, std::int64_t n_cols,
                        double* errors) {
    crew.run(n_cols, [&](std::int64_t j, int) {
        if (open[j] == 0) return;
        const double* t = T + j * fit.n_rows;
        const double v = beta[j] / d[j], share = 1.0 / d[j];
        double sum = 0.0;
        for (std::int64_t begin = 0; begin < pairs.n_pairs; begin += 1024) {  // parts, for the rounding of long sums
            const std::int64_t end = begin + 1024 < pairs.n_pairs ? begin + 1024 : pairs.n_pairs;
            double part = 0.0;
            for (std::int64_t p = begin; p < end; ++p) {
                const std::int32_t a = pairs.first[p], b = pairs.second[p];
                const double ta = t[a], tb = t[b];
                const double left = held_out_difference(fit.residual[a] - v * ta, fit.residual[b] - v * tb,
                                                        fit.leverage[a] + share * ta * ta,
                                                        fit.leverage[b] + share * tb * tb,
                                                        pairs.shared[p] + share * ta * tb);
                part += left * left;
            }
            sum += part;
        }
        errors[j] = 0.5 * sum / static_cast<double>(pairs.n_pairs);
    });
}

}  // namespace marginrank
