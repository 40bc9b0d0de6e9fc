// The exact regularisation path of kernel RankSVM.
//
//     minimise over f   sum_i w_i max(0, m_i - (f(x_k) - f(x_l))) + lambda/2 ||f||^2
//
// Its dual variables beta (0 <= beta_i <= w_i) give f = K P' beta / lambda. Between events beta and G = lambda f are
// linear in lambda: the active pairs (0 < beta < w) stay at their margin, so P_A K P_A' dbeta = margin dlambda. Going
// down from the lambda where the first pair reaches its margin, an event is an active pair that reaches a bound or
// another pair that reaches its margin. Only vectors over rows move.
//
// Two things are essential. The active pairs stay a forest (kernel_path_pairs.hpp). And from time to time G is
// rebuilt and beta corrected without cutting it off at its bounds: cut off, it would no longer solve its system.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "marginrank/kernel_path_algebra.hpp"
#include "marginrank/kernel_path_log.hpp"
#include "marginrank/kernel_path_pairs.hpp"
#include "marginrank/kernel_path_solution.hpp"
#include "marginrank/parallel.hpp"

namespace marginrank {

enum class PathStatus : int { kRunning = 0, kFinished = 1, kStalled = 2 };

class KernelPath {
public:
    // kernel  symmetric, positive semidefinite, n x n; the caller owns it and the arrays of the pairs
    KernelPath(const double* kernel, std::size_t n, const PathPairs& pairs)
        : kernel_(kernel), n_(n), pairs_(pairs), margin_(perturbed_margins(pairs)),
          sides_(pairs.count, Side::kUpper), forest_(n), watch_(pairs_, margin_), c_(n) {
        state_.g.resize(n);
        state_.h.assign(n, 0.0);
        rebuild_g();
        double total = 0.0, largest = 0.0;
        for (std::size_t i = 0; i < pairs.count; ++i) {
            first_ = std::max(first_, difference(state_.g, static_cast<std::int32_t>(i)) / margin_[i]);
            total += pairs.weight[i];
        }
        for (std::size_t r = 0; r < n; ++r) largest = std::max(largest, std::abs(kernel[r * n + r]));
        if (first_ <= kRounding * total * largest) first_ = 0.0;  // pairs that cancel out
        state_.lambda = checkpoint_ = first_;
    }

    KernelPath(const KernelPath&) = delete;
    KernelPath& operator=(const KernelPath&) = delete;

    // Where the first pair reaches its margin; 0 if none ever does, and f = G / lambda for every lambda.
    double first_breakpoint() const { return first_; }
    double lambda() const { return state_.lambda; }
    std::size_t n_active() const { return active_.size(); }
    std::size_t n_refactorings() const { return n_refactorings_; }
    const PathLog& log() const { return log_; }

    // Goes on until lambda_min or for at most max_events steps. Cancelled leaves a state to go on from.
    PathStatus advance(const Crew& crew, std::int64_t max_events, double lambda_min) {
        PathStatus status = state_.lambda > lambda_min ? PathStatus::kRunning : PathStatus::kFinished;
        for (std::int64_t e = 0; e < max_events && status == PathStatus::kRunning; ++e)
            crew.run(1, [&](std::int64_t, int) { status = step(lambda_min); });
        return status;
    }

    // beta at a lambda that the path has come by, for all pairs, within the bounds.
    void duals_at(double lambda, double* beta) const {
        PathLog::Replay state(pairs_, n_);
        log_.replay_to(pairs_, lambda, state);
        sum_by_row(pairs_, state.beta.data(), state.c.data(), n_);  // anew, without what rounding has added up
        solve_at(kernel_, n_, pairs_, margin_, state.active, lambda, state.beta.data(), state.c.data());
        std::copy(state.beta.begin(), state.beta.end(), beta);
    }

    // lambda * f = K c at several lambdas, not increasing, that the path has come by: a row c for each, from dual
    // variables within their bounds. The log is gone through once for all of them.
    void sums_at(const Crew& crew, const double* lambdas, std::size_t count, double* sums) const {
        PathLog::Replay state(pairs_, n_);
        for (std::size_t k = 0; k < count; ++k)
            crew.run(1, [&](std::int64_t, int) {
                log_.replay_to(pairs_, lambdas[k], state);
                sum_at(state, lambdas[k], sums + k * n_);
            });
    }

private:
    static constexpr std::size_t kEventsPerCorrection = 200;
    static constexpr double kRounding = 1e-14;
    static constexpr double kDependent = 1e-13;
    static constexpr double kDoubtful = 1e-4;
    static constexpr double kRoundingOfEntries = 1e-15;
    static constexpr double kResidual = 1e-9;      // of the direction, relative to the margins
    static constexpr double kLeastShift = 1e-6;    // a pair that hardly takes part in an exchange cannot leave by it

