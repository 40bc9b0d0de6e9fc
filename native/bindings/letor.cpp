// LETOR/SVMlight text in and out.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "common.hpp"
#include "marginrank/letor.hpp"
#include "marginrank/letor_write.hpp"

namespace {

using marginrank::LetorOptions;
using marginrank::TextSpan;
using Strings = nb::typed<nb::list, nb::str>;

// The rows of a text, which it keeps for the ids and comments that point into it.
template <class Real>
struct Rows {
    In<std::uint8_t> text;
    marginrank::LetorRows<Real> rows;

    Rows(In<std::uint8_t> given, std::int64_t start, std::int64_t first_index, std::int64_t last_index,
         bool allow_nonfinite, std::optional<double> null_value, int n_threads)
        : text(given) {
        const auto size = static_cast<std::int64_t>(text.size());
        require(start >= 0 && start <= size, "start must lie within the text");
        require(first_index == 0 || first_index == 1, "first_index must be 0 or 1");
        require(last_index >= 0 && last_index <= std::numeric_limits<std::int32_t>::max(),
                "last_index must fit into 32 bits");
        const LetorOptions options{first_index, last_index, allow_nonfinite, null_value.has_value(),
                                   null_value.value_or(0.0)};
        base = reinterpret_cast<const char*>(text.data()) + start;
        rows = without_gil(n_threads, [&](const Crew& crew) {
            return marginrank::parse_letor<Real>(crew, base, size - start, options);
        });
    }

    std::tuple<int, std::int64_t, std::int64_t> problem() const {
        const auto& [fault, where] = rows.problem;
        const std::int64_t start = base - reinterpret_cast<const char*>(text.data());
        return {static_cast<int>(fault), where.begin + start, where.end + start};
    }

    void labels(Out<double> out) const {
        require(static_cast<std::int64_t>(out.size()) == rows.n_rows(), "out must have one entry per row");
        double* p = out.data();
        for (const auto& chunk : rows.chunks) p = std::copy(chunk.labels.begin(), chunk.labels.end(), p);
    }

    void integer_qids(Out<std::int64_t> out) const {
        require(rows.has_qid && rows.qids_are_integers && rows.problem.fault == marginrank::LetorFault::kNone,
                "the qids must be integers");
        require(static_cast<std::int64_t>(out.size()) == rows.n_rows(), "out must have one entry per row");
        std::int64_t* p = out.data();
        for (const auto& chunk : rows.chunks) p = std::copy(chunk.integer_qids.begin(), chunk.integer_qids.end(), p);
    }

    // One string per row; bytes that are not UTF-8 become lone surrogates, as in the names of files.
    Strings strings(bool of_qids) const {
        Strings result;
        nb::object last = nb::str("");
        TextSpan before{0, 0};
        for (const auto& chunk : rows.chunks)
            for (const TextSpan& span : of_qids ? chunk.qids : chunk.comments) {
                const std::int64_t size = span.end - span.begin;
                const bool same = span.begin >= 0 && size == before.end - before.begin &&
                                  std::equal(base + span.begin, base + span.begin + size, base + before.begin);
                if (!same && span.begin >= 0)
                    last = nb::steal(PyUnicode_DecodeUTF8(base + span.begin, size, "surrogateescape"));
                if (!last.is_valid()) throw nb::python_error();
                if (span.begin < 0) {
                    result.append(nb::str(""));
                } else {
                    result.append(last);
                    before = span;
                }
            }
        return result;
    }

    template <class Index>
    void csr(Out<Real> data, Out<Index> indices, Out<Index> indptr, int n_threads) const {
        require(static_cast<std::int64_t>(data.size()) == rows.n_entries() && indices.size() == data.size() &&
                    static_cast<std::int64_t>(indptr.size()) == rows.n_rows() + 1,
                "data, indices and indptr must fit the rows");
        require(rows.n_entries() <= std::numeric_limits<Index>::max(), "indptr must be able to count the entries");
        without_gil(n_threads, [&](const Crew& crew) {
            marginrank::letor_to_csr(crew, rows, data.data(), indices.data(), indptr.data());
        });
    }

