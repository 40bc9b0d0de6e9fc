// Every metric of a short query with ties under every rule for them, against its definition; of a longer one the same
// value whatever stands beside it and whatever the threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "../tests/metric_oracle.hpp"
#include "input.hpp"

using namespace metric_oracle;
using marginrank::Crew;
using marginrank::MetricInput;

namespace {

MetricSpec spec_of(Input& input) {
    MetricSpec spec;
    spec.metric = &kMetrics[input.byte() % std::size(kMetrics)];
    spec.cutoff = static_cast<std::int64_t>(input.below(9));
    if (is(spec, "precision")) spec.cutoff = std::max<std::int64_t>(spec.cutoff, 1);
    if (is(spec, "mean_ndcg")) spec.cutoff = 0;
    constexpr Ties rules[] = {Ties::kInput, Ties::kAverage, Ties::kPessimistic, Ties::kDocid};
    spec.ties = rules[input.byte() % 4];
    spec.rel = static_cast<double>(1 + input.byte() % 3);
    spec.gain = input.flag() ? Gain::kExponential : Gain::kLinear;
    spec.discount = input.flag() ? Discount::kLog2 : Discount::kLetor;
    spec.short_list = input.flag() ? ShortList::kPad : ShortList::kCut;
    spec.cut_norm = input.flag();
    spec.max_label = 3.0;
    spec.p = 0.05 + 0.9 * input.byte() / 256.0;
    return spec;
}

Vec values_of(const Vec& y, const Vec& scores, const Ids& docid, const Ids& ptr, const MetricSpec& spec, int threads) {
    const std::size_t n_queries = ptr.size() - 1;
    Vec values(n_queries, -1.0);
    const auto tied = std::make_unique<bool[]>(n_queries);
    const MetricInput in{y.data(), scores.data(), docid.data(), ptr.data(), static_cast<std::int64_t>(n_queries)};
    marginrank::ranking_metrics(Crew(threads), in, {spec}, values.data(), tied.get());
    return values;
}

Ids shuffled(Input& input, std::size_t n) {
    Ids docid(n);
    std::iota(docid.begin(), docid.end(), std::int64_t{0});
    for (std::size_t k = n; k > 1; --k) std::swap(docid[k - 1], docid[input.below(k)]);
    return docid;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    Input input(data, size);
    const MetricSpec spec = spec_of(input);
    const bool is_long = input.byte() % 8 == 0;
    const std::size_t n = is_long ? 1 + input.below(300) : 1 + input.byte() % 6;
    const Vec y = input.levels(n, 4);
    const Vec scores = input.flag() ? input.levels(n, 3) : input.numbers(n, 1e300);
    const Ids docid = shuffled(input, n);
    const auto rows = static_cast<std::int64_t>(n);
    const Vec alone = values_of(y, scores, docid, {0, rows}, spec, 1);
    if (!is_long) MUST(close(alone[0], expected_value(y, scores, docid, spec)));
    Vec both_y(y), both_scores(scores);
    Ids both_docid(docid);
    both_y.insert(both_y.end(), {3.0, 0.0});
    both_scores.insert(both_scores.end(), {0.0, 1.0});
    both_docid.insert(both_docid.end(), {0, 1});
    const Vec beside = values_of(both_y, both_scores, both_docid, {0, rows, rows + 2}, spec, 3);
    MUST(same_bits(alone[0], beside[0]) || (std::isnan(alone[0]) && std::isnan(beside[0])));
    return 0;
}
