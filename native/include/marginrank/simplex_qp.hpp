// The dual of the cutting-plane model: a concave quadratic over the simplex.
//
//     maximise  f(theta) = b . theta - theta' G theta / (2 alpha)     theta >= 0, sum theta = 1
//
// Sequential minimal optimisation: weight moves between two coordinates at a time, so every iterate
// stays on the simplex and gives a valid bound, however early the iteration stops. Nearly parallel planes
// make such steps short; then a Newton step on the coordinates that carry weight takes over (an active-set
// method alone would pay its cubic cost also where a few cheap steps are enough, which is nearly always).
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>

namespace marginrank {

namespace simplex_qp_detail {

struct Step {
    std::size_t from;
    double size;
    double gain;
};

// The best coordinate to take weight from, given the one to give it to: the one with the largest gain after
// clipping at theta = 0, not merely the steepest.
inline Step best_step(std::size_t n, const double* gram, std::size_t ld, double alpha, const double* theta,
                      const double* gradient, std::size_t to) {
    const double* row = gram + to * ld;
    Step best{to, 0.0, 0.0};
    for (std::size_t j = 0; j < n; ++j) {
        const double slope = gradient[to] - gradient[j];
        if (!(theta[j] > 0.0) || !(slope > 0.0)) continue;
        const double curvature = (row[to] + gram[j * ld + j] - 2.0 * row[j]) / alpha;
        double size = theta[j];
        // Equal planes have curvature 0 (or slightly below, by rounding): all the weight moves.
        if (curvature * size > slope) size = slope / curvature;
        const double gain = size * (slope - 0.5 * curvature * size);
        if (gain > best.gain) best = Step{j, size, gain};
    }
    return best;
}

inline void move_weight(std::size_t n, const double* gram, std::size_t ld, double alpha, double* theta,
                        double* gradient, std::size_t to, const Step& step) {
    // Exactly 0 where all the weight moves: a rounding residue would keep the plane active.
    theta[step.from] = step.size < theta[step.from] ? theta[step.from] - step.size : 0.0;
    theta[to] += step.size;
    const double* plus = gram + to * ld;
    const double* minus = gram + step.from * ld;
    const double weight = step.size / alpha;
    for (std::size_t i = 0; i < n; ++i) gradient[i] -= weight * (plus[i] - minus[i]);
}

inline void refresh_gradient(std::size_t n, const double* gram, std::size_t ld, const double* b, double alpha,
                             const double* theta, double* gradient) {
    for (std::size_t i = 0; i < n; ++i) gradient[i] = b[i];
    for (std::size_t k = 0; k < n; ++k) {
        if (theta[k] == 0.0) continue;
        const double* row = gram + k * ld;
        const double weight = theta[k] / alpha;
        for (std::size_t i = 0; i < n; ++i) gradient[i] -= weight * row[i];
    }
}

// Negative entries become 0 and the sum 1; a theta without any weight starts at the first coordinate.
inline void project_start(std::size_t n, double* theta) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        if (!(theta[i] > 0.0)) theta[i] = 0.0;
        sum += theta[i];
    }
    if (!(sum > 0.0)) {
        theta[0] = 1.0;
        return;
    }
    for (std::size_t i = 0; i < n; ++i) theta[i] /= sum;
}

// Cholesky factor of a k x k matrix in place (lower triangle, row stride k). Stops at the first row that
// depends on those before it up to rounding, and returns its index; k if there is none.
inline std::size_t factor_cholesky(std::size_t k, double* a, const double* rounding) {
    for (std::size_t i = 0; i < k; ++i) {
        double* row = a + i * k;
        double rest = row[i];
        for (std::size_t j = 0; j < i; ++j) {
            const double* other = a + j * k;
            double sum = row[j];
            for (std::size_t l = 0; l < j; ++l) sum -= row[l] * other[l];
            row[j] = sum / other[j];
            rest -= row[j] * row[j];
        }
        if (!(rest > rounding[i])) return i;
        row[i] = std::sqrt(rest);
    }
    return k;
}

// Solve L' x = y for the leading m rows of a k x k factor, in place.
inline void solve_transposed(std::size_t m, std::size_t k, const double* a, double* x) {
    for (std::size_t i = m; i-- > 0;) {
        for (std::size_t l = i + 1; l < m; ++l) x[i] -= a[l * k + i] * x[l];
        x[i] /= a[i * k + i];
    }
}

inline void solve_forward(std::size_t m, std::size_t k, const double* a, double* x) {
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t l = 0; l < i; ++l) x[i] -= a[i * k + l] * x[l];
        x[i] /= a[i * k + i];
    }
}

inline std::size_t heaviest(std::size_t n, const double* theta) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i) {
        if (theta[i] > theta[best]) best = i;
    }
    return best;
}

// Fill the k x k Hessian of the coordinates that carry weight, without the pivot, whose weight makes up for
// the others': differences to one plane remove the constraint and much of the cancellation.
inline void reduced_system(std::size_t n, const double* gram, std::size_t ld, double alpha, const double* theta,
                           const double* gradient, std::size_t pivot, std::size_t k, double* matrix, double* rhs,
                           double* rounding) {
    constexpr double epsilon = 4e-16;
    const double* base = gram + pivot * ld;
    std::size_t row = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (!(theta[i] > 0.0) || i == pivot) continue;
        std::size_t column = 0;
        for (std::size_t j = 0; j <= i; ++j) {
            if (!(theta[j] > 0.0) || j == pivot) continue;
            matrix[row * k + column++] = (gram[i * ld + j] - base[i] - base[j] + base[pivot]) / alpha;
        }
        rounding[row] = epsilon * static_cast<double>(k) * (gram[i * ld + i] + base[pivot]) / alpha;
        rhs[row++] = gradient[i] - gradient[pivot];
    }
}

