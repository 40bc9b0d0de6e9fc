// Products with the user's matrix, dense or CSR.

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>

#include "common.hpp"
#include "marginrank/block_passes.hpp"
#include "marginrank/column_sums.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/passes.hpp"
#include "marginrank/query_loss.hpp"
#include "marginrank/query_selection.hpp"
#include "marginrank/row_file.hpp"
#include "marginrank/varying_columns.hpp"

namespace {

using marginrank::QueryLoss;
using marginrank::QueryRange;
using marginrank::QuerySelection;
using marginrank::RowFile;
using Rows = std::optional<In<std::int64_t>>;
using Shift = std::optional<In<double>>;

// A matrix of the user's and the rows of it that take part, in the order of the loss, whatever it is stored as.
// Everything that a kernel relies on is checked here, once. Python sees this class: its methods are compiled once.
class RowMatrix {
public:
    std::int64_t n = 0, n_cols = 0, row_entries = 0, row_bytes = 0;
    bool in_memory = true;

    virtual ~RowMatrix() = default;
    virtual void multiply(const Crew& crew, const double* w, double* out) const = 0;
    virtual void multiply_transposed(const Crew& crew, const double* g, std::int64_t n_blocks, double* partial,
                                     double* out) const = 0;
    virtual void multiply_block(const Crew& crew, const double* W, std::int64_t n_vectors, double* out) const = 0;
    virtual void multiply_transposed_block(const Crew& crew, const double* G, std::int64_t n_vectors,
                                           std::int64_t n_blocks, double* partial, double* out) const = 0;
    virtual double fused_pass(const Crew& crew, const QueryLoss& loss, QueryRange range, const double* w,
                              double* scores, double* gradient, std::int64_t n_blocks, double* partial, double* out,
                              marginrank::VisitOfQuery visit) const = 0;
    virtual std::int64_t sum_columns(const Crew& crew, const marginrank::SummedRows& given, double* out) const = 0;
    virtual void find_varying_columns(const Crew& crew, const std::int64_t* query_ptr, std::int64_t n_queries,
                                      std::uint8_t* varies) const = 0;
    virtual void begin(const Crew& crew, QuerySelection& selection, double* errors) const = 0;
    virtual void choose(const Crew& crew, QuerySelection& selection, std::int64_t column, double* errors) const = 0;

    // Stored entries of the rows that take part, as if all rows had equally many.
    std::int64_t entries_taken() const { return row_entries * n; }
    std::int64_t adjoint_blocks() const { return marginrank::adjoint_blocks(entries_taken(), n_cols); }
    std::int64_t block_adjoint_blocks() const { return marginrank::block_adjoint_blocks(entries_taken(), n_cols); }
};

template <class View>
class Matrix : public RowMatrix {
public:
    void multiply(const Crew& crew, const double* w, double* out) const override {
        marginrank::multiply(crew, view, list(), n, w, out);
    }
    void multiply_transposed(const Crew& crew, const double* g, std::int64_t n_blocks, double* partial,
                             double* out) const override {
        marginrank::multiply_transposed(crew, view, list(), n, g, n_blocks, partial, out);
    }
    void multiply_block(const Crew& crew, const double* W, std::int64_t n_vectors, double* out) const override {
        marginrank::multiply_block(crew, view, list(), n, W, n_vectors, out);
    }
    void multiply_transposed_block(const Crew& crew, const double* G, std::int64_t n_vectors, std::int64_t n_blocks,
                                   double* partial, double* out) const override {
        marginrank::multiply_transposed_block(crew, view, list(), n, G, n_vectors, n_blocks, partial, out);
    }
    double fused_pass(const Crew& crew, const QueryLoss& loss, QueryRange range, const double* w, double* scores,
                      double* gradient, std::int64_t n_blocks, double* partial, double* out,
                      marginrank::VisitOfQuery visit) const override {
        return marginrank::fused_pass(crew, view, list(), loss, range, w, scores, gradient, n_blocks, partial, out,
                                      visit);
    }
    std::int64_t sum_columns(const Crew& crew, const marginrank::SummedRows& given, double* out) const override {
        return marginrank::sum_columns(crew, view, list(), given, out);
    }
    void find_varying_columns(const Crew& crew, const std::int64_t* query_ptr, std::int64_t n_queries,
                              std::uint8_t* varies) const override {
        marginrank::find_varying_columns(crew, view, list(), query_ptr, n_queries, varies);
    }
    void begin(const Crew& crew, QuerySelection& selection, double* errors) const override {
        selection.begin(crew, view, list(), errors);
    }
    void choose(const Crew& crew, QuerySelection& selection, std::int64_t column, double* errors) const override {
        selection.choose(crew, view, list(), column, errors);
    }

protected:
    View view;

