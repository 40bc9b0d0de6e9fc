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

marginrank::GoodRows graded_rows(const In<double>& share, const In<std::int64_t>& ptr, const In<double>& scale,
                                 const In<std::int32_t>& rows) {
    check_queries(share, ptr, scale);
    require(rows.size() == share.size(), "rows and share must have one entry per row");
    const auto n_queries = static_cast<std::int64_t>(scale.size());
    std::vector<bool> seen;
    for (std::int64_t q = 0; q < n_queries; ++q) {
        const std::int64_t first = ptr.data()[q], n = ptr.data()[q + 1] - first;
        seen.assign(static_cast<std::size_t>(n), false);
        for (std::int64_t i = 0; i < n; ++i) {
            const std::int32_t row = rows.data()[first + i];
            require(row >= 0 && row < n && !seen[static_cast<std::size_t>(row)],
                    "rows must have each row of a query once, counted from its first");
            seen[static_cast<std::size_t>(row)] = true;
        }
    }
    marginrank::GoodRows graded(rows.data(), share.data(), ptr.data(), n_queries);
    for (std::int64_t q = 0; q < n_queries; ++q)
        require(scale.data()[q] == 0.0 || graded.n_splits(q) > 0, "queries without a threshold must have scale 0");
    return graded;
}

std::unique_ptr<const marginrank::PairLabels> pair_labels(const In<double>& y, const In<std::int64_t>& ptr,
                                                          const In<double>& scale, int n_threads) {
    check_queries(y, ptr, scale);
    return without_gil(n_threads, [&](const Crew& crew) {
        return std::make_unique<const marginrank::PairLabels>(crew, y.data(), nullptr, ptr.data(),
                                                              static_cast<std::int64_t>(scale.size()));
    });
}

using marginrank::StructuredAuc;
using marginrank::StructuredDorm;
using marginrank::StructuredMap;
using marginrank::StructuredMrr;
using marginrank::StructuredMrrFirst;
using marginrank::StructuredNdcg;
using marginrank::StructuredSum;
using Offsets = In<std::int64_t>;

StructuredAuc make_auc(In<double> y, Offsets ptr, In<double> scale, int n_threads) {
    return StructuredAuc(pair_labels(y, ptr, scale, n_threads), copy_of(scale));
}

StructuredMap make_map(In<double> y, Offsets ptr, In<double> scale, double relevance) {
    return StructuredMap(good_rows(y, ptr, scale, relevance), copy_of(scale));
}

StructuredNdcg make_ndcg(In<double> y, Offsets ptr, In<double> scale, double relevance, In<double> discount,
                         std::int64_t cutoff) {
    require(discount.size() >= check_queries(y, ptr, scale),
            "discount must have an entry for each rank of the longest query");
    return StructuredNdcg(good_rows(y, ptr, scale, relevance), copy_of(scale), copy_of(discount), cutoff);
}

StructuredMap make_graded_map(In<double> share, Offsets ptr, In<double> scale, In<std::int32_t> rows) {
    return StructuredMap(graded_rows(share, ptr, scale, rows), copy_of(scale));
}

StructuredNdcg make_graded_ndcg(In<double> share, Offsets ptr, In<double> scale, In<std::int32_t> rows,
                                In<double> discount, std::int64_t cutoff) {
    require(discount.size() >= check_queries(share, ptr, scale),
            "discount must have an entry for each rank of the longest query");
    return StructuredNdcg(graded_rows(share, ptr, scale, rows), copy_of(scale), copy_of(discount), cutoff);
}

template <class Loss>
Loss make_mrr(In<double> y, Offsets ptr, In<double> scale, double relevance, std::int64_t cutoff) {
    return Loss(good_rows(y, ptr, scale, relevance), copy_of(scale), cutoff);
}

StructuredDorm make_dorm(In<double> gain, Offsets ptr, In<double> scale, In<double> discount, In<double> weight) {
    const std::size_t longest = check_queries(gain, ptr, scale);
    require(discount.size() >= longest && weight.size() == discount.size(),
            "discount and weight must have an entry for each rank of the longest query");
    return StructuredDorm(gain.data(), ptr.data(), copy_of(scale), copy_of(discount), copy_of(weight));
}

// Adds a way to make a loss: from a value of each row, the queries, their factors and options. The offsets of the
// queries are kept alive; nothing else is referred to.
template <class Loss, class... Options, class... Names>
void bind_making(nb::class_<Loss, StructuredLoss>& bound, Loss (*make)(In<double>, Offsets, In<double>, Options...),
                 const char* value, const Names&... names) {
    bound.def("__init__",
              [make](Loss* self, In<double> y, Offsets ptr, In<double> scale, Options... options) {
                  new (self) Loss(make(y, ptr, scale, options...));
              },
              nb::arg(value).noconvert(), "query_ptr"_a.noconvert(), "scale"_a.noconvert(), names...,
              nb::keep_alive<1, 3>());
}

template <class Loss, class... Options, class... Names>
nb::class_<Loss, StructuredLoss> bind_loss(nb::module_& m, const char* name, const char* doc,
                                           Loss (*make)(In<double>, Offsets, In<double>, Options...),
                                           const char* value, const Names&... names) {
    nb::class_<Loss, StructuredLoss> bound(m, name, doc);
    bind_making(bound, make, value, names...);
    return bound;
}

// The parts are kept as Python objects: the list may change.
struct Sum : StructuredSum {
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
        : StructuredSum(pointers(parts), copy_of(weight)), kept(nb::tuple(parts)) {
        require(weight.size() == nb::len(parts), "weight must have one entry per loss");
    }
};

}  // namespace

void bind_structured(nb::module_& m) {
    nb::class_<StructuredLoss, marginrank::QueryLoss>(m, "StructuredLoss", "Loss-augmented inference over queries.");
    bind_loss(m, "StructuredAuc", "Share of pairs in wrong order, all grades.", &make_auc, "y", "n_threads"_a);
    auto map = bind_loss(m, "StructuredMap", "Average precision under phi_po.", &make_map, "y", "relevance"_a);
    bind_making(map, &make_graded_map, "share", "rows"_a.noconvert());
    auto ndcg = bind_loss(m, "StructuredNdcg", "NDCG under phi_po.", &make_ndcg, "y", "relevance"_a,
                          "discount"_a.noconvert(), "cutoff"_a);
    bind_making(ndcg, &make_graded_ndcg, "share", "rows"_a.noconvert(), "discount"_a.noconvert(), "cutoff"_a);
    bind_loss(m, "StructuredMrr", "Reciprocal rank under phi_po.", &make_mrr<StructuredMrr>, "y", "relevance"_a,
              "cutoff"_a);
    bind_loss(m, "StructuredMrrFirst", "Reciprocal rank under phi_mrr.", &make_mrr<StructuredMrrFirst>, "y",
              "relevance"_a, "cutoff"_a);
    bind_loss(m, "StructuredDorm", "NDCG of graded rows under phi_dorm.", &make_dorm, "gain",
              "discount"_a.noconvert(), "weight"_a.noconvert())
        .def_prop_ro("longest_assignment", &StructuredDorm::longest_assignment);
    nb::class_<Sum, StructuredLoss>(m, "StructuredSum", "Weighted sum of structured losses.")
        .def(nb::init<nb::typed<nb::list, StructuredLoss>, In<double>>(), "parts"_a, "weight"_a.noconvert());
}
