// Average precision, at one level of relevance or as the mean over all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "marginrank/level_sums.hpp"
#include "marginrank/metric_spec.hpp"

namespace marginrank {

namespace metrics {

// Average precision with the labels from each level on relevant, all levels but the lowest, and the mean of these.
// A row i of rank r has at level t the share of rows up to r whose label is at least t; summed over the levels that
// make i relevant, each over its number of relevant rows, that is sum_{j up to r} H(min(y_i, y_j)) / r with
// H(y) = sum_{t <= y} 1 / relevant_t. So one sweep serves all levels.
inline double mean_average_precision(RankedQuery& query, const MetricSpec& spec) {
    const std::vector<double>& ideal = query.ideal_labels();
    std::vector<double> levels(ideal.rbegin(), ideal.rend()), height{0.0};
    const bool cut = spec.cut_norm && spec.cutoff > 0;
    for (std::size_t k = 1; k < levels.size(); ++k)
        if (levels[k] > levels[k - 1]) {
            const auto relevant = static_cast<std::int64_t>(levels.size() - k);
            height.push_back(height.back() + 1.0 / static_cast<double>(cut ? std::min(relevant, spec.cutoff) : relevant));
        }
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    if (levels.size() < 2) return kNothing;
    const auto n_splits = static_cast<double>(levels.size() - 1);
    LevelSums sums(std::move(height));
    const std::vector<double>& y = query.labels(spec.ties);
    const auto level = [&](std::size_t k) {
        return static_cast<std::size_t>(std::lower_bound(levels.begin(), levels.end(), y[k]) - levels.begin());
    };
    const std::size_t n = ranks_within(query, spec);
    double total = 0.0;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t) {
        double own = 0.0, above = 0.0, all = 0.0;
        for (std::size_t k = begin; k < end; ++k) {
            own += sums.height(level(k));
            above += sums.with(level(k));
        }
        for (std::size_t k = begin; k < end; ++k) sums.add(level(k));
        if (end - begin == 1) {
            total += (above + own) / static_cast<double>(end);
            return;
        }
        for (std::size_t k = begin; k < end; ++k) all += sums.with(level(k));
        if (spec.ties == Ties::kThreshold) {
            if (end <= n) total += all / static_cast<double>(end);
            return;
        }
        // At place j of t tied rows, (j - 1)/(t - 1) of the others come before, on average.
        const auto t = static_cast<double>(end - begin);
        const double slope = (all - above - own) / (t - 1.0);
        for (std::size_t k = begin; k < std::min(end, n); ++k)
            total += (above + own + static_cast<double>(k - begin) * slope) / (t * static_cast<double>(k + 1));
    });
    return std::min(total / n_splits, 1.0);
}

// With r of t tied rows relevant, a relevant one at place j of them has (j - 1)(r - 1)/(t - 1) relevant
// ones before it in the group, on average.
inline double average_precision(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    if (spec.rel_all) return mean_average_precision(query, spec);
    const std::int64_t relevant = count_relevant(query, spec);
    if (relevant == 0) return kNothing;
    const std::size_t n = ranks_within(query, spec);
    double sum = 0.0, before = 0.0;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t in_group) {
        const auto r = static_cast<double>(in_group), t = static_cast<double>(end - begin);
        if (in_group > 0 && spec.ties == Ties::kThreshold) {
            if (end <= n) sum += r * (before + r) / static_cast<double>(end);
        } else if (in_group > 0) {
            const double slope = end - begin > 1 ? (r - 1.0) / (t - 1.0) : 0.0;
            for (std::size_t k = begin; k < std::min(end, n); ++k)
                sum += r / t * (before + 1.0 + static_cast<double>(k - begin) * slope) / static_cast<double>(k + 1);
        }
        before += r;
    });
    const bool cut = spec.cut_norm && spec.cutoff > 0;
    return sum / static_cast<double>(cut ? std::min(relevant, spec.cutoff) : relevant);
}

}  // namespace metrics

}  // namespace marginrank