    void dense(nb::ndarray<Real, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu> X, int n_threads) const {
        require(static_cast<std::int64_t>(X.shape(0)) == rows.n_rows() &&
                    static_cast<std::int64_t>(X.shape(1)) > rows.last_column,
                "X must fit the rows");
        without_gil(n_threads, [&](const Crew& crew) {
            marginrank::letor_to_dense(crew, rows, X.data(), static_cast<std::int64_t>(X.shape(1)));
        });
    }

    const char* base = nullptr;
};

template <class Real>
void bind_rows(nb::module_& m, const char* name) {
    using R = Rows<Real>;
    nb::class_<R>(m, name)
        .def(nb::init<In<std::uint8_t>, std::int64_t, std::int64_t, std::int64_t, bool, std::optional<double>, int>(),
             "text"_a.noconvert(), "start"_a, "first_index"_a, "last_index"_a, "allow_nonfinite"_a,
             "null_value"_a.none(), "n_threads"_a)
        .def_prop_ro("problem", &R::problem)
        .def_prop_ro("n_rows", [](const R& r) { return r.rows.n_rows(); })
        .def_prop_ro("n_entries", [](const R& r) { return r.rows.n_entries(); })
        .def_prop_ro("last_column", [](const R& r) { return r.rows.last_column; })
        .def_prop_ro("has_qid", [](const R& r) { return r.rows.has_qid; })
        .def_prop_ro("qids_are_integers", [](const R& r) { return r.rows.qids_are_integers; })
        .def_prop_ro("has_comments", [](const R& r) { return r.rows.has_comments; })
        .def("labels", &R::labels, "out"_a.noconvert())
        .def("integer_qids", &R::integer_qids, "out"_a.noconvert())
        .def("qids", [](const R& r) { return r.strings(true); })
        .def("comments", [](const R& r) { return r.strings(false); })
        .def("csr", &R::template csr<std::int32_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
             "indptr"_a.noconvert(), "n_threads"_a)
        .def("csr", &R::template csr<std::int64_t>, "data"_a.noconvert(), "indices"_a.noconvert(),
             "indptr"_a.noconvert(), "n_threads"_a)
        .def("dense", &R::dense, "X"_a.noconvert(), "n_threads"_a);
}

// Returns the features of CSR rows as text, and fills in where each row ends in it.
template <class Real>
nb::bytes write_letor_features(In<Real> data, In<std::int64_t> indices, In<std::int64_t> indptr,
                               std::int64_t first_index, Out<std::int64_t> ends) {
    const auto n_rows = static_cast<std::int64_t>(ends.size());
    require(static_cast<std::int64_t>(indptr.size()) == n_rows + 1 && indices.size() == data.size(),
            "data, indices, indptr and ends must fit together");
    for (std::int64_t row = 0; row < n_rows; ++row)
        require(indptr.data()[row] >= 0 && indptr.data()[row] <= indptr.data()[row + 1], "indptr must not fall");
    require(indptr.data()[n_rows] <= static_cast<std::int64_t>(data.size()), "indptr must lie within data");
    std::string text;
    {
        const ReleasedGil released;
        marginrank::write_letor_features(data.data(), indices.data(), indptr.data(), n_rows, first_index, text,
                                         ends.data());
    }
    return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_letor(nb::module_& m) {
    bind_rows<float>(m, "LetorRowsF32");
    bind_rows<double>(m, "LetorRowsF64");
    m.def("write_letor_features", &write_letor_features<float>, "data"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert(), "first_index"_a, "ends"_a.noconvert());
    m.def("write_letor_features", &write_letor_features<double>, "data"_a.noconvert(), "indices"_a.noconvert(),
          "indptr"_a.noconvert(), "first_index"_a, "ends"_a.noconvert());
}
