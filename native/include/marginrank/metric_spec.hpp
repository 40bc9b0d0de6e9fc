// What a metric is asked with, and what all metrics ask of a ranked query.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "marginrank/ranked_query.hpp"

namespace marginrank {

enum class Discount { kLog2, kLetor };
// What a list shorter than the cutoff means: rows that do not count, a smaller cutoff, or the value 0.
enum class ShortList { kPad, kCut, kZero };

class Discounts;
struct MetricSpec;

// A metric: its name, which callers ask for, and its value of one query (see kMetrics).
struct NamedMetric {
    std::string_view name;
    double (*value)(RankedQuery& query, const MetricSpec& spec, const Discounts& discounts);
};

struct MetricSpec {
    const NamedMetric* metric = nullptr;
    std::int64_t cutoff = 0;  // 0 for none
    double rel = 1.0;         // labels of at least this are relevant
    Gain gain = Gain::kExponential;
    Discount discount = Discount::kLog2;
    Ties ties = Ties::kInput;
    ShortList short_list = ShortList::kPad;
    bool cut_norm = false;   // average precision over min(relevant, cutoff) instead of all relevant rows
    double max_label = 4.0;  // ERR: the label whose row satisfies with probability 1 - 2^-max_label
    double p = 0.8;          // RBP: how likely a reader is to look at the next rank, too
    bool rel_all = false;    // average precision: the mean over every rel that tells rows apart
};

// Discount of every rank up to the longest query, for both kinds.
class Discounts {
public:
    explicit Discounts(std::int64_t longest) : log2_(static_cast<std::size_t>(longest)), letor_(log2_.size()) {
        for (std::size_t k = 0; k < log2_.size(); ++k) {
            log2_[k] = 1.0 / std::log2(static_cast<double>(k) + 2.0);
            letor_[k] = k < 2 ? 1.0 : 1.0 / std::log2(static_cast<double>(k) + 1.0);
        }
    }
    const std::vector<double>& of(Discount kind) const { return kind == Discount::kLog2 ? log2_ : letor_; }

private:
    std::vector<double> log2_, letor_;
};

namespace metrics {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

inline std::size_t ranks_within(const RankedQuery& query, const MetricSpec& spec) {
    return static_cast<std::size_t>(spec.cutoff > 0 ? std::min(spec.cutoff, query.size()) : query.size());
}

inline std::int64_t count_relevant(const RankedQuery& query, const MetricSpec& spec) {
    std::int64_t count = 0;
    for (std::int64_t k = 0; k < query.size(); ++k) count += query.y()[k] >= spec.rel;
    return count;
}

// Calls body(begin, end, relevant) for the ranks of each group of ties that starts within n; groups are
// single ranks under a rule that gives every row its place.
template <class Body>
void for_each_group(RankedQuery& query, const MetricSpec& spec, std::size_t n, Body&& body) {
    const std::vector<double>& y = query.labels(spec.ties);
    if (spec.ties != Ties::kAverage && spec.ties != Ties::kThreshold) {
        for (std::size_t k = 0; k < n; ++k) body(k, k + 1, static_cast<std::int64_t>(y[k] >= spec.rel));
        return;
    }
    for (std::int64_t g = 0; g < query.n_groups(); ++g) {
        const auto begin = static_cast<std::size_t>(query.group_begin(g));
        const auto end = static_cast<std::size_t>(query.group_begin(g + 1));
        if (begin >= n) return;
        std::int64_t relevant = 0;
        for (std::size_t k = begin; k < end; ++k) relevant += y[k] >= spec.rel;
        body(begin, end, relevant);
    }
}

}  // namespace metrics

}  // namespace marginrank