    struct Leaving {
        double step;
        std::size_t position;
    };

    // A pair beside the active ones: its column of the system, its best combination u of theirs, and the squared
    // distance to that (the Schur complement).
    struct Border {
        std::vector<double> column, u;
        double complement, scale;

        // Whether the distance is more than what rounding of the kernel's entries can make of 0: they are taken
        // with coefficients that add up to less than twice 1 + |u|.
        bool is_independent() const {
            double total = 1.0;
            for (const double x : u) total += std::abs(x);
            return complement > scale * std::max(kDependent, kRoundingOfEntries * total * total);
        }
    };

    // c at lambda. The state stays as it is: the next lambda starts from what the log holds, too.
    void sum_at(PathLog::Replay& state, double lambda, double* c) const {
        std::vector<double> kept;
        for (const std::int32_t i : state.active) kept.push_back(state.beta[static_cast<std::size_t>(i)]);
        std::copy(state.c.begin(), state.c.end(), c);
        solve_at(kernel_, n_, pairs_, margin_, state.active, lambda, state.beta.data(), c);
        for (std::size_t j = 0; j < kept.size(); ++j) state.beta[static_cast<std::size_t>(state.active[j])] = kept[j];
    }

    PathStatus step(double lambda_min) {
        const double limit = state_.lambda - lambda_min;
        const Leaving leaving = next_leaving(limit);
        const Entering entering = watch_.next(state_, sides_, forest_, leaving.step);
        move(entering.step);
        if (entering.pair >= 0) {
            enter(entering.pair);
        } else if (leaving.position < active_.size()) {
            leave(leaving.position, eta_[leaving.position] > 0.0 ? Side::kLower : Side::kUpper);
        } else {
            state_.lambda = lambda_min;
            return PathStatus::kFinished;
        }
        refresh_direction();
        if (++since_correction_ >= kEventsPerCorrection) correct();
        return is_stuck() ? PathStatus::kStalled : PathStatus::kRunning;
    }

    Leaving next_leaving(double limit) const {
        Leaving best{limit, active_.size()};
        for (std::size_t j = 0; j < active_.size(); ++j) {
            const double room = eta_[j] > 0.0 ? beta_[j] : beta_[j] - pairs_.weight[active_[j]];
            // A variable that a correction took past its bound leaves at once.
            const double step = eta_[j] == 0.0 ? limit : std::max(0.0, room / eta_[j]);
            if (step < best.step) best = Leaving{step, j};
        }
        return best;
    }

    void move(double step) {
        add_multiple(beta_.data(), -step, eta_.data(), active_.size());
        add_multiple(state_.g.data(), -step, state_.h.data(), n_);
        state_.lambda -= step;
    }

    void put(std::int32_t pair, Side side, Change change) {
        sides_[static_cast<std::size_t>(pair)] = side;
        watch_.moved(pair, side);
        log_.add(state_.lambda, pair, change);
    }

    void leave(std::size_t j, Side side) {
        const double factor = eta_[j] / inverse_.row(j)[j];
        add_multiple(eta_.data(), -factor, inverse_.row(j), active_.size());
        put(active_[j], side, side == Side::kLower ? Change::kLeftToLower : Change::kLeftToUpper);
        inverse_.remove(j);
        forget(j);
        forest_.rebuild(pairs_, active_);
    }

    // Takes entry j out of the lists of the active pairs, in the way in which the inverse does.
    void forget(std::size_t j) {
        active_[j] = active_.back();
        beta_[j] = beta_.back();
        eta_[j] = eta_.back();
        active_.pop_back();
        beta_.pop_back();
        eta_.pop_back();
    }

    void enter(std::int32_t i) {
        const auto at = static_cast<std::size_t>(i);
        const double sign = static_cast<double>(sides_[at]);
        const double bound = sides_[at] == Side::kUpper ? pairs_.weight[at] : 0.0;
        const Border border = border_of(i);
        if (border.is_independent())
            admit(i, bound, border);
        else
            exchange(i, bound, sign, border);
    }

