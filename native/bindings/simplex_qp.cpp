// The small quadratic programme of the cutting-plane bound.
#include <cstdint>
#include <vector>

#include "common.hpp"
#include "marginrank/simplex_qp.hpp"

namespace {

// gram may be the leading part of a larger matrix; theta is the start and becomes the solution.
std::int64_t simplex_qp(nb::ndarray<const double, nb::numpy, nb::ndim<2>, nb::device::cpu> gram, In<double> linear,
                        double alpha, Out<double> theta, double tolerance, std::int64_t max_iter) {
    const std::size_t n = linear.size();
    require(gram.shape(0) == n && gram.shape(1) == n && theta.size() == n && n > 0,
            "gram, linear and theta must fit together");
    require(gram.stride(1) == 1 && gram.stride(0) >= static_cast<std::int64_t>(n), "gram must have unit column stride");
    require(max_iter >= 0, "max_iter must not be negative");
    std::vector<double> work(n * (n + 4));
    const ReleasedGil released;
    return static_cast<std::int64_t>(
        marginrank::simplex_qp(n, gram.data(), static_cast<std::size_t>(gram.stride(0)), linear.data(), alpha,
                               theta.data(), work.data(), tolerance, static_cast<std::size_t>(max_iter)));
}

}  // namespace

void bind_simplex_qp(nb::module_& m) {
    m.def("simplex_qp", &simplex_qp, "gram"_a.noconvert(), "linear"_a.noconvert(), "alpha"_a, "theta"_a.noconvert(),
          "tol"_a, "max_iter"_a);
}
