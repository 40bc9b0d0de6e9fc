// The whole test framework: CHECK(what must hold) reports and counts, main returns failures() != 0.
#pragma once

#include <cstdio>

inline int& marginrank_failures() {
    static int failures = 0;
    return failures;
}

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            ++marginrank_failures();                                                  \
            std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                             \
    } while (false)
