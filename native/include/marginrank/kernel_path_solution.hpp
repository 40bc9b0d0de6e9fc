// The dual variables of an exact path at one lambda, from the active pairs that its log names.
//
// Those pairs solve P_A K P' beta = lambda * margin. Next to a breakpoint the solution passes a bound: lambda of an
// event is rounded, the margins that chose the events are perturbed, and the path has drifted a little. Cut off there,
// a variable would take all other pairs off their margins by its own error times the kernel over lambda. Held at its
// bound while the others solve their equations again, it moves no pair but its own, to the side where that bound is
// optimal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "marginrank/kernel_path_algebra.hpp"
#include "marginrank/kernel_path_log.hpp"
#include "marginrank/kernel_path_pairs.hpp"

namespace marginrank {

// The factor of P_A K P_A'.
inline PartialCholesky factored_system(const double* kernel, std::size_t n, const PathPairs& pairs,
                                       const std::vector<std::int32_t>& active) {
    const std::size_t size = active.size();
    std::vector<double> system(size * size), difference(n), scale(size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto k = static_cast<std::size_t>(pairs.winner[active[i]]);
        const auto l = static_cast<std::size_t>(pairs.loser[active[i]]);
        for (std::size_t r = 0; r < n; ++r) difference[r] = kernel[k * n + r] - kernel[l * n + r];
        for (std::size_t j = 0; j <= i; ++j)
            system[i * size + j] = difference[static_cast<std::size_t>(pairs.winner[active[j]])] -
                                   difference[static_cast<std::size_t>(pairs.loser[active[j]])];
        scale[i] = kernel[k * n + k] + kernel[l * n + l];
    }
    return PartialCholesky(std::move(system), size, scale.data());
}

// The rows that some pairs are of, each once.
inline std::vector<std::int32_t> rows_of(const PathPairs& pairs, const std::vector<std::int32_t>& some) {
    std::vector<std::int32_t> rows;
    for (const std::int32_t i : some) {
        rows.push_back(pairs.winner[i]);
        rows.push_back(pairs.loser[i]);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    return rows;
}

// The variables of the active pairs while they are solved for. Changes go to beta and to c = P' beta.
class ActiveSolution {
public:
    // kernel  symmetric, positive semidefinite, n x n
    ActiveSolution(const double* kernel, std::size_t n, const PathPairs& pairs, const std::vector<std::int32_t>& active,
                   double* beta, double* c)
        : kernel_(kernel), n_(n), pairs_(pairs), active_(active), beta_(beta), c_(c),
          factor_(factored_system(kernel, n, pairs, active)), is_held_(active.size(), false) {}

    // beta for these margins, whatever the bounds.
    void solve(const std::vector<double>& margin, double lambda) {
        const std::vector<std::int32_t> rows = rows_of(pairs_, active_);
        std::vector<double> g(n_), rest(size());
        for (int round = 0; round < 3; ++round) {
            for (const std::int32_t r : rows)
                g[static_cast<std::size_t>(r)] = dot_product(kernel_ + static_cast<std::size_t>(r) * n_, c_, n_);
            for (std::size_t j = 0; j < size(); ++j)
                rest[j] = lambda * margin[static_cast<std::size_t>(active_[j])] -
                          (g[static_cast<std::size_t>(pairs_.winner[active_[j]])] -
                           g[static_cast<std::size_t>(pairs_.loser[active_[j]])]);
            factor_.solve(rest.data());
            move(1.0, rest);
        }
    }

    // Holds the variables that are past their bounds there, the furthest first, while the others give way.
    void return_within_bounds() {
        for (std::size_t j = furthest_outside(); j < size() && hold(j); j = furthest_outside()) {
            move(bounded(j) - value(j), replies_.back());
            set(j, bounded(j));
        }
        cut_off();
    }

    // From within the bounds towards the solution for other margins. Variables that reach a bound are held there.
    void move_towards(const double* to, const std::vector<double>& from, double lambda) {
        std::vector<double> x(size());
        for (std::size_t j = 0; j < size(); ++j)
            x[j] = lambda * (to[active_[j]] - from[static_cast<std::size_t>(active_[j])]);
        factor_.solve(x.data());
        for (std::size_t k = 0; k < held_.size(); ++k) add_multiple(x.data(), -x[held_[k]], replies_[k].data(), size());
        for (;;) {
            double share = 1.0;
            const std::size_t first = first_at_bound(x, share);
            move(share, x);
            cut_off();
            if (first == size()) return;
            set(first, x[first] < 0.0 ? 0.0 : weight(first));
            if (!hold(first)) return;
            for (double& change : x) change *= 1.0 - share;
            add_multiple(x.data(), -x[first], replies_.back().data(), size());
        }
    }

private:
    std::size_t size() const { return active_.size(); }
    double& value(std::size_t j) { return beta_[active_[j]]; }
    double weight(std::size_t j) const { return pairs_.weight[active_[j]]; }
    double bounded(std::size_t j) { return std::min(std::max(value(j), 0.0), weight(j)); }

    void set(std::size_t j, double to) {
        add_to_rows(pairs_, active_[j], to - value(j), c_);
        value(j) = to;
    }

    // All but the held variables, which are at their bounds to the last bit.
    void move(double share, const std::vector<double>& x) {
        for (std::size_t j = 0; j < size(); ++j)
            if (!is_held_[j]) set(j, value(j) + share * x[j]);
    }

    // What rounding left outside the bounds, or what could not be held.
    void cut_off() {
        for (std::size_t j = 0; j < size(); ++j) set(j, bounded(j));
    }

    std::size_t furthest_outside() {
        std::size_t furthest = size();
        double most = 0.0;
        for (std::size_t j = 0; j < size(); ++j) {
            const double past = is_held_[j] ? 0.0 : std::abs(value(j) - bounded(j));
            if (past > most) {
                most = past;
                furthest = j;
            }
        }
        return furthest;
    }

    // The variable that ends a movement along x before `share` of it, if any; share becomes where.
    std::size_t first_at_bound(const std::vector<double>& x, double& share) {
        std::size_t first = size();
        for (std::size_t j = 0; j < size(); ++j) {
            const double room = x[j] < 0.0 ? value(j) : weight(j) - value(j);
            if (is_held_[j] || !(std::abs(x[j]) * share > room)) continue;
            share = room / std::abs(x[j]);
            first = j;
        }
        return first;
    }

    // Adds variable j to those that are held. The reply of a held variable is what all do when it moves by 1: the
    // other held ones stay, the equations of the rest still hold. False where j takes no part in the solution, and
    // before replies cost more than the factor did.
    bool hold(std::size_t j) {
        if (held_.size() >= 8 + size() / 6) return false;
        std::vector<double> reply(size(), 0.0);
        reply[j] = 1.0;
        factor_.solve(reply.data());
        for (std::size_t k = 0; k < held_.size(); ++k)
            add_multiple(reply.data(), -reply[held_[k]], replies_[k].data(), size());
        if (!(reply[j] > 0.0)) return false;
        const double unit = reply[j];
        for (double& change : reply) change /= unit;
        for (std::vector<double>& other : replies_) add_multiple(other.data(), -other[j], reply.data(), size());
        is_held_[j] = true;
        held_.push_back(j);
        replies_.push_back(std::move(reply));
        return true;
    }

    const double* kernel_;
    std::size_t n_;
    const PathPairs& pairs_;
    const std::vector<std::int32_t>& active_;
    double *beta_, *c_;
    PartialCholesky factor_;
    std::vector<bool> is_held_;
    std::vector<std::size_t> held_;
    std::vector<std::vector<double>> replies_;
};

// The dual variables at lambda, within their bounds. c is P' beta, before and after.
//
// The perturbed margins chose the active pairs, and with them the variables are within their bounds, but for rounding.
// From there they move towards the solution for the margins as given.
inline void solve_at(const double* kernel, std::size_t n, const PathPairs& pairs, const std::vector<double>& margin,
                     const std::vector<std::int32_t>& active, double lambda, double* beta, double* c) {
    if (active.empty()) return;
    ActiveSolution solution(kernel, n, pairs, active, beta, c);
    solution.solve(margin, lambda);
    solution.return_within_bounds();
    solution.move_towards(pairs.margin, margin, lambda);
}

}  // namespace marginrank
