// exp of numbers that are not positive, with the same bits on every machine.
//
// The C library's exp rounds differently from one version to the next, and that of numpy from one processor to the
// next. This is our own, of nothing but additions, products and shifts, for a number and in lanes; a graph of such
// operators, as in an export, has its bits, too. It is right to 8 u of itself, u = 2^-53.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "marginrank/simd.hpp"

namespace marginrank {
namespace kernels {

// 2^-n from n + 1.5 * 2^52, whose last bits are those of n.
inline double power_of_half(double shifted) {
    std::uint64_t bits;
    std::memcpy(&bits, &shifted, sizeof bits);
    bits = (std::uint64_t{1023} << 52) - (bits << 52);
    std::memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}
inline Real4 power_of_half(Real4 shifted) {
    typedef unsigned long long Bits4 __attribute__((vector_size(32)));
    return reinterpret_cast<Real4>((1023ULL << 52) - (reinterpret_cast<Bits4>(shifted) << 52));
}

// c[0] z^N + ... + c[N - 1] z + c[N].
template <class Real, std::size_t Size>
inline Real polynomial(Real z, const double (&c)[Size]) {
    Real sum = z * c[0] + c[1];
    for (std::size_t k = 2; k < Size; ++k) sum = sum * z + c[k];
    return sum;
}

// exp(-t) for t >= 0; 0 from 708 on, where it is below 4e-308.
template <class Real>
inline Real exp_of_minus(Real t) {
    constexpr double kShift = 0x1.8p52, kLog2E = 0x1.71547652b82fep0;
    // Products of up to 2^20 with the first part are exact, and so is the difference that they are taken for.
    constexpr double kLn2 = 0x1.62e42feep-1, kLn2Rest = 0x1.a39ef35793c76p-33;
    const Real inside = choose(t < 708.0, t, 708.0);
    const Real shifted = inside * kLog2E + kShift, n = shifted - kShift;
    const Real z = (n * kLn2 - inside) + n * kLn2Rest;
    // |z| <= log(2) / 2: after z^13 / 13! the series has 5e-18 left.
    constexpr double kSeries[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                  1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
                                  1.0 / 6,          1.0 / 2,         1.0,            1.0};
    return choose(t < 708.0, polynomial(z, kSeries) * power_of_half(shifted), 0.0);
}

// Puts exp(x) in the place of x, for x <= 0; NaN stays.
inline void exponentials(double* x, std::size_t n) {
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
        const Real4 t = -load4(x + k);
        store4(x + k, choose(t == t, exp_of_minus(t), t));
    }
    for (; k < n; ++k) x[k] = x[k] == x[k] ? exp_of_minus(-x[k]) : x[k];
}

}  // namespace kernels
}  // namespace marginrank
