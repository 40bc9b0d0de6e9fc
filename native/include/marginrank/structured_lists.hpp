// Losses of good and bad documents under the averaged differences phi_po.
//
// Exchanging two good or two bad documents changes neither Delta nor the number of pairs in wrong order, so
// the best ranking has both lists by descending score, and it is given by the numbers J_t of bad documents
// above good document t, which do not decrease in t. With P good, N bad and c = 2 / (P N),
//   s.(phi(y) - phi(y*)) = c sum_t sum_{j < J_t} (b_j - g_t).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "marginrank/score_sort.hpp"
#include "marginrank/structured_loss.hpp"

namespace marginrank {

// Which rows of each query are good; built once.
class GoodRows {
public:
    // Rows with a label of at least relevance are good. query_ptr must outlive this.
    GoodRows(const double* y, double relevance, const std::int64_t* query_ptr, std::int64_t n_queries)
        : query_ptr_(query_ptr), rows_(static_cast<std::size_t>(query_ptr[n_queries])) {
        for (std::int64_t q = 0; q < n_queries; ++q) {
            const std::int64_t first = query_ptr[q], n = query_ptr[q + 1] - first;
            std::int32_t* out = rows_.data() + first;
            for (std::int64_t i = 0; i < n; ++i)
                if (y[first + i] >= relevance) *out++ = static_cast<std::int32_t>(i);
            n_good_.push_back(out - (rows_.data() + first));
            for (std::int64_t i = 0; i < n; ++i)
                if (!(y[first + i] >= relevance)) *out++ = static_cast<std::int32_t>(i);
        }
    }

    const std::int64_t* query_ptr() const { return query_ptr_; }
    std::int64_t n_good(std::int64_t q) const { return n_good_[static_cast<std::size_t>(q)]; }
    std::int64_t n_bad(std::int64_t q) const { return query_ptr_[q + 1] - query_ptr_[q] - n_good(q); }
    // Rows of query q, counted from its first: the good ones, then the bad ones.
    const std::int32_t* rows(std::int64_t q) const { return rows_.data() + query_ptr_[q]; }

private:
    const std::int64_t* query_ptr_;
    std::vector<std::int32_t> rows_;
    std::vector<std::int64_t> n_good_;
};

// Scores by descending value with the rows that have them; equal scores in the order of their rows.
struct ScoreList {
    std::vector<double> score;
    std::vector<std::int32_t> row;

    std::int64_t size() const { return static_cast<std::int64_t>(score.size()); }
    double operator[](std::int64_t k) const { return score[static_cast<std::size_t>(k)]; }
};

struct ListScratch : QueryScratch {
    ScoreList good, bad;
    std::vector<std::int64_t> above;  // J_t: bad documents above good t
    std::vector<std::int64_t> slot;   // the first good document below bad j
    std::vector<std::int64_t> other_slot;
    std::vector<std::int64_t> higher;  // bad documents with a higher score than good t
    std::vector<double> bad_sum, good_sum, free_sum;
    std::vector<double> value;  // a row of the dynamic programme
    std::vector<bool> record;   // where its rows reach a new maximum

    void sort(const Crew& crew, const GoodRows& labels, std::int64_t q, const double* scores) {
        const std::int32_t* rows = labels.rows(q);
        sort_list(crew, scores, rows, labels.n_good(q), good);
        sort_list(crew, scores, rows + labels.n_good(q), labels.n_bad(q), bad);
    }

private:
    void sort_list(const Crew& crew, const double* scores, const std::int32_t* rows, std::int64_t n,
                   ScoreList& list) {
        const auto size = static_cast<std::size_t>(n);
        negated_.resize(size);
        order_.resize(size);
        list.score.resize(size);
        list.row.resize(size);
        for (std::size_t k = 0; k < size; ++k) negated_[k] = -scores[rows[k]];
        sort_scores(crew, negated_.data(), n, list.score.data(), order_.data(), sort_);
        for (std::size_t k = 0; k < size; ++k) {
            list.score[k] = -list.score[k];
            list.row[k] = rows[order_[k]];
        }
    }

