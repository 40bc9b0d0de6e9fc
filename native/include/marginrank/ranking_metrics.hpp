// Ranking metrics, per query; queries are shared out among threads and each is sorted once.
//
// A metric of a query in which there is nothing to find (no gain, no relevant row, no pair) is NaN here;
// what that counts as is for the caller to say. Averages over ties are exact expectations over all orders
// of the tied rows, in closed form (McSherry and Najork, ECIR 2008; for ERR by symmetric polynomials).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>
#include <vector>

#include "marginrank/average_precision.hpp"
#include "marginrank/metric_spec.hpp"
#include "marginrank/parallel.hpp"
#include "marginrank/ranked_query.hpp"

namespace marginrank {

namespace metrics {

inline double weighted_sum(const std::vector<double>& gains, const std::vector<double>& discount, std::size_t n) {
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += gains[k] * discount[k];
    return sum;
}

template <bool kNormalized>
double dcg(RankedQuery& query, const MetricSpec& spec, const Discounts& discounts) {
    const std::vector<double>& discount = discounts.of(spec.discount);
    const std::size_t n = ranks_within(query, spec);
    // The ideal sum rather than the largest gain: both are 0 together, and NDCG needs this one anyway.
    const double ideal = weighted_sum(query.ideal_gains(spec.gain), discount, n);
    if (!(ideal > 0.0)) return kNothing;
    const double sum = weighted_sum(query.gains(spec.ties, spec.gain), discount, n);
    return kNormalized ? sum / ideal : sum;
}

inline double mean_ndcg(RankedQuery& query, const MetricSpec& spec, const Discounts& discounts) {
    const std::vector<double>& discount = discounts.of(spec.discount);
    const std::vector<double>& gains = query.gains(spec.ties, spec.gain);
    const std::vector<double>& ideal_gains = query.ideal_gains(spec.gain);
    if (gains.empty() || !(ideal_gains[0] > 0.0)) return kNothing;
    double sum = 0.0, ideal = 0.0, total = 0.0;
    for (std::size_t k = 0; k < gains.size(); ++k) {
        sum += gains[k] * discount[k];
        ideal += ideal_gains[k] * discount[k];
        total += sum / ideal;
    }
    return total / static_cast<double>(gains.size());
}

// Expected number of relevant rows within the cutoff.
inline double hits(RankedQuery& query, const MetricSpec& spec) {
    const std::size_t n = ranks_within(query, spec);
    double sum = 0.0;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t relevant) {
        const auto share = static_cast<double>(std::min(end, n) - begin) / static_cast<double>(end - begin);
        sum += share * static_cast<double>(relevant);
    });
    return sum;
}

inline double precision(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    if (count_relevant(query, spec) == 0) return kNothing;
    const bool cut = spec.short_list == ShortList::kCut;
    return hits(query, spec) / static_cast<double>(cut ? std::min(spec.cutoff, query.size()) : spec.cutoff);
}

inline double recall(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    const std::int64_t relevant = count_relevant(query, spec);
    return relevant == 0 ? kNothing : hits(query, spec) / static_cast<double>(relevant);
}

inline double r_precision(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    MetricSpec to_relevant = spec;
    to_relevant.cutoff = count_relevant(query, spec);
    if (to_relevant.cutoff == 0) return kNothing;
    return hits(query, to_relevant) / static_cast<double>(to_relevant.cutoff);
}

// Whether a relevant row is within the cutoff: one minus the chance that each rank in turn has none.
inline double hit(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    if (count_relevant(query, spec) == 0) return kNothing;
    const std::size_t n = ranks_within(query, spec);
    double none = 1.0;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t relevant) {
        for (std::size_t k = begin; k < std::min(end, n) && none > 0.0; ++k)
            none *= 1.0 - std::min(static_cast<double>(relevant) / static_cast<double>(end - k), 1.0);
    });
    return 1.0 - none;
}

inline double rank_biased_precision(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    if (count_relevant(query, spec) == 0) return kNothing;
    const std::size_t n = ranks_within(query, spec);
    double sum = 0.0, weight = 1.0 - spec.p;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t relevant) {
        const double share = static_cast<double>(relevant) / static_cast<double>(end - begin);
        for (std::size_t k = begin; k < std::min(end, n); ++k, weight *= spec.p) sum += share * weight;
    });
    return sum;
}

inline double reciprocal_rank(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    if (count_relevant(query, spec) == 0) return kNothing;
    const std::size_t n = ranks_within(query, spec);
    double sum = 0.0;
    bool found = false;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t relevant) {
        if (found || relevant == 0) return;
        found = true;
        double none_yet = 1.0;
        for (std::size_t k = begin; k < std::min(end, n) && none_yet > 0.0; ++k) {
            const double first = static_cast<double>(relevant) / static_cast<double>(end - k);
            sum += none_yet * std::min(first, 1.0) / static_cast<double>(k + 1);
            none_yet *= 1.0 - std::min(first, 1.0);
        }
    });
    return sum;
}

