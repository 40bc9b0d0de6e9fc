// The exact path against the optimality conditions and coordinate ascent, its degenerate cases, and its parts.
#include "marginrank/kernel_path.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;
using marginrank::KernelPath;
using marginrank::PathPairs;
using marginrank::PathStatus;
using Vec = std::vector<double>;

struct Problem {
    std::size_t n;
    Vec kernel;
    std::vector<std::int32_t> winner, loser;
    Vec weight, margin;

    PathPairs pairs() const {
        return PathPairs{winner.data(), loser.data(), weight.data(), margin.data(), winner.size()};
    }
    void add(std::size_t k, std::size_t l, double w = 1.0) {
        winner.push_back(static_cast<std::int32_t>(k));
        loser.push_back(static_cast<std::int32_t>(l));
        weight.push_back(w);
        margin.push_back(1.0);
    }
    Vec scores_times_lambda(const Vec& beta) const {
        Vec c(n, 0.0), g(n, 0.0);
        marginrank::sum_by_row(pairs(), beta.data(), c.data(), n);
        for (std::size_t r = 0; r < n; ++r)
            for (std::size_t s = 0; s < n; ++s) g[r] += kernel[r * n + s] * c[s];
        return g;
    }
    double difference(const Vec& g, std::size_t i) const {
        return g[static_cast<std::size_t>(winner[i])] - g[static_cast<std::size_t>(loser[i])];
    }
    double dual(const Vec& beta, double lambda) const {
        const Vec g = scores_times_lambda(beta);
        double sum = 0.0;
        for (std::size_t i = 0; i < beta.size(); ++i)
            sum += beta[i] * (margin[i] - difference(g, i) / (2.0 * lambda));
        return sum;
    }
    double primal(const Vec& beta, double lambda) const {
        const Vec g = scores_times_lambda(beta);
        double sum = 0.0;
        for (std::size_t i = 0; i < beta.size(); ++i)
            sum += weight[i] * std::max(0.0, margin[i] - difference(g, i) / lambda) +
                   beta[i] * difference(g, i) / (2.0 * lambda);
        return sum;
    }
};

enum class Kind { kRbf, kLinear };

// Rows on a plane, each of the last third a copy of one before it; labels 0 to 3 and all pairs of them.
Problem random_problem(unsigned seed, std::size_t n, Kind kind, bool weighted) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Vec x(2 * n);
    std::vector<int> label(n);
    for (std::size_t r = 0; r < n; ++r) {
        const bool copy = 3 * r >= 2 * n;
        for (std::size_t d = 0; d < 2; ++d) x[2 * r + d] = copy ? x[2 * (r - n / 2) + d] : normal(random);
        label[r] = static_cast<int>(random() % 4);
    }
    Problem p{n, Vec(n * n), {}, {}, {}, {}};
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t s = 0; s < n; ++s) {
            const double dx = x[2 * r] - x[2 * s], dy = x[2 * r + 1] - x[2 * s + 1];
            p.kernel[r * n + s] = kind == Kind::kRbf ? std::exp(-(dx * dx + dy * dy))
                                                     : x[2 * r] * x[2 * s] + x[2 * r + 1] * x[2 * s + 1];
        }
    for (std::size_t r = 0; r < n; ++r)
        for (std::size_t s = 0; s < n; ++s)
            if (label[r] > label[s]) p.add(r, s, weighted ? 0.5 + static_cast<double>(random() % 8) / 4.0 : 1.0);
    return p;
}

Vec duals(const Problem& p, const KernelPath& path, double lambda) {
    Vec beta(p.winner.size());
    path.duals_at(lambda, beta.data());
    for (std::size_t i = 0; i < beta.size(); ++i) CHECK(beta[i] >= 0.0 && beta[i] <= p.weight[i]);
    return beta;
}

// Coordinate ascent on the dual, one variable at a time.
Vec by_coordinate_ascent(const Problem& p, double lambda) {
    Vec beta(p.winner.size(), 0.0);
    Vec g(p.n, 0.0);
    for (int sweep = 0; sweep < 3000; ++sweep)
        for (std::size_t i = 0; i < beta.size(); ++i) {
            const auto k = static_cast<std::size_t>(p.winner[i]), l = static_cast<std::size_t>(p.loser[i]);
            const double curvature = p.kernel[k * p.n + k] + p.kernel[l * p.n + l] - 2.0 * p.kernel[k * p.n + l];
            const double slope = p.margin[i] * lambda - p.difference(g, i);
            const double wanted = curvature > 1e-12 ? beta[i] + slope / curvature : (slope > 0.0 ? p.weight[i] : 0.0);
            const double change = std::min(std::max(wanted, 0.0), p.weight[i]) - beta[i];
            beta[i] += change;
            for (std::size_t r = 0; r < p.n; ++r) g[r] += change * (p.kernel[r * p.n + k] - p.kernel[r * p.n + l]);
        }
    return beta;
}

