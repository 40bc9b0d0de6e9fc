// Decimal numbers from text: correctly rounded, whatever the locale, and fast for those people write.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace marginrank {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

enum class Parsed { kNumber, kTooLarge, kNothing };

namespace decimal {

template <class Real>
struct Exact;  // integers up to largest and powers of ten up to 10^most are exact, so one division is too

template <>
struct Exact<double> {
    static constexpr std::uint64_t largest = std::uint64_t{1} << 53;
    static constexpr int most = 22;
    static constexpr double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
};

template <>
struct Exact<float> {
    static constexpr std::uint64_t largest = std::uint64_t{1} << 24;
    static constexpr int most = 10;
    static constexpr float power[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
};

// Whether a number that does not fit is too small rather than too large: where its first digit stands tells.
inline bool is_tiny(const char* p, const char* end) {
    std::int64_t place = 0, exponent = 0;  // the first digit other than 0 is worth 10^(place - 1)
    bool found = false, point = false;
    for (; p < end && (is_digit(*p) || *p == '.' || *p == '-'); ++p) {
        if (*p == '-') continue;
        if (*p == '.') {
            point = true;
        } else {
            found = found || *p != '0';
            if (found && !point) ++place;
            if (!found && point) --place;
        }
    }
    if (p < end) ++p;  // the e
    const bool negative = p < end && *p == '-';
    if (p < end && !is_digit(*p)) ++p;
    for (; p < end && is_digit(*p); ++p)
        if (exponent < 1000000000000) exponent = exponent * 10 + (*p - '0');
    return place + (negative ? -exponent : exponent) < 0;
}

// Everything the fast path leaves: many digits, exponents, inf and nan.
template <class Real>
Parsed parse_any(const char* begin, const char* end, Real& value, const char*& stop) {
    if (begin < end && *begin == '+') {
        ++begin;
        if (begin < end && *begin == '-') return Parsed::kNothing;
    }
    const auto [rest, error] = std::from_chars(begin, end, value);
    stop = rest;
    if (error == std::errc::invalid_argument) return Parsed::kNothing;
    if (error != std::errc::result_out_of_range) return Parsed::kNumber;
    if (!is_tiny(begin, rest)) return Parsed::kTooLarge;
    value = *begin == '-' ? -Real(0) : Real(0);
    return Parsed::kNumber;
}

}  // namespace decimal

// Parses a number at begin, with an optional sign; stop is where it ends. A number too small becomes 0.
template <class Real>
Parsed parse_decimal(const char* begin, const char* end, Real& value, const char*& stop) {
    using Exact = decimal::Exact<Real>;
    const char* p = begin;
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    std::uint64_t digits = 0;
    const char* first = p;
    while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
    std::int64_t n_digits = p - first, n_fraction = 0;
    if (p < end && *p == '.') {
        const char* fraction = ++p;
        while (p < end && is_digit(*p)) digits = digits * 10 + static_cast<std::uint64_t>(*p++ - '0');
        n_fraction = p - fraction;
        n_digits += n_fraction;
    }
    const bool exponent = p < end && (*p == 'e' || *p == 'E');
    // Up to 19 digits fit into 64 bits.
    if (n_digits == 0 || n_digits > 19 || digits > Exact::largest || n_fraction > Exact::most || exponent)
        return decimal::parse_any(begin, end, value, stop);
    stop = p;
    const Real magnitude = static_cast<Real>(digits) / Exact::power[n_fraction];
    value = negative ? -magnitude : magnitude;
    return Parsed::kNumber;
}

}  // namespace marginrank
