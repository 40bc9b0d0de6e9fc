// One query, ranked by its scores: what all metrics of that query share.
//
// The rows are sorted once. Everything else (labels by rank under each rule for ties, gains, the ideal
// order, counts of pairs) is made when the first metric asks for it and kept for the others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "marginrank/parallel.hpp"
#include "marginrank/score_sort.hpp"

namespace marginrank {

// Which of the rows with equal scores comes first. kThreshold is for average precision only: they all
// come at once, as on a precision-recall curve.
enum class Ties { kInput, kAverage, kPessimistic, kDocid, kThreshold };
enum class Gain { kExponential, kLinear };

class RankedQuery {
public:
    struct PairCounts {
        std::int64_t comparable = 0, right = 0, wrong = 0;  // pairs with different labels
        std::int64_t distinct = 0;                          // pairs with different scores
    };

    // docid may be null where no metric uses Ties::kDocid; higher ids come first. The arrays must outlive
    // the use of the ranking.
    void rank(const Crew& crew, const double* y, const double* scores, const std::int64_t* docid, std::int64_t n) {
        y_ = y;
        docid_ = docid;
        n_ = n;
        const auto size = static_cast<std::size_t>(n);
        negated_.resize(size);
        sorted_.resize(size);
        order_.resize(size);
        for (std::size_t k = 0; k < size; ++k) negated_[k] = -scores[k];
        sort_scores(crew, negated_.data(), n, sorted_.data(), order_.data(), scratch_);
        find_ties();
        for (auto& labels : labels_) labels.clear();
        for (auto& by_gain : gains_)
            for (auto& gains : by_gain) gains.clear();
        for (auto& gains : ideal_gains_) gains.clear();
        ideal_labels_.clear();
        has_pairs_ = false;
    }

    std::int64_t size() const { return n_; }
    const double* y() const { return y_; }

    // Rows with equal scores: group g has the ranks [group_begin(g), group_begin(g + 1)), counted from 0.
    std::int64_t n_groups() const { return static_cast<std::int64_t>(group_.size()) - 1; }
    std::int64_t group_begin(std::int64_t g) const { return group_[static_cast<std::size_t>(g)]; }

    // True where two rows with different labels have the same score.
    bool tied() {
        if (!has_ties()) return false;
        const std::vector<double>& y = labels(Ties::kInput);
        for (std::int64_t g = 0; g < n_groups(); ++g)
            for (std::int64_t k = group_begin(g) + 1; k < group_begin(g + 1); ++k)
                if (y[static_cast<std::size_t>(k)] != y[static_cast<std::size_t>(k) - 1]) return true;
        return false;
    }

    // Labels by rank. Those of kAverage and kThreshold are in input order: groups matter, not their order.
    const std::vector<double>& labels(Ties ties) {
        if (!has_ties() || ties == Ties::kAverage || ties == Ties::kThreshold) ties = Ties::kInput;
        std::vector<double>& labels = labels_[static_cast<std::size_t>(ties)];
        if (labels.empty()) {
            labels.reserve(order_.size());
            if (ties == Ties::kDocid) {
                for (const std::int32_t row : order_by_docid()) labels.push_back(y_[row]);
            } else {
                for (const std::int32_t row : order_) labels.push_back(y_[row]);
            }
            if (ties == Ties::kPessimistic) for_each_tie([&](auto begin, auto end) {
                std::sort(labels.begin() + begin, labels.begin() + end);
            });
        }
        return labels;
    }

    // Gains by rank; with kAverage the mean of each group of ties, which is what a rank can expect.
    const std::vector<double>& gains(Ties ties, Gain gain) {
        if (!has_ties()) ties = Ties::kInput;
        std::vector<double>& gains = gains_[static_cast<std::size_t>(ties)][static_cast<std::size_t>(gain)];
        if (gains.empty()) {
            fill_gains(labels(ties), gain, gains);
            if (ties == Ties::kAverage) for_each_tie([&](auto begin, auto end) {
                double sum = 0.0;
                for (auto k = begin; k < end; ++k) sum += gains[static_cast<std::size_t>(k)];
                std::fill(gains.begin() + begin, gains.begin() + end, sum / static_cast<double>(end - begin));
            });
        }
        return gains;
    }

    const std::vector<double>& ideal_labels() {
        if (ideal_labels_.empty()) {
            ideal_labels_.assign(y_, y_ + n_);
            std::sort(ideal_labels_.begin(), ideal_labels_.end(), std::greater<>());
        }
        return ideal_labels_;
    }

    const std::vector<double>& ideal_gains(Gain gain) {
        std::vector<double>& gains = ideal_gains_[static_cast<std::size_t>(gain)];
        if (gains.empty()) fill_gains(ideal_labels(), gain, gains);
        return gains;
    }

