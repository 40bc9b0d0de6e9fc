// Prefix sets against plain arrays, around the sizes where a level is added.
#include "marginrank/prefix_sets.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::FewKeysSet;
using marginrank::IntegerSums;
using marginrank::UniqueKeySet;
using Random = std::mt19937_64;

const std::int64_t kSizes[] = {0,    1,    2,     15,    16,    17,     63,     64,     65,    255,
                               256,  257,  1023,  1024,  1025,  4095,   4096,   4097,   16383, 16384,
                               16385, 65536, 65537, 262143, 262144, 262145, 300001};

std::vector<std::int32_t> shuffled(Random& random, std::int64_t size) {
    std::vector<std::int32_t> keys(static_cast<std::size_t>(size));
    std::iota(keys.begin(), keys.end(), 0);
    std::shuffle(keys.begin(), keys.end(), random);
    return keys;
}

// Whether the set answers every bound from 0 to size as the plain array does.
template <class Answer>
bool answers_every_bound(const std::vector<double>& at_key, Answer&& answer) {
    double below = 0.0;
    for (std::size_t bound = 0; bound < at_key.size(); ++bound) {
        if (static_cast<double>(answer(static_cast<std::int32_t>(bound))) != below) return false;
        below += at_key[bound];
    }
    return static_cast<double>(answer(static_cast<std::int32_t>(at_key.size()))) == below;
}

void unique_keys_inserted_or_built_count_alike() {
    Random random(1);
    UniqueKeySet set;  // one object for all sizes, so reset must clear what was there
    for (std::int64_t size : kSizes)
        for (std::int64_t built : {std::int64_t{0}, size / 3, size}) {
            const auto keys = shuffled(random, size);
            set.reset(size);
            if (built > 0) set.build(built, [&](std::int64_t k) { return keys[static_cast<std::size_t>(k)]; });
            std::vector<double> there(static_cast<std::size_t>(size), 0.0);
            for (std::int64_t k = 0; k < built; ++k) there[static_cast<std::size_t>(keys[static_cast<std::size_t>(k)])] = 1.0;
            auto answer = [&](std::int32_t bound) { return set.count_below(bound); };
            CHECK(answers_every_bound(there, answer));
            for (std::int64_t k = built; k < std::max(built, 2 * size / 3); ++k) {
                set.insert(keys[static_cast<std::size_t>(k)]);
                there[static_cast<std::size_t>(keys[static_cast<std::size_t>(k)])] = 1.0;
            }
            CHECK(answers_every_bound(there, answer));
        }
}

void a_full_set_fits_its_narrow_counters() {
    for (std::int64_t size : {1024, 16384, 262144, 300001}) {
        UniqueKeySet set;
        set.reset(size);
        for (std::int32_t key = 0; key < size; ++key) set.insert(key);
        const std::vector<double> there(static_cast<std::size_t>(size), 1.0);
        CHECK(answers_every_bound(there, [&](std::int32_t bound) { return set.count_below(bound); }));
    }
}

void a_count_is_right_after_every_insertion() {
    Random random(2);
    for (std::int64_t size : {1, 16, 64, 65, 100, 1030}) {
        UniqueKeySet set;
        set.reset(size);
        std::vector<double> there(static_cast<std::size_t>(size), 0.0);
        for (std::int32_t key : shuffled(random, size)) {
            set.insert(key);
            there[static_cast<std::size_t>(key)] = 1.0;
            CHECK(answers_every_bound(there, [&](std::int32_t bound) { return set.count_below(bound); }));
        }
    }
}

void few_keys_count_repetitions() {
    Random random(3);
    FewKeysSet set;
    for (std::int64_t size = 1; size <= 15; ++size) {
        std::vector<std::int32_t> keys(500);
        for (auto& key : keys) key = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(size));
        set.reset(size);
        set.build(200, [&](std::int64_t k) { return keys[static_cast<std::size_t>(k)]; });
        std::vector<double> times(static_cast<std::size_t>(size), 0.0);
        for (std::size_t k = 0; k < 200; ++k) times[static_cast<std::size_t>(keys[k])] += 1.0;
        auto answer = [&](std::int32_t bound) { return set.count_below(bound); };
        CHECK(answers_every_bound(times, answer));
        for (std::size_t k = 200; k < 500; ++k) {
            set.insert(keys[k]);
            times[static_cast<std::size_t>(keys[k])] += 1.0;
        }
        CHECK(answers_every_bound(times, answer));
    }
}

// Sizes on both sides of every further level: 16, 8 * 16, 8 * 8 * 16 keys and so on.
void sums_inserted_or_built_are_alike() {
    Random random(4);
    IntegerSums set;
    for (std::int64_t size : {1, 2, 15, 16, 17, 127, 128, 129, 1000, 1023, 1024, 8191, 8192, 8193, 70000, 300001}) {
        const std::size_t n = static_cast<std::size_t>(std::min<std::int64_t>(2 * size, 50000));
        std::vector<std::int32_t> keys(n);
        std::vector<std::int64_t> weight(n);
        for (std::size_t k = 0; k < n; ++k) {
            keys[k] = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(size));
            weight[k] = static_cast<std::int64_t>(random() % 2001) - 1000;
        }
        for (std::size_t built : {std::size_t{0}, n / 2}) {
            std::vector<double> sums(static_cast<std::size_t>(size), 0.0);
            std::int64_t total = 0;
            for (std::size_t k = 0; k < built; ++k) {
                sums[static_cast<std::size_t>(keys[k])] += static_cast<double>(weight[k]);
                total += weight[k];
            }
            set.reset(size);
            auto key_at = [&](std::int64_t k) { return keys[static_cast<std::size_t>(k)]; };
            if (built > 0) CHECK(set.build(static_cast<std::int64_t>(built), key_at, weight.data()) == total);
            auto answer = [&](std::int32_t bound) { return set.sum_below(bound); };
            CHECK(answers_every_bound(sums, answer));
            for (std::size_t k = built; k < n; ++k) {
                set.expect(keys[k]);
                set.insert(keys[k], weight[k]);
                sums[static_cast<std::size_t>(keys[k])] += static_cast<double>(weight[k]);
            }
            CHECK(answers_every_bound(sums, answer));
        }
    }
}

// Entries have 62 bits and a sign.
void large_sums_do_not_overflow() {
    IntegerSums set;
    set.reset(3000);
    const std::int64_t large = (std::int64_t{1} << 62) / 3000;
    for (std::int32_t key = 0; key < 3000; ++key) set.insert(key, key % 2 == 0 ? large : -large);
    CHECK(set.sum_below(2999) == large);
    set.reset(3000);
    for (std::int32_t key = 0; key < 3000; ++key) set.insert(key, large);
    CHECK(set.sum_below(3000) == 3000 * large);
}

}  // namespace

int main() {
    unique_keys_inserted_or_built_count_alike();
    a_full_set_fits_its_narrow_counters();
    a_count_is_right_after_every_insertion();
    few_keys_count_repetitions();
    sums_inserted_or_built_are_alike();
    large_sums_do_not_overflow();
    return marginrank_failures() != 0;
}
