// Fork-join over fixed blocks.
//
// Work is cut into blocks whose number depends on the data only, and results are combined in block
// order, so the bits do not depend on the number of threads. Threads are spawned per call (25 us):
// a pool that outlives the call would hang after a fork, as libgomp does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "marginrank/function_ref.hpp"

namespace marginrank {

// Thrown by a kernel that was told to stop: what it has computed so far is of no use.
struct Cancelled {};

class Crew {
public:
    using Clock = std::chrono::steady_clock;
    // Asked by the calling thread after a block, about every 100 ms; true means that the user wants to stop. Tests
    // have it asked after every block, or never.
    using Interrupted = bool (*)();

    explicit Crew(int n_threads, Interrupted interrupted = nullptr,
                  Clock::duration every = std::chrono::milliseconds(100))
        : n_threads_(n_threads < 1 ? 1 : n_threads > kMostThreads ? kMostThreads : n_threads),
          interrupted_(interrupted),
          every_(every) {}

    int threads() const { return n_threads_; }
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

    // Calls task(block, worker) once for each block; worker is below threads(). The first exception
    // of a task (memory, in practice) stops the others and is thrown again here; Cancelled is thrown where
    // some blocks were left out.
    void run(std::int64_t n_blocks, FunctionRef<void(std::int64_t, int)> task) const {
        std::atomic<std::int64_t> next{0};
        std::exception_ptr failure;
        std::mutex failure_lock;
        auto work = [&](int worker) {
            while (!cancelled()) {
                const std::int64_t block = next.fetch_add(1, std::memory_order_relaxed);
                if (block >= n_blocks) return;
                try {
                    task(block, worker);
                } catch (...) {
                    const std::lock_guard<std::mutex> guard(failure_lock);
                    if (!failure) failure = std::current_exception();
                    next.store(n_blocks, std::memory_order_relaxed);
                }
                if (worker == 0) poll();
            }
        };
        {
            Helpers helpers;
            const std::int64_t wanted = n_blocks < n_threads_ ? n_blocks : n_threads_;
            if (wanted > 1) helpers.threads.reserve(static_cast<std::size_t>(wanted - 1));
            for (int worker = 1; worker < wanted; ++worker) {
                try {
                    helpers.threads.emplace_back(work, worker);
                } catch (...) {
                    break;  // No more threads to be had: those that run take all the blocks.
                }
            }
            work(0);
        }
        if (failure) std::rethrow_exception(failure);
        if (cancelled()) throw Cancelled{};
    }

private:
    static constexpr int kMostThreads = 256;

    // Waits for its threads also where the calling one is ended, as Python does to a thread that asks for its lock
    // while the interpreter shuts down.
    struct Helpers {
        std::vector<std::thread> threads;
        ~Helpers() {
            for (auto& thread : threads) thread.join();
        }
    };

    void poll() const {
        if (interrupted_ == nullptr) return;
        const auto now = Clock::now();
        if (now - last_poll_ < every_) return;
        last_poll_ = now;
        if (interrupted_()) cancelled_.store(true, std::memory_order_relaxed);
    }

    int n_threads_;
    Interrupted interrupted_;
    Clock::duration every_;
    // Reading the clock takes longer than a query of two rows, and crews are made for each: only where it is needed.
    mutable Clock::time_point last_poll_ = interrupted_ == nullptr ? Clock::time_point() : Clock::now();
    mutable std::atomic<bool> cancelled_{false};
};

// Bounds of block b when n items are cut into n_blocks parts of nearly equal size.
inline std::int64_t block_bound(std::int64_t n, std::int64_t n_blocks, std::int64_t b) {
    return n / n_blocks * b + (n % n_blocks) * b / n_blocks;
}

// Sum of n numbers in a fixed binary tree, so that it does not matter who computed which.
inline double tree_sum(const double* x, std::int64_t n) {
    if (n <= 0) return 0.0;
    if (n == 1) return x[0];
    std::int64_t half = 1;
    while (2 * half < n) half *= 2;
    return tree_sum(x, half) + tree_sum(x + half, n - half);
}

}  // namespace marginrank
