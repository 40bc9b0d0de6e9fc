// The pairs of an exact path: their ends, bounds and margins, on which side of their margin they are, the
// forest of the active ones, and the short list of those that can reach their margin soon.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace marginrank {

// Pairs "winner beats loser". The caller owns the arrays.
struct PathPairs {
    const std::int32_t* winner;
    const std::int32_t* loser;
    const double* weight;  // upper bound of the dual variable, positive
    const double* margin;  // positive
    std::size_t count;
};

// Where the dual variable of a pair is. The values are the sign that turns lambda * margin - difference into a
// slack that must not be negative.
enum class Side : std::int8_t { kLower = -1, kActive = 0, kUpper = 1 };

// The margins, each multiplied by 1 + 1e-8 u with a u of its own in (-1, 1) from a fixed sequence (splitmix64):
// exact ties would make events coincide, and whole sets of pairs reach their margin at once.
inline std::vector<double> perturbed_margins(const PathPairs& pairs) {
    std::vector<double> result(pairs.count);
    std::uint64_t state = 0x6d617267696e2121u;
    for (std::size_t i = 0; i < pairs.count; ++i) {
        state += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        const double unit = static_cast<double>(z >> 11) * 0x1p-53;
        result[i] = pairs.margin[i] * (1.0 + 1e-8 * (2.0 * unit - 1.0));
    }
    return result;
}

// Connected components of the graph of the active pairs. That graph stays a forest: a pair that closed a cycle
// would make the active system singular.
class ActiveForest {
public:
    explicit ActiveForest(std::size_t n_rows) : label_(n_rows), parent_(n_rows) {
        for (std::size_t r = 0; r < n_rows; ++r) label_[r] = static_cast<std::int32_t>(r);
    }

    bool same_tree(std::int32_t a, std::int32_t b) const { return label(a) == label(b); }

    void join(std::int32_t a, std::int32_t b) {
        const std::int32_t from = label(b), to = label(a);
        for (std::int32_t& l : label_) l = l == from ? to : l;
    }

    // After a pair has left: union-find over those that stay.
    void rebuild(const PathPairs& pairs, const std::vector<std::int32_t>& active) {
        for (std::size_t r = 0; r < parent_.size(); ++r) parent_[r] = static_cast<std::int32_t>(r);
        for (const std::int32_t i : active)
            parent_[at(root(pairs.loser[i]))] = root(pairs.winner[i]);
        for (std::size_t r = 0; r < parent_.size(); ++r) label_[r] = root(static_cast<std::int32_t>(r));
    }

private:
    static std::size_t at(std::int32_t r) { return static_cast<std::size_t>(r); }
    std::int32_t label(std::int32_t r) const { return label_[at(r)]; }

    std::int32_t root(std::int32_t r) {
        while (parent_[at(r)] != r) {
            parent_[at(r)] = parent_[at(parent_[at(r)])];
            r = parent_[at(r)];
        }
        return r;
    }

    std::vector<std::int32_t> label_, parent_;
};

// What moves along a stretch of the path: lambda, G = lambda f on the rows, and its slope h = dG/dlambda.
struct PathState {
    double lambda = 0.0;
    std::vector<double> g, h;
};

struct Entering {
    double step;
    std::int32_t pair;  // -1: none
};

// Finds the pair that reaches its margin first, without looking at all of them: the list holds those within
// `radius` of their margin at a reference point, and no other can have reached it while lambda and the
// differences of G have moved by less.
class MarginWatch {
public:
    MarginWatch(const PathPairs& pairs, const std::vector<double>& margin)
        : pairs_(pairs), margin_(margin), position_(pairs.count, -1) {
        for (const double d : margin) largest_margin_ = std::max(largest_margin_, d);
    }

    // The first pair to enter within `limit`, if any. `sides` says where each pair is.
    Entering next(const PathState& state, const std::vector<Side>& sides, const ActiveForest& forest, double limit) {
        for (int attempt = 0; attempt < 2; ++attempt) {
            if (is_valid(state, 0.0)) {
                const Entering found = scan_list(state, forest, limit);
                looked_at_ += list_.size();
                if (is_valid(state, found.step)) return found;
            }
            if (attempt == 0) rebuild(state, sides);
        }
        // The next event is further away than the list reaches.
        radius_ *= 4.0;
        reach_ = -1.0;
        return scan_all(state, sides, forest, limit);
    }

