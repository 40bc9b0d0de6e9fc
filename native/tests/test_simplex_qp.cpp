// The simplex programme against projected gradient ascent and a grid, and its degenerate cases.
#include "marginrank/simplex_qp.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using Vec = std::vector<double>;

struct Problem {
    std::size_t n;
    Vec gram;
    Vec b;
    double alpha;
};

Problem from_planes(const std::vector<Vec>& planes, Vec b, double alpha) {
    const std::size_t n = planes.size();
    Problem problem{n, Vec(n * n), std::move(b), alpha};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double dot = 0.0;
            for (std::size_t k = 0; k < planes[i].size(); ++k) dot += planes[i][k] * planes[j][k];
            problem.gram[i * n + j] = dot;
        }
    }
    return problem;
}

Problem random_problem(std::mt19937& random, std::size_t n, std::size_t n_features, double alpha) {
    std::normal_distribution<double> normal;
    std::vector<Vec> planes(n, Vec(n_features));
    Vec b(n);
    for (std::size_t i = 0; i < n; ++i) {
        for (double& x : planes[i]) x = normal(random);
        b[i] = normal(random);
    }
    return from_planes(planes, b, alpha);
}

double value(const Problem& p, const Vec& theta) {
    double result = 0.0;
    for (std::size_t i = 0; i < p.n; ++i) {
        double row = 0.0;
        for (std::size_t j = 0; j < p.n; ++j) row += p.gram[i * p.n + j] * theta[j];
        result += theta[i] * (p.b[i] - row / (2.0 * p.alpha));
    }
    return result;
}

std::size_t solve(const Problem& p, Vec& theta, double tolerance, std::size_t max_iter = 100000) {
    Vec work(p.n * (p.n + 4));
    return marginrank::simplex_qp(p.n, p.gram.data(), p.n, p.b.data(), p.alpha, theta.data(), work.data(), tolerance,
                                  max_iter);
}

Vec at_first(std::size_t n) {
    Vec theta(n, 0.0);
    theta[0] = 1.0;
    return theta;
}

bool on_simplex(const Vec& theta) {
    double sum = 0.0;
    for (double t : theta) {
        if (!(t >= 0.0)) return false;
        sum += t;
    }
    return std::abs(sum - 1.0) < 1e-12;
}

Vec projected(Vec v) {
    Vec sorted = v;
    std::sort(sorted.begin(), sorted.end(), std::greater<double>());
    double sum = 0.0;
    double shift = 0.0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
        sum += sorted[k];
        const double candidate = (sum - 1.0) / static_cast<double>(k + 1);
        if (sorted[k] > candidate) shift = candidate;
    }
    for (double& x : v) x = std::max(x - shift, 0.0);
    return v;
}

double by_projected_gradient(const Problem& p) {
    double trace = 0.0;
    for (std::size_t i = 0; i < p.n; ++i) trace += p.gram[i * p.n + i];
    const double step = p.alpha / (trace + 1e-300);
    Vec theta(p.n, 1.0 / static_cast<double>(p.n));
    for (int iteration = 0; iteration < 20000; ++iteration) {
        Vec next = theta;
        for (std::size_t i = 0; i < p.n; ++i) {
            double row = 0.0;
            for (std::size_t j = 0; j < p.n; ++j) row += p.gram[i * p.n + j] * theta[j];
            next[i] += step * (p.b[i] - row / p.alpha);
        }
        theta = projected(next);
    }
    return value(p, theta);
}

void agrees_with_projected_gradient() {
    std::mt19937 random(1);
    for (int repeat = 0; repeat < 20; ++repeat) {
        const std::size_t n = 2 + static_cast<std::size_t>(repeat) % 7;
        const Problem p = random_problem(random, n, 4, 0.5);
        Vec theta = at_first(n);
        solve(p, theta, 1e-10);
        CHECK(on_simplex(theta));
        CHECK(std::abs(value(p, theta) - by_projected_gradient(p)) < 1e-7);
    }
}

