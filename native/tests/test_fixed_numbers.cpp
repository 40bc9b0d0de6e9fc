// Real numbers as integers in a common unit: how near they are, and what does not fit.
#include "marginrank/fixed_numbers.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;
using marginrank::FixedNumbers;

FixedNumbers fixed(const std::vector<double>& x, int threads = 1) {
    FixedNumbers numbers;
    numbers.assign(Crew(threads), static_cast<std::int64_t>(x.size()),
                   [&](std::int64_t k) { return x[static_cast<std::size_t>(k)]; });
    return numbers;
}

// Exponents from everyday to the ends of what doubles can hold.
std::vector<double> spread_out(std::size_t n, int lowest, int highest, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<double> x(n);
    for (double& v : x) {
        const int exponent = lowest + static_cast<int>(random() % static_cast<std::uint64_t>(highest - lowest + 1));
        v = std::ldexp(std::uniform_real_distribution<double>(-1.0, 1.0)(random), exponent);
    }
    return x;
}

void every_number_is_right_to_a_share_of_the_whole() {
    for (std::size_t n : {1u, 7u, 1000u, 70001u})
        for (int exponent : {-900, -500, -3, 0, 40, 500, 900}) {
            const std::vector<double> x = spread_out(n, exponent - 30, exponent, n);
            const FixedNumbers numbers = fixed(x);
            long double size = 0.0L;
            for (double v : x) size += std::fabs(static_cast<long double>(v));
            std::int64_t total = 0;
            bool near = true;
            for (std::size_t k = 0; k < n; ++k) {
                const long double off = std::fabs(static_cast<long double>(numbers.real(numbers.data()[k])) - x[k]);
                near = near && off <= size * 0x1p-61L + std::fabs(static_cast<long double>(x[k])) * 0x1p-53L;
                total += std::abs(numbers.data()[k]);
            }
            CHECK(near);
            CHECK(total >= 0 && total <= (std::int64_t{1} << 62));
        }
}

// Below what doubles resolve relative to such a size, numbers are cut off and never overflow.
void the_smallest_numbers_are_cut_off() {
    const std::vector<double> x = {3e-300, -5e-324, 1e-310};
    const FixedNumbers numbers = fixed(x);
    for (std::size_t k = 0; k < x.size(); ++k)
        CHECK(std::fabs(numbers.real(numbers.data()[k]) - x[k]) <= std::ldexp(1.0, -1022));
}

void multiples_of_one_unit_are_exact() {
    std::vector<double> x(5000);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.125 * (static_cast<double>(k * k % 911) - 455.0);
    const FixedNumbers numbers = fixed(x);
    std::int64_t sum = 0;
    double exact = 0.0;
    for (std::size_t k = 0; k < x.size(); ++k) {
        sum += numbers.data()[k];
        exact += x[k];
        CHECK(numbers.real(sum) == exact);
    }
}

void nothing_but_zeros_is_zero() {
    const FixedNumbers numbers = fixed(std::vector<double>(10, 0.0));
    CHECK(numbers.real(numbers.data()[3]) == 0.0);
}

void one_number_that_is_none_makes_all_sums_nan() {
    for (double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308}) {
        std::vector<double> x(100, 1e308);  // which together are infinite, too
        x[7] = wrong;
        const FixedNumbers numbers = fixed(x);
        CHECK(std::isnan(numbers.real(numbers.data()[3])));
    }
}

void the_bits_do_not_depend_on_the_threads() {
    const std::vector<double> x = spread_out(200003, -20, 3, 5);
    const FixedNumbers one = fixed(x, 1), four = fixed(x, 4);
    CHECK(one.real(1) == four.real(1));
    CHECK(std::equal(one.data(), one.data() + x.size(), four.data()));
}

}  // namespace

int main() {
    every_number_is_right_to_a_share_of_the_whole();
    the_smallest_numbers_are_cut_off();
    multiples_of_one_unit_are_exact();
    nothing_but_zeros_is_zero();
    one_number_that_is_none_makes_all_sums_nan();
    the_bits_do_not_depend_on_the_threads();
    return marginrank_failures() != 0;
}
