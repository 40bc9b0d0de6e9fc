// Forward selection of features: the state of one within queries, and errors of held-out pairs of one ranking.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common.hpp"
#include "marginrank/pair_selection.hpp"
#include "marginrank/query_selection.hpp"

namespace {

using marginrank::QuerySelection;

std::vector<double> copied(const In<double>& values) { return {values.data(), values.data() + values.size()}; }

void bind_queries(nb::module_& m) {
    nb::class_<QuerySelection>(m, "QuerySelection", "What each column would add to a model within queries.")
        .def(
            "__init__",
            [](QuerySelection* self, In<std::int64_t> query_ptr, In<double> y, In<double> weight, In<double> unit,
               double shift, std::int64_t most) {
                const std::int64_t* ptr = query_ptr.data();
                require(query_ptr.size() >= 2 && ptr[0] == 0 && std::is_sorted(ptr, ptr + query_ptr.size()) &&
                            ptr[query_ptr.size() - 1] == static_cast<std::int64_t>(y.size()) && weight.size() == y.size(),
                        "query_ptr must ascend from 0 to the number of entries of y and weight");
                require(std::isfinite(shift) && shift > 0.0 && most >= 1, "shift and most must be positive");
                for (std::size_t k = 0; k < weight.size(); ++k) require(weight.data()[k] > 0.0, "weights must be positive");
                new (self) QuerySelection({ptr, ptr + query_ptr.size()}, copied(y), copied(weight), copied(unit), shift, most);
            },
            "query_ptr"_a.noconvert(), "y"_a.noconvert(), "weight"_a.noconvert(), "unit"_a.noconvert(), "shift"_a,
            "most"_a)
        .def("residual", [](const QuerySelection& self) { return to_numpy(self.residual()); })
        .def("sums", [](const QuerySelection& self) { return to_numpy(self.sums()); })
        .def("error", [](const QuerySelection& self) { return to_numpy(self.error()); });
}

void pair_errors(In<double> residual, In<double> leverage, In<std::int32_t> first, In<std::int32_t> second,
                 In<double> shared, In2<double> T, In<double> d, In<double> beta, In<std::uint8_t> open,
                 Out<double> errors, int n_threads) {
    const std::size_t m = residual.size(), n = T.shape(0);
    require(leverage.size() == m && T.shape(1) == m, "residual, leverage and T must have the same rows");
    require(first.size() == second.size() && first.size() == shared.size() && first.size() > 0,
            "first, second and shared must have one entry per pair");
    require(d.size() == n && beta.size() == n && open.size() == n && errors.size() == n,
            "d, beta, open and errors must have one entry per column");
    for (std::size_t p = 0; p < first.size(); ++p)
        require(first.data()[p] >= 0 && second.data()[p] >= 0 && static_cast<std::size_t>(first.data()[p]) < m &&
                    static_cast<std::size_t>(second.data()[p]) < m,
                "pairs must be rows");
    without_gil(n_threads, [&](const Crew& crew) {
        marginrank::pair_errors(crew, {residual.data(), leverage.data(), static_cast<std::int64_t>(m)},
                                {first.data(), second.data(), shared.data(), static_cast<std::int64_t>(first.size())},
                                T.data(), d.data(), beta.data(), open.data(), static_cast<std::int64_t>(n),
                                errors.data());
    });
}

}  // namespace

void bind_selection(nb::module_& m) {
    bind_queries(m);
    m.def("pair_errors", &pair_errors, "residual"_a.noconvert(), "leverage"_a.noconvert(), "first"_a.noconvert(),
          "second"_a.noconvert(), "shared"_a.noconvert(), "T"_a.noconvert(), "d"_a.noconvert(), "beta"_a.noconvert(),
          "open"_a.noconvert(), "errors"_a.noconvert(), "n_threads"_a);
}