void no_grid_point_is_better() {
    std::mt19937 random(2);
    for (int repeat = 0; repeat < 20; ++repeat) {
        const Problem p = random_problem(random, 3, 2, 1.0);
        Vec theta = at_first(3);
        solve(p, theta, 1e-10);
        double best = -1e300;
        for (int i = 0; i <= 100; ++i) {
            for (int j = 0; i + j <= 100; ++j) {
                best = std::max(best, value(p, {i / 100.0, j / 100.0, (100 - i - j) / 100.0}));
            }
        }
        CHECK(value(p, theta) >= best - 1e-9);
    }
}

// More planes than dimensions, small alpha: pairwise steps alone would need very many.
void nearly_parallel_planes_take_few_steps() {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    std::vector<Vec> planes(60, Vec(10));
    Vec b(60);
    for (std::size_t i = 0; i < 60; ++i) {
        double square = 0.0;
        for (double& x : planes[i]) {
            x = 1e-3 * normal(random);
            square += x * x;
        }
        b[i] = 0.3 - square;
    }
    const Problem p = from_planes(planes, b, 1e-9);
    Vec theta = at_first(60);
    const std::size_t steps = solve(p, theta, 1e-9);
    CHECK(steps < 5000);
    Vec again = theta;
    CHECK(solve(p, again, 1e-8) == 0);
    CHECK(value(p, theta) > 0.29);
}

// A plane that is there twice depends on the others, however products are rounded: the factor's last entry, 0 but
// for a few units in the last place, is as likely above 0 as below.
void a_plane_that_is_there_twice_is_found_in_spite_of_rounding() {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::size_t n = 6 + random() % 6;
        std::vector<Vec> planes(n, Vec(20));
        for (Vec& plane : planes)
            for (double& x : plane) x = normal(random);
        planes[n - 1] = planes[n - 2];
        const Problem p = from_planes(planes, Vec(n, 1.0), 1e-3);
        const Vec theta(n, 1.0 / static_cast<double>(n));
        Vec gradient(n), direction(n), work(n * (n + 2));
        namespace detail = marginrank::simplex_qp_detail;
        detail::refresh_gradient(n, p.gram.data(), n, p.b.data(), p.alpha, theta.data(), gradient.data());
        CHECK(detail::newton_direction(n, p.gram.data(), n, p.alpha, theta.data(), gradient.data(), direction.data(),
                                       work.data()));
    }
}

// Planes come in pairs that are mirror images, so that two weights vanish in one step, all but rounding: none of them
// comes out below 0.
void newton_steps_leave_no_weight_below_zero() {
    std::mt19937 random(9);
    std::normal_distribution<double> normal;
    for (int repeat = 0; repeat < 500; ++repeat) {
        constexpr std::size_t n = 8;
        std::vector<Vec> planes(n, Vec(2 * n));
        Vec b(n), theta(n), gradient(n), work(n * (n + 4));
        for (std::size_t i = 0; i < n; i += 2) {
            for (std::size_t k = 0; k < 2 * n; ++k) {
                planes[i][k] = normal(random);
                planes[i + 1][k % 2 == 0 ? k + 1 : k - 1] = planes[i][k];
            }
            b[i] = b[i + 1] = normal(random);
            theta[i] = theta[i + 1] = 0.1 + 0.01 * static_cast<double>(random() % 10);
        }
        const Problem p = from_planes(planes, b, 1.0);
        namespace detail = marginrank::simplex_qp_detail;
        detail::project_start(n, theta.data());
        detail::refresh_gradient(n, p.gram.data(), n, p.b.data(), p.alpha, theta.data(), gradient.data());
        detail::newton_steps(n, p.gram.data(), n, p.b.data(), p.alpha, theta.data(), gradient.data(), work.data());
        for (double t : theta) CHECK(t >= 0.0);
    }
}

