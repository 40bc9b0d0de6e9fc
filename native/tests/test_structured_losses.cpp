// Loss-augmented inference against all rankings of small queries, and against the programme on long ones.
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "marginrank/structured_auc.hpp"
#include "marginrank/structured_map.hpp"
#include "marginrank/structured_mrr.hpp"
#include "marginrank/structured_ndcg.hpp"
#include "structured_oracle.hpp"

namespace {

using namespace marginrank;
using Random = std::mt19937_64;

// Labels 0 and 1 of one query, both there, and scores from a lattice or from everywhere.
struct Query {
    std::vector<std::int64_t> ptr;
    Vec y, s;

    Query(Random& random, std::size_t n, double spread) : ptr{0, static_cast<std::int64_t>(n)}, y(n), s(n) {
        do
            for (double& label : y) label = static_cast<double>(random() % 2);
        while (std::count(y.begin(), y.end(), y[0]) == static_cast<std::ptrdiff_t>(n));
        const bool lattice = random() % 2 == 0;
        std::normal_distribution<double> normal;
        for (double& score : s) score = spread * (lattice ? static_cast<double>(random() % 4) : normal(random));
    }
    GoodRows good() const { return GoodRows(y.data(), 0.5, ptr.data(), 1); }
};

// The value must be that of the definition, and the gradient a plane through it that stays below elsewhere.
void check_loss(const StructuredLoss& loss, const Query& query, Random& random,
                const std::function<double(const Ranking&, const Vec&)>& value) {
    const std::size_t n = query.s.size();
    Vec gradient(n, 99.0);
    const double got = loss.evaluate_all(Crew(1), query.s.data(), gradient.data());
    const double want = best_ranking(n, [&](const Ranking& ranking) { return value(ranking, query.s); });
    CHECK(std::fabs(got - want) <= 1e-13 * (1.0 + std::fabs(want)));
    // At the origin and far out too: there a plane of the wrong ranking shows, whatever its value here.
    for (const double part : {1.0, 0.0, 3.0}) {
        std::normal_distribution<double> normal;
        Vec other(query.s);
        for (double& score : other) score = part * score + (part == 1.0 ? normal(random) : 0.0);
        double plane = got;
        for (std::size_t i = 0; i < n; ++i) plane += gradient[i] * (other[i] - query.s[i]);
        CHECK(best_ranking(n, [&](const Ranking& ranking) { return value(ranking, other); }) >= plane - 1e-12);
    }
}

void test_small_queries() {
    Random random(1);
    for (std::size_t n = 2; n <= 6; ++n)
        for (int repeat = 0; repeat < 12; ++repeat) {
            const Query query(random, n, repeat % 3 == 0 ? 0.05 : repeat % 3 == 1 ? 0.3 : 1.5);
            const Vec& y = query.y;
            const auto po = [&](const Ranking& r, const Vec& s) { return averaged_differences(r, y, s); };
            check_loss(StructuredMap(query.good(), {1.0}), query, random,
                       [&](const Ranking& r, const Vec& s) { return map_delta(r, y) + po(r, s); });
            auto labels = std::make_unique<PairLabels>(Crew(1), y.data(), nullptr, query.ptr.data(), 1);
            check_loss(StructuredAuc(std::move(labels), {1.0}), query, random,
                       [&](const Ranking& r, const Vec& s) {
                           // The share of wrong pairs is the differences of scores that are minus half the labels.
                           Vec half(y);
                           for (double& v : half) v *= -0.5;
                           return po(r, half) + po(r, s);
                       });
            for (std::size_t cutoff = 0; cutoff <= n + 1; ++cutoff) {
                const auto k = static_cast<std::int64_t>(cutoff);
                check_loss(StructuredMrr(query.good(), {1.0}, k), query, random,
                           [&](const Ranking& r, const Vec& s) { return mrr_delta(r, y, cutoff) + po(r, s); });
                check_loss(StructuredMrrFirst(query.good(), {1.0}, k), query, random,
                           [&](const Ranking& r, const Vec& s) {
                               return mrr_delta(r, y, cutoff) + first_against_above(r, y, s);
                           });
                for (const bool letor : {false, true}) {
                    const Vec cut = discount_of(letor, n, cutoff);
                    check_loss(StructuredNdcg(query.good(), {1.0}, discount_of(letor, n, 0), k), query, random,
                               [&](const Ranking& r, const Vec& s) { return ndcg_delta(r, y, cut) + po(r, s); });
                }
            }
        }
}

// The dynamic programme over all pairs (t, j), for any discount.
double programme(const Query& query, const Vec& discount) {
    Vec good, bad;
    for (std::size_t i = 0; i < query.y.size(); ++i) (query.y[i] > 0.0 ? good : bad).push_back(query.s[i]);
    std::sort(good.rbegin(), good.rend());
    std::sort(bad.rbegin(), bad.rend());
    const double c = 2.0 / (static_cast<double>(good.size()) * static_cast<double>(bad.size()));
    double ideal = 0.0;
    for (std::size_t t = 0; t < good.size(); ++t) ideal += discount[t];
    Vec value(bad.size() + 1, 0.0);
    for (std::size_t t = 0; t < good.size(); ++t) {
        double before = -std::numeric_limits<double>::infinity(), sum = 0.0;
        for (std::size_t j = 0; j < value.size(); ++j) {
            before = std::max(before, value[j]);
            value[j] = before - discount[t + j] / ideal + c * sum;
            if (j < bad.size()) sum += bad[j] - good[t];
        }
    }
    return 1.0 + *std::max_element(value.begin(), value.end());
}

void test_long_queries_equal_the_programme() {
    Random random(2);
    for (const std::size_t n : {20u, 61u, 150u, 400u})
        for (int repeat = 0; repeat < 12; ++repeat) {
            // Steps of the discount weigh as much as differences of scores that grow with the query.
            const double spread = repeat % 3 == 0 ? 0.05 : repeat % 3 == 1 ? 1.0 : 0.1 * static_cast<double>(n);
            const Query query(random, n, spread);
            for (const bool letor : {false, true})
                for (const std::size_t cutoff : {std::size_t{0}, std::size_t{1}, std::size_t{10}, n / 2, n - 1, n}) {
                    const StructuredNdcg loss(query.good(), {1.0}, discount_of(letor, n, 0),
                                              static_cast<std::int64_t>(cutoff));
                    Vec gradient(n);
                    const double got = loss.evaluate_all(Crew(2), query.s.data(), gradient.data());
                    const double want = programme(query, discount_of(letor, n, cutoff));
                    CHECK(std::fabs(got - want) <= 1e-12 * (1.0 + std::fabs(want)));
                }
        }
}

void test_the_greedy_counterexample() {
    Random random(3);
    Query query(random, 3, 1.0);
    query.y = {1.0, 0.0, 0.0};
    query.s = {0.0, -0.1, -0.1};
    Vec gradient(3);
    const StructuredNdcg loss(query.good(), {1.0}, discount_of(true, 3, 0), 2);
    CHECK(std::fabs(loss.evaluate_all(Crew(1), query.s.data(), gradient.data()) - 0.8) < 1e-15);
}

// Its first step is flat, so the best bad document gains nothing alone: two of them pay off together, or not.
void test_the_flat_first_step_of_the_letor_discount() {
    Random random(5);
    for (const double distance : {0.1, 0.18, 0.19, 0.3, 0.4}) {
        Query query(random, 4, 1.0);
        query.y = {1.0, 1.0, 0.0, 0.0};
        query.s = {2.0 * distance, 0.0, 0.0, 0.0};
        const Vec discount = discount_of(true, 4, 0);
        check_loss(StructuredNdcg(query.good(), {1.0}, discount, 0), query, random,
                   [&](const Ranking& r, const Vec& s) {
                       return ndcg_delta(r, query.y, discount) + averaged_differences(r, query.y, s);
                   });
    }
}

// Grades 0 to 3 of one query: each threshold has its share, and one sort serves them all.
void test_grades_add_up_their_thresholds() {
    Random random(6);
    for (const std::size_t n : {3u, 6u, 40u, 500u})
        for (int repeat = 0; repeat < 8; ++repeat) {
            const Query query(random, n, repeat % 2 == 0 ? 0.2 : 2.0);
            Vec y(n), share(n, 0.0), want(n, 0.0), gradient(n, 99.0), own(n);
            for (double& label : y) label = static_cast<double>(random() % 4);
            std::vector<std::int32_t> rows(n);
            for (std::size_t i = 0; i < n; ++i) rows[i] = static_cast<std::int32_t>(i);
            std::stable_sort(rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) {
                return y[static_cast<std::size_t>(a)] > y[static_cast<std::size_t>(b)];
            });
            const Vec discount = discount_of(repeat % 3 == 0, n, 0);
            double value = 0.0;
            for (std::size_t i = 1; i < n; ++i) {
                const double above = y[static_cast<std::size_t>(rows[i - 1])];
                if (!(above > y[static_cast<std::size_t>(rows[i])])) continue;
                share[i] = 0.1 * above;
                const GoodRows good(y.data(), above, query.ptr.data(), 1);
                const StructuredNdcg alone(good, {0.7}, discount, 0);
                value += share[i] * alone.evaluate_all(Crew(1), query.s.data(), own.data());
                for (std::size_t k = 0; k < n; ++k) want[k] += share[i] * own[k];
            }
            const GoodRows graded(rows.data(), share.data(), query.ptr.data(), 1);
            const StructuredNdcg loss(graded, {graded.n_splits(0) > 0 ? 0.7 : 0.0}, discount, 0);
            const double got = loss.evaluate_all(Crew(2), query.s.data(), gradient.data());
            CHECK(std::fabs(got - value) <= 1e-13 * (1.0 + value));
            // Of rows of equal score another one may be chosen: only sums over them are the same.
            for (std::size_t k = 0; k < n; ++k) {
                double difference = 0.0;
                for (std::size_t i = 0; i < n; ++i)
                    if (query.s[i] == query.s[k]) difference += gradient[i] - want[i];
                CHECK(std::fabs(difference) <= 1e-12);
            }
        }
}

