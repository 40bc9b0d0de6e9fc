// Products of rows with a matrix, each row as if it stood alone, and exponentials of them.
#include <cstddef>

#include "common.hpp"
#include "marginrank/exponential.hpp"
#include "marginrank/row_product.hpp"

namespace {

template <class Real>
using Rows = nb::ndarray<Real, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Real>
void bind_row_product_of(nb::module_& m, const char* name) {
    using Product = marginrank::RowProduct<Real>;
    nb::class_<Product>(m, name)
        .def(
            "__init__",
            [](Product* self, In2<Real> matrix) { new (self) Product(matrix.data(), matrix.shape(0), matrix.shape(1)); },
            "matrix"_a.noconvert())
        .def(
            "apply",
            [](const Product& self, In2<Real> rows, Rows<Real> out) {
                require(rows.shape(1) == self.depth() && out.shape(1) == self.width() && rows.shape(0) == out.shape(0),
                        "rows, matrix and out must fit together");
                const ReleasedGil released;
                self.apply(rows.data(), rows.shape(0), out.data());
            },
            "rows"_a.noconvert(), "out"_a.noconvert());
}

}  // namespace

void bind_row_product(nb::module_& m) {
    bind_row_product_of<float>(m, "RowProductF32");
    bind_row_product_of<double>(m, "RowProductF64");
    m.def(
        "exponentials",
        [](Out2 x) {
            const ReleasedGil released;
            marginrank::kernels::exponentials(x.data(), x.size());
        },
        "x"_a.noconvert());
}