    SortScratch sort_;
    std::vector<double> negated_;
    std::vector<std::int32_t> order_;
};

// Bad documents with a higher score than each good one; without a Delta they alone would go above it.
inline void count_higher(ListScratch& lists) {
    lists.higher.resize(static_cast<std::size_t>(lists.good.size()));
    std::int64_t j = 0;
    for (std::int64_t t = 0; t < lists.good.size(); ++t) {
        while (j < lists.bad.size() && lists.bad[j] > lists.good[t]) ++j;
        lists.higher[static_cast<std::size_t>(t)] = j;
    }
}

// bad_sum[j] is the sum of the j best bad scores, good_sum[t] that of the good scores from t on, all relative
// to the worst good document: it takes part whenever anything does, so a shift of all scores costs no digits,
// and neither do outliers that stand where they belong.
inline void sum_scores(ListScratch& lists) {
    const std::size_t n_good = lists.good.score.size(), n_bad = lists.bad.score.size();
    const double centre = lists.good.score[n_good - 1];
    lists.bad_sum.resize(n_bad + 1);
    lists.good_sum.resize(n_good + 1);
    lists.bad_sum[0] = lists.good_sum[n_good] = 0.0;
    for (std::size_t j = 0; j < n_bad; ++j)
        lists.bad_sum[j + 1] = lists.bad_sum[j] + (lists.bad.score[j] - centre);
    for (std::size_t t = n_good; t-- > 0;)
        lists.good_sum[t] = lists.good_sum[t + 1] + (lists.good.score[t] - centre);
}

// After count_higher and sum_scores: what the good documents from `first` on are worth together, c aside, when
// each has those bad documents above it that score higher, but at least `least` of them.
inline double worth_from(const ListScratch& lists, std::int64_t first, std::int64_t switch_at, std::int64_t least) {
    // Up to switch_at, fewer than `least` score higher.
    const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(switch_at);
    const double bad = static_cast<double>(switch_at - first) * lists.bad_sum[static_cast<std::size_t>(least)];
    return lists.free_sum[to] + bad - static_cast<double>(least) * (lists.good_sum[from] - lists.good_sum[to]);
}

// Entry t is the sum over the good documents from t on of what each is worth, c aside, with those bad documents
// above it that score higher.
inline void sum_free(ListScratch& lists) {
    const std::int64_t n_good = lists.good.size();
    const double centre = lists.good[n_good - 1];
    lists.free_sum.resize(static_cast<std::size_t>(n_good) + 1);
    lists.free_sum[static_cast<std::size_t>(n_good)] = 0.0;
    for (std::int64_t t = n_good - 1; t >= 0; --t) {
        const auto at = static_cast<std::size_t>(t);
        const std::int64_t j = lists.higher[at];
        const double bad = lists.bad_sum[static_cast<std::size_t>(j)];
        lists.free_sum[at] = lists.free_sum[at + 1] + (bad - static_cast<double>(j) * (lists.good[t] - centre));
    }
}

class PartialOrderLoss : public StructuredLoss {
public:
    std::unique_ptr<QueryScratch> make_scratch() const override { return std::make_unique<ListScratch>(); }

protected:
    // Queries of scale other than 0 must have good and bad rows.
    PartialOrderLoss(GoodRows labels, std::vector<double> scale)
        : StructuredLoss(labels.query_ptr(), std::move(scale)), labels_(std::move(labels)) {}

    // Fills lists.above for the best ranking of the sorted lists and returns its Delta.
    virtual double choose(ListScratch& lists) const = 0;

    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& lists = static_cast<ListScratch&>(scratch);
        lists.sort(crew, labels_, q, scores);
        const std::int64_t n_good = lists.good.size(), n_bad = lists.bad.size();
        lists.above.resize(static_cast<std::size_t>(n_good));
        const double delta = choose(lists);
        const double c = 2.0 / (static_cast<double>(n_good) * static_cast<double>(n_bad));
        const double centre = lists.good[n_good - 1];
        double sum = 0.0;
        std::int64_t j = 0;
        for (std::int64_t t = 0; t < n_good; ++t) {
            const auto at = static_cast<std::size_t>(t);
            const std::int64_t above = lists.above[at];
            // Those not above the good documents before t are above the rest of them.
            const auto below = static_cast<double>(n_good - t);
            for (; j < above; ++j) {
                sum += below * (lists.bad[j] - centre);
                gradient[lists.bad.row[static_cast<std::size_t>(j)]] = factor * (c * below);
            }
            sum -= static_cast<double>(above) * (lists.good[t] - centre);
            gradient[lists.good.row[at]] = factor * (-c * static_cast<double>(above));
        }
        for (; j < n_bad; ++j) gradient[lists.bad.row[static_cast<std::size_t>(j)]] = 0.0;
        return delta + c * sum;
    }

private:
    GoodRows labels_;
};

}  // namespace marginrank
