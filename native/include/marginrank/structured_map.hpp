// Average precision: Delta = 1 - (1/P) sum_t t / (t + J_t), with t from 1.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "marginrank/structured_slots.hpp"

namespace marginrank {

class StructuredMap : public PartialOrderLoss {
public:
    StructuredMap(GoodRows labels, std::vector<double> scale)
        : PartialOrderLoss(std::move(labels), std::move(scale)) {}

protected:
    double choose(ListScratch& lists) const override {
        const std::int64_t n_good = lists.good.size(), n_bad = lists.bad.size();
        const auto good = static_cast<double>(n_good);
        const double c = 2.0 / (good * static_cast<double>(n_bad));
        // t / (t + j - 1) - t / (t + j) for t, j from 1.
        const auto gain = [good](std::int64_t t, std::int64_t j) {
            const auto before = static_cast<double>(t + j + 1);
            return static_cast<double>(t + 1) / (good * before * (before + 1.0));
        };
        lists.slot.resize(static_cast<std::size_t>(n_bad));
        kernels::best_slots(gain, lists, c, 0, n_bad, 0, n_good, lists.slot);
        kernels::slots_to_above(lists.slot, lists.above);
        double lost = 0.0;
        for (std::int64_t t = 0; t < n_good; ++t) {
            const auto above = static_cast<double>(lists.above[static_cast<std::size_t>(t)]);
            lost += above / (static_cast<double>(t + 1) + above);
        }
        return lost / good;
    }
};

}  // namespace marginrank
