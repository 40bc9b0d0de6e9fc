// Pair losses by their definition, and by a Fenwick tree for queries too long for that: slow, plain,
// in long double, and sharing nothing with the kernels but the predicate fl(high - low) < 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

using Vec = std::vector<double>;
using LongVec = std::vector<long double>;

struct PairSums {
    long double value = 0.0L;
    LongVec gradient, product, above, below;
    explicit PairSums(std::size_t n) : gradient(n), product(n), above(n), below(n) {}
};

// Sums (not means) over the comparable pairs of one query; w may be empty.
inline PairSums pairs_by_definition(const Vec& y, const Vec& s, const Vec& w, const Vec& u, bool squared) {
    PairSums sums(y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
        for (std::size_t j = 0; j < y.size(); ++j) {
            const double difference = s[j] - s[i];
            if (!(y[i] < y[j]) || !(difference < 1.0)) continue;
            const long double wi = w.empty() ? 1.0L : w[i], wj = w.empty() ? 1.0L : w[j];
            const long double slack = 1.0L - (static_cast<long double>(s[j]) - s[i]);
            const long double pull = wi * wj * (squared ? 2.0L * slack : 1.0L);
            const long double turn = 2.0L * wi * wj * (static_cast<long double>(u[i]) - u[j]);
            sums.value += wi * wj * (squared ? slack * slack : slack);
            sums.gradient[i] += pull;
            sums.gradient[j] -= pull;
            sums.product[i] += turn;
            sums.product[j] -= turn;
            sums.above[i] += wj;
            sums.below[j] += wi;
        }
    return sums;
}

class Fenwick {
public:
    explicit Fenwick(std::size_t n) : tree_(n + 1, 0.0L) {}
    void add(std::size_t key, long double x) {
        for (std::size_t k = key + 1; k < tree_.size(); k += k & (~k + 1)) tree_[k] += x;
    }
    long double below(std::size_t key) const {
        long double sum = 0.0L;
        for (std::size_t k = key; k > 0; k -= k & (~k + 1)) sum += tree_[k];
        return sum;
    }

private:
    LongVec tree_;
};

// The same in O(n log n): for each row the sums of 1, s and u over its active partners, above and below.
inline PairSums pairs_by_fenwick(const Vec& y, const Vec& s, const Vec& w, const Vec& u, bool squared) {
    const std::size_t n = y.size();
    Vec levels(y);
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    std::vector<std::size_t> level(n), order(n);
    for (std::size_t k = 0; k < n; ++k)
        level[k] = static_cast<std::size_t>(std::lower_bound(levels.begin(), levels.end(), y[k]) - levels.begin());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return s[a] < s[b]; });

    auto weight = [&](std::size_t k) { return w.empty() ? 1.0L : static_cast<long double>(w[k]); };
    auto amount = [&](std::size_t k, int what) {
        return weight(k) * (what == 0 ? 1.0L : static_cast<long double>(what == 1 ? s[k] : u[k]));
    };
    LongVec above[3], below[3];
    for (int what = 0; what < 3; ++what) {
        above[what].assign(n, 0.0L);
        below[what].assign(n, 0.0L);
        Fenwick up(levels.size()), down(levels.size());
        long double inserted = 0.0L;
        std::size_t next = 0;
        for (std::size_t i : order) {
            for (; next < n && s[order[next]] - s[i] < 1.0; ++next) {
                up.add(level[order[next]], amount(order[next], what));
                inserted += amount(order[next], what);
            }
            above[what][i] = inserted - up.below(level[i] + 1);
        }
        std::size_t left = n;
        for (std::size_t k = n; k-- > 0;) {
            const std::size_t j = order[k];
            for (; left > 0 && s[j] - s[order[left - 1]] < 1.0; --left) down.add(level[order[left - 1]], amount(order[left - 1], what));
            below[what][j] = down.below(level[j]);
        }
    }
    PairSums sums(n);
    for (std::size_t k = 0; k < n; ++k) {
        const long double c = above[0][k], d = below[0][k], p = s[k];
        const long double slack_above = c * (1.0L + p) - above[1][k], slack_below = d * (1.0L - p) + below[1][k];
        sums.above[k] = c;
        sums.below[k] = d;
        sums.gradient[k] = weight(k) * (squared ? 2.0L * (slack_above - slack_below) : c - d);
        sums.product[k] = 2.0L * weight(k) * ((c + d) * u[k] - above[2][k] - below[2][k]);
        sums.value += weight(k) * (squared ? slack_above + p * (slack_above - slack_below) : (c - d) * p + c);
    }
    return sums;
}
