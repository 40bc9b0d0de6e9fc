// Losses over explicit pairs "winner beats loser", each with a weight and a margin. A loss is a term: what a pair
// costs by its slack, the margin minus the difference of its scores.
//
// Every pair is stored twice, in the list of its winner's wins and of its loser's losses, so that each
// row sums its own gradient: no scattered writes, no partial sums, the same bits for any threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "marginrank/parallel.hpp"

namespace marginrank {

// x where the condition holds, 0 elsewhere, by the bits of x: of a choice GCC makes a branch, five times slower where
// it is hard to predict.
inline double where(bool condition, double x) {
    std::int64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits &= -static_cast<std::int64_t>(condition);
    std::memcpy(&x, &bits, sizeof bits);
    return x;
}

// A term: what one pair costs by its slack, its weight included, and what it pulls, which times kFactor is the
// derivative by the slack; its second derivative; and the margin of pairs that have none of their own.
struct SquaredHingePair {
    static constexpr double kMargin = 1.0, kFactor = 2.0;
    static double pull(double slack) { return std::max(slack, 0.0); }
    static double cost(double weight, double slack) { return weight * pull(slack) * pull(slack); }
    static double curvature(double slack) { return where(slack > 0.0, 2.0); }
};
// It has no curvature but at the margin, and lends that of its square to whoever asks.
struct HingePair {
    static constexpr double kMargin = 1.0, kFactor = 1.0;
    static double pull(double slack) { return where(slack > 0.0, 1.0); }
    static double cost(double weight, double slack) { return weight * std::max(slack, 0.0); }
    static double curvature(double slack) { return where(slack > 0.0, 2.0); }
};
// The margin is the difference wanted, of either sign, and every pair is active.
struct LeastSquaresPair {
    static constexpr double kMargin = 1.0, kFactor = 2.0;
    static double pull(double slack) { return slack; }
    static double cost(double weight, double slack) { return weight * slack * slack; }
    static double curvature(double) { return 2.0; }
};

// What all terms share.
class PreferencePairs {
public:
    // weight may be null, for all one, and margin, for that of the term. pairs holds winner and loser in turn.
    PreferencePairs(const std::int64_t* pairs, const double* weight, const double* margin, std::int64_t n_pairs,
                    std::int64_t n_rows)
        : n_rows_(n_rows), n_pairs_(n_pairs) {
        fill(wins_, pairs, 0, weight, margin);
        fill(losses_, pairs, 1, weight, margin);
        double total = static_cast<double>(n_pairs);
        if (weight != nullptr) {
            total = 0.0;
            for (std::int64_t k = 0; k < n_pairs; ++k) total += weight[k];
        }
        scale_ = 1.0 / total;
    }

    virtual ~PreferencePairs() = default;

    std::int64_t n_rows() const { return n_rows_; }

    double evaluate(const Crew& crew, const double* p, double* g) const {
        std::vector<double> values(at(n_blocks()), 0.0);
        crew.run(n_blocks(), [&](std::int64_t b, int) {
            values[at(b)] = evaluate_rows(p, g, block_bound(n_rows_, n_blocks(), b),
                                          block_bound(n_rows_, n_blocks(), b + 1));
        });
        return scale_ * tree_sum(values.data(), n_blocks());
    }

    void hessian(const Crew& crew, const double* p, const double* u, double* h) const {
        crew.run(n_blocks(), [&](std::int64_t b, int) {
            hessian_rows(p, u, h, block_bound(n_rows_, n_blocks(), b), block_bound(n_rows_, n_blocks(), b + 1));
        });
    }

    // Sum of the weights of the pairs of each row.
    void partner_weight(double* out) const {
        for (std::int64_t r = 0; r < n_rows_; ++r) {
            double sum = 0.0;
            for (std::int64_t k = wins_.ptr[at(r)]; k < wins_.ptr[at(r) + 1]; ++k) sum += wins_.weight_of(k);
            for (std::int64_t k = losses_.ptr[at(r)]; k < losses_.ptr[at(r) + 1]; ++k) sum += losses_.weight_of(k);
            out[r] = sum;
        }
    }

protected:
    static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

