// Structured losses in score space.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "common.hpp"
#include "marginrank/pair_labels.hpp"
#include "marginrank/structured_auc.hpp"
#include "marginrank/structured_dorm.hpp"
#include "marginrank/structured_loss.hpp"
#include "marginrank/structured_map.hpp"
#include "marginrank/structured_mrr.hpp"
#include "marginrank/structured_ndcg.hpp"

namespace {

using marginrank::StructuredLoss;

std::vector<double> copy_of(const In<double>& values) {
    return std::vector<double>(values.data(), values.data() + values.size());
}

// Checks the offsets before anything is built on them; returns the rows of the longest query.
std::size_t check_queries(const In<double>& y, const In<std::int64_t>& ptr, const In<double>& scale) {
    require(ptr.size() == scale.size() + 1, "scale must have one entry per query");
    const std::int64_t* at = ptr.data();
    require(at[0] == 0 && at[scale.size()] == static_cast<std::int64_t>(y.size()),
            "query_ptr must run from 0 to the number of rows");
    std::int64_t longest = 0;
    for (std::size_t q = 0; q < scale.size(); ++q) {
        const std::int64_t rows = at[q + 1] - at[q];
        require(rows >= 0 && rows < (std::int64_t{1} << 31) - 64,
                "query_ptr must be ascending, queries below 2^31 rows");
        longest = std::max(longest, rows);
    }
    return static_cast<std::size_t>(longest);
}

marginrank::GoodRows good_rows(const In<double>& y, const In<std::int64_t>& ptr, const In<double>& scale,
                               double relevance) {
    check_queries(y, ptr, scale);
    const auto n_queries = static_cast<std::int64_t>(scale.size());
    marginrank::GoodRows rows(y.data(), relevance, ptr.data(), n_queries);
    for (std::int64_t q = 0; q < n_queries; ++q)
        require(scale.data()[q] == 0.0 || (rows.n_good(q) > 0 && rows.n_bad(q) > 0),
                "queries without good or without bad rows must have scale 0");
    return rows;
}

std::unique_ptr<const marginrank::PairLabels> pair_labels(const In<double>& y, const In<std::int64_t>& ptr,
                                                          const In<double>& scale, int n_threads) {
    check_queries(y, ptr, scale);
    return without_gil(n_threads, [&](const Crew& crew) {
        return std::make_unique<const marginrank::PairLabels>(crew, y.data(), nullptr, ptr.data(),
                                                              static_cast<std::int64_t>(scale.size()));
    });
}

// Each loss keeps the array of offsets that it refers to.
struct Auc : marginrank::StructuredAuc {
    In<std::int64_t> kept;

    Auc(In<double> y, In<std::int64_t> ptr, In<double> scale, int n_threads)
        : marginrank::StructuredAuc(pair_labels(y, ptr, scale, n_threads), copy_of(scale)), kept(ptr) {}
};

struct Map : marginrank::StructuredMap {
    In<std::int64_t> kept;

    Map(In<double> y, In<std::int64_t> ptr, In<double> scale, double relevance)
        : marginrank::StructuredMap(good_rows(y, ptr, scale, relevance), copy_of(scale)), kept(ptr) {}
};

struct Ndcg : marginrank::StructuredNdcg {
    In<std::int64_t> kept;

    Ndcg(In<double> y, In<std::int64_t> ptr, In<double> scale, double relevance, In<double> discount,
         std::int64_t cutoff)
        : marginrank::StructuredNdcg(good_rows(y, ptr, scale, relevance), copy_of(scale), copy_of(discount), cutoff),
          kept(ptr) {
        require(static_cast<std::int64_t>(discount.size()) >= longest_query(),
                "discount must have an entry for each rank of the longest query");
    }
};

struct Mrr : marginrank::StructuredMrr {
    In<std::int64_t> kept;

    Mrr(In<double> y, In<std::int64_t> ptr, In<double> scale, double relevance, std::int64_t cutoff)
        : marginrank::StructuredMrr(good_rows(y, ptr, scale, relevance), copy_of(scale), cutoff), kept(ptr) {}
};

struct MrrFirst : marginrank::StructuredMrrFirst {
    In<std::int64_t> kept;

    MrrFirst(In<double> y, In<std::int64_t> ptr, In<double> scale, double relevance, std::int64_t cutoff)
        : marginrank::StructuredMrrFirst(good_rows(y, ptr, scale, relevance), copy_of(scale), cutoff), kept(ptr) {}
};

struct Dorm : marginrank::StructuredDorm {
    In<std::int64_t> kept;

    Dorm(In<double> gain, In<std::int64_t> ptr, In<double> scale, In<double> discount, In<double> weight)
        : marginrank::StructuredDorm(gain.data(), checked(gain, ptr, scale, discount, weight), copy_of(scale),
                                     copy_of(discount), copy_of(weight)),
          kept(ptr) {}