    Border border_of(std::int32_t i) {
        const std::size_t size = active_.size();
        const double* k = kernel_ + static_cast<std::size_t>(pairs_.winner[i]) * n_;
        const double* l = kernel_ + static_cast<std::size_t>(pairs_.loser[i]) * n_;
        const auto entry = [&](std::int32_t j) {
            return (k[pairs_.winner[j]] - l[pairs_.winner[j]]) - (k[pairs_.loser[j]] - l[pairs_.loser[j]]);
        };
        Border border{std::vector<double>(size), std::vector<double>(size), 0.0, 0.0};
        for (std::size_t j = 0; j < size; ++j) border.column[j] = entry(active_[j]);
        inverse_.multiply(border.column.data(), border.u.data());
        const double square = entry(i);
        border.complement = square - dot_product(border.u.data(), border.column.data(), size);
        border.scale = k[pairs_.winner[i]] + l[pairs_.loser[i]];
        if (border.complement < kDoubtful * border.scale) refine(border, square);
        return border;
    }

    // The inverse has drifted, and a small distance may be its error. Of any u the squared distance is
    // square - 2 u' column + u' Q u, which is off by the square of what u is off by.
    void refine(Border& border, double square) {
        const std::size_t size = active_.size();
        std::vector<double> products(n_), rest(size), change(size);
        for (int round = 0; round < 2; ++round) {
            multiply_active(border.u, products.data());
            for (std::size_t j = 0; j < size; ++j) rest[j] = border.column[j] - difference(products, active_[j]);
            border.complement = square - dot_product(border.u.data(), border.column.data(), size) -
                                dot_product(border.u.data(), rest.data(), size);
            if (round == 1) return;
            inverse_.multiply(rest.data(), change.data());
            add_multiple(border.u.data(), 1.0, change.data(), size);
        }
    }

    void admit(std::int32_t i, double beta, const Border& border) {
        const double rate = margin_[static_cast<std::size_t>(i)] - difference(state_.h, i);
        const double eta = rate / border.complement;
        add_multiple(eta_.data(), -eta, border.u.data(), active_.size());
        inverse_.append(border.u.data(), border.complement);
        active_.push_back(i);
        beta_.push_back(beta);
        eta_.push_back(eta);
        put(i, Side::kActive, Change::kEntered);
        forest_.join(pairs_.winner[i], pairs_.loser[i]);
    }

    // Pair i depends on the active ones (equal rows, few features): its variable and theirs can move without any
    // effect on G. Move them until one is at a bound, and let that one go.
    void exchange(std::int32_t i, double beta, double sign, Border border) {
        const double weight = pairs_.weight[i];
        double step = sign > 0.0 ? beta : weight - beta;
        std::size_t out = active_.size();
        for (std::size_t j = 0; j < active_.size(); ++j) {
            const double speed = sign * border.u[j];
            if (std::abs(speed) < kLeastShift) continue;
            const double room = speed > 0.0 ? pairs_.weight[active_[j]] - beta_[j] : beta_[j];
            if (std::max(0.0, room / std::abs(speed)) >= step) continue;
            step = std::max(0.0, room / std::abs(speed));
            out = j;
        }
        add_multiple(beta_.data(), sign * step, border.u.data(), active_.size());
        if (out == active_.size()) {
            const bool falls = sign > 0.0;
            put(i, falls ? Side::kLower : Side::kUpper, falls ? Change::kFellToLower : Change::kRoseToUpper);
            return;
        }
        leave(out, sign * border.u[out] > 0.0 ? Side::kUpper : Side::kLower);
        refresh_direction();
        const Border smaller = border_of(i);
        if (smaller.is_independent())
            admit(i, beta - sign * step, smaller);
        else
            exchange(i, beta - sign * step, sign, smaller);
    }

    double difference(const std::vector<double>& v, std::int32_t i) const {
        return v[static_cast<std::size_t>(pairs_.winner[i])] - v[static_cast<std::size_t>(pairs_.loser[i])];
    }

