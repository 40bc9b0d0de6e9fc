// Losses of good and bad documents under the averaged differences phi_po.
//
// Exchanging two good or two bad documents changes neither Delta nor the number of pairs in wrong order, so
// the best ranking has both lists by descending score, and it is given by the numbers J_t of bad documents
// above good document t, which do not decrease in t. With P good, N bad and c = 2 / (P N),
//   s.(phi(y) - phi(y*)) = c sum_t sum_{j < J_t} (b_j - g_t).
// With more than two grades the loss is a sum over the thresholds between them, each with its own worst ranking.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "marginrank/score_sort.hpp"
#include "marginrank/structured_loss.hpp"

namespace marginrank {

// Which rows of each query are good: at one threshold, or at each of several; built once.
class GoodRows {
public:
    // The first n_good rows are good, and the loss with these counts `share` times.
    struct Split {
        std::int64_t n_good;
        double share;
    };

    // Rows with a label of at least relevance are good. query_ptr must outlive this.
    GoodRows(const double* y, double relevance, const std::int64_t* query_ptr, std::int64_t n_queries)
        : query_ptr_(query_ptr), rows_(static_cast<std::size_t>(query_ptr[n_queries])), split_ptr_{0} {
        for (std::int64_t q = 0; q < n_queries; ++q) {
            const std::int64_t first = query_ptr[q], n = query_ptr[q + 1] - first;
            std::int32_t* out = rows_.data() + first;
            for (std::int64_t i = 0; i < n; ++i)
                if (y[first + i] >= relevance) *out++ = static_cast<std::int32_t>(i);
            splits_.push_back({out - (rows_.data() + first), 1.0});
            split_ptr_.push_back(splits_.size());
            for (std::int64_t i = 0; i < n; ++i)
                if (!(y[first + i] >= relevance)) *out++ = static_cast<std::int32_t>(i);
        }
    }

    // rows has those of each query by descending grade, counted from its first. Where the share of an entry is
    // above 0, the rows before it are good at a threshold of that share. query_ptr must outlive this.
    GoodRows(const std::int32_t* rows, const double* share, const std::int64_t* query_ptr, std::int64_t n_queries)
        : query_ptr_(query_ptr), rows_(rows, rows + query_ptr[n_queries]), split_ptr_{0} {
        for (std::int64_t q = 0; q < n_queries; ++q) {
            for (std::int64_t i = query_ptr[q] + 1; i < query_ptr[q + 1]; ++i)
                if (share[i] > 0.0) splits_.push_back({i - query_ptr[q], share[i]});
            split_ptr_.push_back(splits_.size());
        }
    }

    const std::int64_t* query_ptr() const { return query_ptr_; }
    std::int64_t n_rows(std::int64_t q) const { return query_ptr_[q + 1] - query_ptr_[q]; }
    std::size_t n_splits(std::int64_t q) const {
        return split_ptr_[static_cast<std::size_t>(q) + 1] - split_ptr_[static_cast<std::size_t>(q)];
    }
    // The number of good rows ascends.
    const Split* splits(std::int64_t q) const { return splits_.data() + split_ptr_[static_cast<std::size_t>(q)]; }
    // Of a query that is split once.
    std::int64_t n_good(std::int64_t q) const { return splits(q)->n_good; }
    std::int64_t n_bad(std::int64_t q) const { return n_rows(q) - n_good(q); }
    // Rows of query q, counted from its first: the good ones, then the bad ones.
    const std::int32_t* rows(std::int64_t q) const { return rows_.data() + query_ptr_[q]; }

private:
    const std::int64_t* query_ptr_;
    std::vector<std::int32_t> rows_;
    std::vector<Split> splits_;
    std::vector<std::size_t> split_ptr_;
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
    ScoreList all;                    // of a query that is split more than once
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

    // One sort serves all splits of a query.
    void sort_all(const Crew& crew, const GoodRows& labels, std::int64_t q, const double* scores) {
        sort_list(crew, scores, labels.rows(q), labels.n_rows(q), all);
    }

    // After sort_all, the lists of one split. Written to both, of which one keeps it: no branch to guess.
    void split(std::int64_t n_good) {
        const std::size_t n = all.score.size(), n_first = static_cast<std::size_t>(n_good);
        for (ScoreList* list : {&good, &bad}) {
            list->score.resize(n + 1);
            list->row.resize(n + 1);
        }
        std::size_t g = 0, b = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const bool is_good = order_[k] < n_good;
            good.score[g] = bad.score[b] = all.score[k];
            good.row[g] = bad.row[b] = all.row[k];
            g += is_good;
            b += !is_good;
        }
        good.score.resize(n_first);
        good.row.resize(n_first);
        bad.score.resize(n - n_first);
        bad.row.resize(n - n_first);
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
    // Queries of scale other than 0 must have good and bad rows, at every split.
    PartialOrderLoss(GoodRows labels, std::vector<double> scale)
        : StructuredLoss(labels.query_ptr(), std::move(scale)), labels_(std::move(labels)) {}

    // Fills lists.above for the best ranking of the sorted lists and returns its Delta.
    virtual double choose(ListScratch& lists) const = 0;

    double evaluate_query(const Crew& crew, std::int64_t q, const double* scores, double factor, double* gradient,
                          QueryScratch& scratch) const override {
        auto& lists = static_cast<ListScratch&>(scratch);
        const GoodRows::Split* split = labels_.splits(q);
        if (labels_.n_splits(q) == 1) {
            lists.sort(crew, labels_, q, scores);
            const double times = factor * split->share;
            return split->share * worst(lists, [&](std::int32_t row, double slope) { gradient[row] = times * slope; });
        }
        lists.sort_all(crew, labels_, q, scores);
        std::fill(gradient, gradient + labels_.n_rows(q), 0.0);
        double value = 0.0;
        for (const GoodRows::Split* last = split + labels_.n_splits(q); split < last; ++split) {
            lists.split(split->n_good);
            const double times = factor * split->share;
            const double own = worst(lists, [&](std::int32_t row, double slope) { gradient[row] += times * slope; });
            value += split->share * std::max(own, 0.0);
        }
        return value;
    }

private:
    // The value of the sorted lists; calls put(row, slope) for each of their rows.
    template <class Put>
    double worst(ListScratch& lists, const Put& put) const {
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
                put(lists.bad.row[static_cast<std::size_t>(j)], c * below);
            }
            sum -= static_cast<double>(above) * (lists.good[t] - centre);
            put(lists.good.row[at], -c * static_cast<double>(above));
        }
        for (; j < n_bad; ++j) put(lists.bad.row[static_cast<std::size_t>(j)], 0.0);
        return delta + c * sum;
    }

    GoodRows labels_;
};

}  // namespace marginrank