    static const std::int64_t* checked(const In<double>& gain, const In<std::int64_t>& ptr, const In<double>& scale,
                                       const In<double>& discount, const In<double>& weight) {
        const std::size_t longest = check_queries(gain, ptr, scale);
        require(discount.size() >= longest && weight.size() == discount.size(),
                "discount and weight must have an entry for each rank of the longest query");
        return ptr.data();
    }
};

// The parts are kept as Python objects.
struct Sum : marginrank::StructuredSum {
    nb::object kept;

    static std::vector<const StructuredLoss*> pointers(const nb::list& parts) {
        std::vector<const StructuredLoss*> out;
        for (const nb::handle part : parts) out.push_back(nb::cast<const StructuredLoss*>(part));
        require(!out.empty(), "a sum needs at least one loss");
        for (const StructuredLoss* part : out)
            require(part->n_rows() == out[0]->n_rows() && part->n_queries() == out[0]->n_queries(),
                    "the losses of a sum must have the same queries");
        return out;
    }

    Sum(nb::typed<nb::list, StructuredLoss> parts, In<double> weight)
        : marginrank::StructuredSum(pointers(parts), copy_of(weight)), kept(nb::tuple(parts)) {
        require(weight.size() == nb::len(parts), "weight must have one entry per loss");
    }
};

double evaluate_all(const StructuredLoss& loss, In<double> p, Out<double> g, int n_threads) {
    require(static_cast<std::int64_t>(p.size()) == loss.n_rows() && g.size() == p.size(),
            "score vectors must have one entry per row");
    return without_gil(n_threads, [&](const Crew& crew) { return loss.evaluate_all(crew, p.data(), g.data()); });
}

void no_hessian(const StructuredLoss& loss, In<double> p, In<double> u, Out<double> h, int) {
    require(static_cast<std::int64_t>(p.size()) == loss.n_rows() && u.size() == p.size() && h.size() == p.size(),
            "score vectors must have one entry per row");
    std::fill(h.data(), h.data() + h.size(), 0.0);
}

}  // namespace

void bind_structured(nb::module_& m) {
    nb::class_<StructuredLoss, marginrank::QueryLoss>(m, "StructuredLoss", "Loss-augmented inference over queries.")
        .def("evaluate", &evaluate_all, "scores"_a.noconvert(), "gradient"_a.noconvert(), "n_threads"_a)
        .def("hessian", &no_hessian, "scores"_a.noconvert(), "direction"_a.noconvert(), "product"_a.noconvert(),
             "n_threads"_a);

    nb::class_<Auc, StructuredLoss>(m, "StructuredAuc", "Share of pairs in wrong order, all grades.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, int>(), "y"_a.noconvert(), "query_ptr"_a.noconvert(),
             "scale"_a.noconvert(), "n_threads"_a);
    nb::class_<Map, StructuredLoss>(m, "StructuredMap", "Average precision under phi_po.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, double>(), "y"_a.noconvert(),
             "query_ptr"_a.noconvert(), "scale"_a.noconvert(), "relevance"_a);
    nb::class_<Ndcg, StructuredLoss>(m, "StructuredNdcg", "NDCG of good and bad rows under phi_po.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, double, In<double>, std::int64_t>(),
             "y"_a.noconvert(), "query_ptr"_a.noconvert(), "scale"_a.noconvert(), "relevance"_a,
             "discount"_a.noconvert(), "cutoff"_a);
    nb::class_<Mrr, StructuredLoss>(m, "StructuredMrr", "Reciprocal rank under phi_po.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, double, std::int64_t>(), "y"_a.noconvert(),
             "query_ptr"_a.noconvert(), "scale"_a.noconvert(), "relevance"_a, "cutoff"_a);
    nb::class_<MrrFirst, StructuredLoss>(m, "StructuredMrrFirst", "Reciprocal rank under phi_mrr.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, double, std::int64_t>(), "y"_a.noconvert(),
             "query_ptr"_a.noconvert(), "scale"_a.noconvert(), "relevance"_a, "cutoff"_a);
    nb::class_<Dorm, StructuredLoss>(m, "StructuredDorm", "NDCG of graded rows under phi_dorm.")
        .def(nb::init<In<double>, In<std::int64_t>, In<double>, In<double>, In<double>>(), "gain"_a.noconvert(),
             "query_ptr"_a.noconvert(), "scale"_a.noconvert(), "discount"_a.noconvert(), "weight"_a.noconvert())
        .def_prop_ro("longest_assignment", &Dorm::longest_assignment);
    nb::class_<Sum, StructuredLoss>(m, "StructuredSum", "Weighted sum of structured losses.")
        .def(nb::init<nb::typed<nb::list, StructuredLoss>, In<double>>(), "parts"_a, "weight"_a.noconvert());
}