    void take(const View& given_view, const Rows& given_rows, const Shift& given_shift) {
        view = given_view;
        rows = given_rows;
        n = rows ? static_cast<std::int64_t>(rows->size()) : view.n_rows;
        for (std::int64_t k = 0; rows && k < n; ++k)
            require(rows->data()[k] >= 0 && rows->data()[k] < view.n_rows, "rows must lie within X");
        for (std::int64_t k = 1; rows && view.file != nullptr && k < n; ++k)
            require(rows->data()[k - 1] <= rows->data()[k], "rows of a file must ascend");
        require(!given_shift || static_cast<std::int64_t>(given_shift->size()) == view.n_cols,
                "shift must have one entry per column of X");
        shift = given_shift;
        view.shift = shift ? shift->data() : nullptr;
        n_cols = view.n_cols;
        row_entries = view.n_rows > 0 ? view.stored() / view.n_rows : 0;
        row_bytes = view.row_bytes();
        in_memory = view.file == nullptr;
    }

private:
    Rows rows;
    Shift shift;

    marginrank::RowList list() const { return {rows ? rows->data() : nullptr}; }
};

template <class Real>
struct Dense : Matrix<marginrank::DenseMatrix<Real>> {
    In2<Real> array;

    Dense(In2<Real> X, Rows rows, Shift shift) : array(X) {
        const auto n_cols = static_cast<std::int64_t>(X.shape(1));
        this->take({X.data(), static_cast<std::int64_t>(X.shape(0)), n_cols, n_cols}, rows, shift);
    }

    Dense(const RowFile& file, std::int64_t offset, std::int64_t n_rows, std::int64_t n_cols, Rows rows, Shift shift) {
        require(offset >= 0 && n_rows >= 0 && n_cols >= 0, "X must lie within the file");
        this->take({nullptr, n_rows, n_cols, n_cols, 0, &file, offset}, rows, shift);
    }
};

template <class Real, class Index>
struct Csr : Matrix<marginrank::CsrMatrix<Real, Index>> {
    In<Real> data;
    In<Index> indices, indptr;

    // The structure is not looked at again: check it with first_bad_row.
    Csr(In<Real> values, In<Index> columns, In<Index> ptr, std::int64_t n_cols, Rows rows, Shift shift)
        : data(values), indices(columns), indptr(ptr) {
        require(ptr.size() >= 1 && values.size() == columns.size(), "CSR arrays must fit together");
        const auto n_rows = static_cast<std::int64_t>(ptr.size()) - 1;
        const auto stored = static_cast<std::int64_t>(ptr.data()[n_rows]);
        require(n_cols >= 0 && stored >= 0 && stored <= static_cast<std::int64_t>(columns.size()),
                "CSR arrays must fit together");
        this->take({values.data(), columns.data(), ptr.data(), n_rows, n_cols}, rows, shift);
    }

    Csr(const RowFile& file, std::int64_t data_offset, std::int64_t indices_offset, In<Index> ptr, std::int64_t n_cols,
        Rows rows, Shift shift)
        : indptr(ptr) {
        require(data_offset >= 0 && indices_offset >= 0 && n_cols >= 0 && ptr.size() >= 1,
                "X must lie within the file");
        this->take({nullptr, nullptr, ptr.data(), static_cast<std::int64_t>(ptr.size()) - 1, n_cols, 0, &file,
                    data_offset, indices_offset},
                   rows, shift);
    }
};

void scores(const RowMatrix& matrix, In<double> w, Out<double> out, int n_threads) {
    require(static_cast<std::int64_t>(w.size()) == matrix.n_cols, "w must have one entry per column of X");
    require(static_cast<std::int64_t>(out.size()) == matrix.n, "out must have one entry per row");
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.multiply(crew, w.data(), out.data());
    });
}

void check_adjoint(const RowMatrix& matrix, const Out2& partial, const Out<double>& out) {
    const auto n_cols = static_cast<std::size_t>(matrix.n_cols);
    require(partial.shape(0) >= 1 && partial.shape(1) == n_cols && out.size() == n_cols,
            "partial and out must have one entry per column of X");
}

