// What remains of an exact path: which pair changed sides at which lambda, and now and then the dual variables of
// the active pairs. The whole state at any lambda follows from it, in memory of the order of the events.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "marginrank/kernel_path_algebra.hpp"
#include "marginrank/kernel_path_pairs.hpp"

namespace marginrank {

// What happened to a pair. The last two: it went through its margin while nothing else changed.
enum class Change : std::int8_t {
    kEntered = 0,
    kLeftToLower = 1,
    kLeftToUpper = 2,
    kFellToLower = 3,
    kRoseToUpper = 4,
};

class PathLog {
public:
    std::vector<double> lambda;  // not increasing
    std::vector<std::int32_t> pair;
    std::vector<Change> change;

    void add(double at_lambda, std::int32_t of_pair, Change what) {
        lambda.push_back(at_lambda);
        pair.push_back(of_pair);
        change.push_back(what);
    }

    // At most as many numbers as there were events since the last one, so that memory grows with the events only.
    void keep_snapshot(const std::vector<std::int32_t>& active, const std::vector<double>& beta) {
        const std::size_t last = snapshots_.empty() ? 0 : snapshots_.back().event;
        if (lambda.size() - last >= active.size()) snapshots_.push_back({lambda.size(), active, beta});
    }

    // Fills beta with the bounds of the pairs that are at one, and returns the active pairs at lambda. Theirs are
    // the values at the last snapshot, or the bound they came from.
    std::vector<std::int32_t> replay(const PathPairs& pairs, double at_lambda, double* beta) const {
        const auto found = std::upper_bound(lambda.begin(), lambda.end(), at_lambda, std::greater<double>());
        // upper_bound stops after all events at lambda itself, where both sides of an event agree.
        const auto end = static_cast<std::size_t>(found - lambda.begin());
        std::copy(pairs.weight, pairs.weight + pairs.count, beta);
        std::vector<bool> is_active(pairs.count, false);
        const auto after = std::upper_bound(snapshots_.begin(), snapshots_.end(), end,
                                            [](std::size_t e, const Snapshot& s) { return e < s.event; });
        std::size_t begin = 0;
        if (after != snapshots_.begin()) {
            const Snapshot& snapshot = *(after - 1);
            begin = snapshot.event;
            for (std::size_t e = 0; e < begin; ++e) apply(pairs, e, beta, is_active);
            for (std::size_t j = 0; j < snapshot.active.size(); ++j) beta[snapshot.active[j]] = snapshot.beta[j];
        }
        for (std::size_t e = begin; e < end; ++e) apply(pairs, e, beta, is_active);
        std::vector<std::int32_t> active;
        for (std::size_t i = 0; i < pairs.count; ++i)
            if (is_active[i]) active.push_back(static_cast<std::int32_t>(i));
        return active;
    }

private:
    struct Snapshot {
        std::size_t event;
        std::vector<std::int32_t> active;
        std::vector<double> beta;
    };

    void apply(const PathPairs& pairs, std::size_t event, double* beta, std::vector<bool>& is_active) const {
        const auto i = static_cast<std::size_t>(pair[event]);
        is_active[i] = change[event] == Change::kEntered;
        if (is_active[i]) return;
        const bool to_upper = change[event] == Change::kLeftToUpper || change[event] == Change::kRoseToUpper;
        beta[i] = to_upper ? pairs.weight[i] : 0.0;
    }

    std::vector<Snapshot> snapshots_;
};

// c = P' beta: what each row gets from its pairs.
inline void sum_by_row(const PathPairs& pairs, const double* beta, double* c, std::size_t n_rows) {
    std::fill(c, c + n_rows, 0.0);
    for (std::size_t i = 0; i < pairs.count; ++i) {
        c[pairs.winner[i]] += beta[i];
        c[pairs.loser[i]] -= beta[i];
    }
}

// Lower triangle of P_A K P_A', and the size of the terms of its diagonal.
inline std::vector<double> active_system(const double* kernel, std::size_t n, const PathPairs& pairs,
                                         const std::vector<std::int32_t>& active, std::vector<double>& scale) {
    const std::size_t size = active.size();
    std::vector<double> system(size * size);
    std::vector<double> difference(n);
    scale.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto k = static_cast<std::size_t>(pairs.winner[active[i]]);
        const auto l = static_cast<std::size_t>(pairs.loser[active[i]]);
        for (std::size_t r = 0; r < n; ++r) difference[r] = kernel[k * n + r] - kernel[l * n + r];
        for (std::size_t j = 0; j <= i; ++j)
            system[i * size + j] = difference[static_cast<std::size_t>(pairs.winner[active[j]])] -
                                   difference[static_cast<std::size_t>(pairs.loser[active[j]])];
        scale[i] = kernel[k * n + k] + kernel[l * n + l];
    }
    return system;
}

// Moves beta along x, for the active pairs, as far towards beta + x as the bounds allow.
inline void move_within_bounds(const PathPairs& pairs, const std::vector<std::int32_t>& active,
                               const std::vector<double>& x, double* beta) {
    double share = 1.0;
    for (std::size_t j = 0; j < active.size(); ++j) {
        const double now = beta[active[j]];
        const double room = x[j] < 0.0 ? now : pairs.weight[active[j]] - now;
        if (std::abs(x[j]) * share > room) share = std::max(0.0, room / std::abs(x[j]));
    }
    for (std::size_t j = 0; j < active.size(); ++j) beta[active[j]] += share * x[j];
}

// The dual variables at lambda: those of the active pairs solve P_A K P' beta = lambda * margin. They are not cut off
// at their bounds, which rounding may let them pass by little.
//
// The perturbed margins chose the active pairs, and with them the variables are within their bounds. From there
// they move towards the solution for the margins as given, which is the exact one except next to breakpoints.
inline void solve_at(const double* kernel, std::size_t n, const PathPairs& pairs, const std::vector<double>& margin,
                     const PathLog& log, double lambda, double* beta) {
    const std::vector<std::int32_t> active = log.replay(pairs, lambda, beta);
    const std::size_t size = active.size();
    if (size == 0) return;
    std::vector<double> scale, c(n), g(n), rest(size);
    std::vector<double> system = active_system(kernel, n, pairs, active, scale);
    const PartialCholesky factor(std::move(system), size, scale.data());
    for (int round = 0; round < 3; ++round) {
        sum_by_row(pairs, beta, c.data(), n);
        multiply_kernel(kernel, n, c.data(), g.data());
        for (std::size_t j = 0; j < size; ++j)
            rest[j] = lambda * margin[static_cast<std::size_t>(active[j])] -
                      (g[static_cast<std::size_t>(pairs.winner[active[j]])] -
                       g[static_cast<std::size_t>(pairs.loser[active[j]])]);
        factor.solve(rest.data());
        for (std::size_t j = 0; j < size; ++j) beta[active[j]] += rest[j];
    }
    for (std::size_t j = 0; j < size; ++j)
        rest[j] = lambda * (pairs.margin[active[j]] - margin[static_cast<std::size_t>(active[j])]);
    factor.solve(rest.data());
    move_within_bounds(pairs, active, rest, beta);
}

}  // namespace marginrank
