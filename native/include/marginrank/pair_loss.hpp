// Pairwise hinge and squared hinge over queries: value, gradient and Hessian product in score space.
//
// With i the lower and j the higher row of a pair, z centred scores and sums over active pairs:
//   hinge           N R = sum_i w_i ((C_i - D_i) z_i + C_i)              N g_i = w_i (C_i - D_i)
//   squared hinge   N R = sum_i w_i (C_i (1 + z_i) - SC_i) + z_i h_i     N g = 2 h
//                   h_i = w_i (C_i (1 + z_i) - SC_i - D_i (1 - z_i) - SD_i)
// C, D are the weights of the active partners above and below, SC, SD the weighted sums of their scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "marginrank/pair_brute.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/pair_sweep.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"

namespace marginrank {

struct PairScratch : QueryScratch {
    BruteScratch small;
    SortedQuery sorted;
    CountScratch counts;
    SumScratch sums;
    std::vector<std::int32_t> count_up, count_down;
    std::vector<double> value, weight_up, weight_down, sum_up, sum_down, block_sums;
};

class PairLoss : public QueryLoss {
public:
    // scale[q] multiplies the sum over the pairs of query q. labels must outlive this.
    PairLoss(const PairLabels& labels, const double* scale, bool squared)
        : QueryLoss(labels.query_ptr(), scale_of_pairs(labels, scale)), labels_(labels), squared_(squared) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<PairScratch>(); }

    // Weight (unweighted: number) of the active partners of each row, above and below it by label.
    void active_partners(const Crew& crew, const double* scores, double* above, double* below) const {
        visit_all(crew, [&](const Crew& inner, std::int64_t q, QueryScratch& scratch) {
            active_query(inner, q, scores, above, below, static_cast<PairScratch&>(scratch));
            return 0.0;
        });
    }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& own = static_cast<PairScratch&>(scratch);
        if (squared_) factor *= 2.0;
        return labels_.brute(q) ? evaluate_small(crew, q, scores, factor, gradient, own.small)
                                : evaluate_sorted(crew, q, scores, factor, gradient, own);
    }

    void hessian_query(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                       double factor, double* product, QueryScratch& scratch) const override {
        auto& own = static_cast<PairScratch&>(scratch);
        if (labels_.brute(q))
            hessian_small(crew, q, scores, direction, 2.0 * factor, product, own.small);
        else
            hessian_sorted(crew, q, scores, direction, 2.0 * factor, product, own);
    }

