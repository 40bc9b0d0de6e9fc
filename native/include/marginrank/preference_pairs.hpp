// Hinge, squared hinge and least squares over explicit pairs "winner beats loser", each with a weight and a
// margin; for least squares the margin is the difference wanted, of either sign, and every pair is active.
//
// Every pair is stored twice, in the list of its winner's wins and of its loser's losses, so that each
// row sums its own gradient: no scattered writes, no partial sums, the same bits for any threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "marginrank/parallel.hpp"

namespace marginrank {

// What a pair costs by its slack, the margin minus the difference of its scores.
enum class PairTerm { hinge, squared_hinge, least_squares };

class PreferencePairs {
public:
    // weight and margin may be null: all one. pairs holds winner and loser in turn.
    PreferencePairs(const std::int64_t* pairs, const double* weight, const double* margin, std::int64_t n_pairs,
                    std::int64_t n_rows, PairTerm term)
        : n_rows_(n_rows), n_pairs_(n_pairs), term_(term) {
        fill(wins_, pairs, 0, weight, margin);
        fill(losses_, pairs, 1, weight, margin);
        double total = static_cast<double>(n_pairs);
        if (weight != nullptr) {
            total = 0.0;
            for (std::int64_t k = 0; k < n_pairs; ++k) total += weight[k];
        }
        scale_ = 1.0 / total;
    }

    std::int64_t n_rows() const { return n_rows_; }

    double evaluate(const Crew& crew, const double* p, double* g) const {
        std::vector<double> values(static_cast<std::size_t>(n_blocks()), 0.0);
        crew.run(n_blocks(), [&](std::int64_t b, int) {
            const std::int64_t begin = block_bound(n_rows_, n_blocks(), b);
            const std::int64_t end = block_bound(n_rows_, n_blocks(), b + 1);
            values[at(b)] = evaluate_block(p, g, begin, end);
        });
        return scale_ * tree_sum(values.data(), n_blocks());
    }

    void hessian(const Crew& crew, const double* p, const double* u, double* h) const {
        crew.run(n_blocks(), [&](std::int64_t b, int) {
            const std::int64_t begin = block_bound(n_rows_, n_blocks(), b);
            const std::int64_t end = block_bound(n_rows_, n_blocks(), b + 1);
            if (term_ == PairTerm::least_squares)
                hessian_rows<true>(p, u, h, begin, end);
            else
                hessian_rows<false>(p, u, h, begin, end);
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

private:
    // For each row the rows at the other end of its pairs.
    struct Side {
        std::vector<std::int64_t> ptr;
        std::vector<std::int32_t> other;
        std::vector<double> weight, margin;  // empty: all one
        double weight_of(std::int64_t k) const { return weight.empty() ? 1.0 : weight[static_cast<std::size_t>(k)]; }
        double margin_of(std::int64_t k) const { return margin.empty() ? 1.0 : margin[static_cast<std::size_t>(k)]; }
    };

    // The part of a slack that counts, and what a pair with it pulls at its ends. Selected, not branched: which
    // pairs are active is hard to predict.
    template <PairTerm Term>
    static double counted(double slack) {
        return Term == PairTerm::least_squares || slack > 0.0 ? slack : 0.0;
    }
    template <PairTerm Term>
    static double pull_of(double slack) {
        return Term != PairTerm::hinge ? counted<Term>(slack) : slack > 0.0 ? 1.0 : 0.0;
    }

    double evaluate_block(const double* p, double* g, std::int64_t begin, std::int64_t end) const {
        switch (term_) {
            case PairTerm::hinge: return evaluate_rows<PairTerm::hinge>(p, g, begin, end);
            case PairTerm::squared_hinge: return evaluate_rows<PairTerm::squared_hinge>(p, g, begin, end);
            default: return evaluate_rows<PairTerm::least_squares>(p, g, begin, end);
        }
    }

    template <PairTerm Term>
    double evaluate_rows(const double* p, double* g, std::int64_t begin, std::int64_t end) const {
        const double factor = Term == PairTerm::hinge ? scale_ : 2.0 * scale_;
        double value = 0.0;
        for (std::int64_t r = begin; r < end; ++r) {
            const double mine = p[r];
            double pull = 0.0;
            for (std::int64_t k = wins_.ptr[at(r)]; k < wins_.ptr[at(r) + 1]; ++k) {
                const double slack = wins_.margin_of(k) - (mine - p[wins_.other[at(k)]]);
                const double term = wins_.weight_of(k) * pull_of<Term>(slack);
                pull -= term;
                value += term * counted<Term>(slack);
            }
            for (std::int64_t k = losses_.ptr[at(r)]; k < losses_.ptr[at(r) + 1]; ++k) {
                const double slack = losses_.margin_of(k) - (p[losses_.other[at(k)]] - mine);
                pull += losses_.weight_of(k) * pull_of<Term>(slack);
            }
            g[r] = factor * pull;
        }
        return value;
    }

    template <bool AllActive>
    void hessian_rows(const double* p, const double* u, double* h, std::int64_t begin, std::int64_t end) const {
        for (std::int64_t r = begin; r < end; ++r) {
            double sum = 0.0;
            for (std::int64_t k = wins_.ptr[at(r)]; k < wins_.ptr[at(r) + 1]; ++k) {
                const std::int32_t o = wins_.other[at(k)];
                if (AllActive || wins_.margin_of(k) - (p[r] - p[o]) > 0.0) sum += wins_.weight_of(k) * (u[r] - u[o]);
            }
            for (std::int64_t k = losses_.ptr[at(r)]; k < losses_.ptr[at(r) + 1]; ++k) {
                const std::int32_t o = losses_.other[at(k)];
                if (AllActive || losses_.margin_of(k) - (p[o] - p[r]) > 0.0)
                    sum += losses_.weight_of(k) * (u[r] - u[o]);
            }
            h[r] = 2.0 * scale_ * sum;
        }
    }

    static std::size_t at(std::int64_t k) { return static_cast<std::size_t>(k); }

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
    PairTerm term_;
    double scale_ = 1.0;
    Side wins_, losses_;
};

}  // namespace marginrank
