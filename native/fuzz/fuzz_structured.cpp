// Loss-augmented inference: up to six documents against every ranking of them; longer queries by what convexity asks
// of value and gradient at two points.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "../tests/structured_oracle.hpp"
#include "input.hpp"
#include "marginrank/structured_auc.hpp"
#include "marginrank/structured_map.hpp"
#include "marginrank/structured_mrr.hpp"
#include "marginrank/structured_ndcg.hpp"

using namespace marginrank;

namespace {

using Value = std::function<double(const Ranking&, const Vec&)>;

struct Query {
    std::vector<std::int64_t> ptr;
    Vec y, s, other;
    double size = 1.0;

    Query(Input& input, std::size_t n) : ptr{0, static_cast<std::int64_t>(n)}, y(input.levels(n, 2)) {
        // Both labels are there.
        y[input.below(n)] = 1.0;
        if (std::count(y.begin(), y.end(), 0.0) == 0) y[input.below(n)] = 0.0;
        if (std::count(y.begin(), y.end(), 1.0) == 0) y[y[0] == 0.0 ? 0 : 1] = 1.0;
        s = input.numbers(n, 1e12);
        other = input.numbers(n, 1e12);
        for (std::size_t k = 0; k < n; ++k) size = std::max({size, std::fabs(s[k]), std::fabs(other[k])});
    }
    GoodRows good() const { return GoodRows(y.data(), 0.5, ptr.data(), 1); }
};

void check(const StructuredLoss& loss, const Query& q, const Value& value) {
    const std::size_t n = q.s.size();
    Vec gradient(n, NAN), again(n, NAN), there(n, NAN);
    const double got = loss.evaluate_all(Crew(1), q.s.data(), gradient.data());
    MUST(same_bits(got, loss.evaluate_all(Crew(2), q.s.data(), again.data())));
    for (std::size_t k = 0; k < n; ++k) MUST(same_bits(gradient[k], again[k]));
    const auto documents = static_cast<double>(n);
    const double rounding = 1e-14 * documents * documents * q.size;
    MUST(got >= -rounding);
    // A plane stays below the loss everywhere.
    const double elsewhere = loss.evaluate_all(Crew(1), q.other.data(), there.data());
    double plane = got;
    for (std::size_t k = 0; k < n; ++k) plane += gradient[k] * (q.other[k] - q.s[k]);
    MUST(elsewhere >= plane - 4.0 * rounding);
    if (n > 6) return;
    const double want = best_ranking(n, [&](const Ranking& ranking) { return value(ranking, q.s); });
    MUST(std::fabs(got - want) <= rounding);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    Input input(data, size);
    const int target = input.byte() % 5;
    const std::size_t n = input.byte() % 4 == 0 ? 7 + input.below(80) : 2 + input.byte() % 5;
    const std::size_t cutoff = input.below(n + 2);
    const bool letor = input.flag();
    const Query q(input, n);
    const auto k = static_cast<std::int64_t>(cutoff);
    const auto po = [&](const Ranking& r, const Vec& s) { return averaged_differences(r, q.y, s); };
    if (target == 0)
        check(StructuredMap(q.good(), {1.0}), q, [&](const Ranking& r, const Vec& s) { return map_delta(r, q.y) + po(r, s); });
    if (target == 1)
        check(StructuredAuc(std::make_unique<PairLabels>(Crew(1), q.y.data(), nullptr, q.ptr.data(), 1), {1.0}), q,
              [&](const Ranking& r, const Vec& s) {
                  Vec half(q.y);
                  for (double& v : half) v *= -0.5;
                  return po(r, half) + po(r, s);
              });
    if (target == 2)
        check(StructuredMrr(q.good(), {1.0}, k), q,
              [&](const Ranking& r, const Vec& s) { return mrr_delta(r, q.y, cutoff) + po(r, s); });
    if (target == 3)
        check(StructuredMrrFirst(q.good(), {1.0}, k), q,
              [&](const Ranking& r, const Vec& s) { return mrr_delta(r, q.y, cutoff) + first_against_above(r, q.y, s); });
    if (target == 4) {
        const Vec cut = discount_of(letor, n, cutoff);
        check(StructuredNdcg(q.good(), {1.0}, discount_of(letor, n, 0), k), q,
              [&](const Ranking& r, const Vec& s) { return ndcg_delta(r, q.y, cut) + po(r, s); });
    }
    return 0;
}
