// The first entry that is not finite, wherever it stands.
#include "marginrank/finite.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;

template <class Real>
void finite_entries_pass() {
    for (std::int64_t n : {0, 1, 15, 16, 17, 65535, 65536, 65537, 200000}) {
        std::vector<Real> x(static_cast<std::size_t>(n), std::numeric_limits<Real>::max());
        for (std::size_t k = 0; k < x.size(); k += 3) x[k] = -std::numeric_limits<Real>::denorm_min();
        for (int threads : {1, 3}) CHECK(marginrank::first_nonfinite(Crew(threads), x.data(), n) == -1);
    }
}

template <class Real>
void the_first_of_several_is_found() {
    std::mt19937 random(1);
    const Real bad[] = {std::numeric_limits<Real>::infinity(), -std::numeric_limits<Real>::infinity(),
                        std::numeric_limits<Real>::quiet_NaN()};
    for (std::int64_t n : {1, 16, 33, 65536, 65537, 300000})
        for (int repeat = 0; repeat < 20; ++repeat) {
            std::vector<Real> x(static_cast<std::size_t>(n), Real(-1.5));
            std::int64_t first = n;
            for (int k = 0; k < 3; ++k) {
                const auto at = static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(n));
                x[static_cast<std::size_t>(at)] = bad[random() % 3];
                first = at < first ? at : first;
            }
            for (int threads : {1, 2, 4}) CHECK(marginrank::first_nonfinite(Crew(threads), x.data(), n) == first);
        }
}

}  // namespace

int main() {
    finite_entries_pass<float>();
    finite_entries_pass<double>();
    the_first_of_several_is_found<float>();
    the_first_of_several_is_found<double>();
    return marginrank_failures() != 0;
}
