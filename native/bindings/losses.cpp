// Losses in score space.
#include <cstdint>
#include <memory>

#include "common.hpp"
#include "marginrank/least_squares.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/pair_loss.hpp"
#include "marginrank/preference_pairs.hpp"

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

struct PairLoss : marginrank::PairLoss {
    In<double> scale;

    PairLoss(const Labels& labels, In<double> factor, bool squared)
        : marginrank::PairLoss(*labels.labels, factor.data(), squared), scale(factor) {
        require(static_cast<std::int64_t>(factor.size()) == labels.labels->n_queries(),
                "scale must have one entry per query");
    }
};

template <class Loss>
double evaluate_all(const Loss& loss, In<double> p, Out<double> g, int n_threads) {
    require(static_cast<std::int64_t>(p.size()) == loss.n_rows() && g.size() == p.size(),
            "score vectors must have one entry per row");
    return without_gil(n_threads, [&](const Crew& crew) { return loss.evaluate_all(crew, p.data(), g.data()); });
}

template <class Loss>
void hessian_all(const Loss& loss, In<double> p, In<double> u, Out<double> h, int n_threads) {
    require(static_cast<std::int64_t>(p.size()) == loss.n_rows() && u.size() == p.size() && h.size() == p.size(),
            "score vectors must have one entry per row");
    without_gil(n_threads, [&](const Crew& crew) { loss.hessian_all(crew, p.data(), u.data(), h.data()); });
}

void active_partners(const PairLoss& loss, In<double> p, Out<double> above, Out<double> below, int n_threads) {
    require(static_cast<std::int64_t>(p.size()) == loss.n_rows() && above.size() == p.size() &&
                below.size() == p.size(),
            "score vectors must have one entry per row");
    without_gil(n_threads,
                [&](const Crew& crew) { loss.active_partners(crew, p.data(), above.data(), below.data()); });
}

struct LeastSquares : marginrank::LeastSquares {
    In<double> labels, factor;
    std::optional<In<double>> weight;
    In<std::int64_t> offsets;

    LeastSquares(In<double> y, In<std::int64_t> ptr, std::optional<In<double>> w, In<double> scale)
        : marginrank::LeastSquares((check(y, ptr, w, scale), y.data()), w ? w->data() : nullptr, scale.data(),
                                   ptr.data(), static_cast<std::int64_t>(ptr.size()) - 1),
          labels(y), factor(scale), weight(w), offsets(ptr) {}

private:
    // Before the base looks at the arrays.
    static void check(const In<double>& y, const In<std::int64_t>& ptr, const std::optional<In<double>>& w,
                      const In<double>& scale) {
        require_queries(ptr, y.size());
        require(!w || w->size() == y.size(), "weight must have one entry per row");
        require(scale.size() + 1 == ptr.size(), "scale must have one entry per query");
    }
};

void check_range(const marginrank::QueryLoss& loss, std::int64_t first, std::int64_t last, std::size_t p) {
    require(first >= 0 && first <= last && last <= loss.n_queries(), "queries must lie within those of the loss");
    require(static_cast<std::int64_t>(p) == loss.n_rows(), "score vectors must have one entry per row");
}

// The queries [first, last) alone, for passes that make the rows of X as they go. Threads may share the arrays.
double evaluate_queries(const marginrank::QueryLoss& loss, std::int64_t first, std::int64_t last, In<double> p,
                        Out<double> g) {
    check_range(loss, first, last, p.size());
    check_range(loss, first, last, g.size());
    return without_gil(1, [&](const Crew&) {
        const auto scratch = loss.make_scratch();
        double value = 0.0;
        for (std::int64_t q = first; q < last; ++q) value += loss.evaluate(q, p.data(), g.data(), *scratch);
        return value;
    });
}

void hessian_queries(const marginrank::QueryLoss& loss, std::int64_t first, std::int64_t last, In<double> p,
                     In<double> u, Out<double> h) {
    check_range(loss, first, last, p.size());
    check_range(loss, first, last, u.size());
    check_range(loss, first, last, h.size());
    without_gil(1, [&](const Crew&) {
        const auto scratch = loss.make_scratch();
        for (std::int64_t q = first; q < last; ++q) loss.hessian(q, p.data(), u.data(), h.data(), *scratch);
    });
}

using Preferences = marginrank::PreferencePairs;