void adjoint(const RowMatrix& matrix, In<double> g, Out2 partial, Out<double> out, int n_threads) {
    require(static_cast<std::int64_t>(g.size()) == matrix.n, "g must have one entry per row");
    check_adjoint(matrix, partial, out);
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.multiply_transposed(crew, g.data(), static_cast<std::int64_t>(partial.shape(0)), partial.data(),
                                   out.data());
    });
}

void scores_block(const RowMatrix& matrix, In2<double> W, Out2 out, int n_threads) {
    require(static_cast<std::int64_t>(W.shape(1)) == matrix.n_cols, "W must have one column per column of X");
    require(out.shape(0) == W.shape(0) && static_cast<std::int64_t>(out.shape(1)) == matrix.n,
            "out must have the rows of W and one column per row of X");
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.multiply_block(crew, W.data(), static_cast<std::int64_t>(W.shape(0)), out.data());
    });
}

void adjoint_block(const RowMatrix& matrix, In2<double> G, Out<double> partial, Out2 out, int n_threads) {
    require(static_cast<std::int64_t>(G.shape(1)) == matrix.n, "G must have one column per row of X");
    require(out.shape(0) == G.shape(0) && static_cast<std::int64_t>(out.shape(1)) == matrix.n_cols,
            "out must have the rows of G and one column per column of X");
    const std::int64_t n_blocks = matrix.block_adjoint_blocks();
    require(static_cast<std::int64_t>(partial.size()) >= n_blocks * marginrank::kBlockWidth * matrix.n_cols,
            "partial must have block_partial_size entries");
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.multiply_transposed_block(crew, G.data(), static_cast<std::int64_t>(G.shape(0)), n_blocks,
                                         partial.data(), out.data());
    });
}

// The queries [first, last) of the loss, all of them for a last of -1: their rows are those of X.
QueryRange check_fused(const RowMatrix& matrix, const QueryLoss& loss, std::size_t w, std::size_t p,
                                   std::size_t g, std::int64_t first, std::int64_t last) {
    if (last == -1) last = loss.n_queries();
    require(first >= 0 && first <= last && last <= loss.n_queries(), "queries must lie within those of the loss");
    require(matrix.n == loss.query_ptr()[last] - loss.query_ptr()[first], "X and the loss must have the same rows");
    require(p == static_cast<std::size_t>(loss.n_rows()) && g == p, "score vectors must have one entry per row");
    require(w == static_cast<std::size_t>(matrix.n_cols), "w must have one entry per column of X");
    return {first, last};
}

double fused(const RowMatrix& matrix, const QueryLoss& loss, In<double> w, Out<double> p, Out<double> g,
             Out2 partial, Out<double> out, int n_threads, std::int64_t first, std::int64_t last) {
    check_adjoint(matrix, partial, out);
    const auto range = check_fused(matrix, loss, w.size(), p.size(), g.size(), first, last);
    return without_gil(n_threads, [&](const Crew& crew) {
        return matrix.fused_pass(crew, loss, range, w.data(), p.data(), g.data(),
                                 static_cast<std::int64_t>(partial.shape(0)), partial.data(), out.data(),
                                 [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                     return loss.evaluate(q, p.data(), g.data(), scratch);
                                 });
    });
}

void fused_hvp(const RowMatrix& matrix, const QueryLoss& loss, In<double> v, In<double> p, Out<double> u,
               Out<double> h, Out2 partial, Out<double> out, int n_threads, std::int64_t first,
               std::int64_t last) {
    check_adjoint(matrix, partial, out);
    const auto range = check_fused(matrix, loss, v.size(), u.size(), h.size(), first, last);
    require(p.size() == u.size(), "score vectors must have one entry per row");
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.fused_pass(crew, loss, range, v.data(), u.data(), h.data(), static_cast<std::int64_t>(partial.shape(0)),
                          partial.data(), out.data(), [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                              loss.hessian(q, p.data(), u.data(), h.data(), scratch);
                              return 0.0;
                          });
    });
}

// Offsets from 0 to n.
void check_offsets(const In<std::int64_t>& ptr, std::int64_t n, const char* sentence) {
    const std::int64_t* first = ptr.data();
    require(ptr.size() >= 1 && first[0] == 0 && first[ptr.size() - 1] == n && std::is_sorted(first, first + ptr.size()),
            sentence);
}

