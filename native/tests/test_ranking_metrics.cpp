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
#include <vector>

#include "check.hpp"
#include "metric_oracle.hpp"

namespace {

using namespace metric_oracle;
using marginrank::Crew;
using marginrank::MetricInput;
using marginrank::find_metric;
using Random = std::mt19937_64;

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
            CHECK(close(values[m], expected_value(y, scores, docid, specs[m])));
        }
    }
}

void average_precision_at_all_levels_is_the_mean_over_them() {
    Random random(3);
    for (int repeat = 0; repeat < 2000; ++repeat) {
        const std::size_t n = 1 + random() % 12, n_levels = 1 + random() % 5;
        Vec y(n), scores(n);
        for (std::size_t k = 0; k < n; ++k) {
            y[k] = 0.5 * static_cast<double>(random() % n_levels) - 1.0;
            scores[k] = static_cast<double>(random() % 5);
        }
        Ids docid(n);
        std::iota(docid.begin(), docid.end(), std::int64_t{0});
        const Ids ptr{0, static_cast<std::int64_t>(n)};
        const MetricInput in{y.data(), scores.data(), docid.data(), ptr.data(), 1};
        MetricSpec all;
        all.metric = find_metric("map");
        all.rel_all = true;
        all.cutoff = static_cast<std::int64_t>(random() % 5);
        all.cut_norm = random() % 2 == 0;
        constexpr Ties kRules[] = {Ties::kInput, Ties::kAverage, Ties::kPessimistic, Ties::kDocid, Ties::kThreshold};
        all.ties = kRules[random() % 5];
        std::vector<MetricSpec> specs{all};
        Vec levels = y;
        std::sort(levels.begin(), levels.end());
        levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
        for (std::size_t k = 1; k < levels.size(); ++k) {
            specs.push_back(all);
            specs.back().rel_all = false;
            specs.back().rel = levels[k];
        }
        Vec values(specs.size());
        bool tied = false;
        marginrank::ranking_metrics(Crew(1), in, specs, values.data(), &tied);
        const double sum = std::accumulate(values.begin() + 1, values.end(), 0.0);
        CHECK(close(values[0], sum / static_cast<double>(specs.size() - 1)));  // 0/0 with one level: no value
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
    average_precision_at_all_levels_is_the_mean_over_them();
    threads_and_neighbours_do_not_change_a_query();
    threshold_takes_tied_rows_at_once();
    a_short_list_may_count_nothing();
    return marginrank_failures() != 0;
}