    // out = K P_A' x
    void multiply_active(const std::vector<double>& x, double* out) {
        std::fill(c_.begin(), c_.end(), 0.0);
        for (std::size_t j = 0; j < active_.size(); ++j) {
            c_[static_cast<std::size_t>(pairs_.winner[active_[j]])] += x[j];
            c_[static_cast<std::size_t>(pairs_.loser[active_[j]])] -= x[j];
        }
        multiply_kernel(kernel_, n_, c_.data(), out);
    }

    // h from eta, which is refined, and the inverse computed anew, where they do not solve the active system.
    void refresh_direction() {
        for (int attempt = 0; attempt < 3; ++attempt) {
            multiply_active(eta_, state_.h.data());
            if (refine_direction() <= kResidual) return;
            if (attempt == 1) refactor();
        }
        multiply_active(eta_, state_.h.data());
    }

    // The largest residual of the direction; above the tolerance eta is improved by it.
    double refine_direction() {
        work_.resize(active_.size());
        double largest = 0.0;
        for (std::size_t j = 0; j < active_.size(); ++j) {
            work_[j] = margin_[static_cast<std::size_t>(active_[j])] - difference(state_.h, active_[j]);
            largest = std::max(largest, std::abs(work_[j]));
        }
        if (largest <= kResidual) return largest;
        std::vector<double> change(active_.size());
        inverse_.multiply(work_.data(), change.data());
        add_multiple(eta_.data(), 1.0, change.data(), active_.size());
        return largest;
    }

    void refactor() {
        ++n_refactorings_;
        const std::size_t size = active_.size();
        const PartialCholesky factor = factored_system(kernel_, n_, pairs_, active_);
        for (std::size_t j = 0; j < size; ++j)
            if (factor.left_out(j)) return;  // near to singular: the bordered inverse is the better one
        inverse_.assign(factor, size);
        work_.resize(size);
        for (std::size_t j = 0; j < size; ++j) work_[j] = margin_[static_cast<std::size_t>(active_[j])];
        inverse_.multiply(work_.data(), eta_.data());
    }

    void rebuild_g() {
        std::fill(c_.begin(), c_.end(), 0.0);
        const auto add = [&](std::size_t i, double beta) {
            c_[static_cast<std::size_t>(pairs_.winner[i])] += beta;
            c_[static_cast<std::size_t>(pairs_.loser[i])] -= beta;
        };
        for (std::size_t i = 0; i < pairs_.count; ++i)
            if (sides_[i] == Side::kUpper) add(i, pairs_.weight[i]);
        for (std::size_t j = 0; j < active_.size(); ++j) add(static_cast<std::size_t>(active_[j]), beta_[j]);
        multiply_kernel(kernel_, n_, c_.data(), state_.g.data());
    }

    // Takes out what rounding has added up: beta solves its system again, and G belongs to beta.
    void correct() {
        since_correction_ = 0;
        rebuild_g();
        const std::size_t size = active_.size();
        work_.resize(size);
        std::vector<double> change(size);
        for (std::size_t j = 0; j < size; ++j)
            work_[j] =
                state_.lambda * margin_[static_cast<std::size_t>(active_[j])] - difference(state_.g, active_[j]);
        inverse_.multiply(work_.data(), change.data());
        add_multiple(beta_.data(), 1.0, change.data(), size);
        std::vector<double> change_of_g(n_);
        multiply_active(change, change_of_g.data());
        add_multiple(state_.g.data(), 1.0, change_of_g.data(), n_);
        log_.keep_snapshot(active_, beta_);
    }

    // Whether lambda has stood still for more events than any set of ties explains.
    bool is_stuck() {
        if (state_.lambda < checkpoint_ * (1.0 - 1e-12)) {
            checkpoint_ = state_.lambda;
            since_checkpoint_ = 0;
        }
        return ++since_checkpoint_ > 20 * n_ + 10000;
    }

    const double* kernel_;
    std::size_t n_;
    PathPairs pairs_;
    std::vector<double> margin_;
    std::vector<Side> sides_;
    ActiveForest forest_;
    MarginWatch watch_;
    PathState state_;
    BorderedInverse inverse_;
    std::vector<std::int32_t> active_;
    std::vector<double> beta_, eta_;  // of the active pairs
    std::vector<double> c_, work_;
    PathLog log_;
    double first_ = 0.0, checkpoint_ = 0.0;
    std::size_t since_correction_ = 0, since_checkpoint_ = 0, n_refactorings_ = 0;
};

}  // namespace marginrank
