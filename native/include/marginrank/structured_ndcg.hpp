// Normalised discounted cumulative gain of good and bad documents, with or without a cut-off:
//   Delta = 1 - sum_t D(t + J_t) / Z,   Z = sum_{t < P} D(t),   t from 0, D(i) = 0 from the cut-off on.
//
// Without a cut-off the discount is convex from some rank on and every bad document chooses its slot alone
// (structured_slots.hpp). The cut-off is a drop that breaks this: there the first good documents compete for the
// top ranks in a dynamic programme over those ranks only, and all others have nothing but their scores. A greedy
// merge is wrong in both cases that are not convex: it underestimates the loss.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "marginrank/structured_slots.hpp"

namespace marginrank {

class StructuredNdcg : public PartialOrderLoss {
public:
    // discount has an entry for each rank of the longest query. It must not increase, and must be convex, but
    // for its very first step. cutoff 0 is none.
    StructuredNdcg(GoodRows labels, std::vector<double> scale, std::vector<double> discount, std::int64_t cutoff)
        : PartialOrderLoss(std::move(labels), std::move(scale)), discount_(std::move(discount)), cutoff_(cutoff) {
        first_step_convex_ =
            discount_.size() < 3 || discount_[0] - discount_[1] >= discount_[1] - discount_[2];
        if (cutoff > 0 && cutoff < static_cast<std::int64_t>(discount_.size()))
            std::fill(discount_.begin() + cutoff, discount_.end(), 0.0);
        ideal_.assign(1, 0.0);
        for (const double d : discount_) ideal_.push_back(ideal_.back() + d);
    }

protected:
    double choose(ListScratch& lists) const override {
        const std::int64_t n = lists.good.size() + lists.bad.size();
        if (cutoff_ > 0 && cutoff_ < n)
            choose_cut(lists);
        else
            choose_uncut(lists);
        return delta(lists);
    }

private:
    double at(std::int64_t rank) const { return discount_[static_cast<std::size_t>(rank)]; }
    double ideal(const ListScratch& lists) const { return ideal_[static_cast<std::size_t>(lists.good.size())]; }

    // Rank by rank against the ideal, so that a perfect ranking costs exactly 0.
    double delta(const ListScratch& lists) const {
        double lost = 0.0;
        for (std::int64_t t = 0; t < lists.good.size(); ++t)
            lost += at(t) - at(t + lists.above[static_cast<std::size_t>(t)]);
        return lost / ideal(lists);
    }

    double value(const ListScratch& lists, double c) const {
        const double centre = lists.good[lists.good.size() - 1];
        double sum = 0.0;
        for (std::int64_t t = 0; t < lists.good.size(); ++t) {
            const std::int64_t above = lists.above[static_cast<std::size_t>(t)];
            sum += lists.bad_sum[static_cast<std::size_t>(above)];
            sum -= static_cast<double>(above) * (lists.good[t] - centre);
        }
        return delta(lists) + c * sum;
    }

    void choose_uncut(ListScratch& lists) const {
        const std::int64_t n_good = lists.good.size(), n_bad = lists.bad.size();
        const double c = 2.0 / (static_cast<double>(n_good) * static_cast<double>(n_bad));
        const double per_ideal = 1.0 / ideal(lists);
        const auto gain = [this, per_ideal](std::int64_t t, std::int64_t j) {
            return (at(t + j) - at(t + j + 1)) * per_ideal;
        };
        lists.slot.resize(static_cast<std::size_t>(n_bad));
        if (first_step_convex_) {
            kernels::best_slots(gain, lists, c, 0, n_bad, 0, n_good, lists.slot);
            kernels::slots_to_above(lists.slot, lists.above);
            return;
        }
        // Either the best bad document is above everything, or the best good one is: in both cases the first
        // step of the discount is decided, and the others see the convex rest.
        sum_scores(lists);
        lists.slot[0] = 0;
        kernels::best_slots(gain, lists, c, 1, n_bad, 0, n_good, lists.slot);
        kernels::slots_to_above(lists.slot, lists.above);
        const double bad_first = value(lists, c);
        lists.other_slot.resize(static_cast<std::size_t>(n_bad));
        kernels::best_slots(gain, lists, c, 0, n_bad, 1, n_good, lists.other_slot);
        kernels::slots_to_above(lists.other_slot, lists.above);
        if (bad_first > value(lists, c)) kernels::slots_to_above(lists.slot, lists.above);
    }

