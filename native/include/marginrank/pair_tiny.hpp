// The hinges of queries of two or three rows: all of their differences at once, without an order, a branch or a copy.
// There may be millions of them, and what larger ones do to look at pairs in lanes takes longer than the pairs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "marginrank/pair_labels.hpp"

namespace marginrank {

namespace kernels {

// For the pairs (0, 1), (0, 2) and (1, 2) of rows: 1 where the later one has the higher label, -1 where the earlier one
// has, 0 where they are not compared. By the digits of a code from 0 to 26.
struct SignTable {
    double sign[27][4];
    constexpr SignTable() : sign() {
        for (int code = 0; code < 27; ++code) {
            sign[code][0] = code % 3 - 1;
            sign[code][1] = code / 3 % 3 - 1;
            sign[code][2] = code / 9 - 1;
        }
    }
};
inline constexpr SignTable kSigns{};

// What a pair adds: its pull at the earlier row, and its loss. A pair is active while its difference is below 1, the same
// predicate as in pair_brute.hpp; of two equal infinite scores it is none.
template <bool Squared>
struct TinyPair {
    double pull, loss;
    TinyPair(double sign, double earlier, double later) {
        const double difference = sign * (later - earlier), slack = difference < 1.0 ? 1.0 - difference : 0.0;
        pull = sign * (Squared ? slack : difference < 1.0 ? 1.0 : 0.0);
        loss = Squared ? pull * pull : sign * sign * slack;
    }
};

// Value of a query, and `factor` times its gradient; w are the weights of its rows.
template <bool Squared>
inline double evaluate_tiny(const double* sign, std::int64_t n, const double* s, const double* w, double factor,
                            double* gradient) {
    // The third of two rows is the second again, which no pair compares.
    const std::int64_t last = n - 1;
    const TinyPair<Squared> a(sign[0], s[0], s[1]), b(sign[1], s[0], s[last]), c(sign[2], s[1], s[last]);
    double nowhere;
    double* third = n > 2 ? gradient + 2 : &nowhere;
    if (w == nullptr) {
        gradient[0] = factor * (a.pull + b.pull);
        gradient[1] = factor * (c.pull - a.pull);
        *third = factor * (-b.pull - c.pull);
        return (a.loss + b.loss) + c.loss;
    }
    gradient[0] = factor * w[0] * (w[1] * a.pull + w[last] * b.pull);
    gradient[1] = factor * w[1] * (w[last] * c.pull - w[0] * a.pull);
    *third = factor * w[last] * (-w[0] * b.pull - w[1] * c.pull);
    return (w[0] * w[1] * a.loss + w[0] * w[last] * b.loss) + w[1] * w[last] * c.loss;
}

}  // namespace kernels

// Which rows of such queries are compared.
class TinyQueries {
public:
    static constexpr std::int64_t kRows = 3;

    explicit TinyQueries(const PairLabels& labels) : code_(static_cast<std::size_t>(labels.n_queries()), kNone) {
        for (std::int64_t q = 0; q < labels.n_queries(); ++q)
            if (labels.n_levels(q) > 1 && labels.rows(q) <= kRows) code_[static_cast<std::size_t>(q)] = code_of(labels, q);
    }

    bool has(std::int64_t q) const { return code_[static_cast<std::size_t>(q)] != kNone; }
    const double* signs(std::int64_t q) const { return kernels::kSigns.sign[code_[static_cast<std::size_t>(q)]]; }

private:
    static constexpr std::uint8_t kNone = 255;

    static std::uint8_t code_of(const PairLabels& labels, std::int64_t q) {
        std::int32_t level[kRows] = {};
        for (std::int32_t l = 0; l < labels.n_levels(q); ++l)
            for (std::int32_t k = labels.levels(q)[l]; k < labels.levels(q)[l + 1]; ++k) level[labels.order(q)[k]] = l;
        constexpr int kEarlier[] = {0, 0, 1}, kLater[] = {1, 2, 2};
        int code = 0;
        for (int pair = 2; pair >= 0; --pair) {
            const std::int32_t a = level[kEarlier[pair]], b = level[kLater[pair]];
            code = 3 * code + (kLater[pair] < labels.rows(q) ? 1 + (b > a) - (b < a) : 1);
        }
        return static_cast<std::uint8_t>(code);
    }

    std::vector<std::uint8_t> code_;
};

}  // namespace marginrank
