// Metrics against their definitions: small queries with ties, where an average over ties is taken over every
// order that is written out.
#include "marginrank/ranking_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string_view>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;
using marginrank::Discount;
using marginrank::Gain;
using marginrank::MetricInput;
using marginrank::find_metric;
using marginrank::kMetrics;
using marginrank::MetricSpec;
using marginrank::ShortList;
using marginrank::Ties;
using Ids = std::vector<std::int64_t>;
using Random = std::mt19937_64;
using Vec = std::vector<double>;

bool close(double a, double b) { return (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) < 1e-12; }

double gain_of(double label, Gain gain) { return gain == Gain::kLinear ? label : std::exp2(label) - 1.0; }
double discount_of(std::size_t rank, Discount discount) {
    const double r = static_cast<double>(rank);
    return discount == Discount::kLog2 ? 1.0 / std::log2(1.0 + r) : rank <= 2 ? 1.0 : 1.0 / std::log2(r);
}

double dcg_of(const Vec& labels, const MetricSpec& spec, std::size_t k) {
    double sum = 0.0;
    for (std::size_t i = 0; i < std::min(k, labels.size()); ++i)
        sum += gain_of(labels[i], spec.gain) * discount_of(i + 1, spec.discount);
    return sum;
}

bool is(const MetricSpec& spec, std::string_view name) { return spec.metric->name == name; }

// The metric of labels that are in the order of their ranks.
double by_rank(const Vec& y, const MetricSpec& spec) {
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
double by_definition(const Vec& y, const Vec& scores, const Ids& docid, const MetricSpec& spec) {
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

double by_pairs(const Vec& y, const Vec& scores, const MetricSpec& spec) {
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

double mean_rank(const Vec& values, double value) {
    double rank = 0.5;
    for (const double other : values) rank += (other < value) + 0.5 * (other == value);
    return rank;
}

double spearman_of(const Vec& y, const Vec& scores) {
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

std::vector<MetricSpec> all_specs() {
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

void every_metric_equals_its_definition() {
    Random random(1);
    const std::vector<MetricSpec> specs = all_specs();
    for (int repeat = 0; repeat < 25; ++repeat) {
        const std::size_t n = 1 + random() % 6;
        Vec y(n), scores(n);
        Ids docid(n);
        std::iota(docid.begin(), docid.end(), std::int64_t{0});
        std::shuffle(docid.begin(), docid.end(), random);
        for (std::size_t k = 0; k < n; ++k) {
            y[k] = static_cast<double>(random() % (repeat % 5 == 0 ? 1 : 4));
            scores[k] = static_cast<double>(random() % 3);
        }
        const Ids ptr{0, static_cast<std::int64_t>(n)};
        Vec values(specs.size());
        bool tied = false;
        marginrank::ranking_metrics(Crew(1), MetricInput{y.data(), scores.data(), docid.data(), ptr.data(), 1}, specs,
                                    values.data(), &tied);
        for (std::size_t m = 0; m < specs.size(); ++m) {
            const bool of_pairs = is(specs[m], "auc") || is(specs[m], "pairwise_error") || is(specs[m], "kendall");
            const double want = is(specs[m], "spearman") ? spearman_of(y, scores)
                                : of_pairs               ? by_pairs(y, scores, specs[m])
                                                         : by_definition(y, scores, docid, specs[m]);
            CHECK(close(values[m], want));
        }
    }
}

void threads_and_neighbours_do_not_change_a_query() {
    Random random(2);
    Ids ptr{0};
    for (int q = 0; q < 700; ++q) ptr.push_back(ptr.back() + static_cast<std::int64_t>(random() % 60));
    ptr.push_back(ptr.back() + 66000);  // long enough for a shared sort
    const auto n = static_cast<std::size_t>(ptr.back()), n_queries = ptr.size() - 1;
    Vec y(n), scores(n);
    for (std::size_t k = 0; k < n; ++k) {
        y[k] = static_cast<double>(random() % 5);
        scores[k] = static_cast<double>(random() % 500);
    }
    std::vector<MetricSpec> specs(std::size(kMetrics));
    CHECK(specs.size() == 15);
    for (std::size_t m = 0; m < specs.size(); ++m) {
        specs[m].metric = &kMetrics[m];
        specs[m].cutoff = 5;
    }
    auto evaluate = [&](int threads) {
        Vec values(specs.size() * n_queries);
        const auto tied = std::make_unique<bool[]>(n_queries);
        const MetricInput in{y.data(), scores.data(), nullptr, ptr.data(), static_cast<std::int64_t>(n_queries)};
        marginrank::ranking_metrics(Crew(threads), in, specs, values.data(), tied.get());
        return values;
    };
    const Vec one = evaluate(1), three = evaluate(3);
    for (std::size_t k = 0; k < one.size(); ++k)
        CHECK(one[k] == three[k] || (std::isnan(one[k]) && std::isnan(three[k])));
}

void threshold_takes_tied_rows_at_once() {
    const Vec y{1, 0, 1, 0}, scores{2, 2, 1, 0};
    const Ids ptr{0, 4};
    MetricSpec spec;
    spec.metric = find_metric("map");
    spec.ties = Ties::kThreshold;
    double value = 0.0;
    bool tied = false;
    const MetricInput in{y.data(), scores.data(), nullptr, ptr.data(), 1};
    marginrank::ranking_metrics(Crew(1), in, {spec}, &value, &tied);
    CHECK(close(value, (1.0 / 2.0 + 2.0 / 3.0) / 2.0));
    CHECK(tied);
}

void a_short_list_may_count_nothing() {
    const Vec y{1, 0}, scores{2, 1};
    const Ids ptr{0, 2};
    MetricSpec spec;
    spec.metric = find_metric("ndcg");
    spec.cutoff = 3;
    spec.short_list = ShortList::kZero;
    double value = 1.0;
    bool tied = true;
    const MetricInput in{y.data(), scores.data(), nullptr, ptr.data(), 1};
    marginrank::ranking_metrics(Crew(1), in, {spec}, &value, &tied);
    CHECK(value == 0.0);
    CHECK(!tied);
}

}  // namespace

int main() {
    every_metric_equals_its_definition();
    threads_and_neighbours_do_not_change_a_query();
    threshold_takes_tied_rows_at_once();
    a_short_list_may_count_nothing();
    return marginrank_failures() != 0;
}