void the_gap_is_closed_at_breakpoints_and_between_them() {
    const Crew crew(1);
    for (unsigned seed = 1; seed <= 6; ++seed)
        for (const Kind kind : {Kind::kRbf, Kind::kLinear}) {
            const Problem p = random_problem(seed, 12 + 4 * seed, kind, seed % 2 == 0);
            KernelPath path(p.kernel.data(), p.n, p.pairs());
            const double first = path.first_breakpoint();
            CHECK(path.advance(crew, 1000000, 1e-5 * first) == PathStatus::kFinished);
            Vec lambdas = path.log().lambda;
            for (double lambda = 2.0 * first; lambda > 1e-5 * first; lambda *= 0.61) lambdas.push_back(lambda);
            for (const double lambda : lambdas) {
                const Vec beta = duals(p, path, lambda);
                const double primal = p.primal(beta, lambda);
                CHECK(primal - p.dual(beta, lambda) <= 1e-7 * primal);
            }
        }
}

void sums_at_many_lambdas_are_those_of_the_duals_at_each() {
    const Crew crew(1);
    for (const Kind kind : {Kind::kRbf, Kind::kLinear}) {
        const Problem p = random_problem(8, 40, kind, true);
        KernelPath path(p.kernel.data(), p.n, p.pairs());
        const double first = path.first_breakpoint();
        path.advance(crew, 1000000, 1e-4 * first);
        Vec lambdas{2.0 * first, first};
        while (lambdas.size() < 30) lambdas.push_back(std::max(0.72 * lambdas.back(), 1e-4 * first));
        lambdas.push_back(lambdas.back());
        Vec sums(lambdas.size() * p.n), expected(p.n);
        path.sums_at(crew, lambdas.data(), lambdas.size(), sums.data());
        for (std::size_t k = 0; k < lambdas.size(); ++k) {
            marginrank::sum_by_row(p.pairs(), duals(p, path, lambdas[k]).data(), expected.data(), p.n);
            for (std::size_t r = 0; r < p.n; ++r) CHECK(std::abs(sums[k * p.n + r] - expected[r]) <= 1e-9);
        }
    }
}

// Three pairs without a row in common, of which the first two would pass their upper bounds by a millionth.
void variables_that_are_held_at_their_bounds_move_no_pair_but_their_own() {
    Problem p = random_problem(5, 12, Kind::kRbf, false);
    p.winner.clear(), p.loser.clear(), p.weight.clear(), p.margin.clear();
    for (std::size_t k = 0; k < 3; ++k) p.add(2 * k, 2 * k + 1, 1e6);
    const std::vector<std::int32_t> active{0, 1, 2};
    const double lambda = 0.01;
    Vec free(3, 0.0), held(3, 0.0), c(p.n, 0.0);
    marginrank::solve_at(p.kernel.data(), p.n, p.pairs(), p.margin, active, lambda, free.data(), c.data());
    for (std::size_t k = 0; k < 2; ++k) p.weight[k] = free[k] * (1.0 - 1e-6);
    CHECK(free[0] > 0.0 && free[1] > 0.0);
    std::fill(c.begin(), c.end(), 0.0);
    marginrank::solve_at(p.kernel.data(), p.n, p.pairs(), p.margin, active, lambda, held.data(), c.data());
    const Vec g = p.scores_times_lambda(held);
    for (std::size_t k = 0; k < 2; ++k) CHECK(held[k] == p.weight[k] && p.difference(g, k) < lambda);
    CHECK(held[2] != free[2] && std::abs(p.difference(g, 2) - lambda) <= 1e-14);
}

void coordinate_ascent_finds_no_better_dual() {
    const Crew crew(1);
    const Problem p = random_problem(7, 15, Kind::kRbf, true);
    KernelPath path(p.kernel.data(), p.n, p.pairs());
    const double first = path.first_breakpoint();
    path.advance(crew, 1000000, 1e-3 * first);
    for (const double lambda : {0.5 * first, 0.1 * first, 0.03 * first}) {
        const double ours = p.dual(duals(p, path, lambda), lambda);
        const double theirs = p.dual(by_coordinate_ascent(p, lambda), lambda);
        CHECK(std::abs(ours - theirs) <= 1e-6 * theirs);
    }
}