    // If m good documents are within the cut-off k, bad documents take the other k - m ranks there, so the good
    // ones that follow have at least k - m above them and choose the rest by score alone. The programme
    //   V_t(j) = max_{j' <= j} V_{t-1}(j') - D(t-1+j)/Z + c sum_{i < j} (b_i - g_{t-1}),   j <= k - t,
    // gives the best first m documents for every m.
    void choose_cut(ListScratch& lists) const {
        const std::int64_t n_good = lists.good.size(), n_bad = lists.bad.size();
        const double c = 2.0 / (static_cast<double>(n_good) * static_cast<double>(n_bad));
        count_higher(lists);
        sum_scores(lists);
        sum_free(lists);
        const std::int64_t most = std::min(n_good, cutoff_), width = std::min(n_bad, cutoff_) + 1;
        lists.value.assign(static_cast<std::size_t>(width), 0.0);
        lists.record.assign(static_cast<std::size_t>((most + 1) * width), false);
        std::int64_t best_m = -1, switch_at = n_good;
        double best = 0.0;
        for (std::int64_t m = 0; m <= most; ++m) {
            const double top = m == 0 ? 0.0 : programme_row(lists, c, m, width);
            const std::int64_t least = cutoff_ - m;
            double total = top;
            if (m < n_good) {
                if (least > n_bad) continue;
                while (switch_at > m && lists.higher[static_cast<std::size_t>(switch_at - 1)] >= least) --switch_at;
                switch_at = std::max(switch_at, m);
                total += c * worth_from(lists, m, switch_at, least);
            }
            if (best_m < 0 || total > best) {
                best_m = m;
                best = total;
            }
        }
        trace_back(lists, best_m, width);
    }

    // Turns the row of V_{m-1} into that of V_m; returns its maximum.
    double programme_row(ListScratch& lists, double c, std::int64_t m, std::int64_t width) const {
        const std::int64_t t = m - 1, last = std::min(width - 1, cutoff_ - m);
        const double per_ideal = 1.0 / ideal(lists);
        const double good = lists.good[t] - lists.good[lists.good.size() - 1];
        double before = -std::numeric_limits<double>::infinity(), most = before;
        for (std::int64_t j = 0; j <= last; ++j) {
            const auto k = static_cast<std::size_t>(j);
            before = std::max(before, lists.value[k]);
            lists.value[k] = before - at(t + j) * per_ideal + c * (lists.bad_sum[k] - static_cast<double>(j) * good);
            if (lists.value[k] > most) {
                most = lists.value[k];
                lists.record[static_cast<std::size_t>(m * width + j)] = true;
            }
        }
        return most;
    }

    // The maximum of V_t up to j was reached where it last made a record.
    void trace_back(ListScratch& lists, std::int64_t m, std::int64_t width) const {
        for (std::int64_t t = m; t < lists.good.size(); ++t) {
            const auto k = static_cast<std::size_t>(t);
            lists.above[k] = std::max(cutoff_ - m, lists.higher[k]);
        }
        std::int64_t j = std::min(width - 1, cutoff_ - m);
        for (std::int64_t t = m; t > 0; --t) {
            while (j > 0 && !lists.record[static_cast<std::size_t>(t * width + j)]) --j;
            lists.above[static_cast<std::size_t>(t - 1)] = j;
        }
    }

    std::vector<double> discount_, ideal_;
    std::int64_t cutoff_;
    bool first_step_convex_ = true;
};

}  // namespace marginrank