    const PairCounts& pairs() {
        if (!has_pairs_) count_pairs();
        has_pairs_ = true;
        return pairs_;
    }

private:
    bool has_ties() const { return static_cast<std::int64_t>(group_.size()) <= n_; }

    void find_ties() {
        group_.clear();
        for (std::int64_t k = 0; k < n_; ++k)
            if (k == 0 || sorted_[static_cast<std::size_t>(k)] != sorted_[static_cast<std::size_t>(k) - 1])
                group_.push_back(k);
        group_.push_back(n_);
    }

    template <class Body>
    void for_each_tie(Body&& body) const {
        for (std::size_t g = 0; g + 1 < group_.size(); ++g)
            if (group_[g + 1] - group_[g] > 1) body(group_[g], group_[g + 1]);
    }

    const std::vector<std::int32_t>& order_by_docid() {
        by_docid_ = order_;
        for_each_tie([&](auto begin, auto end) {
            std::sort(by_docid_.begin() + begin, by_docid_.begin() + end, [&](std::int32_t a, std::int32_t b) {
                return docid_[a] != docid_[b] ? docid_[a] > docid_[b] : a < b;
            });
        });
        return by_docid_;
    }

    static void fill_gains(const std::vector<double>& labels, Gain gain, std::vector<double>& gains) {
        gains.assign(labels.begin(), labels.end());
        if (gain == Gain::kLinear) return;
        // Labels are few and often whole: a table spares nearly all the powers.
        static constexpr std::array<double, 8> kPowers{0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0};
        for (double& g : gains) {
            const int whole = g >= 0.0 && g < 8.0 ? static_cast<int>(g) : -1;
            g = whole >= 0 && static_cast<double>(whole) == g ? kPowers[static_cast<std::size_t>(whole)]
                                                              : std::exp2(g) - 1.0;
        }
    }

    // Sweeps down the ranking with a Fenwick tree over the distinct labels: O(n log levels).
    void count_pairs() {
        const std::vector<double>& y = labels(Ties::kInput);
        levels_ = ideal_labels();
        levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
        const std::size_t n_levels = levels_.size();
        pairs_ = {};
        std::int64_t same_label = 0;
        tree_.assign(n_levels + 1, 0);
        level_of_.resize(y.size());
        count_of_level_.assign(n_levels, 0);
        for (std::size_t k = 0; k < y.size(); ++k) {
            const auto at = std::lower_bound(levels_.begin(), levels_.end(), y[k], std::greater<>());
            level_of_[k] = static_cast<std::int32_t>(at - levels_.begin());
            same_label += count_of_level_[static_cast<std::size_t>(level_of_[k])]++;
        }
        const std::int64_t all = n_ * (n_ - 1) / 2;
        pairs_.comparable = all - same_label;
        pairs_.distinct = all;
        for (std::int64_t g = 0; g < n_groups(); ++g) count_group(group_begin(g), group_begin(g + 1));
    }

    // Level 0 is the highest label. Rows seen before have higher scores.
    void count_group(std::int64_t begin, std::int64_t end) {
        pairs_.distinct -= (end - begin) * (end - begin - 1) / 2;
        for (std::int64_t k = begin; k < end; ++k) {
            const auto level = static_cast<std::size_t>(level_of_[static_cast<std::size_t>(k)]);
            const std::int64_t higher = prefix(level);
            pairs_.right += higher;
            pairs_.wrong += begin - prefix(level + 1);
        }
        for (std::int64_t k = begin; k < end; ++k)
            for (auto at = static_cast<std::size_t>(level_of_[static_cast<std::size_t>(k)]) + 1; at < tree_.size();
                 at += at & (~at + 1))
                ++tree_[at];
    }

    // Number of rows in the tree whose level is below this one.
    std::int64_t prefix(std::size_t level) const {
        std::int64_t sum = 0;
        for (; level > 0; level &= level - 1) sum += tree_[level];
        return sum;
    }

    const double* y_ = nullptr;
    const std::int64_t* docid_ = nullptr;
    std::int64_t n_ = 0;
    std::vector<double> negated_, sorted_, ideal_labels_, levels_;
    std::vector<std::int32_t> order_, by_docid_, level_of_;
    std::vector<std::int64_t> group_, tree_, count_of_level_;
    std::array<std::vector<double>, 5> labels_;
    std::array<std::array<std::vector<double>, 2>, 5> gains_;
    std::array<std::vector<double>, 2> ideal_gains_;
    SortScratch scratch_;
    PairCounts pairs_;
    bool has_pairs_ = false;
};

}  // namespace marginrank
