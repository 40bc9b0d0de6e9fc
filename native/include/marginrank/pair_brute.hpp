// Pairwise losses of a small query by looking at every pair, in cache and in SIMD lanes.
//
// s and w are the scores and weights in the order of the labels. For each row of a level all rows of
// lower levels stand in one run before it, so the inner loop has neither branches nor gathers.
// Four higher rows at a time share the loads and stores of the lower ones.
#pragma once

#include <cstdint>
#include <limits>

#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// A pair is active while fl(high - low) < 1; the same predicate stands in the sorted sweep.
// What a pair adds: the hinge counts it, the squared hinge takes its slack, the Hessian its direction.
struct HingeTerm {
    static Real4 term(Real4 difference, Real4, Real4) { return where4(difference < 1.0, all4(1.0)); }
};
struct SquaredHingeTerm {
    static Real4 term(Real4 difference, Real4, Real4) { return where4(difference < 1.0, 1.0 - difference); }
};
struct HessianTerm {
    static Real4 term(Real4 difference, Real4 u_low, Real4 u_high) {
        return where4(difference < 1.0, u_low - u_high);
    }
};

// Up to four higher rows from j on against the n_low rows below them:
// up[i] += sum_j w_j t_ij and down[j] += sum_i w_i t_ij; returns sum w_i w_j t_ij^2 where Squares.
// Reads and writes up to three entries past n_low, which the mask leaves unchanged in value.
template <class Term, bool Weighted, bool Squares>
inline double brute_rows4(const double* s, const double* w, const double* u, std::int64_t n_low, std::int64_t j,
                          std::int64_t width, double* up, double* down) {
    Real4 sj[4], wj[4], uj[4], sums[4], squares = all4(0.0);
    for (int r = 0; r < 4; ++r) {
        // A missing row stands so high above all others that none of its pairs is active.
        const bool there = r < width;
        sj[r] = all4(there ? s[j + r] : std::numeric_limits<double>::max());
        wj[r] = all4(Weighted && there ? w[j + r] : 1.0);
        uj[r] = all4(u != nullptr && there ? u[j + r] : 0.0);
        sums[r] = all4(0.0);
    }
    for (std::int64_t i = 0; i < n_low; i += 4) {
        const long long left = n_low - i;
        const Mask4 inside = Mask4{0, 1, 2, 3} < Mask4{left, left, left, left};
        const Real4 si = load4(s + i), wi = Weighted ? load4(w + i) : all4(1.0);
        const Real4 ui = u != nullptr ? load4(u + i) : all4(0.0);
        Real4 added = all4(0.0);
        for (int r = 0; r < 4; ++r) {
            const Real4 t = where4(inside, Term::term(sj[r] - si, ui, uj[r]));
            const Real4 wt = Weighted ? wj[r] * t : t;
            added += wt;
            sums[r] += Weighted ? wi * t : t;
            if (Squares) squares += Weighted ? wi * wt * t : t * t;
        }
        store4(up + i, load4(up + i) + added);
    }
    for (int r = 0; r < width; ++r) down[j + r] += sum4(sums[r]);
    return Squares ? sum4(squares) : 0.0;
}

template <class Term, bool Weighted, bool Squares>
inline double brute_levels(const double* s, const double* w, const double* u, const std::int32_t* level,
                           std::int32_t n_levels, double* up, double* down) {
    double total = 0.0;
    for (std::int32_t l = 1; l < n_levels; ++l)
        for (std::int64_t j = level[l]; j < level[l + 1]; j += 4) {
            const std::int64_t width = level[l + 1] - j < 4 ? level[l + 1] - j : 4;
            total += brute_rows4<Term, Weighted, Squares>(s, w, u, level[l], j, width, up, down);
        }
    return total;
}

}  // namespace kernels
}  // namespace marginrank
