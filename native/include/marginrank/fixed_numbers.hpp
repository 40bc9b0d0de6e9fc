// Real numbers as integers in a common unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "marginrank/parallel.hpp"

namespace marginrank {

// Real numbers in units of a power of two so small that their sum fits 62 bits. Sums of integers do not round, so
// they may be cut and taken apart at will, and have the same bits for any number of threads. Each number is right to
// 2^-61 of the sum of all absolute values, if that is not below 1e-288: no sum of doubles in any order promises as much.
class FixedNumbers {
public:
    // The numbers value(k) for k < n; all NaN if one of them is infinite or NaN.
    template <class Value>
    void assign(const Crew& crew, std::int64_t n, Value&& value) {
        const std::int64_t n_blocks = n / 32768 + 1;
        if (static_cast<std::int64_t>(number_.size()) < n) number_.resize(static_cast<std::size_t>(n));
        std::vector<double> sizes(static_cast<std::size_t>(n_blocks));
        std::int64_t* number = number_.data();
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t begin = block_bound(n, n_blocks, b), end = block_bound(n, n_blocks, b + 1);
            // Kept as they are until their size is known: to look them up again may cost a cache miss each.
            for (std::int64_t k = begin; k < end; ++k) keep(number + k, value(k));
            sizes[static_cast<std::size_t>(b)] = absolute_sum(number + begin, end - begin);
        });
        const double size = tree_sum(sizes.data(), n_blocks);
        const bool finite = std::isfinite(size);
        // Beyond 2^1022 the factor or the unit would not be a normal number.
        const int bits = finite && size > 0.0 ? std::min(61 - std::ilogb(size), 1022) : 0;
        const double factor = std::ldexp(1.0, bits);
        unit_ = finite ? std::ldexp(1.0, -bits) : std::numeric_limits<double>::quiet_NaN();
        crew.run(n_blocks, [&](std::int64_t b, int) {
            const std::int64_t end = block_bound(n, n_blocks, b + 1);
            for (std::int64_t k = block_bound(n, n_blocks, b); k < end; ++k)
                number[k] = finite ? static_cast<std::int64_t>(kept(number + k) * factor) : 0;
        });
    }

    const std::int64_t* data() const { return number_.data(); }
    double real(std::int64_t sum) const { return static_cast<double>(sum) * unit_; }

private:
    static void keep(std::int64_t* slot, double x) { std::memcpy(slot, &x, sizeof x); }
    static double kept(const std::int64_t* slot) {
        double x;
        std::memcpy(&x, slot, sizeof x);
        return x;
    }

    static double absolute_sum(const std::int64_t* slot, std::int64_t n) {
        double sum[4] = {0.0, 0.0, 0.0, 0.0};  // four additions at a time: each waits for the one before
        std::int64_t k = 0;
        for (; k + 4 <= n; k += 4)
            for (int l = 0; l < 4; ++l) sum[l] += std::fabs(kept(slot + k + l));
        for (; k < n; ++k) sum[0] += std::fabs(kept(slot + k));
        return (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }

    std::vector<std::int64_t> number_;
    double unit_ = 0.0;
};

}  // namespace marginrank
