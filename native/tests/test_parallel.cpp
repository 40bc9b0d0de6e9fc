// The fork-join: every block once, failures and cancellation reach the caller, fixed bounds and sums.
#include "marginrank/parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::Crew;

void every_block_runs_exactly_once() {
    for (int threads : {-3, 0, 1, 2, 3, 4, 7})
        for (std::int64_t n_blocks : {0, 1, 2, 3, 5, 1000}) {
            const Crew crew(threads);
            std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n_blocks));
            std::atomic<bool> worker_in_range{true};
            crew.run(n_blocks, [&](std::int64_t b, int worker) {
                ++visits[static_cast<std::size_t>(b)];
                if (worker < 0 || worker >= crew.threads()) worker_in_range = false;
            });
            bool once = true;
            for (const auto& v : visits) once = once && v == 1;
            CHECK(once);
            CHECK(worker_in_range);
        }
}

void the_first_exception_is_thrown_again_and_stops_the_rest() {
    for (int threads : {1, 2, 4}) {
        const Crew crew(threads);
        std::atomic<int> after{0};
        std::string message;
        try {
            crew.run(1000000, [&](std::int64_t b, int) {
                if (b == 5) throw std::runtime_error("block 5");
                if (b > 5) ++after;
            });
        } catch (const std::runtime_error& error) {
            message = error.what();
        }
        CHECK(message == "block 5");
        CHECK(after < 1000000 - 6);
        std::atomic<int> again{0};
        crew.run(10, [&](std::int64_t, int) { ++again; });
        CHECK(again == 10);
    }
}

void exceptions_in_all_workers_give_one() {
    const Crew crew(4);
    int caught = 0;
    try {
        crew.run(100, [&](std::int64_t, int) { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
        ++caught;
    }
    CHECK(caught == 1);
}

std::atomic<int> polls{0};
bool stop_at_second_poll() { return ++polls >= 2; }
constexpr auto kAlways = Crew::Clock::duration::zero();

void cancellation_stops_the_run_and_those_that_follow() {
    for (int threads : {1, 3}) {
        polls = 0;
        const Crew crew(threads, stop_at_second_poll, kAlways);
        std::atomic<int> blocks{0}, later{0};
        // Whether a cancelled run returns or throws is not what this test is about.
        try {
            crew.run(1000000, [&](std::int64_t, int worker) {
                ++blocks;
                if (worker != 0)  // the calling thread asks, so it needs two blocks
                    while (!crew.cancelled()) std::this_thread::yield();
            });
        } catch (...) {
        }
        CHECK(crew.cancelled());
        CHECK(polls == 2);
        CHECK(blocks <= 2 + threads - 1);
        try {
            crew.run(10, [&](std::int64_t, int) { ++later; });
        } catch (...) {
        }
        CHECK(later == 0);
    }
}

void nobody_asks_before_it_is_time() {
    polls = 0;
    const Crew crew(2, stop_at_second_poll, std::chrono::hours(24));
    crew.run(100, [](std::int64_t, int) {});
    CHECK(!crew.cancelled());
    CHECK(polls == 0);
}

#if defined(__GLIBC__)
std::atomic<bool> ending{false};

// As Python ends a thread that asks for its lock while the interpreter shuts down.
void a_thread_that_is_ended_waits_for_its_helpers() {
    std::atomic<int> done{0};
    std::thread caller([&] {
        const auto end = []() -> bool {
            ending = true;
            pthread_exit(nullptr);
        };
        const Crew crew(3, end, kAlways);
        crew.run(100, [&](std::int64_t, int worker) {
            if (worker != 0)  // so that the caller gets a block and asks
                while (!ending) std::this_thread::yield();
            ++done;
        });
        done = -1000;  // not reached
    });
    caller.join();
    CHECK(done == 100);
}
#endif

void block_bounds_cover_everything_evenly() {
    for (std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{7}, std::int64_t{1000},
                           std::int64_t{1} << 40})
        for (std::int64_t n_blocks : {1, 2, 3, 7, 256}) {
            CHECK(marginrank::block_bound(n, n_blocks, 0) == 0);
            CHECK(marginrank::block_bound(n, n_blocks, n_blocks) == n);
            bool even = true;
            for (std::int64_t b = 0; b < n_blocks; ++b) {
                const std::int64_t size =
                    marginrank::block_bound(n, n_blocks, b + 1) - marginrank::block_bound(n, n_blocks, b);
                even = even && (size == n / n_blocks || size == n / n_blocks + 1);
            }
            CHECK(even);
        }
}

void a_tree_sum_is_exact_on_integers() {
    std::vector<double> x;
    for (int n = 0; n < 70; ++n) {
        CHECK(marginrank::tree_sum(x.data(), n) == n * (n + 1) / 2.0);
        x.push_back(n + 1.0);
    }
}

}  // namespace

int main() {
    every_block_runs_exactly_once();
    the_first_exception_is_thrown_again_and_stops_the_rest();
    exceptions_in_all_workers_give_one();
    cancellation_stops_the_run_and_those_that_follow();
    nobody_asks_before_it_is_time();
#if defined(__GLIBC__)
    a_thread_that_is_ended_waits_for_its_helpers();
#endif
    block_bounds_cover_everything_evenly();
    a_tree_sum_is_exact_on_integers();
    return marginrank_failures() != 0;
}
