// A Ctrl-C in the middle of an evaluation leaves the scratch arrays of the loss half filled, perhaps by another
// query: what runs after it must stay within bounds. The sanitizer is the judge.
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "marginrank/pair_loss.hpp"

namespace {

using marginrank::Crew;
using Vec = std::vector<double>;

constexpr std::int64_t kLong = 50000, kShort = marginrank::QueryGrain{}.long_query;
const double* watched = nullptr;

// Stops as soon as the long query, which comes first, has its result.
bool long_query_is_done() { return !std::isnan(*watched); }

// The short query stands last, and the long one leaves at its median a row number just beyond the short one.
void a_cancelled_evaluation_stays_in_bounds(int what, bool weighted) {
    const std::vector<std::int64_t> ptr{0, kLong, kLong + kShort};
    const Vec scale(2, 1.0), weight(static_cast<std::size_t>(ptr.back()), 1.0);
    Vec y(weight.size()), scores(y.size()), out(y.size(), NAN), other(y.size(), NAN);
    std::iota(y.begin(), y.end(), 0.0);
    scores = y;
    scores[kShort] = static_cast<double>(kShort / 2) - 0.5;
    const marginrank::PairLabels labels(Crew(1), y.data(), weighted ? weight.data() : nullptr, ptr.data(), 2);
    const marginrank::PairLoss loss(labels, scale.data(), true);
    watched = out.data();
    const Crew crew(1, long_query_is_done, Crew::Clock::duration::zero());  // asks after every block
    try {
        if (what == 1) loss.hessian_all(crew, scores.data(), y.data(), out.data());
        if (what == 2) loss.active_partners(crew, scores.data(), out.data(), other.data());
    } catch (...) {
        // Leaving by an exception is as good as returning early.
    }
    CHECK(crew.cancelled());
}

}  // namespace

int main() {
    a_cancelled_evaluation_stays_in_bounds(1, true);
    a_cancelled_evaluation_stays_in_bounds(2, false);
    return marginrank_failures() != 0;
}
