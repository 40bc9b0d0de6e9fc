// Documents to ranks at the least cost a_i D(r) - z_i c(r), where D and c descend.
//
// The costs are never written out: two products give each of them. Shortest augmenting paths, O(n^2) for each
// document that the start leaves without a rank and O(n^3) at worst. The start exploits the products: were c
// proportional to D, sorting by z - a would be optimal, and prices between neighbours of that order would prove
// it. With other c both are nearly right, so that few documents are left.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace marginrank {

class RankAssignment {
public:
    // rank[i] = rank of document i, from 0. The arrays have n entries each.
    void solve(std::int64_t n, const double* a, const double* z, const double* discount, const double* weight,
               std::int64_t* rank) {
        n_ = static_cast<std::size_t>(n);
        a_ = a;
        z_ = z;
        discount_ = discount;
        weight_ = weight;
        start();
        for (std::size_t i = 0; i < n_; ++i)
            if (rank_[i] == kNone) augment(i);
        for (std::size_t i = 0; i < n_; ++i) rank[i] = static_cast<std::int64_t>(rank_[i]);
    }

private:
    static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
    static constexpr int kSwapPasses = 16;

    double cost(std::size_t i, std::size_t r) const { return a_[i] * discount_[r] - z_[i] * weight_[r]; }

    void start() {
        sort_documents();
        price_.assign(n_, 0.0);
        for (std::size_t r = 0; r + 1 < n_; ++r) {
            // Each of two neighbours prefers its own rank when the step of the price is between these.
            const std::size_t here = order_[r], there = order_[r + 1];
            const double upper = cost(here, r + 1) - cost(here, r), lower = cost(there, r + 1) - cost(there, r);
            price_[r + 1] = price_[r] + 0.5 * (upper + lower);
        }
        rank_.assign(n_, kNone);
        holder_.assign(n_, kNone);
        for (std::size_t k = 0; k < n_; ++k) {
            const std::size_t i = order_[k];
            std::size_t best = k;
            double least = cost(i, k) - price_[k];
            for (std::size_t r = 0; r < n_; ++r) {
                const double c = cost(i, r) - price_[r];
                if (c < least) {
                    least = c;
                    best = r;
                }
            }
            if (holder_[best] != kNone) continue;
            holder_[best] = i;
            rank_[i] = best;
        }
    }

    // By z - kappa a, then neighbours change places while that pays.
    void sort_documents() {
        const double spread = weight_[0] - weight_[n_ - 1];
        const double kappa = spread > 0.0 ? (discount_[0] - discount_[n_ - 1]) / spread : 1.0;
        order_.resize(n_);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::stable_sort(order_.begin(), order_.end(), [&](std::size_t i, std::size_t j) {
            return z_[i] - kappa * a_[i] > z_[j] - kappa * a_[j];
        });
        for (int pass = 0; pass < kSwapPasses; ++pass) {
            bool swapped = false;
            for (std::size_t r = 0; r + 1 < n_; ++r) {
                const std::size_t i = order_[r], j = order_[r + 1];
                if (!(cost(j, r) + cost(i, r + 1) < cost(i, r) + cost(j, r + 1))) continue;
                std::swap(order_[r], order_[r + 1]);
                swapped = true;
            }
            if (!swapped) return;
        }
    }

    // Reduced costs stay nonnegative without prices of documents: a document's is that of its own rank.
    double reduced(std::size_t i, std::size_t r, double own) const { return cost(i, r) - price_[r] - own; }

    // Gives document i a rank along the shortest path to a free one, and moves those on the way (Dijkstra).
    void augment(std::size_t start) {
        distance_.assign(n_, std::numeric_limits<double>::infinity());
        from_.assign(n_, start);
        done_.clear();
        open_.resize(n_);
        std::iota(open_.begin(), open_.end(), std::size_t{0});
        std::size_t i = start, last = kNone;
        double base = 0.0, own = least_of(start);
        while (last == kNone) {
            std::size_t nearest = 0;
            for (std::size_t k = 0; k < open_.size(); ++k) {
                const std::size_t r = open_[k];
                const double through = base + reduced(i, r, own);
                if (through < distance_[r]) {
                    distance_[r] = through;
                    from_[r] = i;
                }
                if (distance_[r] < distance_[open_[nearest]]) nearest = k;
            }
            const std::size_t r = open_[nearest];
            open_[nearest] = open_.back();
            open_.pop_back();
            base = distance_[r];
            if (holder_[r] == kNone) {
                last = r;
            } else {
                done_.push_back(r);
                i = holder_[r];
                own = cost(i, r) - price_[r];
            }
        }
        for (const std::size_t r : done_) price_[r] += distance_[r] - base;
        for (std::size_t r = last;;) {
            const std::size_t mover = from_[r], left = rank_[mover];
            holder_[r] = mover;
            rank_[mover] = r;
            if (mover == start) return;
            r = left;
        }
    }

    double least_of(std::size_t i) const {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t r = 0; r < n_; ++r) least = std::min(least, cost(i, r) - price_[r]);
        return least;
    }

    std::size_t n_ = 0;
    const double *a_ = nullptr, *z_ = nullptr, *discount_ = nullptr, *weight_ = nullptr;
    std::vector<std::size_t> order_, rank_, holder_, from_, done_, open_;
    std::vector<double> price_, distance_;
};

}  // namespace marginrank
