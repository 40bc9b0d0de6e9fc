// Ranking metrics per query.
#include <cstdint>
#include <cstring>
#include <vector>

#include "common.hpp"
#include "marginrank/ranking_metrics.hpp"

namespace {

using marginrank::Discount;
using marginrank::Gain;
using marginrank::MetricSpec;
using marginrank::ShortList;
using marginrank::Ties;

template <class Choice>
struct Named {
    const char* name;
    Choice value;
};

// const char* and not std::string: a want of memory while nanobind converts arguments would end the process.
template <class Choice, std::size_t N>
Choice choice(const char* name, const Named<Choice> (&choices)[N]) {
    for (const Named<Choice>& one : choices)
        if (std::strcmp(one.name, name) == 0) return one.value;
    require(false, "an option of the metric must be one of its choices");
    return choices[0].value;
}

constexpr Named<Gain> kGains[] = {{"exponential", Gain::kExponential}, {"linear", Gain::kLinear}};
constexpr Named<Discount> kDiscounts[] = {{"log2", Discount::kLog2}, {"letor", Discount::kLetor}};
constexpr Named<Ties> kTies[] = {{"input", Ties::kInput},
                                 {"average", Ties::kAverage},
                                 {"pessimistic", Ties::kPessimistic},
                                 {"docid", Ties::kDocid},
                                 {"threshold", Ties::kThreshold}};
constexpr Named<ShortList> kShortLists[] = {
    {"pad", ShortList::kPad}, {"cut", ShortList::kCut}, {"zero", ShortList::kZero}};

void make_spec(MetricSpec* spec, const char* name, std::int64_t cutoff, double rel, const char* gain,
               const char* discount, const char* ties, const char* short_list, bool cut_norm, double max_label,
               double p, bool rel_all) {
    const marginrank::NamedMetric* metric = marginrank::find_metric(name);
    require(metric != nullptr, "name must be that of a metric");
    require(cutoff >= 0, "cutoff must not be negative");
    new (spec) MetricSpec{metric,
                          cutoff,
                          rel,
                          choice(gain, kGains),
                          choice(discount, kDiscounts),
                          choice(ties, kTies),
                          choice(short_list, kShortLists),
                          cut_norm,
                          max_label,
                          p,
                          rel_all};
}

void ranking_metrics(In<double> y, In<double> scores, std::optional<In<std::int64_t>> docid,
                     In<std::int64_t> query_ptr, const nb::typed<nb::list, MetricSpec>& given, Out2 values,
                     Out<bool> tied, int n_threads) {
    // Here and not as nanobind converts arguments: there a want of memory would end the process.
    std::vector<MetricSpec> specs;
    specs.reserve(given.size());
    for (const nb::handle spec : given) specs.push_back(nb::cast<const MetricSpec&>(spec));
    require(query_ptr.size() >= 1, "query_ptr must not be empty");
    const auto n_queries = static_cast<std::int64_t>(query_ptr.size()) - 1;
    const std::int64_t* ptr = query_ptr.data();
    require(ptr[0] == 0 && ptr[n_queries] == static_cast<std::int64_t>(y.size()),
            "query_ptr must run from 0 to the number of rows");
    for (std::int64_t q = 0; q < n_queries; ++q)
        require(ptr[q + 1] >= ptr[q] && ptr[q + 1] - ptr[q] < (std::int64_t{1} << 31) - 64,
                "query_ptr must be ascending, queries below 2^31 rows");
    require(scores.size() == y.size(), "scores must have one entry per row");
    require(!docid || docid->size() == y.size(), "docid must have one entry per row");
    require(values.shape(0) == specs.size() && static_cast<std::int64_t>(values.shape(1)) == n_queries,
            "values must have one row per metric and one column per query");
    require(static_cast<std::int64_t>(tied.size()) == n_queries, "tied must have one entry per query");
    for (const MetricSpec& spec : specs)
        require(docid || spec.ties != marginrank::Ties::kDocid, "docid must be given where it breaks ties");
    const marginrank::MetricInput in{y.data(), scores.data(), docid ? docid->data() : nullptr, ptr, n_queries};
    without_gil(n_threads, [&](const Crew& crew) {
        marginrank::ranking_metrics(crew, in, specs, values.data(), tied.data());
    });
}

}  // namespace

void bind_metrics(nb::module_& m) {
    nb::class_<MetricSpec>(m, "MetricSpec", "One metric by its name, with its options by theirs.")
        .def("__init__", &make_spec, "name"_a, "cutoff"_a, "rel"_a, "gain"_a, "discount"_a, "ties"_a, "short_list"_a,
             "cut_norm"_a, "max_label"_a, "p"_a = 0.8, "rel_all"_a = false);
    m.def("ranking_metrics", &ranking_metrics, "y"_a.noconvert(), "scores"_a.noconvert(),
          "docid"_a.noconvert().none(), "query_ptr"_a.noconvert(), "specs"_a, "values"_a.noconvert(),
          "tied"_a.noconvert(), "n_threads"_a);
}