// Expected product of miss over the first m rows of a group in random order, for every m up to most: the
// elementary symmetric polynomials divided by their numbers of terms, which keeps them in [0, 1].
inline void mean_products(const double* miss, std::size_t n, std::size_t most, std::vector<double>& products) {
    products.assign(most + 1, 0.0);
    products[0] = 1.0;
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t m = std::min(i + 1, most); m > 0; --m) {
            const double share = static_cast<double>(m) / static_cast<double>(i + 1);
            products[m] = (1.0 - share) * products[m] + share * miss[i] * products[m - 1];
        }
}

inline double err(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    // Not the mean gains of ties: the chance to go on is a product, whose mean is taken below.
    const Ties order = spec.ties == Ties::kAverage ? Ties::kInput : spec.ties;
    const std::vector<double>& gains = query.gains(order, Gain::kExponential);
    if (std::none_of(gains.begin(), gains.end(), [](double g) { return g > 0.0; })) return kNothing;
    const double top = std::exp2(spec.max_label);
    const std::size_t n = ranks_within(query, spec);
    double sum = 0.0, reached = 1.0;
    std::vector<double> miss, products;
    for_each_group(query, spec, n, [&](std::size_t begin, std::size_t end, std::int64_t) {
        if (end - begin == 1) {
            sum += reached * (gains[begin] / top) / static_cast<double>(end);
            reached *= 1.0 - gains[begin] / top;
            return;
        }
        miss.clear();
        for (std::size_t k = begin; k < end; ++k) miss.push_back(1.0 - gains[k] / top);
        const std::size_t most = std::min(end, n) - begin;
        mean_products(miss.data(), miss.size(), most, products);
        for (std::size_t m = 0; m < most; ++m)
            sum += reached * (products[m] - products[m + 1]) / static_cast<double>(begin + m + 1);
        reached *= products[most];
    });
    return sum;
}

inline double auc(RankedQuery& query, const MetricSpec& spec, const Discounts&) {
    const std::int64_t relevant = count_relevant(query, spec);
    const std::int64_t others = query.size() - relevant;
    if (relevant == 0 || others == 0) return kNothing;
    const std::vector<double>& y = query.labels(Ties::kInput);
    double right = 0.0;  // twice the pairs, exact below 2^53
    std::int64_t below = others;
    for (std::int64_t g = 0; g < query.n_groups(); ++g) {
        std::int64_t in_group = 0;
        const std::int64_t begin = query.group_begin(g), end = query.group_begin(g + 1);
        for (std::int64_t k = begin; k < end; ++k) in_group += y[static_cast<std::size_t>(k)] >= spec.rel;
        const std::int64_t others_in_group = end - begin - in_group;
        below -= others_in_group;
        right += static_cast<double>(in_group) * static_cast<double>(2 * below + others_in_group);
    }
    return right / (2.0 * static_cast<double>(relevant) * static_cast<double>(others));
}

inline double pairwise_error(RankedQuery& query, const MetricSpec&, const Discounts&) {
    const RankedQuery::PairCounts& pairs = query.pairs();
    if (pairs.comparable == 0) return kNothing;
    const std::int64_t tied = pairs.comparable - pairs.right - pairs.wrong;
    return static_cast<double>(2 * pairs.wrong + tied) / (2.0 * static_cast<double>(pairs.comparable));
}

// tau-b; constant scores agree with nothing and are 0.
inline double kendall(RankedQuery& query, const MetricSpec&, const Discounts&) {
    const RankedQuery::PairCounts& pairs = query.pairs();
    if (pairs.comparable == 0) return kNothing;
    if (pairs.distinct == 0) return 0.0;
    // The root of each: their product may overflow, and a perfect order shall give exactly 1.
    if (pairs.right == pairs.comparable && pairs.right == pairs.distinct) return 1.0;
    if (pairs.wrong == pairs.comparable && pairs.wrong == pairs.distinct) return -1.0;
    return static_cast<double>(pairs.right - pairs.wrong) /
           (std::sqrt(static_cast<double>(pairs.comparable)) * std::sqrt(static_cast<double>(pairs.distinct)));
}

