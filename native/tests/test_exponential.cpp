// exp in place: the definition to 8 u, and the same bits for a number wherever it stands.
#include "marginrank/exponential.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::kernels::exponentials;

void values_are_those_of_the_definition() {
    std::mt19937 random(0);
    std::uniform_real_distribution<double> exponent(-30.0, 9.4);
    std::vector<double> x{-0.0, 0.0, -707.99};
    for (int k = 0; k < 10000; ++k) x.push_back(-std::min(std::exp2(exponent(random)), 707.99));
    std::vector<double> found = x;
    exponentials(found.data(), found.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
        const long double exact = std::exp(static_cast<long double>(x[k]));
        CHECK(std::fabs(static_cast<double>(found[k] - exact)) <= 8.0 * 0x1p-53 * static_cast<double>(exact));
    }
    CHECK(found[0] == 1.0 && found[1] == 1.0);
}

void a_number_has_the_same_bits_in_lanes_and_alone() {
    std::mt19937 random(1);
    std::exponential_distribution<double> size(0.05);
    std::vector<double> x(103);
    for (double& value : x) value = -size(random);
    std::vector<double> together = x;
    exponentials(together.data(), together.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
        double alone = x[k];
        exponentials(&alone, 1);
        CHECK(alone == together[k]);
    }
}

void what_is_too_small_is_zero_and_nan_stays() {
    const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
    std::vector<double> x{-709.0, nan, -infinite, -1e300, nan, -708.0};
    exponentials(x.data(), x.size());
    CHECK(x[0] == 0.0 && x[2] == 0.0 && x[3] == 0.0 && x[5] == 0.0);
    CHECK(std::isnan(x[1]) && std::isnan(x[4]));
}

}  // namespace

int main() {
    values_are_those_of_the_definition();
    a_number_has_the_same_bits_in_lanes_and_alone();
    what_is_too_small_is_zero_and_nan_stays();
    return marginrank_failures() != 0;
}
