// The pairs of an exact path: their ends, bounds and margins, on which side of their margin they are, the
// forest of the active ones, and the lists of those that can reach their margin soon.
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

// A pair with what a scan needs of it.
struct Watched {
    std::int32_t winner, loser, pair;
    double margin, sign;

    double distance(const PathState& state) const {
        return state.lambda * margin -
               (state.g[static_cast<std::size_t>(winner)] - state.g[static_cast<std::size_t>(loser)]);
    }

    // Takes this pair if it gets to its margin before the best so far. Scalar on purpose: the winner of a scan in
    // lanes could be off by their rounding. The first test fails for nearly all, so it is predicted well.
    void consider(const PathState& state, const ActiveForest& forest, Entering& best) const {
        constexpr double kLeastRate = 1e-11;
        const double slope = state.h[static_cast<std::size_t>(winner)] - state.h[static_cast<std::size_t>(loser)];
        const double rate = sign * (margin - slope);
        double slack = sign * distance(state);
        slack = slack > 0.0 ? slack : 0.0;
        if (!(slack < best.step * rate)) return;
        if (rate > kLeastRate && !forest.same_tree(winner, loser)) best = Entering{slack / rate, pair};
    }
};

// The pairs within a radius of their margin at a reference point. No other pair can have reached its margin while
// lambda and the differences of G have moved by less than the radius.
class NearPairs {
public:
    NearPairs(std::size_t n_pairs, double largest_margin)
        : largest_margin_(largest_margin), position_(n_pairs, -1) {}

    const std::vector<Watched>& pairs() const { return list_; }
    void invalidate() { reach_ = -1.0; }
    void widen() { radius_ *= 4.0; }
    double radius() const { return radius_; }

    // Whether the list covers the stretch up to a further step.
    bool covers(const PathState& state, double step) const { return rest_of_reach(state, step) > 0.0; }

    // By how much more lambda and the differences of G may move after a further step.
    double rest_of_reach(const PathState& state, double step) const {
        if (reach_ < 0.0) return -1.0;
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (std::size_t r = 0; r < state.g.size(); ++r) {
            const double change = state.g[r] - step * state.h[r] - reference_g_[r];
            low = change < low ? change : low;
            high = change > high ? change : high;
        }
        return reach_ - (high - low) - (reference_lambda_ - state.lambda + step) * largest_margin_;
    }

    Entering first_to_enter(const PathState& state, const ActiveForest& forest, double limit) {
        looked_at_ += list_.size();
        Entering best{limit, -1};
        for (const Watched& w : list_) w.consider(state, forest, best);
        return best;
    }

    void set_sign(std::int32_t pair, double sign) {
        const std::int32_t where = position_[static_cast<std::size_t>(pair)];
        if (where >= 0) list_[static_cast<std::size_t>(where)].sign = sign;
    }

    // Chooses the pairs anew from n_from ones, which from(i) gives and which are good for a movement of their own.
    // Active pairs are always among them.
    template <class From>
    void rebuild(const PathState& state, std::size_t n_from, double good_for, From&& from) {
        adapt_radius(state, n_from);
        radius_ = std::min(radius_, 0.5 * good_for);
        for (const Watched& w : list_) position_[static_cast<std::size_t>(w.pair)] = -1;
        list_.clear();
        for (std::size_t i = 0; i < n_from; ++i) {
            const Watched w = from(i);
            if (!(std::abs(w.distance(state)) <= radius_) && w.sign != 0.0) continue;
            position_[static_cast<std::size_t>(w.pair)] = static_cast<std::int32_t>(list_.size());
            list_.push_back(w);
        }
        reference_g_ = state.g;
        reference_lambda_ = state.lambda;
        reach_ = radius_;
        looked_at_ = 0;
    }

    // A list that is chosen from this one.
    void count_look() { looked_at_ += list_.size(); }

private:
    // Cheapest where all looks into a list cost about as much as choosing it. Counted, not timed: the path must not
    // depend on the clock.
    void adapt_radius(const PathState& state, std::size_t n_from) {
        if (radius_ == 0.0)
            radius_ = 1e-3 * state.lambda * largest_margin_;
        else if (reach_ > 0.0)
            radius_ *= looked_at_ < n_from ? 1.5 : 1.0 / 1.5;
    }

    double largest_margin_;
    std::vector<Watched> list_;
    std::vector<std::int32_t> position_;
    std::vector<double> reference_g_;
    double reference_lambda_ = 0.0, radius_ = 0.0, reach_ = -1.0;
    std::size_t looked_at_ = 0;
};

// Finds the pair that reaches its margin first, without looking at all of them: a short list is chosen from a long
// one, and that from all pairs.
class MarginWatch {
public:
    MarginWatch(const PathPairs& pairs, const std::vector<double>& margin)
        : pairs_(pairs), margin_(margin), long_(pairs.count, largest(margin)), short_(pairs.count, largest(margin)) {}

    // The first pair to enter within `limit`, if any. `sides` says where each pair is.
    Entering next(const PathState& state, const std::vector<Side>& sides, const ActiveForest& forest, double limit) {
        Entering found = short_.first_to_enter(state, forest, limit);
        if (short_.covers(state, found.step)) return found;
        // Also where it is good for a little more: a list chosen from it would be good for less at every event.
        if (!(long_.rest_of_reach(state, 0.0) > short_.radius()))
            long_.rebuild(state, pairs_.count, std::numeric_limits<double>::infinity(),
                          [&](std::size_t i) { return watched(i, sides); });
        short_.rebuild(state, long_.pairs().size(), long_.rest_of_reach(state, 0.0),
                       [&](std::size_t i) { return long_.pairs()[i]; });
        long_.count_look();
        found = short_.first_to_enter(state, forest, limit);
        if (short_.covers(state, found.step)) return found;
        // The next event is further away than the short list reaches, and perhaps the long one.
        short_.widen();
        short_.invalidate();
        found = long_.first_to_enter(state, forest, limit);
        if (long_.covers(state, found.step)) return found;
        long_.widen();
        long_.invalidate();
        found = Entering{limit, -1};
        for (std::size_t i = 0; i < pairs_.count; ++i) watched(i, sides).consider(state, forest, found);
        return found;
    }

    void moved(std::int32_t pair, Side side) {
        long_.set_sign(pair, static_cast<double>(side));
        short_.set_sign(pair, static_cast<double>(side));
    }

private:
    static double largest(const std::vector<double>& margin) { return *std::max_element(margin.begin(), margin.end()); }

    Watched watched(std::size_t i, const std::vector<Side>& sides) const {
        return Watched{pairs_.winner[i], pairs_.loser[i], static_cast<std::int32_t>(i), margin_[i],
                       static_cast<double>(sides[i])};
    }

    PathPairs pairs_;
    const std::vector<double>& margin_;
    NearPairs long_, short_;
};

}  // namespace marginrank
