// The quadratic programme of the planes: whatever they are, the weights stay on the simplex, no start is made worse,
// and the limit of steps is kept.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "input.hpp"
#include "marginrank/simplex_qp.hpp"

namespace {

using Vec = std::vector<double>;

struct Problem {
    std::size_t n;
    Vec gram, b;
    double alpha, size = 0.0;

    explicit Problem(Input& input) : n(1 + input.below(24)), gram(n * n), alpha(std::ldexp(1.0, static_cast<int>(input.byte() % 80) - 40)) {
        const std::size_t n_features = 1 + input.below(6);
        std::vector<Vec> planes(n);
        for (Vec& plane : planes) plane = input.numbers(n_features, 1e20);
        if (input.flag() && n > 1) planes[n - 1] = planes[0];
        b = input.numbers(n, 1e20);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {
                double dot = 0.0;
                for (std::size_t k = 0; k < n_features; ++k) dot += planes[i][k] * planes[j][k];
                gram[i * n + j] = dot;
                size = std::max(size, std::fabs(dot) / alpha);
            }
        for (double v : b) size = std::max(size, std::fabs(v));
    }
    double value(const Vec& theta) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
            double row = 0.0;
            for (std::size_t j = 0; j < n; ++j) row += gram[i * n + j] * theta[j];
            sum += theta[i] * (b[i] - row / (2.0 * alpha));
        }
        return sum;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 4096) return 0;
    Input input(data, size);
    const Problem p(input);
    Vec theta(p.n, 0.0), work(p.n * (p.n + 4));
    const std::size_t start = input.below(p.n);
    theta[start] = 1.0;
    if (input.flag())
        for (double& t : theta) t = static_cast<double>(input.byte() % 8);
    Vec begun(theta);
    double sum = 0.0;
    for (double t : begun) sum += t;
    for (double& t : begun) t = sum > 0.0 ? t / sum : 0.0;
    if (!(sum > 0.0)) begun[0] = 1.0;
    const double tolerance = 1e-6 * std::fabs(p.value(begun));
    const std::size_t max_iter = 1 + input.below(3000);
    const std::size_t steps = marginrank::simplex_qp(p.n, p.gram.data(), p.n, p.b.data(), p.alpha, theta.data(), work.data(), tolerance, max_iter);
    MUST(steps <= max_iter);
    double total = 0.0;
    for (double t : theta) {
        MUST(t >= 0.0);
        total += t;
    }
    MUST(std::fabs(total - 1.0) <= 1e-9);
    MUST(p.value(theta) >= p.value(begun) - 1e-10 * (p.size + std::fabs(p.value(begun))));
    return 0;
}