// The products of large planes leave no digits for the tolerance; that is noticed, long before max_iter.
void a_tolerance_below_rounding_is_given_up() {
    std::mt19937 random(8);
    for (int repeat = 0; repeat < 20; ++repeat) {
        Problem p = random_problem(random, 30, 30, 1e-2);
        for (std::size_t i = 0; i < 30; ++i)
            for (std::size_t j = 0; j < 30; ++j)
                p.gram[i * 30 + j] *= (i % 2 == 0 ? 1e7 : 1.0) * (j % 2 == 0 ? 1e7 : 1.0);
        Vec theta = at_first(30);
        CHECK(solve(p, theta, 1e-18) < 5000);
        CHECK(on_simplex(theta));
    }
}

void one_plane() {
    const Problem p = from_planes({{2.0}}, {1.0}, 0.1);
    Vec theta{0.0};
    CHECK(solve(p, theta, 1e-12) == 0);
    CHECK(theta[0] == 1.0);
}

void duplicate_planes() {
    const Problem p = from_planes({{0.0}, {1.0}, {1.0}, {1.0}, {-1.0}}, {0.0, 0.5, 0.5, 0.4, 0.5}, 1e-3);
    Vec theta{0.1, 0.3, 0.2, 0.4, 0.0};
    solve(p, theta, 1e-12);
    CHECK(on_simplex(theta));
    CHECK(std::abs(value(p, theta) - 0.5) < 1e-10);
}

void zero_gram_takes_the_largest_offset() {
    const Problem p{3, Vec(9, 0.0), {0.1, 0.7, 0.3}, 1.0};
    Vec theta = at_first(3);
    solve(p, theta, 1e-12);
    CHECK(theta[1] == 1.0);
}

void extreme_alpha() {
    std::mt19937 random(4);
    for (double alpha : {1e-12, 1e-6, 1e6, 1e12}) {
        const Problem p = random_problem(random, 6, 3, alpha);
        Vec theta = at_first(6);
        const double before = value(p, theta);
        solve(p, theta, 1e-9);
        CHECK(on_simplex(theta));
        CHECK(value(p, theta) >= before);
    }
}

void a_start_off_the_simplex_is_projected() {
    const Problem p = from_planes({{0.0}, {1.0}}, {0.0, 1.0}, 1.0);
    for (Vec theta : {Vec{0.0, 0.0}, Vec{-1.0, 0.0}, Vec{5.0, 5.0}, Vec{std::nan(""), 1.0}}) {
        solve(p, theta, 1e-12);
        CHECK(on_simplex(theta));
        CHECK(std::abs(value(p, theta) - 0.5) < 1e-10);
    }
}

void stopping_early_never_loses() {
    std::mt19937 random(5);
    const Problem p = random_problem(random, 30, 10, 1e-2);
    double last = value(p, at_first(30));
    for (std::size_t max_iter = 0; max_iter < 200; max_iter += 7) {
        Vec theta = at_first(30);
        CHECK(solve(p, theta, 0.0, max_iter) <= max_iter);
        CHECK(on_simplex(theta));
        CHECK(value(p, theta) >= last - 1e-10 * std::abs(last));
        last = value(p, theta);
    }
}

void a_row_stride_is_respected() {
    std::mt19937 random(6);
    const Problem p = random_problem(random, 5, 3, 0.3);
    Vec wide(5 * 9, std::nan(""));
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < 5; ++j) wide[i * 9 + j] = p.gram[i * 5 + j];
    }
    Vec expected = at_first(5);
    Vec theta = at_first(5);
    Vec work(5 * 9);
    solve(p, expected, 1e-10);
    marginrank::simplex_qp(5, wide.data(), 9, p.b.data(), p.alpha, theta.data(), work.data(), 1e-10, 100000);
    CHECK(theta == expected);
}

}  // namespace

int main() {
    a_plane_that_is_there_twice_is_found_in_spite_of_rounding();
    newton_steps_leave_no_weight_below_zero();
    a_tolerance_below_rounding_is_given_up();
    agrees_with_projected_gradient();
    no_grid_point_is_better();
    nearly_parallel_planes_take_few_steps();
    one_plane();
    duplicate_planes();
    zero_gram_takes_the_largest_offset();
    extreme_alpha();
    a_start_off_the_simplex_is_projected();
    stopping_early_never_loses();
    a_row_stride_is_respected();
    return marginrank_failures() != 0;
}
