// Reciprocal rank of the first good document: Delta(r) = 1 - 1/(r + 1) with r bad documents above it, and 1 from
// the cut-off on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "marginrank/structured_lists.hpp"

namespace marginrank {

// Under the averaged differences phi_po. Delta depends on the first good document only, so with r bad documents
// above that one the others choose by score: J_t = max(r, those that score higher than t).
class StructuredMrr : public PartialOrderLoss {
public:
    // cutoff 0 is none.
    StructuredMrr(GoodRows labels, std::vector<double> scale, std::int64_t cutoff)
        : PartialOrderLoss(std::move(labels), std::move(scale)), cutoff_(cutoff) {}

protected:
    double choose(ListScratch& lists) const override {
        const std::int64_t n_good = lists.good.size(), n_bad = lists.bad.size();
        const double c = 2.0 / (static_cast<double>(n_good) * static_cast<double>(n_bad));
        count_higher(lists);
        sum_scores(lists);
        sum_free(lists);
        const bool beyond = cutoff_ > 0 && cutoff_ <= n_bad;
        const std::int64_t last = beyond ? cutoff_ - 1 : n_bad;
        const double first = lists.good[0] - lists.good[n_good - 1];
        double best = 0.0;
        std::int64_t best_r = -1, switch_at = 1;
        for (std::int64_t r = 0; r <= last; ++r) {
            while (switch_at < n_good && lists.higher[static_cast<std::size_t>(switch_at)] < r) ++switch_at;
            const double own = lists.bad_sum[static_cast<std::size_t>(r)] - static_cast<double>(r) * first;
            const double total = lost(r) + c * (own + worth_from(lists, 1, switch_at, r));
            if (best_r < 0 || total > best) {
                best = total;
                best_r = r;
            }
        }
        bool out = false;
        if (beyond) {
            switch_at = 0;
            while (switch_at < n_good && lists.higher[static_cast<std::size_t>(switch_at)] < cutoff_) ++switch_at;
            out = 1.0 + c * worth_from(lists, 0, switch_at, cutoff_) > best;
        }
        const std::int64_t least = out ? cutoff_ : best_r;
        for (std::int64_t t = 0; t < n_good; ++t) {
            const auto k = static_cast<std::size_t>(t);
            lists.above[k] = std::max(least, lists.higher[k]);
        }
        if (!out) lists.above[0] = best_r;
        return out ? 1.0 : lost(best_r);
    }

private:
    static double lost(std::int64_t r) { return static_cast<double>(r) / static_cast<double>(r + 1); }

    std::int64_t cutoff_;
};

// Under phi_mrr, the first good document against the bad ones above it, summed and not averaged. The worst good
// document makes the most of being the first one.
class StructuredMrrFirst : public StructuredLoss {
public:
    // Queries of scale other than 0 must have good and bad rows. cutoff 0 is none.
    StructuredMrrFirst(GoodRows labels, std::vector<double> scale, std::int64_t cutoff)
        : StructuredLoss(labels.query_ptr(), std::move(scale)), labels_(std::move(labels)), cutoff_(cutoff) {}

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<ListScratch>(); }

protected:
    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& lists = static_cast<ListScratch&>(scratch);
        lists.sort(crew, labels_, q, scores);
        const std::int64_t n_bad = lists.bad.size();
        const double worst = lists.good[lists.good.size() - 1];
        double sum = 0.0, best = 0.0;
        std::int64_t best_r = 0;
        for (std::int64_t r = 1; r <= n_bad; ++r) {
            sum += lists.bad[r - 1] - worst;
            const double delta =
                cutoff_ > 0 && r >= cutoff_ ? 1.0 : static_cast<double>(r) / static_cast<double>(r + 1);
            if (delta + sum > best) {
                best = delta + sum;
                best_r = r;
            }
        }
        for (const std::int32_t row : lists.good.row) gradient[row] = 0.0;
        gradient[lists.good.row.back()] = best_r == 0 ? 0.0 : -factor * static_cast<double>(best_r);
        for (std::int64_t j = 0; j < n_bad; ++j)
            gradient[lists.bad.row[static_cast<std::size_t>(j)]] = j < best_r ? factor : 0.0;
        return best;
    }

private:
    GoodRows labels_;
    std::int64_t cutoff_;
};

}  // namespace marginrank
