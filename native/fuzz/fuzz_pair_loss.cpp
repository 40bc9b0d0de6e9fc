// Hinge and squared hinge of a query against a loop over all of its pairs; the same bits from any number of threads.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../tests/pair_oracle.hpp"
#include "input.hpp"
#include "marginrank/pair_loss.hpp"

using namespace marginrank;

namespace {

struct Query {
    Vec y, s, w, u;
    double largest = 0.0;  // score

    Query(Input& input, std::size_t n) {
        const std::size_t n_levels = 1 + input.below(40);
        y = input.flag() ? input.levels(n, n_levels) : input.numbers(n, 1e300);
        s = input.numbers(n, 1e100);
        if (input.flag()) {
            w = input.levels(n, 7);
            for (double& v : w) v += 1.0;
        }
        u = input.levels(n, 5);
        for (double v : s) largest = std::max(largest, std::fabs(v));
    }
};

struct Answers {
    double value = 0.0;
    Vec gradient, product, above, below;
};

Answers answers(const Query& q, bool squared, int threads) {
    const std::vector<std::int64_t> ptr{0, static_cast<std::int64_t>(q.y.size())};
    const double scale = 1.0;
    const Crew crew(threads);
    const PairLabels labels(crew, q.y.data(), q.w.empty() ? nullptr : q.w.data(), ptr.data(), 1);
    const PairLoss loss(labels, &scale, squared);
    const std::size_t n = q.y.size();
    Answers a{0.0, Vec(n, NAN), Vec(n, NAN), Vec(n, NAN), Vec(n, NAN)};
    a.value = loss.evaluate_all(crew, q.s.data(), a.gradient.data());
    loss.hessian_all(crew, q.s.data(), q.u.data(), a.product.data());
    loss.active_partners(crew, q.s.data(), a.above.data(), a.below.data());
    return a;
}

void same(const Vec& a, const Vec& b) {
    for (std::size_t k = 0; k < a.size(); ++k) MUST(same_bits(a[k], b[k]));
}

// Every sum has at most n terms a row, of weights up to 49 and differences of scores, rounded a few times each.
void near(const Vec& got, const LongVec& want, double bound) {
    for (std::size_t k = 0; k < got.size(); ++k) MUST(std::fabs(static_cast<double>(got[k] - want[k])) <= bound);
}

void check(const Query& q, bool squared) {
    const Answers one = answers(q, squared, 1), two = answers(q, squared, 3);
    MUST(same_bits(one.value, two.value));
    same(one.gradient, two.gradient);
    same(one.product, two.product);
    const PairSums want = pairs_by_definition(q.y, q.s, q.w, q.u, squared);
    near(one.above, want.above, 0.0);
    near(one.below, want.below, 0.0);
    const auto n = static_cast<double>(q.y.size());
    const double unit = 49.0 * 16.0 * n * 2.3e-16, size = 1.0 + 2.0 * q.largest;
    near(one.gradient, want.gradient, squared ? unit * n * size : 0.0);
    near(one.product, want.product, unit * n * 10.0);
    MUST(std::fabs(static_cast<double>(one.value - want.value)) <= unit * n * n * (squared ? size * size : size));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    Input input(data, size);
    // Both sides of the switch from all pairs to sorted scores, which is at 320 rows.
    const std::size_t n = input.flag() ? input.below(40) : input.below(400);
    const Query query(input, n);
    check(query, false);
    check(query, true);
    return 0;
}
