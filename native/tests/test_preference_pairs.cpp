// Explicit pairs against a loop over them.
#include "marginrank/preference_pairs.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "marginrank/logistic.hpp"

namespace {

using marginrank::Crew;
using marginrank::PreferencePairs;
using Vec = std::vector<double>;

enum class PairTerm { hinge, squared_hinge, least_squares, logistic };

struct Problem {
    std::int64_t n_rows;
    std::vector<std::int64_t> pairs;
    Vec weight, margin, scores, direction;
    std::int64_t n_pairs() const { return static_cast<std::int64_t>(pairs.size() / 2); }
};

// Scores and margins on a lattice of quarters, so that slacks of exactly 0 occur and sums are exact.
Problem lattice_problem(std::uint32_t seed, std::int64_t n_rows, std::int64_t n_pairs) {
    std::mt19937 random(seed);
    Problem p{n_rows, {}, {}, {}, {}, {}};
    auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n)); };
    for (std::int64_t k = 0; k < n_pairs; ++k) {
        const std::int64_t winner = below(n_rows);
        p.pairs.push_back(winner);
        p.pairs.push_back((winner + 1 + below(n_rows - 1)) % n_rows);
        p.weight.push_back(static_cast<double>(1 + below(4)));
        p.margin.push_back(0.25 * static_cast<double>(below(9)));
    }
    for (std::int64_t r = 0; r < n_rows; ++r) {
        p.scores.push_back(0.25 * static_cast<double>(below(17)));
        p.direction.push_back(static_cast<double>(below(7)) - 3.0);
    }
    return p;
}

template <class... Arguments>
std::unique_ptr<PreferencePairs> make(PairTerm term, Arguments... arguments) {
    using namespace marginrank;
    switch (term) {
        case PairTerm::hinge: return std::make_unique<PairsOf<HingePair>>(arguments...);
        case PairTerm::squared_hinge: return std::make_unique<PairsOf<SquaredHingePair>>(arguments...);
        case PairTerm::least_squares: return std::make_unique<PairsOf<LeastSquaresPair>>(arguments...);
        default: return std::make_unique<PairsOf<LogisticPair>>(arguments...);
    }
}

struct Expected {
    double value = 0.0, total = 0.0;
    Vec gradient, product, partners;
};

Expected by_loop(const Problem& p, bool weighted, bool with_margin, PairTerm term) {
    const auto n = static_cast<std::size_t>(p.n_rows);
    Expected e{0.0, 0.0, Vec(n), Vec(n), Vec(n)};
    for (std::size_t k = 0; k < p.pairs.size() / 2; ++k) {
        const auto i = static_cast<std::size_t>(p.pairs[2 * k]), j = static_cast<std::size_t>(p.pairs[2 * k + 1]);
        const double v = weighted ? p.weight[k] : 1.0, t = with_margin ? p.margin[k] : 1.0;
        e.total += v;
        e.partners[i] += v;
        e.partners[j] += v;
        const double slack = t - (p.scores[i] - p.scores[j]);
        if (!(slack > 0.0) && term != PairTerm::least_squares) continue;
        const bool hinge = term == PairTerm::hinge;
        e.value += v * (hinge ? slack : slack * slack);
        const double pull = v * (hinge ? 1.0 : 2.0 * slack);
        e.gradient[i] -= pull;
        e.gradient[j] += pull;
        e.product[i] += 2.0 * v * (p.direction[i] - p.direction[j]);
        e.product[j] -= 2.0 * v * (p.direction[i] - p.direction[j]);
    }
    return e;
}

// The sums are exact; the division by the total weight rounds once on each side.
bool near(double got, double sum, double total) { return std::abs(got - sum / total) <= 4e-16 * std::abs(sum / total); }

bool near(const Vec& got, const Vec& sum, double total) {
    for (std::size_t k = 0; k < got.size(); ++k)
        if (!near(got[k], sum[k], total)) return false;
    return true;
}

constexpr PairTerm kTerms[] = {PairTerm::hinge, PairTerm::squared_hinge, PairTerm::least_squares};

void equals_a_loop_over_the_pairs() {
    for (auto [n_rows, n_pairs] : {std::pair<int, int>{2, 1}, {3, 10}, {50, 40}, {200, 5000}, {1000, 100000}})
        for (int options = 0; options < 12; ++options) {
            const bool weighted = options & 1, with_margin = options & 2;
            const PairTerm term = kTerms[options / 4];
            Problem p = lattice_problem(static_cast<std::uint32_t>(options), n_rows, n_pairs);
            if (term == PairTerm::least_squares)
                for (std::size_t k = 0; k < p.margin.size(); k += 3) p.margin[k] = -p.margin[k];
            const auto made = make(term, p.pairs.data(), weighted ? p.weight.data() : nullptr,
                                   with_margin ? p.margin.data() : nullptr, n_pairs, n_rows);
            const PreferencePairs& pairs = *made;
            const Expected e = by_loop(p, weighted, with_margin, term);
            Vec g(p.scores.size(), NAN), h(p.scores.size(), NAN), partners(p.scores.size(), NAN);
            CHECK(near(pairs.evaluate(Crew(1), p.scores.data(), g.data()), e.value, e.total));
            pairs.hessian(Crew(1), p.scores.data(), p.direction.data(), h.data());
            pairs.partner_weight(partners.data());
            CHECK(near(g, e.gradient, e.total));
            CHECK(near(h, e.product, e.total));
            CHECK(partners == e.partners);
        }
}

void the_bits_do_not_depend_on_the_threads() {
    Problem p = lattice_problem(9, 3000, 200000);
    std::mt19937 random(9);
    std::normal_distribution<double> normal;
    for (double& s : p.scores) s = normal(random);
    for (double& u : p.direction) u = normal(random);
    for (double& v : p.weight) v = std::exp(normal(random));
    for (PairTerm term : {kTerms[0], kTerms[1], kTerms[2], PairTerm::logistic}) {
        const auto made = make(term, p.pairs.data(), p.weight.data(), nullptr, p.n_pairs(), p.n_rows);
        const PreferencePairs& pairs = *made;
        Vec g1(p.scores.size()), h1(p.scores.size());
        const double value = pairs.evaluate(Crew(1), p.scores.data(), g1.data());
        pairs.hessian(Crew(1), p.scores.data(), p.direction.data(), h1.data());
        for (int threads : {2, 4}) {
            Vec g(p.scores.size()), h(p.scores.size());
            CHECK(pairs.evaluate(Crew(threads), p.scores.data(), g.data()) == value);
            pairs.hessian(Crew(threads), p.scores.data(), p.direction.data(), h.data());
            CHECK(g == g1);
            CHECK(h == h1);
        }
    }
}

}  // namespace

int main() {
    equals_a_loop_over_the_pairs();
    the_bits_do_not_depend_on_the_threads();
    return marginrank_failures() != 0;
}