// The direction to the maximum over the coordinates that carry weight, their sum unchanged. Where planes
// depend on one another, instead the direction that changes only the linear part. Returns whether it is the
// latter. Needs n * (n + 2) numbers of scratch.
inline bool newton_direction(std::size_t n, const double* gram, std::size_t ld, double alpha, const double* theta,
                             const double* gradient, double* direction, double* work) {
    const std::size_t pivot = heaviest(n, theta);
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (theta[i] > 0.0 && i != pivot) ++k;
    }
    double* x = work;
    double* matrix = work + 2 * n;
    reduced_system(n, gram, ld, alpha, theta, gradient, pivot, k, matrix, x, work + n);
    const std::size_t dependent = factor_cholesky(k, matrix, work + n);
    if (dependent < k) {
        for (std::size_t l = 0; l < dependent; ++l) x[l] = -matrix[dependent * k + l];
        for (std::size_t l = dependent + 1; l < k; ++l) x[l] = 0.0;
        x[dependent] = 1.0;
    } else {
        solve_forward(k, k, matrix, x);
    }
    solve_transposed(dependent, k, matrix, x);
    double sum = 0.0;
    std::size_t row = 0;
    for (std::size_t i = 0; i < n; ++i) {
        direction[i] = theta[i] > 0.0 && i != pivot ? x[row++] : 0.0;
        sum += direction[i];
    }
    direction[pivot] = -sum;
    return dependent < k;
}

struct Growth {
    double slope;
    double curvature;
};

inline Growth growth(std::size_t n, const double* gram, std::size_t ld, double alpha, const double* gradient,
                     const double* direction) {
    Growth result{0.0, 0.0};
    for (std::size_t i = 0; i < n; ++i) {
        if (direction[i] == 0.0) continue;
        double product = 0.0;
        for (std::size_t j = 0; j < n; ++j) product += gram[i * ld + j] * direction[j];
        result.slope += gradient[i] * direction[i];
        result.curvature += direction[i] * product / alpha;
    }
    return result;
}

// Newton steps until one ends inside the simplex; each of the others takes the weight of one coordinate away.
// Returns the gain.
inline double newton_steps(std::size_t n, const double* gram, std::size_t ld, const double* b, double alpha,
                           double* theta, double* gradient, double* work) {
    double* direction = work;
    double gain = 0.0;
    for (std::size_t blocking = 0; blocking < n;) {
        const bool flat = newton_direction(n, gram, ld, alpha, theta, gradient, direction, work + n);
        Growth change = growth(n, gram, ld, alpha, gradient, direction);
        if (flat && change.slope < 0.0) {
            for (std::size_t i = 0; i < n; ++i) direction[i] = -direction[i];
            change.slope = -change.slope;
        }
        if (!(change.slope >= 0.0)) return gain;
        double size = flat ? std::numeric_limits<double>::max() : 1.0;
        blocking = n;
        for (std::size_t i = 0; i < n; ++i) {
            if (direction[i] < 0.0 && theta[i] < -size * direction[i]) {
                size = -theta[i] / direction[i];
                blocking = i;
            }
        }
        if (flat && blocking == n) return gain;
        for (std::size_t i = 0; i < n; ++i) {
            const double moved = theta[i] + size * direction[i];
            theta[i] = moved > 0.0 && i != blocking ? moved : 0.0;
        }
        refresh_gradient(n, gram, ld, b, alpha, theta, gradient);
        gain += size * (change.slope - 0.5 * change.curvature * size);
    }
    return gain;
}

}  // namespace simplex_qp_detail

// n         number of planes, at least 1
// gram      symmetric n x n, row stride ld >= n
// b         linear term, n
// theta     in: the warm start; out: the solution, on the simplex
// work      scratch, n * (n + 4)
// tolerance stop when max gradient - theta . gradient, which bounds f* - f(theta), is at most this
//
// Returns the number of steps taken, at most max_iter.
inline std::size_t simplex_qp(std::size_t n, const double* gram, std::size_t ld, const double* b, double alpha,
                              double* theta, double* work, double tolerance, std::size_t max_iter) {
    using namespace simplex_qp_detail;
    constexpr double negligible = 0.1;
    if (n == 0) return 0;
    double* gradient = work;
    project_start(n, theta);
    refresh_gradient(n, gram, ld, b, alpha, theta, gradient);
    std::size_t newton_due = 2 * n;
    std::size_t review_due = 8 * n;
    double gained = 0.0;
    for (std::size_t iteration = 0; iteration < max_iter; ++iteration) {
        std::size_t to = 0;
        double mean = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            mean += theta[i] * gradient[i];
            if (gradient[i] > gradient[to]) to = i;
        }
        if (!(gradient[to] - mean > tolerance)) return iteration;
        if (iteration >= review_due) {
            // Planes of very different size leave the gradient no digits to reach the tolerance with.
            if (gained < negligible * tolerance) return iteration;
            gained = 0.0;
            review_due = iteration + 2 * n;
        }
        if (iteration >= newton_due) {
            const double gain = newton_steps(n, gram, ld, b, alpha, theta, gradient, work + n);
            gained += gain;
            // Two coordinates move in between, so that a new plane can enter.
            newton_due = iteration + (gain > 0.0 ? 2 : n);
            continue;
        }
        const Step step = best_step(n, gram, ld, alpha, theta, gradient, to);
        if (!(step.gain > 0.0)) return iteration;
        gained += step.gain;
        move_weight(n, gram, ld, alpha, theta, gradient, to, step);
    }
    return max_iter;
}

}  // namespace marginrank
