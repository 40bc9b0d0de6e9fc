// NDCG with graded gains under phi_dorm, documents weighted by a descending function c of their rank:
//   R_q = max over permutations pi of [ 1 - sum_i G_i D(pi_i) / Z + sum_i s_i (c(pi_i) - c*_i) ].
// c*_i is the mean of c over the ranks that the ideal rankings give to documents of i's label: they are all equally
// right, a mean of them is linear in the scores, and the order of the rows does not matter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "marginrank/structured_assignment.hpp"
#include "marginrank/structured_loss.hpp"
#include "marginrank/structured_merge.hpp"

namespace marginrank {

class StructuredDorm : public StructuredLoss {
public:
    // gain: one entry per row, in the order of the labels. discount, weight: descending, one entry for each rank of
    // the longest query, the discount 0 from the cut-off on.
    StructuredDorm(const double* gain, const std::int64_t* query_ptr, std::vector<double> scale,
                   std::vector<double> discount, std::vector<double> weight)
        : StructuredLoss(query_ptr, std::move(scale)),
          discount_(std::move(discount)),
          weight_(std::move(weight)),
          share_(static_cast<std::size_t>(n_rows()), 0.0),
          ideal_weight_(static_cast<std::size_t>(n_rows()), 0.0),
          order_(static_cast<std::size_t>(n_rows())),
          levels_(static_cast<std::size_t>(n_queries())),
          same_(discount_ == weight_) {
        for (std::int64_t q = 0; q < n_queries(); ++q) prepare(q, gain + query_ptr[q]);
    }

    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<Scratch>(); }

    enum class Method { kMerge, kAssign };
    // How a query is solved whose grades end at these positions. Merging is exact for any query, and far cheaper
    // for a few grades. An assignment grows with the cube of the rows but does not care about grades.
    static Method method(const std::vector<std::int64_t>& ptr) {
        const std::int64_t n = ptr.back(), kinds = static_cast<std::int64_t>(ptr.size()) - 1;
        const std::int64_t limit = std::min(kMergeCells, kinds == 2 ? kMergeCells : 32 * n * n / kinds);
        return RankMerge::cells(ptr, limit) < 0 ? Method::kAssign : Method::kMerge;
    }
    // The longest query that needs an assignment.
    std::int64_t longest_assignment() const {
        std::int64_t longest = 0;
        for (std::int64_t q = 0; !same_ && q < n_queries(); ++q)
            if (levels(q).size() > 2 && method(levels(q)) == Method::kAssign) longest = std::max(longest, rows(q));
        return longest;
    }

protected:
    double evaluate_query(const Crew&, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& own = static_cast<Scratch&>(scratch);
        const std::int64_t n = rows(q), first = query_ptr()[q];
        const double* share = share_.data() + first;
        const double* ideal = ideal_weight_.data() + first;
        // The weights of a ranking have the same sum as those of the ideal one: a shift changes nothing.
        const double centre = std::accumulate(scores, scores + n, 0.0) / static_cast<double>(n);
        own.z.resize(static_cast<std::size_t>(n));
        own.rank.resize(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) own.z[static_cast<std::size_t>(i)] = scores[i] - centre;
        rank(q, share, own);
        // Row by row against the ideal, so that ranks that count the same cost exactly 0.
        double value = 0.0;
        for (std::int64_t k = 0; k < n; ++k) {
            const std::int64_t i = order_[static_cast<std::size_t>(first + k)];
            const auto at = static_cast<std::size_t>(i), r = static_cast<std::size_t>(own.rank[at]);
            const double slope = weight_[r] - ideal[i];
            value += own.z[at] * slope + share[i] * (discount_[static_cast<std::size_t>(k)] - discount_[r]);
            gradient[i] = factor * slope;
        }
        return value;
    }

private:
    // 9 bytes each.
    static constexpr std::int64_t kMergeCells = std::int64_t{1} << 22;

    struct Scratch : QueryScratch {
        std::vector<double> z;
        std::vector<std::int64_t> rank, order, merged;
        std::vector<double> sorted, level_share;
        RankMerge lists;
        RankAssignment assignment;
    };

