// Bytes of a fuzzer as numbers. Every string of bytes is an input; a short one goes on in a sequence that follows from
// it, so that a few bytes are enough for a long query.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

// What a fuzzer calls; each file of this folder defines it once.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Unlike CHECK of the tests it ends the process: that is how a fuzzer learns of a failure.
#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                             \
        }                                                                             \
    } while (false)

class Input {
public:
    Input(const std::uint8_t* data, std::size_t size) : next_(data), end_(data + size) {
        for (std::size_t k = 0; k < size; ++k) state_ = (state_ ^ data[k]) * 0x100000001b3u;  // FNV
    }

    std::uint8_t byte() {
        if (next_ < end_) return *next_++;
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint8_t>(state_ >> 56);
    }
    bool flag() { return (byte() & 1) != 0; }
    // From 0 to n - 1.
    std::size_t below(std::size_t n) { return (byte() | static_cast<std::size_t>(byte()) << 8) % n; }

    template <class Number>
    Number raw() {
        std::uint8_t bytes[sizeof(Number)];
        for (std::uint8_t& b : bytes) b = byte();
        Number number;
        std::memcpy(&number, bytes, sizeof number);
        return number;
    }

    // A finite number of one of several kinds: a lattice, on which differences are exactly 1; the same moved far away;
    // powers of two; anything finite up to a limit.
    double number(int kind, double limit) {
        double x = 0.0;
        switch (kind) {
            case 0: x = 0.5 * static_cast<double>(byte() % 16); break;
            case 1: x = 1e6 + 0.25 * static_cast<double>(byte() % 16); break;
            case 2: x = std::ldexp(flag() ? 1.0 : -1.0, static_cast<int>(byte() % 64) - 32); break;
            default: x = raw<double>(); break;
        }
        return std::isfinite(x) && std::fabs(x) <= limit ? x : 0.0;
    }
    std::vector<double> numbers(std::size_t n, double limit) {
        const int kind = byte() % 4;
        std::vector<double> x(n);
        for (double& v : x) v = number(kind, limit);
        return x;
    }
    // Labels: whole numbers below n_levels.
    std::vector<double> levels(std::size_t n, std::size_t n_levels) {
        std::vector<double> y(n);
        for (double& v : y) v = static_cast<double>(byte() % n_levels);
        return y;
    }

private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
    std::uint64_t state_ = 0xcbf29ce484222325u;
};

inline bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

inline bool all_finite(const std::vector<double>& x) {
    for (double v : x)
        if (!std::isfinite(v)) return false;
    return true;
}