void test_a_sum_adds_its_parts_and_left_out_queries_are_zero() {
    Random random(4);
    const Query query(random, 30, 0.5);
    const std::vector<std::int64_t> ptr{0, 30, 33};
    Vec y(query.y), s(query.s);
    y.insert(y.end(), {1.0, 1.0, 1.0});
    s.insert(s.end(), {0.1, 0.2, 0.3});
    const GoodRows good(y.data(), 0.5, ptr.data(), 2);
    const StructuredMap map(good, {0.7, 0.0});
    const StructuredMrr mrr(good, {0.7, 0.0}, 0);
    const StructuredSum sum({&map, &mrr}, {2.0, 0.5});
    Vec a(33, 9.0), b(33, 9.0), both(33, 9.0);
    const double one = map.evaluate_all(Crew(1), s.data(), a.data());
    const double two = mrr.evaluate_all(Crew(1), s.data(), b.data());
    CHECK(std::fabs(sum.evaluate_all(Crew(2), s.data(), both.data()) - (2.0 * one + 0.5 * two)) < 1e-14);
    for (std::size_t i = 0; i < 33; ++i) CHECK(std::fabs(both[i] - (2.0 * a[i] + 0.5 * b[i])) < 1e-15);
    for (std::size_t i = 30; i < 33; ++i) CHECK(both[i] == 0.0);
    const auto scratch = sum.make_scratch();
    Vec product(33, 9.0);
    sum.hessian(0, s.data(), s.data(), product.data(), *scratch);
    CHECK(product[0] == 0.0 && product[29] == 0.0 && product[30] == 9.0);
}

}  // namespace

int main() {
    test_small_queries();
    test_long_queries_equal_the_programme();
    test_the_greedy_counterexample();
    test_the_flat_first_step_of_the_letor_discount();
    test_grades_add_up_their_thresholds();
    test_a_sum_adds_its_parts_and_left_out_queries_are_zero();
    return marginrank_failures() != 0;
}