    void rank(std::int64_t q, const double* share, Scratch& own) const {
        const std::int64_t n = rows(q);
        if (same_) {
            // Gain and score multiply the same function of the rank: the assignment is a sort.
            own.order.resize(static_cast<std::size_t>(n));
            std::iota(own.order.begin(), own.order.end(), std::int64_t{0});
            std::stable_sort(own.order.begin(), own.order.end(), [&](std::int64_t i, std::int64_t j) {
                return own.z[static_cast<std::size_t>(i)] - share[i] > own.z[static_cast<std::size_t>(j)] - share[j];
            });
            for (std::int64_t r = 0; r < n; ++r)
                own.rank[static_cast<std::size_t>(own.order[static_cast<std::size_t>(r)])] = r;
            return;
        }
        if (method(levels(q)) == Method::kMerge)
            merge(q, share, own);
        else
            own.assignment.solve(n, share, own.z.data(), discount_.data(), weight_.data(), own.rank.data());
    }

    // Sorts each grade by score and merges the lists.
    void merge(std::int64_t q, const double* share, Scratch& own) const {
        const std::vector<std::int64_t>& ptr = levels(q);
        const std::int32_t* order = order_.data() + query_ptr()[q];
        const std::size_t n = static_cast<std::size_t>(rows(q));
        own.order.assign(order, order + n);
        own.sorted.resize(n);
        own.merged.resize(n);
        own.level_share.clear();
        for (std::size_t k = 0; k + 1 < ptr.size(); ++k) {
            own.level_share.push_back(share[order[ptr[k]]]);
            std::stable_sort(own.order.begin() + ptr[k], own.order.begin() + ptr[k + 1],
                             [&](std::int64_t i, std::int64_t j) {
                                 return own.z[static_cast<std::size_t>(i)] > own.z[static_cast<std::size_t>(j)];
                             });
        }
        for (std::size_t k = 0; k < n; ++k) own.sorted[k] = own.z[static_cast<std::size_t>(own.order[k])];
        own.lists.solve(ptr, own.level_share.data(), own.sorted.data(), discount_.data(), weight_.data(),
                        own.merged.data());
        for (std::size_t k = 0; k < n; ++k) own.rank[static_cast<std::size_t>(own.order[k])] = own.merged[k];
    }

    const std::vector<std::int64_t>& levels(std::int64_t q) const { return levels_[static_cast<std::size_t>(q)]; }

    // Gains over the ideal sum, and the mean weight of each label's ideal ranks.
    void prepare(std::int64_t q, const double* gain) {
        const std::int64_t n = rows(q), first = query_ptr()[q];
        std::vector<std::int64_t> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::int64_t i, std::int64_t j) { return gain[i] > gain[j]; });
        double ideal = 0.0;
        for (std::size_t r = 0; r < order.size(); ++r) ideal += gain[order[r]] * discount_[r];
        std::vector<std::int64_t>& ends = levels_[static_cast<std::size_t>(q)];
        ends.assign(1, 0);
        for (std::size_t r = 0; r < order.size(); ++r)
            order_[static_cast<std::size_t>(first) + r] = static_cast<std::int32_t>(order[r]);
        for (std::size_t r = 0; r < order.size();) {
            std::size_t stop = r;
            double sum = 0.0;
            for (; stop < order.size() && gain[order[stop]] == gain[order[r]]; ++stop) sum += weight_[stop];
            const double mean = sum / static_cast<double>(stop - r);
            ends.push_back(static_cast<std::int64_t>(stop));
            for (; r < stop; ++r) {
                ideal_weight_[static_cast<std::size_t>(first + order[r])] = mean;
                share_[static_cast<std::size_t>(first + order[r])] = ideal > 0.0 ? gain[order[r]] / ideal : 0.0;
            }
        }
    }

    std::vector<double> discount_, weight_;
    std::vector<double> share_, ideal_weight_;
    std::vector<std::int32_t> order_;                // rows of each query by descending gain
    std::vector<std::vector<std::int64_t>> levels_;  // where its grades begin and end
    bool same_;
};

}  // namespace marginrank
