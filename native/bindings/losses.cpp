// Losses in score space.
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "common.hpp"
#include "marginrank/least_squares.hpp"
#include "marginrank/logistic.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/pair_loss.hpp"
#include "marginrank/preference_pairs.hpp"
#include "marginrank/smoothed_hinge.hpp"

namespace {

void require_queries(const In<std::int64_t>& ptr, std::size_t n_rows) {
    require(ptr.size() >= 1, "query_ptr must not be empty");
    const auto n_queries = static_cast<std::int64_t>(ptr.size()) - 1;
    require(ptr.data()[0] == 0 && ptr.data()[n_queries] == static_cast<std::int64_t>(n_rows),
            "query_ptr must run from 0 to the number of rows");
    for (std::int64_t q = 0; q < n_queries; ++q) {
        const std::int64_t rows = ptr.data()[q + 1] - ptr.data()[q];
        require(rows >= 0 && rows < (std::int64_t{1} << 31) - 64, "query_ptr must be ascending, queries below 2^31 rows");
    }
}

// The labels own what they point to.
struct Labels {
    In<std::int64_t> query_ptr;
    std::optional<In<double>> weight;
    std::unique_ptr<marginrank::PairLabels> labels;

    Labels(In<double> y, In<std::int64_t> ptr, std::optional<In<double>> w, int n_threads)
        : query_ptr(ptr), weight(w) {
        require_queries(ptr, y.size());
        const auto n_queries = static_cast<std::int64_t>(ptr.size()) - 1;
        if (w) require(w->size() == y.size(), "weight must have one entry per row");
        without_gil(n_threads, [&](const Crew& crew) {
            labels = std::make_unique<marginrank::PairLabels>(crew, y.data(), w ? w->data() : nullptr, ptr.data(),
                                                              n_queries);
        });
    }
};

using marginrank::LeastSquares;
using marginrank::PairLoss;
using marginrank::QueryLoss;
using marginrank::SmoothedHinge;

void require_rows(std::int64_t n_rows, std::initializer_list<std::size_t> sizes) {
    for (const std::size_t size : sizes)
        require(static_cast<std::int64_t>(size) == n_rows, "score vectors must have one entry per row");
}

void require_range(const QueryLoss& loss, std::int64_t first, std::int64_t last) {
    require(first >= 0 && first <= last && last <= loss.n_queries(), "queries must lie within those of the loss");
}

double evaluate(const QueryLoss& loss, In<double> p, Out<double> g, int n_threads) {
    require_rows(loss.n_rows(), {p.size(), g.size()});
    return without_gil(n_threads, [&](const Crew& crew) { return loss.evaluate_all(crew, p.data(), g.data()); });
}

void hessian(const QueryLoss& loss, In<double> p, In<double> u, Out<double> h, int n_threads) {
    require_rows(loss.n_rows(), {p.size(), u.size(), h.size()});
    without_gil(n_threads, [&](const Crew& crew) { loss.hessian_all(crew, p.data(), u.data(), h.data()); });
}

// The queries [first, last) alone, for passes that make the rows of X as they go. Threads may share the arrays.
double evaluate_queries(const QueryLoss& loss, std::int64_t first, std::int64_t last, In<double> p, Out<double> g) {
    require_range(loss, first, last);
    require_rows(loss.n_rows(), {p.size(), g.size()});
    return without_gil(
        1, [&](const Crew& crew) { return loss.evaluate_range(crew, first, last, p.data(), g.data()); });
}

void hessian_queries(const QueryLoss& loss, std::int64_t first, std::int64_t last, In<double> p, In<double> u,
                     Out<double> h) {
    require_range(loss, first, last);
    require_rows(loss.n_rows(), {p.size(), u.size(), h.size()});
    without_gil(
        1, [&](const Crew& crew) { loss.hessian_range(crew, first, last, p.data(), u.data(), h.data()); });
}

void active_partners(const PairLoss& loss, In<double> p, Out<double> above, Out<double> below, int n_threads) {
    require_rows(loss.n_rows(), {p.size(), above.size(), below.size()});
    without_gil(n_threads,
                [&](const Crew& crew) { loss.active_partners(crew, p.data(), above.data(), below.data()); });
}

double level(const SmoothedHinge& loss, In<double> p, int n_threads) {
    require_rows(loss.n_rows(), {p.size()});
    return without_gil(n_threads, [&](const Crew& crew) { return loss.level(crew, p.data()); });
}

// A loss over pairs takes labels, the factors of the queries, and whatever else its constructor has.
template <class Loss, class... Options, class... Names>
nb::class_<Loss, QueryLoss> bind_pair_loss(nb::module_& m, const char* name, const char* doc,
                                           const Names&... names) {
    return nb::class_<Loss, QueryLoss>(m, name, doc)
        .def("__init__",
             [](Loss* self, const Labels& labels, In<double> scale, Options... options) {
                 require(static_cast<std::int64_t>(scale.size()) == labels.labels->n_queries(),
                         "scale must have one entry per query");
                 new (self) Loss(*labels.labels, scale.data(), options...);
             },
             "labels"_a, "scale"_a.noconvert(), names..., nb::keep_alive<1, 2>());
}

void make_least_squares(LeastSquares* self, In<double> y, In<std::int64_t> ptr, std::optional<In<double>> w,
                        In<double> scale) {
    require_queries(ptr, y.size());
    require(!w || w->size() == y.size(), "weight must have one entry per row");
    require(scale.size() + 1 == ptr.size(), "scale must have one entry per query");
    new (self) LeastSquares(y.data(), w ? w->data() : nullptr, scale.data(), ptr.data(),
                            static_cast<std::int64_t>(scale.size()));
}

using marginrank::PreferencePairs;

double evaluate_pairs(const PreferencePairs& pairs, In<double> p, Out<double> g, int n_threads) {
    require_rows(pairs.n_rows(), {p.size(), g.size()});
    return without_gil(n_threads, [&](const Crew& crew) { return pairs.evaluate(crew, p.data(), g.data()); });
}

void hessian_pairs(const PreferencePairs& pairs, In<double> p, In<double> u, Out<double> h, int n_threads) {
    require_rows(pairs.n_rows(), {p.size(), u.size(), h.size()});
    without_gil(n_threads, [&](const Crew& crew) { pairs.hessian(crew, p.data(), u.data(), h.data()); });
}

// A loss over explicit pairs is a term; all are made alike, and keep copies of the arrays.
template <class Term>
void bind_preferences(nb::module_& m, const char* name, const char* doc) {
    using Pairs = marginrank::PairsOf<Term>;
    using Optional = std::optional<In<double>>;
    nb::class_<Pairs, PreferencePairs>(m, name, doc)
        .def("__init__",
             [](Pairs* self, In2<std::int64_t> pairs, Optional weight, Optional margin, std::int64_t n_rows) {
                 const auto n = static_cast<std::int64_t>(pairs.shape(0));
                 require(pairs.shape(1) == 2 && n > 0, "pairs must have two columns and at least one row");
                 require(n_rows >= 0 && n_rows < (std::int64_t{1} << 31), "pairs can refer to fewer than 2^31 rows");
                 require(!weight || weight->size() == pairs.shape(0), "weight must have one entry per pair");
                 require(!margin || margin->size() == pairs.shape(0), "margin must have one entry per pair");
                 for (std::int64_t k = 0; k < 2 * n; ++k)
                     require(pairs.data()[k] >= 0 && pairs.data()[k] < n_rows, "pairs must refer to rows of X");
                 new (self) Pairs(pairs.data(), weight ? weight->data() : nullptr, margin ? margin->data() : nullptr,
                                  n, n_rows);
             },
             "pairs"_a.noconvert(), "weight"_a.noconvert().none(), "margin"_a.noconvert().none(), "n_rows"_a);
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<QueryLoss>(m, "QueryLoss", "A loss that is a sum over queries.")
        .def_prop_ro("n_rows", &QueryLoss::n_rows)
        .def_prop_ro("n_queries", &QueryLoss::n_queries)
        .def_prop_ro("longest_query", &QueryLoss::longest_query)
        .def_prop_ro("query_ptr",
                     [](const QueryLoss& loss) {
                         return to_numpy(std::vector<std::int64_t>(loss.query_ptr(),
                                                                   loss.query_ptr() + loss.n_queries() + 1));
                     },
                     nb::rv_policy::automatic)
        .def("add_offset",
             [](QueryLoss& loss, In<double> offset) {
                 require_rows(loss.n_rows(), {offset.size()});
                 loss.add_offset(offset.data());
             },
             "offset"_a.noconvert())
        .def("evaluate", &evaluate, "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian", &hessian, "scores"_a.noconvert(), "direction"_a.noconvert(), "product"_a.noconvert(),
             "n_threads"_a)
        .def("evaluate_queries", &evaluate_queries, "first"_a, "last"_a, "scores"_a.noconvert(),
             "gradient"_a.noconvert())
        .def("hessian_queries", &hessian_queries, "first"_a, "last"_a, "scores"_a.noconvert(),
             "direction"_a.noconvert(), "product"_a.noconvert());

    nb::class_<Labels>(m, "PairLabels", "Labels of all queries, sorted and counted.")
        .def(nb::init<In<double>, In<std::int64_t>, std::optional<In<double>>, int>(), "y"_a.noconvert(),
             "query_ptr"_a.noconvert(), "weight"_a.noconvert().none(), "n_threads"_a)
        .def_prop_ro("n_pairs", [](const Labels& l) { return to_numpy(l.labels->n_pairs()); },
                     nb::rv_policy::automatic)
        .def_prop_ro("pair_weight", [](const Labels& l) { return to_numpy(l.labels->pair_weight()); },
                     nb::rv_policy::automatic)
        .def("partner_weight", [](const Labels& l) {
            std::vector<double> out(static_cast<std::size_t>(l.labels->query_ptr()[l.labels->n_queries()]), 0.0);
            l.labels->partner_weight(out.data());
            return to_numpy(out);
        });

    bind_pair_loss<PairLoss, bool>(m, "PairLoss", "Pairwise hinge or squared hinge over queries.", "squared"_a)
        .def("active_partners", &active_partners, "scores"_a.noconvert(), "above"_a.noconvert(),
             "below"_a.noconvert(), "n_threads"_a);

    bind_pair_loss<marginrank::LogisticLoss>(m, "LogisticLoss", "Pairwise logistic loss over queries.");

    bind_pair_loss<SmoothedHinge, double>(m, "SmoothedHinge", "Smoothed pairwise hinge over queries.", "width"_a)
        .def("level", &level, "scores"_a.noconvert(), "n_threads"_a);

    nb::class_<LeastSquares, QueryLoss>(m, "LeastSquares", "Centred least squares over queries.")
        .def("__init__", &make_least_squares, "y"_a.noconvert(), "query_ptr"_a.noconvert(),
             "weight"_a.noconvert().none(), "scale"_a.noconvert(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
             nb::keep_alive<1, 4>());

    nb::class_<PreferencePairs>(m, "PreferencePairs", "A loss over explicit pairs.")
        .def("evaluate", &evaluate_pairs, "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian", &hessian_pairs, "scores"_a.noconvert(), "direction"_a.noconvert(), "product"_a.noconvert(),
             "n_threads"_a)
        .def("partner_weight", [](const PreferencePairs& pairs) {
            std::vector<double> out(static_cast<std::size_t>(pairs.n_rows()), 0.0);
            pairs.partner_weight(out.data());
            return to_numpy(out);
        });
    bind_preferences<marginrank::HingePair>(m, "HingePairs", "Hinge over explicit pairs.");
    bind_preferences<marginrank::SquaredHingePair>(m, "SquaredHingePairs", "Squared hinge over explicit pairs.");
    bind_preferences<marginrank::LeastSquaresPair>(m, "LeastSquaresPairs", "Least squares over explicit pairs.");
    bind_preferences<marginrank::LogisticPair>(m, "LogisticPairs", "Logistic loss over explicit pairs.");
}