    // For each row the rows at the other end of its pairs.
    struct Side {
        std::vector<std::int64_t> ptr;
        std::vector<std::int32_t> other;
        std::vector<double> weight, margin;  // or empty
        double weight_of(std::int64_t k) const { return weight.empty() ? 1.0 : weight[at(k)]; }
    };

    // Returns the cost of the pairs that these rows win; writes their gradients.
    virtual double evaluate_rows(const double* p, double* g, std::int64_t begin, std::int64_t end) const = 0;
    virtual void hessian_rows(const double* p, const double* u, double* h, std::int64_t begin,
                              std::int64_t end) const = 0;

    Side wins_, losses_;
    double scale_ = 1.0;

private:
    std::int64_t n_blocks() const {
        return std::clamp<std::int64_t>(n_pairs_ / 8192, 1, std::clamp<std::int64_t>(n_rows_, 1, 64));
    }

    void fill(Side& side, const std::int64_t* pairs, int end, const double* weight, const double* margin) const {
        side.ptr.assign(at(n_rows_) + 1, 0);
        for (std::int64_t k = 0; k < n_pairs_; ++k) ++side.ptr[at(pairs[2 * k + end]) + 1];
        for (std::int64_t r = 0; r < n_rows_; ++r) side.ptr[at(r) + 1] += side.ptr[at(r)];
        side.other.resize(at(n_pairs_));
        if (weight != nullptr) side.weight.resize(at(n_pairs_));
        if (margin != nullptr) side.margin.resize(at(n_pairs_));
        std::vector<std::int64_t> next(side.ptr.begin(), side.ptr.end() - 1);
        for (std::int64_t k = 0; k < n_pairs_; ++k) {
            const std::int64_t slot = next[at(pairs[2 * k + end])]++;
            side.other[at(slot)] = static_cast<std::int32_t>(pairs[2 * k + 1 - end]);
            if (weight != nullptr) side.weight[at(slot)] = weight[k];
            if (margin != nullptr) side.margin[at(slot)] = margin[k];
        }
    }

    std::int64_t n_rows_, n_pairs_;
};

template <class Term>
class PairsOf : public PreferencePairs {
public:
    using PreferencePairs::PreferencePairs;

protected:
    double evaluate_rows(const double* p, double* g, std::int64_t begin, std::int64_t end) const override {
        double value = 0.0;
        for (std::int64_t r = begin; r < end; ++r) {
            const double mine = p[r];
            double pull = 0.0;
            for (std::int64_t k = wins_.ptr[at(r)]; k < wins_.ptr[at(r) + 1]; ++k) {
                const double slack = margin_of(wins_, k) - (mine - p[wins_.other[at(k)]]);
                const double weight = wins_.weight_of(k);
                pull -= weight * Term::pull(slack);
                value += Term::cost(weight, slack);
            }
            for (std::int64_t k = losses_.ptr[at(r)]; k < losses_.ptr[at(r) + 1]; ++k) {
                const double slack = margin_of(losses_, k) - (p[losses_.other[at(k)]] - mine);
                pull += losses_.weight_of(k) * Term::pull(slack);
            }
            g[r] = Term::kFactor * scale_ * pull;
        }
        return value;
    }

    void hessian_rows(const double* p, const double* u, double* h, std::int64_t begin,
                      std::int64_t end) const override {
        for (std::int64_t r = begin; r < end; ++r) {
            double sum = 0.0;
            for (std::int64_t k = wins_.ptr[at(r)]; k < wins_.ptr[at(r) + 1]; ++k) {
                const std::int32_t o = wins_.other[at(k)];
                const double curvature = Term::curvature(margin_of(wins_, k) - (p[r] - p[o]));
                sum += wins_.weight_of(k) * curvature * (u[r] - u[o]);
            }
            for (std::int64_t k = losses_.ptr[at(r)]; k < losses_.ptr[at(r) + 1]; ++k) {
                const std::int32_t o = losses_.other[at(k)];
                const double curvature = Term::curvature(margin_of(losses_, k) - (p[o] - p[r]));
                sum += losses_.weight_of(k) * curvature * (u[r] - u[o]);
            }
            h[r] = scale_ * sum;
        }
    }

private:
    static double margin_of(const Side& side, std::int64_t k) {
        return side.margin.empty() ? Term::kMargin : side.margin[at(k)];
    }
};

}  // namespace marginrank