std::int64_t sum_columns(const RowMatrix& matrix, In<std::int64_t> block_ptr, Rows query_ptr, Shift weight, Shift unit,
                         Out<double> out, int n_threads) {
    const std::int64_t n_cols = matrix.n_cols;
    marginrank::SummedRows given{block_ptr.data(), static_cast<std::int64_t>(block_ptr.size()) - 1};
    check_offsets(block_ptr, matrix.n, "block_ptr must ascend from 0 to the number of rows");
    if (query_ptr) {
        check_offsets(*query_ptr, matrix.n, "query_ptr must ascend from 0 to the number of rows");
        given.query_ptr = query_ptr->data();
        given.n_queries = static_cast<std::int64_t>(query_ptr->size()) - 1;
    }
    for (std::int64_t b = 0; b < given.n_blocks; ++b) {
        require(block_ptr.data()[b] < block_ptr.data()[b + 1], "blocks must not be empty");
        require(!query_ptr || std::binary_search(given.query_ptr, given.query_ptr + given.n_queries + 1,
                                                 block_ptr.data()[b]),
                "blocks must begin with a query");
    }
    require(!weight || static_cast<std::int64_t>(weight->size()) == matrix.n, "weight must have one entry per row");
    require(!unit || static_cast<std::int64_t>(unit->size()) == n_cols, "unit must have one entry per column of X");
    require(static_cast<std::int64_t>(out.size()) == given.n_blocks * marginrank::kColumnFields * n_cols,
            "out must have a table for each block");
    given.weight = weight ? weight->data() : nullptr;
    given.unit = unit ? unit->data() : nullptr;
    return without_gil(n_threads, [&](const Crew& crew) {
        return matrix.sum_columns(crew, given, out.data());
    });
}

void find_varying_columns(const RowMatrix& matrix, In<std::int64_t> query_ptr, Out<std::uint8_t> varies, int n_threads) {
    require(static_cast<std::int64_t>(varies.size()) == matrix.n_cols, "varies must have one entry per column of X");
    check_offsets(query_ptr, matrix.n, "query_ptr must ascend from 0 to the number of rows");
    without_gil(n_threads, [&](const Crew& crew) {
        matrix.find_varying_columns(crew, query_ptr.data(), static_cast<std::int64_t>(query_ptr.size()) - 1,
                                    varies.data());
    });
}

void check_selection(const RowMatrix& matrix, const QuerySelection& selection, const Out<double>& errors) {
    require(matrix.in_memory, "X must lie in memory");
    require(matrix.n == selection.n_rows() && matrix.n_cols == selection.n_cols(),
            "X and the selection must have the same rows and columns");
    require(static_cast<std::int64_t>(errors.size()) == matrix.n_cols, "errors must have one entry per column of X");
}

void begin_selection(const RowMatrix& matrix, QuerySelection& selection, Out<double> errors, int n_threads) {
    check_selection(matrix, selection, errors);
    without_gil(n_threads, [&](const Crew& crew) { matrix.begin(crew, selection, errors.data()); });
}

void choose_feature(const RowMatrix& matrix, QuerySelection& selection, std::int64_t column, Out<double> errors,
                    int n_threads) {
    check_selection(matrix, selection, errors);
    require(selection.has_begun() && selection.n_chosen() < selection.most(), "the selection must have begun, and have room");
    require(column >= 0 && column < matrix.n_cols && !selection.is_chosen(column),
            "column must be one of X that was not chosen before");
    without_gil(n_threads, [&](const Crew& crew) { matrix.choose(crew, selection, column, errors.data()); });
}

