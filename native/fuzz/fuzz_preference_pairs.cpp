// Losses over explicit pairs, repeated and contradicting ones included, against a loop over them.
#include <cmath>
#include <cstdint>
#include <vector>

#include "input.hpp"
#include "marginrank/logistic.hpp"
#include "marginrank/preference_pairs.hpp"

using namespace marginrank;

namespace {

using Vec = std::vector<double>;

struct Problem {
    std::size_t n_rows;
    std::vector<std::int64_t> pairs;
    Vec weight, margin, scores;
    double largest = 1.0;

    explicit Problem(Input& input) : n_rows(2 + input.below(30)) {
        const std::size_t n_pairs = 1 + input.below(200);
        for (std::size_t k = 0; k < n_pairs; ++k) {
            const std::size_t winner = input.byte() % n_rows;
            pairs.push_back(static_cast<std::int64_t>(winner));
            pairs.push_back(static_cast<std::int64_t>((winner + 1 + input.byte() % (n_rows - 1)) % n_rows));
        }
        if (input.flag())
            for (std::size_t k = 0; k < n_pairs; ++k) weight.push_back(1.0 + input.byte() % 4);
        if (input.flag())
            for (std::size_t k = 0; k < n_pairs; ++k) margin.push_back(0.25 * (input.byte() % 9));
        scores = input.numbers(n_rows, 1e60);
        for (double v : scores) largest = std::max(largest, std::fabs(v));
    }
    std::size_t n_pairs() const { return pairs.size() / 2; }
};

template <class Term>
void check(const Problem& p) {
    const PairsOf<Term> loss(p.pairs.data(), p.weight.empty() ? nullptr : p.weight.data(),
                             p.margin.empty() ? nullptr : p.margin.data(), static_cast<std::int64_t>(p.n_pairs()),
                             static_cast<std::int64_t>(p.n_rows));
    Vec gradient(p.n_rows, NAN), other(p.n_rows, NAN), product(p.n_rows, NAN), want(p.n_rows, 0.0);
    const double value = loss.evaluate(Crew(1), p.scores.data(), gradient.data());
    MUST(same_bits(value, loss.evaluate(Crew(3), p.scores.data(), other.data())));
    for (std::size_t r = 0; r < p.n_rows; ++r) MUST(same_bits(gradient[r], other[r]));
    double sum = 0.0, total = 0.0;
    for (std::size_t k = 0; k < p.n_pairs(); ++k) {
        const auto win = static_cast<std::size_t>(p.pairs[2 * k]), lose = static_cast<std::size_t>(p.pairs[2 * k + 1]);
        const double w = p.weight.empty() ? 1.0 : p.weight[k], m = p.margin.empty() ? Term::kMargin : p.margin[k];
        const double slack = m - (p.scores[win] - p.scores[lose]);
        sum += Term::cost(w, slack);
        total += w;
        want[win] -= w * Term::kFactor * Term::pull(slack);
        want[lose] += w * Term::kFactor * Term::pull(slack);
    }
    // At most 200 terms of a sum, each with a weight of up to 4, added in another order here.
    const double size = 8.0 * p.largest, unit = 1e-12;
    MUST(value >= 0.0 && std::fabs(value - sum / total) <= unit * size * size);
    for (std::size_t r = 0; r < p.n_rows; ++r) MUST(std::fabs(gradient[r] - want[r] / total) <= unit * size);
    loss.hessian(Crew(2), p.scores.data(), p.scores.data(), product.data());
    MUST(all_finite(product));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    Input input(data, size);
    const Problem problem(input);
    check<HingePair>(problem);
    check<SquaredHingePair>(problem);
    check<LeastSquaresPair>(problem);
    check<LogisticPair>(problem);
    return 0;
}