// Correlation of the ranks of labels and scores; equal ones share the mean of their ranks. Ranks are doubled
// and centred, so that they are integers.
inline double spearman(RankedQuery& query, const MetricSpec&, const Discounts&) {
    const std::vector<double>& y = query.labels(Ties::kInput);
    const std::vector<double>& sorted = query.ideal_labels();
    const std::int64_t n = query.size();
    if (n == 0 || sorted.front() == sorted.back()) return kNothing;
    double by_label = 0.0, by_score = 0.0, both = 0.0;  // exact below 2^53
    for (std::int64_t g = 0; g < query.n_groups(); ++g) {
        const std::int64_t begin = query.group_begin(g), end = query.group_begin(g + 1);
        const auto score = static_cast<double>(begin + end - n);
        for (std::int64_t k = begin; k < end; ++k) {
            const auto same = std::equal_range(sorted.begin(), sorted.end(), y[static_cast<std::size_t>(k)],
                                               std::greater<>());
            const auto label = static_cast<double>((same.first - sorted.begin()) + (same.second - sorted.begin()) - n);
            by_label += label * label;
            by_score += score * score;
            both += label * score;
        }
    }
    if (by_score == 0.0) return 0.0;
    if (std::abs(both) == by_label && by_label == by_score) return both > 0.0 ? 1.0 : -1.0;
    return std::clamp(both / (std::sqrt(by_label) * std::sqrt(by_score)), -1.0, 1.0);
}

}  // namespace metrics

// The metrics by name. A new one is a function above, a line here, and an entry in metrics/families.py.
inline constexpr NamedMetric kMetrics[] = {
    {"ndcg", metrics::dcg<true>},
    {"dcg", metrics::dcg<false>},
    {"mean_ndcg", metrics::mean_ndcg},
    {"map", metrics::average_precision},
    {"mrr", metrics::reciprocal_rank},
    {"precision", metrics::precision},
    {"recall", metrics::recall},
    {"err", metrics::err},
    {"auc", metrics::auc},
    {"pairwise_error", metrics::pairwise_error},
    {"kendall", metrics::kendall},
    {"hit", metrics::hit},
    {"r_precision", metrics::r_precision},
    {"rbp", metrics::rank_biased_precision},
    {"spearman", metrics::spearman},
};

// The metric of a name, or null.
inline const NamedMetric* find_metric(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const NamedMetric& m) { return m.name == name; });
    return found == std::end(kMetrics) ? nullptr : found;
}

struct MetricInput {
    const double* y;
    const double* scores;
    const std::int64_t* docid;  // or null
    const std::int64_t* query_ptr;
    std::int64_t n_queries;
};

// values[m * n_queries + q] is metric m of query q, NaN where there is nothing to find; tied[q] tells
// whether equal scores hide which of two different labels comes first.
inline void ranking_metrics(const Crew& crew, const MetricInput& in, const std::vector<MetricSpec>& specs,
                            double* values, bool* tied) {
    // Queries so long that threads share the sort are done one by one, the others side by side.
    constexpr std::int64_t kLong = 65536;
    const std::int64_t n_queries = in.n_queries;
    std::int64_t longest = 0;
    for (std::int64_t q = 0; q < n_queries; ++q) longest = std::max(longest, in.query_ptr[q + 1] - in.query_ptr[q]);
    const Discounts discounts(longest);
    auto evaluate = [&](const Crew& sorters, RankedQuery& query, std::int64_t q) {
        const std::int64_t begin = in.query_ptr[q];
        query.rank(sorters, in.y + begin, in.scores + begin, in.docid == nullptr ? nullptr : in.docid + begin,
                   in.query_ptr[q + 1] - begin);
        tied[q] = query.tied();
        for (std::size_t m = 0; m < specs.size(); ++m) {
            const MetricSpec& spec = specs[m];
            double v = spec.metric->value(query, spec, discounts);
            if (spec.short_list == ShortList::kZero && query.size() < spec.cutoff && !std::isnan(v)) v = 0.0;
            values[static_cast<std::int64_t>(m) * n_queries + q] = v;
        }
    };
    auto is_long = [&](std::int64_t q) { return in.query_ptr[q + 1] - in.query_ptr[q] >= kLong; };
    std::vector<RankedQuery> queries(static_cast<std::size_t>(crew.threads()));
    for (std::int64_t q = 0; q < n_queries; ++q)
        if (is_long(q)) evaluate(crew, queries[0], q);
    const Crew alone(1);
    const std::int64_t n_blocks = std::min<std::int64_t>(n_queries, 512);
    crew.run(n_blocks, [&](std::int64_t block, int worker) {
        const std::int64_t end = block_bound(n_queries, n_blocks, block + 1);
        for (std::int64_t q = block_bound(n_queries, n_blocks, block); q < end; ++q)
            if (!is_long(q)) evaluate(alone, queries[static_cast<std::size_t>(worker)], q);
    });
}

}  // namespace marginrank
