// Pairwise losses by looking at every pair, in cache and in SIMD lanes: small queries of the hinges, all queries of
// losses that know no faster way.
//
// s and w are the scores and weights in the order of the labels. For each row of a level all rows of
// lower levels stand in one run before it, so the inner loop has neither branches nor gathers.
// Four higher rows at a time share the loads and stores of the lower ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "marginrank/pair_labels.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// A term is what one pair adds, made from high - low and the entries of the direction: its pull at both rows and, if it
// has one, its cost by the weights of the rows. It must be 0 for a difference beyond all others.
//
// A pair of the hinges is active while fl(high - low) < 1; the same predicate stands in the sorted sweep.
// The hinge counts a pair, the squared hinge takes its slack, the Hessian its direction.
struct HingeTerm {
    static constexpr bool kCosts = false;
    Real4 pull;
    HingeTerm(Real4 difference, Real4, Real4) : pull(where4(difference < 1.0, all4(1.0))) {}
};
struct SquaredHingeTerm {
    static constexpr bool kCosts = true;
    Real4 pull;
    SquaredHingeTerm(Real4 difference, Real4, Real4) : pull(where4(difference < 1.0, 1.0 - difference)) {}
    Real4 cost(Real4 w_low, Real4 w_high) const { return w_low * (w_high * pull) * pull; }
};
struct HessianTerm {
    static constexpr bool kCosts = false;
    Real4 pull;
    HessianTerm(Real4 difference, Real4 u_low, Real4 u_high) : pull(where4(difference < 1.0, u_low - u_high)) {}
};

// Makes a term of what it is made from; those that need more than that have makers of their own.
template <class Term>
struct Make {
    Term operator()(Real4 difference, Real4 u_low, Real4 u_high) const { return Term(difference, u_low, u_high); }
};

// Up to four higher rows from j on against the n_low rows below them:
// up[i] += sum_j w_j t_ij and down[j] += sum_i w_i t_ij; returns the sum of the costs.
// Reads and writes up to three entries past n_low, which the mask leaves unchanged in value.
template <class Term, bool Weighted, class Maker>
inline double brute_rows4(const double* s, const double* w, const double* u, std::int64_t n_low, std::int64_t j,
                          std::int64_t width, double* up, double* down, const Maker& make) {
    Real4 sj[4], wj[4], uj[4], sums[4], costs = all4(0.0);
    for (int r = 0; r < 4; ++r) {
        // A missing row stands so high above all others that none of its pairs counts.
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
            const Term term = make(sj[r] - si, ui, uj[r]);
            const Real4 t = where4(inside, term.pull);
            added += Weighted ? wj[r] * t : t;
            sums[r] += Weighted ? wi * t : t;
            if constexpr (Term::kCosts) costs += where4(inside, term.cost(wi, wj[r]));
        }
        store4(up + i, load4(up + i) + added);
    }
    for (int r = 0; r < width; ++r) down[j + r] += sum4(sums[r]);
    return Term::kCosts ? sum4(costs) : 0.0;
}

// Every n_blocks-th group of four higher rows, from `block` on: all blocks have about the same work. Not inlined: there is
// one of it for each kind of term, and it is called once for a query or block.
template <class Term, bool Weighted, class Maker = Make<Term>>
[[gnu::noinline]] double brute_levels(const double* s, const double* w, const double* u, const std::int32_t* level,
                           std::int32_t n_levels, std::int64_t block, std::int64_t n_blocks, double* up,
                           double* down, const Maker& make = {}) {
    double total = 0.0;
    std::int64_t skip = block;
    for (std::int32_t l = 1; l < n_levels; ++l)
        for (std::int64_t j = level[l]; j < level[l + 1]; j += 4) {
            if (--skip >= 0) continue;
            skip = n_blocks - 1;
            const std::int64_t width = level[l + 1] - j < 4 ? level[l + 1] - j : 4;
            total += brute_rows4<Term, Weighted>(s, w, u, level[l], j, width, up, down, make);
        }
    return total;
}

}  // namespace kernels

// One query in the order of its labels, with the sums over the pairs of each row.
struct BruteScratch : QueryScratch {
    std::vector<double> s, w, u, up, down;

    // Copies the query and clears the sums; direction may be null.
    void gather(const PairLabels& labels, std::int64_t q, const double* scores, const double* direction) {
        const std::int32_t* order = labels.order(q);
        const double* weight = labels.weights_of(q);
        const std::int64_t n = labels.rows(q);
        // Three entries more: the kernels look at four rows at a time.
        if (down.size() < static_cast<std::size_t>(n) + 3)
            for (std::vector<double>* row : {&s, &w, &u, &up, &down}) row->resize(static_cast<std::size_t>(n) + 3);
        for (std::int64_t k = 0; k < n; ++k) {
            const auto at = static_cast<std::size_t>(k);
            s[at] = scores[order[k]];
            if (weight != nullptr) w[at] = weight[order[k]];
            if (direction != nullptr) u[at] = direction[order[k]];
            up[at] = down[at] = 0.0;
        }
    }

    // Adds up the terms of all pairs and returns their cost.
    template <class Term, class Maker = kernels::Make<Term>>
    double sum_pairs(const Crew& crew, const PairLabels& labels, std::int64_t q, bool directed = false,
                     const Maker& make = {}) {
        const double* direction = directed ? u.data() : nullptr;
        return labels.weight() == nullptr ? sum_blocks<Term, false>(crew, labels, q, direction, make)
                                          : sum_blocks<Term, true>(crew, labels, q, direction, make);
    }

    // out = factor times the gradient, or the Hessian product, that the sums make.
    void scatter(const PairLabels& labels, std::int64_t q, double factor, double* out) const {
        const std::int32_t* order = labels.order(q);
        const bool weighted = labels.weight() != nullptr;
        for (std::int64_t k = 0; k < labels.rows(q); ++k) {
            const auto at = static_cast<std::size_t>(k);
            out[order[k]] = factor * (weighted ? w[at] : 1.0) * (up[at] - down[at]);
        }
    }

private:
    // Sums of the lower rows by block of higher ones, and the cost of each block.
    std::vector<double> up_by_block_, cost_;

    template <class Term, bool Weighted, class Maker>
    double sum_blocks(const Crew& crew, const PairLabels& labels, std::int64_t q, const double* direction,
                      const Maker& make) {
        const std::int64_t n = labels.rows(q), n_blocks = std::clamp<std::int64_t>(n / kBruteRows, 1, 64);
        const std::int32_t *level = labels.levels(q), n_levels = labels.n_levels(q);
        if (n_blocks == 1)
            return kernels::brute_levels<Term, Weighted>(s.data(), w.data(), direction, level, n_levels, 0, 1,
                                                         up.data(), down.data(), make);
        up_by_block_.assign(static_cast<std::size_t>(n_blocks * (n + 3)), 0.0);
        cost_.assign(static_cast<std::size_t>(n_blocks), 0.0);
        crew.run(n_blocks, [&](std::int64_t b, int) {
            cost_[static_cast<std::size_t>(b)] =
                kernels::brute_levels<Term, Weighted>(s.data(), w.data(), direction, level, n_levels, b, n_blocks,
                                                      up_by_block_.data() + b * (n + 3), down.data(), make);
        });
        for (std::int64_t b = 0; b < n_blocks; ++b)
            for (std::int64_t k = 0; k < n; ++k)
                up[static_cast<std::size_t>(k)] += up_by_block_[static_cast<std::size_t>(b * (n + 3) + k)];
        return tree_sum(cost_.data(), n_blocks);
    }
};

}  // namespace marginrank
