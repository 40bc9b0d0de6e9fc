// Sums over pairs of levels, for metrics that have a threshold at each of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace marginrank {

// Sums over the rows seen so far of H(min of two levels), for a row of any level: O(log levels) each.
class LevelSums {
public:
    // height[l] = H(l), not decreasing.
    explicit LevelSums(std::vector<double> height)
        : height_(std::move(height)), count_(height_.size() + 1, 0), sum_(height_.size() + 1, 0.0) {}

    double height(std::size_t level) const { return height_[level]; }
    void add(std::size_t level) {
        ++n_;
        for (std::size_t at = level + 1; at < sum_.size(); at += at & (~at + 1)) {
            ++count_[at];
            sum_[at] += height_[level];
        }
    }
    double with(std::size_t level) const {
        std::int64_t count = 0;
        double sum = 0.0;
        for (std::size_t at = level + 1; at > 0; at &= at - 1) {
            count += count_[at];
            sum += sum_[at];
        }
        return sum + height_[level] * static_cast<double>(n_ - count);
    }

private:
    std::vector<double> height_;
    std::vector<std::int64_t> count_;
    std::vector<double> sum_;
    std::int64_t n_ = 0;
};

}  // namespace marginrank
