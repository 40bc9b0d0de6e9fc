// The exact regularisation path of kernel RankSVM.
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "common.hpp"
#include "marginrank/kernel_path.hpp"

namespace {

template <class T>
using Column = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A path, and the arrays that it points to.
struct Path {
    In2<double> kernel;
    In<std::int32_t> winner, loser;
    In<double> weight, margin;
    std::unique_ptr<marginrank::KernelPath> path;

    Path(In2<double> k, In<std::int32_t> winners, In<std::int32_t> losers, In<double> weights, In<double> margins)
        : kernel(k), winner(winners), loser(losers), weight(weights), margin(margins) {
        const std::size_t n = k.shape(0), count = winners.size();
        require(k.shape(1) == n, "kernel must be square");
        require(losers.size() == count && weights.size() == count && margins.size() == count,
                "the arrays of the pairs must have one length");
        require(count < (std::size_t{1} << 31) && n < (std::size_t{1} << 31), "rows and pairs must be below 2^31");
        for (std::size_t i = 0; i < count; ++i) {
            require(winners.data()[i] >= 0 && static_cast<std::size_t>(winners.data()[i]) < n &&
                        losers.data()[i] >= 0 && static_cast<std::size_t>(losers.data()[i]) < n,
                    "pairs must name rows of the kernel");
            require(weights.data()[i] > 0.0 && margins.data()[i] > 0.0, "weights and margins must be positive");
        }
        const ReleasedGil released;
        path = std::make_unique<marginrank::KernelPath>(
            k.data(), n,
            marginrank::PathPairs{winners.data(), losers.data(), weights.data(), margins.data(), count});
    }

    int advance(std::int64_t max_events, double lambda_min) {
        return without_gil(
            1, [&](const Crew& crew) { return static_cast<int>(path->advance(crew, max_events, lambda_min)); });
    }

    // Of each event: lambda, the pair, and what happened to it.
    std::tuple<Column<double>, Column<std::int32_t>, Column<std::int8_t>> events() const {
        const auto& log = path->log();
        std::vector<std::int8_t> codes(log.change.size());
        for (std::size_t e = 0; e < codes.size(); ++e) codes[e] = static_cast<std::int8_t>(log.change[e]);
        return {to_numpy(log.lambda), to_numpy(log.pair), to_numpy(codes)};
    }

    void duals_at(double lambda, Out<double> out) const {
        require(out.size() == winner.size(), "out must have one entry per pair");
        require(lambda >= path->lambda() || path->first_breakpoint() <= 0.0, "the path has not come to this lambda");
        const ReleasedGil released;
        path->duals_at(lambda, out.data());
    }

    // At several lambdas: lambda * f = K c, with c a row of out.
    void sums_at(In<double> lambdas, Out2 out) const {
        const std::size_t count = lambdas.size();
        require(out.shape(0) == count && out.shape(1) == kernel.shape(0), "out must have a row for each lambda");
        for (std::size_t k = 0; k < count; ++k) {
            require(k == 0 || lambdas.data()[k] <= lambdas.data()[k - 1], "lambdas must not increase");
            require(lambdas.data()[k] >= path->lambda() || path->first_breakpoint() <= 0.0,
                    "the path has not come to this lambda");
        }
        without_gil(1, [&](const Crew& crew) {
            path->sums_at(crew, lambdas.data(), count, out.data());
            return 0;
        });
    }
};

}  // namespace

void bind_kernel_path(nb::module_& m) {
    nb::class_<Path>(m, "KernelPath")
        .def(nb::init<In2<double>, In<std::int32_t>, In<std::int32_t>, In<double>, In<double>>(),
             "kernel"_a.noconvert(), "winner"_a.noconvert(), "loser"_a.noconvert(), "weight"_a.noconvert(), "margin"_a.noconvert())
        .def("advance", &Path::advance, "max_events"_a, "lambda_min"_a)
        .def("duals_at", &Path::duals_at, "at"_a, "out"_a.noconvert())
        .def("sums_at", &Path::sums_at, "lambdas"_a.noconvert(), "out"_a.noconvert())
        .def_prop_ro("reached", [](const Path& p) { return p.path->lambda(); })
        .def_prop_ro("first_breakpoint", [](const Path& p) { return p.path->first_breakpoint(); })
        .def_prop_ro("n_active", [](const Path& p) { return p.path->n_active(); })
        .def_prop_ro("n_refactorings", [](const Path& p) { return p.path->n_refactorings(); })
        .def_prop_ro("n_events", [](const Path& p) { return p.path->log().lambda.size(); })
        .def("events", &Path::events);
}