void one_pair_follows_its_formula() {
    const Crew crew(1);
    Problem p{2, {2.0, 0.5, 0.5, 1.0}, {}, {}, {}, {}};
    p.add(0, 1, 3.0);
    KernelPath path(p.kernel.data(), p.n, p.pairs());
    CHECK(std::abs(path.first_breakpoint() - 6.0) < 1e-6);  // weight 3 times the squared distance 2
    CHECK(path.advance(crew, 10, 0.01) == PathStatus::kFinished);
    for (const double lambda : {7.0, 6.0, 3.0, 0.02}) {
        double beta = 0.0;
        path.duals_at(lambda, &beta);
        CHECK(std::abs(beta - std::min(3.0, lambda / 2.0)) < 1e-7);
    }
}

void a_cycle_of_equal_weights_has_no_breakpoint() {
    Problem p{3, {1.0, 0.2, 0.1, 0.2, 1.0, 0.3, 0.1, 0.3, 1.0}, {}, {}, {}, {}};
    // These weights are equal up to rounding only, which must not be taken for a breakpoint.
    p.add(0, 1, 0.3);
    p.add(1, 2, 0.1 + 0.2);
    p.add(2, 0, 0.3);
    KernelPath path(p.kernel.data(), p.n, p.pairs());
    CHECK(path.first_breakpoint() == 0.0);
    Vec beta(3);
    path.duals_at(0.7, beta.data());
    CHECK(beta == p.weight);
}

void pieces_and_interruptions_leave_the_same_path() {
    const Problem p = random_problem(9, 30, Kind::kRbf, false);
    KernelPath whole(p.kernel.data(), p.n, p.pairs()), pieces(p.kernel.data(), p.n, p.pairs());
    const double last = 1e-4 * whole.first_breakpoint();
    whole.advance(Crew(1), 1000000, last);
    // Interrupted after every one of the first events, and gone on with each time.
    for (std::size_t n = 1; n <= 50; ++n) {
        const Crew impatient(1, [] { return true; }, Crew::Clock::duration::zero());
        bool cancelled = false;
        try {
            pieces.advance(impatient, 1000000, last);
        } catch (const marginrank::Cancelled&) {
            cancelled = true;
        }
        const std::size_t so_far = pieces.log().lambda.size();
        CHECK(cancelled && so_far >= n && so_far <= 2 * n);  // an exchange of two pairs is two events
        CHECK(std::equal(pieces.log().lambda.begin(), pieces.log().lambda.end(), whole.log().lambda.begin()));
        Vec there(p.winner.size()), expected(p.winner.size());
        pieces.duals_at(pieces.lambda(), there.data());
        whole.duals_at(pieces.lambda(), expected.data());
        double distance = 0.0;
        for (std::size_t i = 0; i < there.size(); ++i) distance = std::max(distance, std::abs(there[i] - expected[i]));
        CHECK(distance < 1e-9);
    }
    while (pieces.advance(Crew(1), 3, last) == PathStatus::kRunning) continue;
    CHECK(whole.log().lambda == pieces.log().lambda && whole.log().pair == pieces.log().pair);
    CHECK(whole.log().lambda.size() > 100);
}

void the_active_pairs_stay_a_forest() {
    const Problem p = random_problem(11, 40, Kind::kLinear, true);
    KernelPath path(p.kernel.data(), p.n, p.pairs());
    const double last = 1e-5 * path.first_breakpoint();
    while (path.advance(Crew(1), 1, last) == PathStatus::kRunning) CHECK(path.n_active() < p.n);
}