private:
    void active_query(const Crew& crew, std::int64_t q, const double* scores, double* above, double* below,
                      PairScratch& scratch) const {
        const std::int64_t first = query_ptr()[q], n = labels_.rows(q);
        const bool small = labels_.brute(q);
        if (small) {
            scratch.small.gather(labels_, q, scores + first, nullptr);
            scratch.small.sum_pairs<kernels::HingeTerm>(crew, labels_, q);
        } else {
            scratch.sorted.assign(crew, scores + first, labels_.keys(q), n);
            partner_weights(crew, q, scratch);
        }
        const std::int32_t* at = small ? labels_.order(q) : scratch.sorted.row.data();
        const std::vector<double>& up = small ? scratch.small.up : scratch.weight_up;
        const std::vector<double>& down = small ? scratch.small.down : scratch.weight_down;
        for (std::int64_t k = 0; k < n; ++k) {
            above[first + at[k]] = up[static_cast<std::size_t>(k)];
            below[first + at[k]] = down[static_cast<std::size_t>(k)];
        }
    }

    double evaluate_small(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          BruteScratch& small) const {
        small.gather(labels_, q, scores, nullptr);
        double value = squared_ ? small.sum_pairs<kernels::SquaredHingeTerm>(crew, labels_, q)
                                : small.sum_pairs<kernels::HingeTerm>(crew, labels_, q);
        if (!squared_) value = hinge_of_counts(labels_.rows(q), small);
        small.scatter(labels_, q, factor, gradient);
        return value;
    }

    double hinge_of_counts(std::int64_t n, const BruteScratch& small) const {
        const bool weighted = labels_.weight() != nullptr;
        const double *s = small.s.data(), *w = small.w.data(), *up = small.up.data(), *down = small.down.data();
        // Any row that takes part will do: idle ones may be outliers, which would cost digits.
        std::int64_t active = 0;
        while (active + 1 < n && up[active] == down[active]) ++active;
        const double centre = s[active];
        double value = 0.0;
        for (std::int64_t k = 0; k < n; ++k)
            value += (weighted ? w[k] : 1.0) * ((up[k] - down[k]) * (s[k] - centre) + up[k]);
        return value;
    }

    void hessian_small(const Crew& crew, std::int64_t q, const double* scores, const double* direction, double factor,
                       double* product, BruteScratch& small) const {
        small.gather(labels_, q, scores, direction);
        small.sum_pairs<kernels::HessianTerm>(crew, labels_, q, true);
        small.scatter(labels_, q, factor, product);
    }

    // Weights of the active partners, in the order of the scores, as numbers: counts where unweighted.
    void partner_weights(const Crew& crew, std::int64_t q, PairScratch& scratch) const {
        const std::int64_t n = labels_.rows(q);
        grow(scratch.weight_up, n);
        grow(scratch.weight_down, n);
        if (labels_.weight() != nullptr) {
            fill_value(crew, q, nullptr, 0.0, scratch);
            pair_sums(crew, scratch.sorted, scratch.value.data(), labels_.n_keys(q), scratch.sums,
                      scratch.weight_up.data(), scratch.weight_down.data());
            return;
        }
        grow(scratch.count_up, n);
        grow(scratch.count_down, n);
        pair_counts(crew, scratch.sorted, labels_.n_keys(q), labels_.few_levels(q), scratch.counts,
                    scratch.count_up.data(), scratch.count_down.data());
        for_blocks(crew, n, [&](std::int64_t k) {
            const auto at = static_cast<std::size_t>(k);
            scratch.weight_up[at] = scratch.count_up[at];
            scratch.weight_down[at] = scratch.count_down[at];
        });
    }

    // scratch.value = weight * (x - centre) in the order of the scores; x null means 1.
    void fill_value(const Crew& crew, std::int64_t q, const double* x, double centre, PairScratch& scratch) const {
        const double* weight = labels_.weights_of(q);
        grow(scratch.value, labels_.rows(q));
        for_blocks(crew, labels_.rows(q), [&](std::int64_t k) {
            const std::int32_t r = scratch.sorted.row[static_cast<std::size_t>(k)];
            const double v = x == nullptr ? 1.0 : x[r] - centre;
            scratch.value[static_cast<std::size_t>(k)] = weight == nullptr ? v : weight[r] * v;
        });
    }

    void partner_sums(const Crew& crew, std::int64_t q, PairScratch& scratch) const {
        grow(scratch.sum_up, labels_.rows(q));
        grow(scratch.sum_down, labels_.rows(q));
        pair_sums(crew, scratch.sorted, scratch.value.data(), labels_.n_keys(q), scratch.sums, scratch.sum_up.data(),
                  scratch.sum_down.data());
    }

    double evaluate_sorted(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                           PairScratch& scratch) const {
        const std::int64_t n = labels_.rows(q);
        scratch.sorted.assign(crew, scores, labels_.keys(q), n);
        partner_weights(crew, q, scratch);
        // The median score: centring keeps sums small when all scores are shifted.
        const double centre = scratch.sorted.score[static_cast<std::size_t>(n / 2)];
        if (squared_) {
            fill_value(crew, q, scores, centre, scratch);
            partner_sums(crew, q, scratch);
        }
        const double* weight = labels_.weights_of(q);
        return sum_blocks(crew, n, scratch.block_sums, [&](std::int64_t k) {
            const auto at = static_cast<std::size_t>(k);
            const std::int32_t r = scratch.sorted.row[at];
            const double w = weight == nullptr ? 1.0 : weight[r];
            const double z = scratch.sorted.score[at] - centre;
            const double c = scratch.weight_up[at], d = scratch.weight_down[at];
            if (!squared_) {
                gradient[r] = factor * w * (c - d);
                return w * ((c - d) * z + c);
            }
            const double above = c * (1.0 + z) - scratch.sum_up[at];
            const double h = above - d * (1.0 - z) - scratch.sum_down[at];
            gradient[r] = factor * w * h;
            return w * (above + z * h);
        });
    }

    void hessian_sorted(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                        double factor, double* product, PairScratch& scratch) const {
        const std::int64_t n = labels_.rows(q);
        scratch.sorted.assign(crew, scores, labels_.keys(q), n);
        partner_weights(crew, q, scratch);
        const double centre = direction[scratch.sorted.row[static_cast<std::size_t>(n / 2)]];
        fill_value(crew, q, direction, centre, scratch);
        partner_sums(crew, q, scratch);
        const double* weight = labels_.weights_of(q);
        for_blocks(crew, n, [&](std::int64_t k) {
            const auto at = static_cast<std::size_t>(k);
            const std::int32_t r = scratch.sorted.row[at];
            const double partners = scratch.weight_up[at] + scratch.weight_down[at];
            const double h = partners * (direction[r] - centre) - scratch.sum_up[at] - scratch.sum_down[at];
            product[r] = factor * (weight == nullptr ? 1.0 : weight[r]) * h;
        });
    }

    template <class T>
    static void grow(std::vector<T>& v, std::int64_t n) {
        if (static_cast<std::int64_t>(v.size()) < n) v.resize(static_cast<std::size_t>(n));
    }

    template <class Body>
    static void for_blocks(const Crew& crew, std::int64_t n, Body&& body) {
        const std::int64_t n_blocks = n / 32768 + 1;
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t stop = block_bound(n, n_blocks, b + 1);
            for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k) body(k);
        });
    }

    template <class Term>
    static double sum_blocks(const Crew& crew, std::int64_t n, std::vector<double>& sums, Term&& term) {
        const std::int64_t n_blocks = n / 32768 + 1;
        grow(sums, n_blocks);
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t stop = block_bound(n, n_blocks, b + 1);
            double sum = 0.0;
            for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k) sum += term(k);
            sums[static_cast<std::size_t>(b)] = sum;
        });
        return tree_sum(sums.data(), n_blocks);
    }

    const PairLabels& labels_;
    bool squared_;
};

}  // namespace marginrank
