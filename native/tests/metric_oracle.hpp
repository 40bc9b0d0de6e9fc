// Metrics by their definitions: labels in the order of their ranks, and for averages over ties every order written out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "marginrank/ranking_metrics.hpp"

namespace metric_oracle {

using marginrank::Discount;
using marginrank::Gain;
using marginrank::kMetrics;
using marginrank::MetricSpec;
using marginrank::ShortList;
using marginrank::Ties;
using Ids = std::vector<std::int64_t>;
using Vec = std::vector<double>;

inline bool close(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) < 1e-12; }

inline double gain_of(double label, Gain gain) { return gain == Gain::kLinear ? label : std::exp2(label) - 1.0; }
inline double discount_of(std::size_t rank, Discount discount) {
    const double r = static_cast<double>(rank);
    return discount == Discount::kLog2 ? 1.0 / std::log2(1.0 + r) : rank <= 2 ? 1.0 : 1.0 / std::log2(r);
}

inline double dcg_of(const Vec& labels, const MetricSpec& spec, std::size_t k) {
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(k, labels.size()); ++i)
        sum += gain_of(labels[i], spec.gain) * discount_of(i + 1, spec.discount);
    return sum;
}

inline bool is(const MetricSpec& spec, std::string_view name) { return spec.metric->name == name; }

// The metric of labels that are in the order of their ranks.
inline double by_rank(const Vec& y, const MetricSpec& spec) {
    const std::size_t k = spec.cutoff > 0 ? static_cast<std::size_t>(spec.cutoff) : y.size();
    Vec ideal = y;
    std::sort(ideal.rbegin(), ideal.rend());
    const auto cut = static_cast<double>(spec.short_list == ShortList::kCut ? std::min(k, y.size()) : k);
    double hits = 0.0, precisions = 0.0, first = 0.0, err = 0.0, reached = 1.0, relevant = 0.0, mean = 0.0, rbp = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        relevant += y[i] >= spec.rel;
        mean += dcg_of(y, spec, i + 1) / dcg_of(ideal, spec, i + 1) / static_cast<double>(y.size());
        if (i >= k) continue;
        const double rank = static_cast<double>(i) + 1.0;
        const double satisfied = gain_of(y[i], Gain::kExponential) / std::exp2(spec.max_label);
        err += reached * satisfied / rank;
        reached *= 1.0 - satisfied;
        if (y[i] < spec.rel) continue;
        hits += 1.0;
        precisions += hits / rank;
        if (hits == 1.0) first = 1.0 / rank;
        rbp += (1.0 - spec.p) * std::pow(spec.p, rank - 1.0);
    }
    if (is(spec, "ndcg")) return dcg_of(y, spec, k) / dcg_of(ideal, spec, k);
    if (is(spec, "dcg")) return dcg_of(ideal, spec, k) > 0.0 ? dcg_of(y, spec, k) : NAN;
    if (is(spec, "mean_ndcg")) return mean;
    if (is(spec, "err")) return ideal[0] > 0.0 ? err : NAN;
    if (relevant == 0.0) return NAN;
    if (is(spec, "map"))
        return precisions / (spec.cut_norm ? std::min(relevant, static_cast<double>(k)) : relevant);
    if (is(spec, "mrr")) return first;
    if (is(spec, "rbp")) return rbp;
    if (is(spec, "hit")) return hits > 0.0 ? 1.0 : 0.0;
    if (is(spec, "r_precision")) {
        const auto among = static_cast<std::ptrdiff_t>(relevant);
        return static_cast<double>(std::count_if(y.begin(), y.begin() + among,
                                                 [&](double label) { return label >= spec.rel; })) / relevant;
    }
    return is(spec, "precision") ? hits / cut : hits / relevant;
}