// Pairs that go through their margin and on, at slopes that change from event to event, in steps of all sizes.
void the_watch_finds_what_a_look_at_all_pairs_finds() {
    using marginrank::Side;
    std::mt19937 random(17);
    std::normal_distribution<double> normal;
    const Problem p = random_problem(15, 40, Kind::kRbf, false);
    const Vec margin = marginrank::perturbed_margins(p.pairs());
    const marginrank::ActiveForest forest(p.n);
    marginrank::MarginWatch watch(p.pairs(), margin);
    marginrank::PathState state{40.0, Vec(p.n), Vec(p.n)};
    for (double& g : state.g) g = 30.0 * normal(random);
    std::vector<Side> sides(p.winner.size());
    for (std::size_t i = 0; i < sides.size(); ++i)
        sides[i] = state.lambda * margin[i] > p.difference(state.g, i) ? Side::kUpper : Side::kLower;
    int found = 0;
    for (int event = 0; event < 4000; ++event) {
        const double speed = std::pow(10.0, static_cast<double>(random() % 3));
        for (double& h : state.h) h = speed * normal(random);
        const double limit = event % 50 == 0 ? 0.5 : 0.01;
        marginrank::Entering expected{limit, -1};
        for (std::size_t i = 0; i < sides.size(); ++i)
            marginrank::Watched{p.winner[i], p.loser[i], static_cast<std::int32_t>(i), margin[i],
                                static_cast<double>(sides[i])}
                .consider(state, forest, expected);
        const marginrank::Entering first = watch.next(state, sides, forest, limit);
        CHECK(first.pair == expected.pair && first.step == expected.step);
        for (std::size_t r = 0; r < p.n; ++r) state.g[r] -= first.step * state.h[r];
        state.lambda -= first.step;
        if (first.pair < 0) continue;
        ++found;
        Side& side = sides[static_cast<std::size_t>(first.pair)];
        side = side == Side::kUpper ? Side::kLower : Side::kUpper;
        watch.moved(first.pair, side);
    }
    CHECK(found > 1000);
}

void the_bordered_inverse_follows_rows_in_and_out() {
    std::mt19937 random(13);
    std::normal_distribution<double> normal;
    constexpr std::size_t kSize = 40, kDim = 60;
    std::vector<Vec> rows(kSize, Vec(kDim));
    for (Vec& row : rows)
        for (double& x : row) x = normal(random);
    const auto gram = [&](std::size_t a, std::size_t b) {
        return marginrank::dot_product(rows[a].data(), rows[b].data(), kDim);
    };
    marginrank::BorderedInverse inverse;
    std::vector<std::size_t> held;
    for (std::size_t round = 0; round < 120; ++round) {
        const bool remove = held.size() == kSize || (held.size() > 3 && random() % 3 == 0);
        if (remove) {
            const std::size_t j = random() % held.size();
            inverse.remove(j);
            held[j] = held.back();
            held.pop_back();
        } else {
            std::size_t fresh = 0;
            while (std::find(held.begin(), held.end(), fresh) != held.end()) ++fresh;
            Vec column, u(held.size());
            for (const std::size_t a : held) column.push_back(gram(a, fresh));
            inverse.multiply(column.data(), u.data());
            inverse.append(u.data(), gram(fresh, fresh) - marginrank::dot_product(u.data(), column.data(), u.size()));
            held.push_back(fresh);
        }
        for (std::size_t a = 0; a < held.size(); ++a)
            for (std::size_t b = 0; b < held.size(); ++b) {
                double sum = 0.0;
                for (std::size_t c = 0; c < held.size(); ++c) sum += inverse.row(a)[c] * gram(held[c], held[b]);
                CHECK(std::abs(sum - (a == b ? 1.0 : 0.0)) < 1e-8);
            }
    }
}

void cholesky_leaves_dependent_rows_out() {
    // Row 1 is twice row 0, so its unknown stays 0 and the others solve the rest.
    const Vec scale{1.0, 4.0, 3.0};
    const marginrank::PartialCholesky factor({1.0, 0.0, 0.0, 2.0, 4.0, 0.0, 1.0, 2.0, 3.0}, 3, scale.data());
    CHECK(!factor.left_out(0) && factor.left_out(1) && !factor.left_out(2));
    Vec x{1.0, 2.0, 5.0};
    factor.solve(x.data());
    CHECK(std::abs(x[0] + 1.0) < 1e-14 && x[1] == 0.0 && std::abs(x[2] - 2.0) < 1e-14);
}

}  // namespace

int main() {
    the_gap_is_closed_at_breakpoints_and_between_them();
    sums_at_many_lambdas_are_those_of_the_duals_at_each();
    variables_that_are_held_at_their_bounds_move_no_pair_but_their_own();
    coordinate_ascent_finds_no_better_dual();
    one_pair_follows_its_formula();
    a_cycle_of_equal_weights_has_no_breakpoint();
    pieces_and_interruptions_leave_the_same_path();
    the_active_pairs_stay_a_forest();
    the_watch_finds_what_a_look_at_all_pairs_finds();
    the_bordered_inverse_follows_rows_in_and_out();
    cholesky_leaves_dependent_rows_out();
    return marginrank_failures() != 0;
}