    void moved(std::int32_t pair, Side side) {
        const std::int32_t where = position_[static_cast<std::size_t>(pair)];
        if (where >= 0) list_[static_cast<std::size_t>(where)].sign = static_cast<double>(side);
    }

private:
    struct Watched {
        std::int32_t winner, loser, pair;
        double margin, sign;
    };
    static constexpr double kLeastRate = 1e-11;

    // Takes the pair if it gets to its margin before the best so far. Scalar on purpose: the winner of a scan
    // in lanes could be off by their rounding.
    static void consider(const PathState& state, const ActiveForest& forest, std::int32_t winner, std::int32_t loser,
                         std::int32_t pair, double margin, double sign, Entering& best) {
        const double rate = sign * (margin - (state.h[at(winner)] - state.h[at(loser)]));
        if (!(rate > kLeastRate)) return;
        double slack = sign * (state.lambda * margin - (state.g[at(winner)] - state.g[at(loser)]));
        slack = slack > 0.0 ? slack : 0.0;
        if (!(slack < best.step * rate) || forest.same_tree(winner, loser)) return;
        best = Entering{slack / rate, pair};
    }

    Entering scan_list(const PathState& state, const ActiveForest& forest, double limit) const {
        Entering best{limit, -1};
        for (const Watched& w : list_) consider(state, forest, w.winner, w.loser, w.pair, w.margin, w.sign, best);
        return best;
    }

    Entering scan_all(const PathState& state, const std::vector<Side>& sides, const ActiveForest& forest,
                      double limit) const {
        Entering best{limit, -1};
        for (std::size_t i = 0; i < pairs_.count; ++i)
            if (sides[i] != Side::kActive)
                consider(state, forest, pairs_.winner[i], pairs_.loser[i], static_cast<std::int32_t>(i), margin_[i],
                         static_cast<double>(sides[i]), best);
        return best;
    }

    // Whether no pair outside of the list can have reached its margin after a further step.
    bool is_valid(const PathState& state, double step) const {
        if (reach_ < 0.0) return false;
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (std::size_t r = 0; r < state.g.size(); ++r) {
            const double change = state.g[r] - step * state.h[r] - reference_g_[r];
            low = change < low ? change : low;
            high = change > high ? change : high;
        }
        return (high - low) + (reference_lambda_ - state.lambda + step) * largest_margin_ < reach_;
    }

    void rebuild(const PathState& state, const std::vector<Side>& sides) {
        adapt_radius(state);
        for (const Watched& w : list_) position_[at(w.pair)] = -1;
        list_.clear();
        for (std::size_t i = 0; i < pairs_.count; ++i) {
            const std::int32_t k = pairs_.winner[i], l = pairs_.loser[i];
            const double slack = state.lambda * margin_[i] - (state.g[at(k)] - state.g[at(l)]);
            if (!(std::abs(slack) <= radius_) && sides[i] != Side::kActive) continue;
            position_[i] = static_cast<std::int32_t>(list_.size());
            list_.push_back(Watched{k, l, static_cast<std::int32_t>(i), margin_[i], static_cast<double>(sides[i])});
        }
        reference_g_ = state.g;
        reference_lambda_ = state.lambda;
        reach_ = radius_;
        looked_at_ = 0;
    }

    // Cheapest where all looks into a list cost about as much as building it. Counted, not timed: the path must
    // not depend on the clock.
    void adapt_radius(const PathState& state) {
        if (radius_ == 0.0) radius_ = 1e-3 * state.lambda * largest_margin_;
        else if (reach_ > 0.0) radius_ *= looked_at_ < pairs_.count ? 1.5 : 1.0 / 1.5;
    }

    static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

    PathPairs pairs_;
    const std::vector<double>& margin_;
    double largest_margin_ = 0.0;
    std::vector<Watched> list_;
    std::vector<std::int32_t> position_;
    std::vector<double> reference_g_;
    double reference_lambda_ = 0.0, radius_ = 0.0, reach_ = -1.0;
    std::size_t looked_at_ = 0;
};

}  // namespace marginrank