// The metric under the rule for ties, over rows that are sorted or, for averages, permuted every way.
inline double by_definition(const Vec& y, const Vec& scores, const Ids& docid, const MetricSpec& spec) {
    std::vector<std::size_t> rows(y.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    auto value = [&] {
        Vec labels;
        for (const std::size_t row : rows) labels.push_back(y[row]);
        return by_rank(labels, spec);
    };
    if (spec.ties != Ties::kAverage) {
        std::stable_sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
            if (scores[a] != scores[b]) return scores[a] > scores[b];
            if (spec.ties == Ties::kPessimistic) return y[a] < y[b];
            return spec.ties == Ties::kDocid && docid[a] > docid[b];
        });
        return value();
    }
    double sum = 0.0, orders = 0.0;
    auto above = [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; };
    do {
        if (!std::is_sorted(rows.begin(), rows.end(), above)) continue;
        sum += value();
        orders += 1.0;
    } while (std::next_permutation(rows.begin(), rows.end()));
    return sum / orders;
}

inline double by_pairs(const Vec& y, const Vec& scores, const MetricSpec& spec) {
    double comparable = 0.0, distinct = 0.0, won = 0.0, agree = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::size_t j = 0; j < y.size(); ++j) {
            const bool above = is(spec, "auc") ? y[i] >= spec.rel && y[j] < spec.rel : y[i] > y[j];
            distinct += scores[i] > scores[j];
            comparable += above;
            won += above * ((scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j]));
            agree += above * ((scores[i] > scores[j]) - static_cast<double>(scores[i] < scores[j]));
        }
    if (comparable == 0.0) return NAN;
    if (is(spec, "kendall")) return distinct == 0.0 ? 0.0 : agree / std::sqrt(comparable * distinct);
    return is(spec, "auc") ? won / comparable : 1.0 - won / comparable;
}

inline double mean_rank(const Vec& values, double value) {
    double rank = 0.5;
    for (const double other : values) rank += (other < value) + 0.5 * (other == value);
    return rank;
}

inline double spearman_of(const Vec& y, const Vec& scores) {
    const double middle = 0.5 * (static_cast<double>(y.size()) + 1.0);
    double by_label = 0.0, by_score = 0.0, both = 0.0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        const double a = mean_rank(y, y[i]) - middle, b = mean_rank(scores, scores[i]) - middle;
        by_label += a * a;
        by_score += b * b;
        both += a * b;
    }
    if (by_label == 0.0) return NAN;
    return by_score == 0.0 ? 0.0 : both / std::sqrt(by_label * by_score);
}

inline std::vector<MetricSpec> all_specs() {
    std::vector<MetricSpec> specs;
    for (const marginrank::NamedMetric& metric : kMetrics)
        for (const Ties ties : {Ties::kInput, Ties::kAverage, Ties::kPessimistic, Ties::kDocid})
            for (const std::int64_t cutoff : {0, 1, 3, 8})
                for (const int other : {0, 1}) {
                    MetricSpec spec;
                    spec.metric = &metric;
                    if (cutoff == 0 && is(spec, "precision")) continue;
                    spec.cutoff = is(spec, "mean_ndcg") ? 0 : cutoff;
                    spec.ties = ties;
                    spec.rel = other == 0 ? 1.0 : 2.0;
                    spec.gain = other == 0 ? Gain::kExponential : Gain::kLinear;
                    spec.discount = other == 0 ? Discount::kLog2 : Discount::kLetor;
                    spec.short_list = other == 0 ? ShortList::kPad : ShortList::kCut;
                    spec.cut_norm = other == 1;
                    spec.max_label = 3.0;
                    spec.p = other == 0 ? 0.8 : 0.5;
                    specs.push_back(spec);
                }
    return specs;
}

// The value of a query, by the definition that fits the metric.
inline double expected_value(const Vec& y, const Vec& scores, const Ids& docid, const MetricSpec& spec) {
    if (is(spec, "spearman")) return spearman_of(y, scores);
    const bool of_pairs = is(spec, "auc") || is(spec, "pairwise_error") || is(spec, "kendall");
    return of_pairs ? by_pairs(y, scores, spec) : by_definition(y, scores, docid, spec);
}

}  // namespace metric_oracle
