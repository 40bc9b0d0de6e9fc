// The whole test framework: CHECK(what must hold) reports and counts, main returns failures() != 0.
#pragma once

#include <cstdio>
#include <cstdlib>

inline int& marginrank_failures() {
    static int failures = 0;
    return failures;
}

// For mutants, of which one failure tells all.
inline void marginrank_stop_at_first() {
#ifdef MARGINRANK_STOP_AT_FIRST
    std::_Exit(1);
#endif
}

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            ++marginrank_failures();                                                  \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            marginrank_stop_at_first();                                               \
        }                                                                             \
    } while (false)
