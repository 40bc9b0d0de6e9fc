// Ranks for graded documents: merge, assignment and sort against all rankings, and against each other.
#include "marginrank/structured_dorm.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"
#include "structured_oracle.hpp"

namespace {

using namespace marginrank;
using Random = std::mt19937_64;

struct Problem {
    Vec gain, s, discount, weight;

    Problem(Random& random, std::size_t n, std::uint64_t grades, double spread, std::size_t cutoff, bool same)
        : gain(n), s(n), discount(n), weight(n) {
        for (double& g : gain) g = std::exp2(static_cast<double>(random() % grades)) - 1.0;
        gain[0] = 1.0;
        gain[1] = 0.0;
        const bool lattice = random() % 2 == 0;
        std::normal_distribution<double> normal;
        for (double& v : s) v = spread * (lattice ? static_cast<double>(random() % 4) : normal(random));
        for (std::size_t r = 0; r < n; ++r) {
            const auto rank = static_cast<double>(r + 1);
            discount[r] = cutoff > 0 && r >= cutoff ? 0.0 : 1.0 / std::log2(1.0 + rank);
            weight[r] = same ? 1.0 / std::log2(1.0 + rank) : std::pow(rank, -0.25);
        }
    }
    double ideal() const {
        Vec sorted(gain);
        std::sort(sorted.rbegin(), sorted.rend());
        double sum = 0.0;
        for (std::size_t r = 0; r < sorted.size(); ++r) sum += sorted[r] * discount[r];
        return sum;
    }
    double worth(const std::vector<std::int64_t>& rank) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < s.size(); ++i) {
            const auto r = static_cast<std::size_t>(rank[i]);
            sum += s[i] * weight[r] - gain[i] / ideal() * discount[r];
        }
        return sum;
    }
};

std::vector<std::int64_t> assigned(const Problem& p) {
    Vec share(p.gain);
    for (double& v : share) v /= p.ideal();
    std::vector<std::int64_t> rank(p.s.size());
    RankAssignment().solve(static_cast<std::int64_t>(rank.size()), share.data(), p.s.data(), p.discount.data(),
                           p.weight.data(), rank.data());
    return rank;
}

bool is_permutation_of_ranks(const std::vector<std::int64_t>& rank) {
    std::vector<bool> seen(rank.size(), false);
    for (const std::int64_t r : rank) {
        if (r < 0 || r >= static_cast<std::int64_t>(rank.size()) || seen[static_cast<std::size_t>(r)]) return false;
        seen[static_cast<std::size_t>(r)] = true;
    }
    return true;
}

// phi of the ideal rankings: mean over all of them, one by one.
double ideal_score(const Problem& p) {
    double sum = 0.0, n_ideal = 0.0;
    for_rankings(p.s.size(), [&](const Ranking& ranking) {
        double score = 0.0;
        for (std::size_t r = 0; r < ranking.size(); ++r) {
            if (r > 0 && p.gain[ranking[r]] > p.gain[ranking[r - 1]]) return;
            score += p.s[ranking[r]] * p.weight[r];
        }
        sum += score;
        n_ideal += 1.0;
    });
    return sum / n_ideal;
}

void test_small_queries_equal_all_rankings() {
    Random random(1);
    for (std::size_t n = 2; n <= 6; ++n)
        for (int repeat = 0; repeat < 20; ++repeat)
            for (const bool same : {false, true})
                for (std::size_t cutoff = 0; cutoff <= n; ++cutoff) {
                    const Problem p(random, n, 4, repeat % 2 == 0 ? 0.1 : 1.0, cutoff, same);
                    const double best = best_ranking(n, [&](const Ranking& ranking) {
                        std::vector<std::int64_t> rank(n);
                        for (std::size_t r = 0; r < n; ++r) rank[ranking[r]] = static_cast<std::int64_t>(r);
                        return p.worth(rank);
                    });
                    const std::vector<std::int64_t> rank = assigned(p);
                    CHECK(is_permutation_of_ranks(rank));
                    CHECK(std::fabs(p.worth(rank) - best) < 1e-13);
                    const std::vector<std::int64_t> ptr{0, static_cast<std::int64_t>(n)};
                    const StructuredDorm loss(p.gain.data(), ptr.data(), {1.0}, p.discount, p.weight);
                    Vec gradient(n);
                    const double got = loss.evaluate_all(Crew(1), p.s.data(), gradient.data());
                    CHECK(std::fabs(got - (1.0 + best - ideal_score(p))) < 1e-13);
                }
}

// Two exact methods that share nothing.
void test_merge_equals_assignment_on_longer_queries() {
    Random random(2);
    for (const std::size_t n : {15u, 40u, 90u})
        for (const std::uint64_t grades : {2u, 3u})
            for (const double spread : {0.0, 0.01, 0.2, 3.0})
                for (const std::size_t cutoff : {std::size_t{0}, std::size_t{10}}) {
                    const Problem p(random, n, grades, spread, cutoff, false);
                    const std::vector<std::int64_t> ptr{0, static_cast<std::int64_t>(n)};
                    const StructuredDorm loss(p.gain.data(), ptr.data(), {1.0}, p.discount, p.weight);
                    CHECK(loss.longest_assignment() == 0);
                    Vec gradient(n);
                    const double merged = loss.evaluate_all(Crew(1), p.s.data(), gradient.data());
                    // gradient = c(rank) - c*, so the ideal score is what the gradient leaves.
                    double ideal = 0.0;
                    const std::vector<std::int64_t> rank = assigned(p);
                    CHECK(is_permutation_of_ranks(rank));
                    Vec by_gain(p.gain);
                    std::sort(by_gain.rbegin(), by_gain.rend());
                    for (std::size_t i = 0; i < n; ++i) {
                        double sum = 0.0, count = 0.0;
                        for (std::size_t r = 0; r < n; ++r)
                            if (by_gain[r] == p.gain[i]) {
                                sum += p.weight[r];
                                count += 1.0;
                            }
                        ideal += p.s[i] * sum / count;
                    }
                    CHECK(std::fabs(merged - (1.0 + p.worth(rank) - ideal)) < 1e-12);
                }
}

void test_many_grades_take_an_assignment() {
    Random random(3);
    const Problem p(random, 60, 12, 0.5, 0, false);
    const std::vector<std::int64_t> ptr{0, 60};
    const StructuredDorm loss(p.gain.data(), ptr.data(), {1.0}, p.discount, p.weight);
    CHECK(loss.longest_assignment() == 60);
    const StructuredDorm sorts(p.gain.data(), ptr.data(), {1.0}, p.discount, p.discount);
    CHECK(sorts.longest_assignment() == 0);
}

}  // namespace

int main() {
    test_small_queries_equal_all_rankings();
    test_merge_equals_assignment_on_longer_queries();
    test_many_grades_take_an_assignment();
    return marginrank_failures() != 0;
}
