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
#include "marginrank/pair_tiny.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/query_loss.hpp"

namespace marginrank {

struct PairScratch : QueryScratch {
    BruteScratch small;
    SortedQuery sorted;
    PartnerCounts counts;
    PartnerSums weights, sums;
    std::vector<double> block_sums;
};

class PairLoss : public QueryLoss {
public:
    // scale[q] multiplies the sum over the pairs of query q. labels must outlive this.
    PairLoss(const PairLabels& labels, const double* scale, bool squared)
        : QueryLoss(labels.query_ptr(), scale_of_pairs(labels, scale)), labels_(labels), tiny_(labels), squared_(squared) {}

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
        if (tiny_.has(q)) {
            const auto evaluate = squared_ ? kernels::evaluate_tiny<true> : kernels::evaluate_tiny<false>;
            return evaluate(tiny_.signs(q), labels_.rows(q), scores, labels_.weights_of(q), factor, gradient);
        }
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
    // use(partners) with what has the weights of the partners.
    template <class Use>
    auto with_partners(const PairScratch& scratch, Use&& use) const {
        return labels_.weight() == nullptr ? use(scratch.counts) : use(scratch.weights);
    }

    void active_query(const Crew& crew, std::int64_t q, const double* scores, double* above, double* below,
                      PairScratch& scratch) const {
        const std::int64_t first = query_ptr()[q], n = labels_.rows(q);
        above += first;
        below += first;
        if (labels_.brute(q)) {
            scratch.small.gather(labels_, q, scores + first, nullptr);
            scratch.small.sum_pairs<kernels::HingeTerm>(crew, labels_, q);
            for (std::int64_t k = 0; k < n; ++k) {
                above[labels_.order(q)[k]] = scratch.small.up[static_cast<std::size_t>(k)];
                below[labels_.order(q)[k]] = scratch.small.down[static_cast<std::size_t>(k)];
            }
            return;
        }
        scratch.sorted.assign(crew, scores + first, labels_.keys(q), n);
        count_partners(crew, q, scratch);
        with_partners(scratch, [&](const auto& partners) {
            for_blocks(crew, n, [&](std::int64_t k) {
                const auto at = static_cast<std::size_t>(k);
                above[scratch.sorted.row[at]] = partners.up(at);
                below[scratch.sorted.row[at]] = partners.down(at);
            });
        });
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

    // Weights of the active partners of each position: counts where unweighted.
    void count_partners(const Crew& crew, std::int64_t q, PairScratch& scratch) const {
        if (labels_.weight() == nullptr)
            scratch.counts.assign(crew, scratch.sorted, labels_.n_keys(q), labels_.few_levels(q));
        else
            sum_weights(crew, q, scratch);
    }

    // And the sums over them of value(r) for row r of the query, times its weight.
    template <class Value>
    void sum_partners(const Crew& crew, std::int64_t q, PairScratch& scratch, Value&& value) const {
        const std::int32_t* row = scratch.sorted.row.data();
        const double* weight = labels_.weights_of(q);
        if (weight == nullptr) {
            scratch.sums.assign(crew, scratch.sorted, labels_.n_keys(q), labels_.few_levels(q), value, scratch.counts);
            return;
        }
        sum_weights(crew, q, scratch);
        scratch.sums.assign(crew, scratch.sorted, labels_.n_keys(q),
                            [&](std::int64_t k) { return weight[row[k]] * value(k); });
    }

    void sum_weights(const Crew& crew, std::int64_t q, PairScratch& scratch) const {
        const std::int32_t* row = scratch.sorted.row.data();
        const double* weight = labels_.weights_of(q);
        scratch.weights.assign(crew, scratch.sorted, labels_.n_keys(q),
                               [&](std::int64_t k) { return weight[row[k]]; });
    }

    double evaluate_sorted(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                           PairScratch& scratch) const {
        const std::int64_t n = labels_.rows(q);
        scratch.sorted.assign(crew, scores, labels_.keys(q), n);
        const double* s = scratch.sorted.score.data();
        const std::int32_t* row = scratch.sorted.row.data();
        // The median score: centring keeps sums small when all scores are shifted.
        const double centre = s[n / 2];
        const double* weight = labels_.weights_of(q);
        if (!squared_) {
            count_partners(crew, q, scratch);
            return with_partners(scratch, [&](const auto& partners) {
                return sum_blocks(crew, n, scratch.block_sums, [&](std::int64_t k) {
                    const auto at = static_cast<std::size_t>(k);
                    const double w = weight == nullptr ? 1.0 : weight[row[k]];
                    const double c = partners.up(at), pull = c - partners.down(at);
                    gradient[row[k]] = factor * w * pull;
                    return w * (pull * (s[k] - centre) + c);
                });
            });
        }
        sum_partners(crew, q, scratch, [&](std::int64_t k) { return s[k] - centre; });
        return with_partners(scratch, [&](const auto& partners) {
            return sum_blocks(crew, n, scratch.block_sums, [&](std::int64_t k) {
                const auto at = static_cast<std::size_t>(k);
                const double w = weight == nullptr ? 1.0 : weight[row[k]], z = s[k] - centre;
                const double above = partners.up(at) * (1.0 + z) - scratch.sums.up(at);
                const double h = above - partners.down(at) * (1.0 - z) - scratch.sums.down(at);
                gradient[row[k]] = factor * w * h;
                return w * (above + z * h);
            });
        });
    }

    void hessian_sorted(const Crew& crew, std::int64_t q, const double* scores, const double* direction,
                        double factor, double* product, PairScratch& scratch) const {
        const std::int64_t n = labels_.rows(q);
        scratch.sorted.assign(crew, scores, labels_.keys(q), n);
        const std::int32_t* row = scratch.sorted.row.data();
        const double centre = direction[row[n / 2]];
        sum_partners(crew, q, scratch, [&](std::int64_t k) { return direction[row[k]] - centre; });
        const double* weight = labels_.weights_of(q);
        with_partners(scratch, [&](const auto& partners) {
            for_blocks(crew, n, [&](std::int64_t k) {
                const auto at = static_cast<std::size_t>(k);
                const double active = partners.up(at) + partners.down(at);
                const double h = active * (direction[row[k]] - centre) - scratch.sums.up(at) - scratch.sums.down(at);
                product[row[k]] = factor * (weight == nullptr ? 1.0 : weight[row[k]]) * h;
            });
        });
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
        kernels::grow(sums, n_blocks);
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t stop = block_bound(n, n_blocks, b + 1);
            double sum = 0.0;
            for (std::int64_t k = block_bound(n, n_blocks, b); k < stop; ++k) sum += term(k);
            sums[static_cast<std::size_t>(b)] = sum;
        });
        return tree_sum(sums.data(), n_blocks);
    }

    const PairLabels& labels_;
    TinyQueries tiny_;
    bool squared_;
};

}  // namespace marginrank