Preferences* make_preferences(In2<std::int64_t> pairs, std::optional<In<double>> weight,
                              std::optional<In<double>> margin, std::int64_t n_rows, bool squared,
                              bool all_active) {
    using marginrank::PairTerm;
    require(squared || !all_active, "all_active must come with squared: least squares");
    const auto n = static_cast<std::int64_t>(pairs.shape(0));
    require(pairs.shape(1) == 2 && n > 0, "pairs must have two columns and at least one row");
    require(n_rows >= 0 && n_rows < (std::int64_t{1} << 31), "pairs can refer to fewer than 2^31 rows");
    require(!weight || weight->size() == pairs.shape(0), "weight must have one entry per pair");
    require(!margin || margin->size() == pairs.shape(0), "margin must have one entry per pair");
    for (std::int64_t k = 0; k < 2 * n; ++k)
        require(pairs.data()[k] >= 0 && pairs.data()[k] < n_rows, "pairs must refer to rows of X");
    return new Preferences(pairs.data(), weight ? weight->data() : nullptr, margin ? margin->data() : nullptr, n,
                           n_rows,
                           all_active ? PairTerm::least_squares
                           : squared  ? PairTerm::squared_hinge
                                      : PairTerm::hinge);
}

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<marginrank::QueryLoss>(m, "QueryLoss", "A loss that is a sum over queries.")
        .def_prop_ro("n_rows", &marginrank::QueryLoss::n_rows)
        .def_prop_ro("n_queries", &marginrank::QueryLoss::n_queries)
        .def_prop_ro("longest_query", &marginrank::QueryLoss::longest_query)
        .def_prop_ro("query_ptr",
                     [](const marginrank::QueryLoss& loss) {
                         return to_numpy(std::vector<std::int64_t>(loss.query_ptr(),
                                                                   loss.query_ptr() + loss.n_queries() + 1));
                     },
                     nb::rv_policy::automatic)
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

    nb::class_<PairLoss, marginrank::QueryLoss>(m, "PairLoss", "Pairwise hinge or squared hinge over queries.")
        .def(nb::init<const Labels&, In<double>, bool>(), "labels"_a, "scale"_a.noconvert(), "squared"_a,
             nb::keep_alive<1, 2>())
        .def("evaluate", &evaluate_all<PairLoss>, "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian", &hessian_all<PairLoss>, "scores"_a.noconvert(), "direction"_a.noconvert(), "product"_a.noconvert(),
             "n_threads"_a)
        .def("active_partners", &active_partners, "scores"_a.noconvert(), "above"_a.noconvert(),
             "below"_a.noconvert(), "n_threads"_a);

    nb::class_<LeastSquares, marginrank::QueryLoss>(m, "LeastSquares", "Centred least squares over queries.")
        .def(nb::init<In<double>, In<std::int64_t>, std::optional<In<double>>, In<double>>(), "y"_a.noconvert(),
             "query_ptr"_a.noconvert(), "weight"_a.noconvert().none(), "scale"_a.noconvert())
        .def("evaluate", &evaluate_all<LeastSquares>, "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian", &hessian_all<LeastSquares>, "scores"_a.noconvert(), "direction"_a.noconvert(),
             "product"_a.noconvert(), "n_threads"_a);

    nb::class_<Preferences>(m, "PreferencePairs", "Hinge, squared hinge or least squares over explicit pairs.")
        .def(nb::new_(&make_preferences), "pairs"_a.noconvert(), "weight"_a.noconvert().none(), "margin"_a.noconvert().none(), "n_rows"_a,
             "squared"_a, "all_active"_a = false)
        .def("evaluate",
             [](const Preferences& pairs, In<double> p, Out<double> g, int n_threads) {
                 require(static_cast<std::int64_t>(p.size()) == pairs.n_rows() && g.size() == p.size(),
                         "score vectors must have one entry per row");
                 return without_gil(n_threads,
                                    [&](const Crew& crew) { return pairs.evaluate(crew, p.data(), g.data()); });
             },
             "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian",
             [](const Preferences& pairs, In<double> p, In<double> u, Out<double> h, int n_threads) {
                 require(static_cast<std::int64_t>(p.size()) == pairs.n_rows() && u.size() == p.size() &&
                             h.size() == p.size(),
                         "score vectors must have one entry per row");
                 without_gil(n_threads,
                             [&](const Crew& crew) { pairs.hessian(crew, p.data(), u.data(), h.data()); });
             },
             "scores"_a.noconvert(), "direction"_a.noconvert(), "product"_a.noconvert(), "n_threads"_a)
        .def("partner_weight", [](const Preferences& pairs) {
            std::vector<double> out(static_cast<std::size_t>(pairs.n_rows()), 0.0);
            pairs.partner_weight(out.data());
            return to_numpy(out);
        });
}
