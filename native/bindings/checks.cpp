// Checks of what users pass in, at the speed of memory.
#include <cstdint>

#include "common.hpp"
#include "marginrank/finite.hpp"
#include "marginrank/matrix.hpp"

namespace {

template <class Real>
std::int64_t first_nonfinite(In<Real> x, int n_threads) {
    return without_gil(n_threads, [&](const Crew& crew) {
        return marginrank::first_nonfinite(crew, x.data(), static_cast<std::int64_t>(x.size()));
    });
}

template <class Index>
std::int64_t first_bad_row(In<Index> indices, In<Index> indptr, std::int64_t n_cols, int n_threads) {
    require(indptr.size() >= 1, "indptr must not be empty");
    const marginrank::CsrMatrix<double, Index> X{nullptr, indices.data(), indptr.data(),
                                                 static_cast<std::int64_t>(indptr.size()) - 1, n_cols};
    return without_gil(n_threads, [&](const Crew& crew) {
        return marginrank::first_bad_row(crew, X, static_cast<std::int64_t>(indices.size()));
    });
}

}  // namespace

void bind_checks(nb::module_& m) {
    m.def("first_bad_row", &first_bad_row<std::int32_t>, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_cols"_a,
          "n_threads"_a);
    m.def("first_bad_row", &first_bad_row<std::int64_t>, "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_cols"_a,
          "n_threads"_a);
    m.def("first_nonfinite", &first_nonfinite<float>, "x"_a.noconvert(), "n_threads"_a);
    m.def("first_nonfinite", &first_nonfinite<double>, "x"_a.noconvert(), "n_threads"_a);
}