void bind_row_matrix(nb::module_& m) {
    nb::class_<RowMatrix>(m, "RowMatrix", "Rows of a matrix, dense or CSR.")
        .def_ro("n_rows", &RowMatrix::n)
        .def_ro("n_cols", &RowMatrix::n_cols)
        .def_ro("row_entries", &RowMatrix::row_entries)
        .def_ro("row_bytes", &RowMatrix::row_bytes)
        .def_prop_ro("adjoint_blocks", &RowMatrix::adjoint_blocks)
        .def_prop_ro("block_adjoint_blocks", &RowMatrix::block_adjoint_blocks)
        .def_prop_ro("block_partial_size",
                     [](const RowMatrix& x) { return x.block_adjoint_blocks() * marginrank::kBlockWidth * x.n_cols; })
        .def("scores", &scores, "w"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a)
        .def("adjoint", &adjoint, "g"_a.noconvert(), "partial"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a)
        .def("scores_block", &scores_block, "W"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a)
        .def("adjoint_block", &adjoint_block, "G"_a.noconvert(), "partial"_a.noconvert(), "out"_a.noconvert(),
             "n_threads"_a)
        .def("fused", &fused, "loss"_a, "w"_a.noconvert(), "scores"_a.noconvert(), "gradient"_a.noconvert(),
             "partial"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a, "first"_a = 0, "last"_a = -1)
        .def("fused_hvp", &fused_hvp, "loss"_a, "v"_a.noconvert(), "scores"_a.noconvert(),
             "direction"_a.noconvert(), "product"_a.noconvert(), "partial"_a.noconvert(), "out"_a.noconvert(),
             "n_threads"_a, "first"_a = 0, "last"_a = -1)
        .def("find_varying_columns", &find_varying_columns, "query_ptr"_a.noconvert(), "varies"_a.noconvert(),
             "n_threads"_a)
        .def("begin_selection", &begin_selection, "selection"_a, "errors"_a.noconvert(), "n_threads"_a)
        .def("choose_feature", &choose_feature, "selection"_a, "column"_a, "errors"_a.noconvert(), "n_threads"_a)
        .def("sum_columns", &sum_columns, "block_ptr"_a.noconvert(), "query_ptr"_a.noconvert().none(),
             "weight"_a.noconvert().none(), "unit"_a.noconvert().none(), "out"_a.noconvert(), "n_threads"_a);
}

template <class Real>
void bind_dense(nb::module_& m, const char* name) {
    nb::class_<Dense<Real>, RowMatrix> cls(m, name, "Rows of a dense matrix.");
    cls.def(nb::init<In2<Real>, Rows, Shift>(), "X"_a.noconvert(), "rows"_a.noconvert().none(),
            "shift"_a.noconvert().none() = nb::none());
    cls.def(nb::init<const RowFile&, std::int64_t, std::int64_t, std::int64_t, Rows, Shift>(), "file"_a, "offset"_a,
            "n_rows"_a, "n_cols"_a, "rows"_a.noconvert().none(), "shift"_a.noconvert().none() = nb::none(),
            nb::keep_alive<1, 2>());
}

template <class Real, class Index>
void bind_csr(nb::module_& m, const char* name) {
    nb::class_<Csr<Real, Index>, RowMatrix> cls(m, name, "Rows of a CSR matrix.");
    cls.def(nb::init<In<Real>, In<Index>, In<Index>, std::int64_t, Rows, Shift>(), "data"_a.noconvert(),
            "indices"_a.noconvert(), "indptr"_a.noconvert(), "n_cols"_a, "rows"_a.noconvert().none(),
            "shift"_a.noconvert().none() = nb::none());
    cls.def(nb::init<const RowFile&, std::int64_t, std::int64_t, In<Index>, std::int64_t, Rows, Shift>(), "file"_a,
            "data_offset"_a, "indices_offset"_a, "indptr"_a.noconvert(), "n_cols"_a, "rows"_a.noconvert().none(),
            "shift"_a.noconvert().none() = nb::none(), nb::keep_alive<1, 2>());
}

}  // namespace

void bind_matrices(nb::module_& m) {
    nb::class_<RowFile>(m, "RowFile", "A file that rows are read from as a pass gets to them.")
        // const char* and not std::string: a want of memory while nanobind converts arguments would end the process.
        .def(nb::init<int, const char*>(), "descriptor"_a, "path"_a);
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const marginrank::FileFailed& failure) {
            const nb::tuple told = nb::make_tuple(failure.code, failure.what(), failure.path.c_str());
            PyErr_SetObject(PyExc_OSError, told.ptr());
        }
    });
    bind_row_matrix(m);
    bind_dense<float>(m, "DenseF32");
    bind_dense<double>(m, "DenseF64");
    bind_csr<float, std::int32_t>(m, "CsrF32I32");
    bind_csr<float, std::int64_t>(m, "CsrF32I64");
    bind_csr<double, std::int32_t>(m, "CsrF64I32");
    bind_csr<double, std::int64_t>(m, "CsrF64I64");
}
