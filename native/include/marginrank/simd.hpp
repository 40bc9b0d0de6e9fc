// Four or more lanes at once through the vector extension of GCC and Clang, which also lowers them to
// narrower registers where the machine has no wide ones. Intrinsics would tie the code to one machine,
// and the automatic vectoriser was measured to miss most of these loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

namespace marginrank {

typedef double Real4 __attribute__((vector_size(32)));
typedef long long Mask4 __attribute__((vector_size(32)));

inline Real4 load4(const double* from) {
    Real4 v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline Real4 load4(const float* from) {
    return Real4{static_cast<double>(from[0]), static_cast<double>(from[1]), static_cast<double>(from[2]),
                 static_cast<double>(from[3])};
}
inline void store4(double* to, Real4 v) { std::memcpy(to, &v, sizeof v); }
inline Mask4 load4(const std::int64_t* from) {
    Mask4 v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline void store4(std::int64_t* to, Mask4 v) { std::memcpy(to, &v, sizeof v); }
inline Real4 all4(double x) { return Real4{x, x, x, x}; }
// v where the mask holds, 0 elsewhere.
inline Real4 where4(Mask4 mask, Real4 v) { return reinterpret_cast<Real4>(reinterpret_cast<Mask4>(v) & mask); }
// a where the condition holds, b elsewhere: the same for a number and for lanes, so that kernels can be written once.
inline double choose(bool condition, double a, double b) { return condition ? a : b; }
inline Real4 choose(Mask4 mask, Real4 a, Real4 b) {
    return reinterpret_cast<Real4>((reinterpret_cast<Mask4>(a) & mask) | (reinterpret_cast<Mask4>(b) & ~mask));
}
inline Real4 choose(Mask4 mask, Real4 a, double b) { return choose(mask, a, all4(b)); }
inline double sum4(Real4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }
inline std::int64_t sum4(Mask4 v) { return (v[0] + v[2]) + (v[1] + v[3]); }

// Memory that starts at a cache line, so that nodes of a tree do not straddle one more than they must.
template <class T>
struct CacheAligned {
    using value_type = T;
    CacheAligned() = default;
    template <class U>
    CacheAligned(const CacheAligned<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
    template <class U>
    bool operator==(const CacheAligned<U>&) const { return true; }
    template <class U>
    bool operator!=(const CacheAligned<U>&) const { return false; }
};
template <class T>
using AlignedVector = std::vector<T, CacheAligned<T>>;

// node[c] += after[c] for the 16 entries of a node.
template <class T>
inline void add16(T* node, const T* after) {
    typedef T Part __attribute__((vector_size(32)));
    constexpr int kPart = 32 / static_cast<int>(sizeof(T));
    for (int c = 0; c < 16; c += kPart) {
        Part a, b;
        std::memcpy(&a, node + c, sizeof a);
        std::memcpy(&b, after + c, sizeof b);
        a += b;
        std::memcpy(node + c, &a, sizeof a);
    }
}

}  // namespace marginrank
