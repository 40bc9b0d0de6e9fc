// What remains of an exact path: which pair changed sides at which lambda, and now and then the dual variables of
// the active pairs. The whole state at any lambda follows from it, in memory of the order of the events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

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

// c = P' beta: what each row gets from its pairs.
inline void sum_by_row(const PathPairs& pairs, const double* beta, double* c, std::size_t n_rows) {
    std::fill(c, c + n_rows, 0.0);
    for (std::size_t i = 0; i < pairs.count; ++i) {
        c[pairs.winner[i]] += beta[i];
        c[pairs.loser[i]] -= beta[i];
    }
}

// Adds to c what a change of one variable adds to P' beta.
inline void add_to_rows(const PathPairs& pairs, std::int32_t i, double change, double* c) {
    c[pairs.winner[i]] += change;
    c[pairs.loser[i]] -= change;
}

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

    // The state that a replay has come to: dual variables of all pairs, c = P' beta, and the active pairs in
    // ascending order. Variables of active pairs are those at the last snapshot, or the bound they came from.
    struct Replay {
        std::vector<double> beta, c;
        std::vector<std::int32_t> active;
        std::size_t event = 0, snapshot = 0;

        Replay(const PathPairs& pairs, std::size_t n_rows)
            : beta(pairs.weight, pairs.weight + pairs.count), c(n_rows) {
            sum_by_row(pairs, beta.data(), c.data(), n_rows);
        }

        void set(const PathPairs& pairs, std::int32_t i, double value) {
            double& now = beta[static_cast<std::size_t>(i)];
            add_to_rows(pairs, i, value - now, c.data());
            now = value;
        }
    };

    // Goes on to a lambda that is at most the one before.
    void replay_to(const PathPairs& pairs, double at_lambda, Replay& state) const {
        const auto found = std::upper_bound(lambda.begin(), lambda.end(), at_lambda, std::greater<double>());
        // upper_bound stops after all events at lambda itself, where both sides of an event agree.
        const auto end = static_cast<std::size_t>(found - lambda.begin());
        for (;; ++state.event) {
            for (; is_due(state); ++state.snapshot) {
                const Snapshot& kept = snapshots_[state.snapshot];
                for (std::size_t j = 0; j < kept.active.size(); ++j) state.set(pairs, kept.active[j], kept.beta[j]);
            }
            if (state.event >= end) return;
            apply(pairs, state.event, state);
        }
    }

private:
    struct Snapshot {
        std::size_t event;
        std::vector<std::int32_t> active;
        std::vector<double> beta;
    };

    bool is_due(const Replay& state) const {
        return state.snapshot < snapshots_.size() && snapshots_[state.snapshot].event == state.event;
    }

    void apply(const PathPairs& pairs, std::size_t event, Replay& state) const {
        const std::int32_t i = pair[event];
        const auto place = std::lower_bound(state.active.begin(), state.active.end(), i);
        const bool was_active = place != state.active.end() && *place == i;
        if (change[event] == Change::kEntered) {
            if (!was_active) state.active.insert(place, i);
            return;
        }
        if (was_active) state.active.erase(place);
        const bool to_upper = change[event] == Change::kLeftToUpper || change[event] == Change::kRoseToUpper;
        state.set(pairs, i, to_upper ? pairs.weight[i] : 0.0);
    }

    std::vector<Snapshot> snapshots_;
};

}  // namespace marginrank
