// Documents of few kinds to ranks at the greatest worth z_i c(r) - a_k D(r), where k is the kind of i.
//
// Documents of one kind differ in z only, and c descends, so each kind stands in the order of its scores and the
// best ranking is a merge of as many lists as there are kinds. With x_k documents of each kind taken, the next rank
// is sum x_k: a dynamic programme over the vectors x, of which there are prod (n_k + 1).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace marginrank {

class RankMerge {
public:
    // The vectors x for lists of these lengths, or -1 if they are more than limit.
    static std::int64_t cells(const std::vector<std::int64_t>& ptr, std::int64_t limit) {
        std::int64_t product = 1;
        for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
            product *= ptr[k + 1] - ptr[k] + 1;
            if (product > limit) return -1;
        }
        return product;
    }

    // z[ptr[k] .. ptr[k+1]) are the scores of kind k, descending, and a[k] is its share of the gain. rank[i] is the
    // rank of the document with z[i]. discount and weight have an entry for each document.
    void solve(const std::vector<std::int64_t>& ptr, const double* a, const double* z, const double* discount,
               const double* weight, std::int64_t* rank) {
        const std::size_t kinds = ptr.size() - 1;
        stride_.assign(kinds, 1);
        for (std::size_t k = kinds - 1; k-- > 0;) stride_[k] = stride_[k + 1] * (ptr[k + 2] - ptr[k + 1] + 1);
        const std::int64_t n_cells = stride_[0] * (ptr[1] - ptr[0] + 1);
        best_.resize(static_cast<std::size_t>(n_cells));
        choice_.resize(static_cast<std::size_t>(n_cells));
        taken_.assign(kinds, 0);
        const std::int64_t row = ptr[kinds] - ptr[kinds - 1] + 1;
        for (std::int64_t first = 0; first < n_cells; first += row) {
            fill_row(ptr, a, z, discount, weight, first);
            next_row(ptr);
        }
        std::int64_t cell = n_cells - 1;
        for (std::size_t k = 0; k < kinds; ++k) taken_[k] = ptr[k + 1] - ptr[k];
        for (std::int64_t r = ptr[kinds] - 1; r >= 0; --r) {
            const std::size_t k = choice_[static_cast<std::size_t>(cell)];
            rank[ptr[k] + --taken_[k]] = r;
            cell -= stride_[k];
        }
    }

private:
    // All cells that differ in the number of documents of the last kind only, from none on.
    void fill_row(const std::vector<std::int64_t>& ptr, const double* a, const double* z, const double* discount,
                  const double* weight, std::int64_t first) {
        const std::size_t last = stride_.size() - 1;
        std::int64_t before = 0;
        for (std::size_t k = 0; k < last; ++k) before += taken_[k];
        double* best = best_.data() + first;
        std::uint8_t* choice = choice_.data() + first;
        const std::int64_t n = ptr[last + 1] - ptr[last];
        std::fill(best, best + n + 1, -std::numeric_limits<double>::infinity());
        if (before == 0) best[0] = 0.0;
        for (std::size_t k = 0; k < last; ++k) {
            if (taken_[k] == 0) continue;
            const double own = z[ptr[k] + taken_[k] - 1];
            const double* from = best - stride_[k];
            for (std::int64_t x = 0; x <= n; ++x) {
                const double worth = from[x] + (own * weight[before + x - 1] - a[k] * discount[before + x - 1]);
                choice[x] = worth > best[x] ? static_cast<std::uint8_t>(k) : choice[x];
                best[x] = worth > best[x] ? worth : best[x];
            }
        }
        for (std::int64_t x = 1; x <= n; ++x) {
            const std::int64_t r = before + x - 1;
            const double worth = best[x - 1] + (z[ptr[last] + x - 1] * weight[r] - a[last] * discount[r]);
            if (worth > best[x]) {
                best[x] = worth;
                choice[x] = static_cast<std::uint8_t>(last);
            }
        }
    }

    void next_row(const std::vector<std::int64_t>& ptr) {
        for (std::size_t k = stride_.size() - 1; k-- > 0;) {
            if (taken_[k] < ptr[k + 1] - ptr[k]) {
                ++taken_[k];
                return;
            }
            taken_[k] = 0;
        }
    }

    std::vector<std::int64_t> stride_, taken_;
    std::vector<double> best_;
    std::vector<std::uint8_t> choice_;
};

}  // namespace marginrank
