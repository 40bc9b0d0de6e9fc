// The pairwise losses against their definition, on both sides of every switch between kernels.
#include "marginrank/pair_loss.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "check.hpp"
#include "pair_oracle.hpp"

namespace {

using marginrank::Crew;
using marginrank::PairLabels;
using marginrank::PairLoss;
using Random = std::mt19937_64;
using Draw = std::function<double(Random&)>;

double normal(Random& random) { return std::normal_distribution<double>()(random); }
Draw integer(std::uint64_t n) {
    return [n](Random& random) { return static_cast<double>(random() % n); };
}
Draw multiple(double step, std::uint64_t n) {
    return [=](Random& random) { return step * static_cast<double>(random() % n); };
}
Vec draw(Random& random, std::int64_t n, const Draw& from) {
    Vec x(static_cast<std::size_t>(n));
    for (double& v : x) v = from(random);
    return x;
}

// Queries with their scores. Scales are 1, so that integers stay integers.
struct Problem {
    std::vector<std::int64_t> ptr{0};
    Vec y, s, w, u, scale;

    Problem(Random& random, const std::vector<std::int64_t>& sizes, const Draw& label, const Draw& score,
            const Draw& weight, const Draw& direction) {
        for (std::int64_t size : sizes) ptr.push_back(ptr.back() + size);
        y = draw(random, ptr.back(), label);
        s = draw(random, ptr.back(), score);
        if (weight) w = draw(random, ptr.back(), weight);
        u = draw(random, ptr.back(), direction);
        scale.assign(sizes.size(), 1.0);
    }
    std::int64_t n_queries() const { return static_cast<std::int64_t>(ptr.size()) - 1; }
    std::size_t rows() const { return y.size(); }
    PairLabels labels(int threads = 1) const {
        return {Crew(threads), y.data(), w.empty() ? nullptr : w.data(), ptr.data(), n_queries()};
    }
};

struct Answers {
    double value;
    Vec gradient, product, above, below;
};

Answers answers(const Problem& p, bool squared, int threads) {
    const PairLabels labels = p.labels(threads);
    const PairLoss loss(labels, p.scale.data(), squared);
    const Crew crew(threads);
    Answers a{0.0, Vec(p.rows(), NAN), Vec(p.rows(), NAN), Vec(p.rows(), NAN), Vec(p.rows(), NAN)};
    a.value = loss.evaluate_all(crew, p.s.data(), a.gradient.data());
    loss.hessian_all(crew, p.s.data(), p.u.data(), a.product.data());
    loss.active_partners(crew, p.s.data(), a.above.data(), a.below.data());
    return a;
}

using Oracle = PairSums (*)(const Vec&, const Vec&, const Vec&, const Vec&, bool);

PairSums expected(const Problem& p, bool squared, Oracle oracle) {
    PairSums all(p.rows());
    for (std::size_t q = 0; q + 1 < p.ptr.size(); ++q) {
        const auto from = p.ptr[q], to = p.ptr[q + 1];
        auto part = [&](const Vec& x) { return x.empty() ? Vec{} : Vec(x.begin() + from, x.begin() + to); };
        const PairSums one = oracle(part(p.y), part(p.s), part(p.w), part(p.u), squared);
        all.value += one.value;
        std::copy(one.gradient.begin(), one.gradient.end(), all.gradient.begin() + from);
        std::copy(one.product.begin(), one.product.end(), all.product.begin() + from);
        std::copy(one.above.begin(), one.above.end(), all.above.begin() + from);
        std::copy(one.below.begin(), one.below.end(), all.below.begin() + from);
    }
    return all;
}

// Largest difference, relative to the largest entry.
double distance(const Vec& got, const LongVec& want) {
    long double largest = 0.0L, off = 0.0L;
    for (std::size_t k = 0; k < got.size(); ++k) {
        largest = std::max(largest, std::abs(want[k]));
        off = std::max(off, std::abs(got[k] - want[k]));
        if (std::isnan(got[k])) return INFINITY;
    }
    return off == 0.0L ? 0.0 : static_cast<double>(off / largest);
}

void check_against(const Problem& p, Oracle oracle, double tolerance) {
    for (bool squared : {false, true}) {
        const Answers got = answers(p, squared, 2);
        const PairSums want = expected(p, squared, oracle);
        CHECK(std::abs(got.value - want.value) <= tolerance * std::abs(want.value));
        CHECK(distance(got.gradient, want.gradient) <= tolerance);
        CHECK(distance(got.product, want.product) <= tolerance);
        CHECK(distance(got.above, want.above) <= tolerance);
        CHECK(distance(got.below, want.below) <= tolerance);
    }
}

const std::vector<std::int64_t> kMixedSizes = {0, 1, 2, 3, 4, 5, 17, 1, 0, 63, 319, 320, 321, 337, 9, 700, 0};

// Scores are multiples of 1/2, everything else integers: every sum is exact.
void lattice_scores_give_exact_sums() {
    Random random(1);
    for (std::uint64_t n_labels : {1, 2, 15, 16, 1000})
        for (std::uint64_t n_scores : {1, 12, 400}) {
            const Draw weights[] = {nullptr, integer(1000)};
            for (const Draw& weight : weights) {
                const Problem p(random, kMixedSizes, integer(n_labels), multiple(0.5, n_scores), weight, integer(9));
                check_against(p, pairs_by_definition, 0.0);
            }
        }
}

// Queries of two and three rows have a kernel of their own: every order of labels with every order of scores, ties and
// differences of exactly 1 among both.
void tiny_queries_give_exact_sums() {
    Random random(14);
    for (const Draw& weight : {Draw(nullptr), integer(4)}) {
        Problem p(random, {}, normal, normal, nullptr, normal);
        for (std::int64_t rows : {2, 3})
            for (int code = 0; code < (rows == 2 ? 144 : 1728); ++code) {
                for (std::int64_t k = 0, rest = code; k < rows; ++k, rest /= 12) {
                    p.y.push_back(static_cast<double>(rest % 3));
                    p.s.push_back(0.5 * static_cast<double>(rest / 3 % 4));
                }
                p.ptr.push_back(p.ptr.back() + rows);
                p.scale.push_back(1.0);
            }
        if (weight) p.w = draw(random, p.ptr.back(), weight);
        p.u = draw(random, p.ptr.back(), integer(9));
        check_against(p, pairs_by_definition, 0.0);
    }
}

// Multiples of 0.1 as doubles: which differences round to below 1 is up to the predicate, so counts are
// exact and sums, whose terms round, are not. 1e-13 is a few hundred roundings.
void rounded_lattice_scores_count_exactly() {
    Random random(2);
    for (std::uint64_t n_labels : {2, 7, 200})
        for (std::uint64_t n_scores : {11, 300}) {
            const Problem p(random, kMixedSizes, integer(n_labels), multiple(0.1, n_scores), nullptr, normal);
            const Answers got = answers(p, false, 1);
            const PairSums want = expected(p, false, pairs_by_definition);
            CHECK(distance(got.above, want.above) == 0.0);
            CHECK(distance(got.below, want.below) == 0.0);
            CHECK(distance(got.gradient, want.gradient) == 0.0);
            check_against(p, pairs_by_definition, 1e-13);
        }
}

void real_scores_and_weights_agree_to_rounding() {
    Random random(3);
    const Draw scores[] = {normal, [](Random& r) { return 0.05 * normal(r); }, [](Random& r) { return 30.0 * normal(r); },
                           [](Random& r) { return static_cast<double>(static_cast<float>(normal(r))); }};
    for (const Draw& score : scores)
        for (const Draw& label : {integer(4), integer(40), Draw(normal)}) {
            const Problem p(random, kMixedSizes, label, score, [](Random& r) { return std::exp(normal(r)); }, normal);
            check_against(p, pairs_by_definition, 1e-12);
        }
}

// Ties that fill, cross or skip whole nodes of the trees of sums, at every level.
void many_keys_agree_with_a_fenwick_tree() {
    Random random(4);
    constexpr std::int64_t kRange = 4096;
    const Draw labels[] = {
        normal,
        integer(3 * kRange),
        integer(20),
        [](Random& r) { return r() % 2 ? 0.5 : normal(r); },
    };
    for (const Draw& label : labels)
        for (bool weighted : {false, true}) {
            const Draw weight = weighted ? integer(5) : Draw(nullptr);
            const Problem p(random, {2 * kRange, 2 * kRange + 1}, label, multiple(0.5, 9), weight, integer(3));
            check_against(p, pairs_by_fenwick, 0.0);
        }
}

// From 65,536 rows on, positions are cut into blocks. Sums of 1e5 terms on each side of a difference:
// 1e-11 leaves a hundredfold margin.
void long_queries_agree_with_a_fenwick_tree() {
    Random random(13);
    const Problem many_levels(random, {70001}, normal, normal, nullptr, normal);
    check_against(many_levels, pairs_by_fenwick, 1e-11);
    const Problem few_levels(random, {70001}, integer(12), normal, integer(5), normal);
    check_against(few_levels, pairs_by_fenwick, 1e-11);
}

void the_two_oracles_agree() {
    Random random(5);
    const Problem p(random, {400, 30}, integer(9), multiple(0.5, 9), integer(5), integer(3));
    for (bool squared : {false, true}) {
        const PairSums a = expected(p, squared, pairs_by_definition), b = expected(p, squared, pairs_by_fenwick);
        CHECK(a.value == b.value && a.gradient == b.gradient && a.product == b.product);
        CHECK(a.above == b.above && a.below == b.below);
    }
}

void the_bits_do_not_depend_on_the_threads() {
    Random random(6);
    std::vector<std::int64_t> sizes(120, 40);
    sizes.insert(sizes.end(), {900, 32767, 32768, 5, 70001, 1});
    const Problem problems[] = {
        {random, sizes, integer(5), normal, nullptr, normal},
        {random, sizes, normal, normal, [](Random& r) { return std::exp(normal(r)); }, normal},
        // Scores on a grid: whole groups of rows lie at the borders of what threads do, one margin apart.
        {random, sizes, integer(5), [](Random& r) { return 0.25 * static_cast<double>(r() % 25); }, nullptr, normal},
        {random, sizes, normal, [](Random& r) { return 0.5 * static_cast<double>(r() % 9); }, nullptr, normal},
    };
    for (const Problem& p : problems)
        for (bool squared : {false, true}) {
            const Answers one = answers(p, squared, 1);
            for (int threads : {2, 4}) {
                const Answers many = answers(p, squared, threads);
                CHECK(many.value == one.value);
                CHECK(many.gradient == one.gradient);
                CHECK(many.product == one.product);
                CHECK(many.above == one.above && many.below == one.below);
            }
        }
}

void a_loss_can_be_asked_again_for_other_scores() {
    Random random(7);
    const Problem p(random, {500, 40, 70000, 300}, integer(40), normal, nullptr, normal);
    const PairLabels labels = p.labels();
    const PairLoss loss(labels, p.scale.data(), true);
    Vec first(p.rows()), other(p.rows()), again(p.rows());
    const Vec elsewhere = draw(random, p.ptr.back(), normal);
    const double value = loss.evaluate_all(Crew(2), p.s.data(), first.data());
    loss.evaluate_all(Crew(2), elsewhere.data(), other.data());
    CHECK(loss.evaluate_all(Crew(2), p.s.data(), again.data()) == value);
    CHECK(first == again);
    CHECK(first != other);
}

void queries_without_pairs_or_scale_give_zero() {
    Random random(8);
    Problem p(random, {1, 50, 400, 30, 400}, integer(3), normal, nullptr, normal);
    std::fill(p.y.begin() + 1, p.y.begin() + 451, 2.0);
    p.scale[3] = p.scale[4] = 0.0;
    const Answers a = answers(p, true, 2);
    CHECK(a.value == 0.0);
    CHECK(a.gradient == Vec(p.rows(), 0.0));
    CHECK(a.product == Vec(p.rows(), 0.0));
}

void pairs_are_counted_by_label() {
    Random random(9);
    for (const Draw& weight : {Draw(nullptr), integer(4)}) {
        const Problem p(random, {0, 1, 2, 30, 320, 321, 700}, integer(6), normal, weight, normal);
        const PairLabels labels = p.labels();
        Vec partners(p.rows());
        labels.partner_weight(partners.data());
        for (std::int64_t q = 0; q < p.n_queries(); ++q) {
            std::int64_t n_pairs = 0;
            double pair_weight = 0.0;
            for (auto i = static_cast<std::size_t>(p.ptr[q]); i < static_cast<std::size_t>(p.ptr[q + 1]); ++i) {
                double mine = 0.0;
                for (auto j = static_cast<std::size_t>(p.ptr[q]); j < static_cast<std::size_t>(p.ptr[q + 1]); ++j) {
                    const double both = p.w.empty() ? 1.0 : p.w[i] * p.w[j];
                    if (p.y[i] != p.y[j]) mine += both;
                    if (p.y[i] < p.y[j]) ++n_pairs, pair_weight += both;
                }
                CHECK(partners[i] == mine);
            }
            CHECK(labels.n_pairs()[static_cast<std::size_t>(q)] == n_pairs);
            CHECK(labels.pair_weight()[static_cast<std::size_t>(q)] == pair_weight);
        }
    }
}

void labels_do_not_depend_on_the_threads() {
    Random random(10);
    const Problem p(random, std::vector<std::int64_t>(700, 33), integer(4), normal, integer(9), normal);
    const PairLabels one = p.labels(1), four = p.labels(4);
    CHECK(one.n_pairs() == four.n_pairs());
    CHECK(one.pair_weight() == four.pair_weight());
    for (std::int64_t q = 0; q < p.n_queries(); ++q) {
        CHECK(std::equal(one.order(q), one.order(q) + 33, four.order(q)));
        CHECK(one.n_levels(q) == four.n_levels(q));
        CHECK(std::equal(one.levels(q), one.levels(q) + one.n_levels(q) + 1, four.levels(q)));
    }
}

// The kernel for small queries by itself, in arrays of exactly the promised length whose ends hold NaN.
void the_small_kernel_ignores_what_lies_beyond() {
    Random random(11);
    for (std::int32_t n_low = 1; n_low <= 21; ++n_low)
        for (std::int32_t n_high = 1; n_high <= 9; ++n_high) {
            const std::int32_t n = n_low + n_high, level[] = {0, n_low, n};
            Vec s = draw(random, n, multiple(0.5, 7)), u = draw(random, n, integer(9)), w = draw(random, n, integer(4));
            Vec y(static_cast<std::size_t>(n), 0.0);
            std::fill(y.begin() + n_low, y.end(), 1.0);
            const PairSums want = pairs_by_definition(y, s, w, u, true);
            s.resize(static_cast<std::size_t>(n) + 3, NAN);
            u.resize(static_cast<std::size_t>(n) + 3, NAN);
            w.resize(static_cast<std::size_t>(n) + 3, 7.0);
            Vec up(static_cast<std::size_t>(n) + 3, 0.0), down(up), h_up(up), h_down(up);
            const double value = marginrank::kernels::brute_levels<marginrank::kernels::SquaredHingeTerm, true>(
                s.data(), w.data(), nullptr, level, 2, 0, 1, up.data(), down.data());
            marginrank::kernels::brute_levels<marginrank::kernels::HessianTerm, true>(
                s.data(), w.data(), u.data(), level, 2, 0, 1, h_up.data(), h_down.data());
            CHECK(value == want.value);
            for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
                CHECK(2.0 * w[k] * (up[k] - down[k]) == want.gradient[k]);
                CHECK(2.0 * w[k] * (h_up[k] - h_down[k]) == want.product[k]);
            }
        }
}

// Scores of the middle of the label order are the reference of the sum: an outlier there must not cost
// digits of pairs it is no active part of.
void an_outlier_score_does_not_spoil_the_value() {
    Random random(12);
    for (std::int64_t n : {5, 300, 321, 1001}) {
        Problem p(random, {n}, [](Random&) { return 0.0; }, multiple(0.5, 3), nullptr, integer(3));
        std::fill(p.y.begin() + n / 2, p.y.end(), 1.0);
        p.s[static_cast<std::size_t>(n / 2)] = 1e15 + 0.125;  // of the higher label: all its pairs are idle
        for (bool squared : {false, true}) {
            const Answers got = answers(p, squared, 1);
            const PairSums want = expected(p, squared, pairs_by_definition);
            CHECK(std::abs(got.value - want.value) <= 1e-12 * std::abs(want.value));
        }
    }
}

}  // namespace

int main() {
    lattice_scores_give_exact_sums();
    tiny_queries_give_exact_sums();
    rounded_lattice_scores_count_exactly();
    real_scores_and_weights_agree_to_rounding();
    many_keys_agree_with_a_fenwick_tree();
    long_queries_agree_with_a_fenwick_tree();
    the_two_oracles_agree();
    the_bits_do_not_depend_on_the_threads();
    a_loss_can_be_asked_again_for_other_scores();
    queries_without_pairs_or_scale_give_zero();
    pairs_are_counted_by_label();
    labels_do_not_depend_on_the_threads();
    the_small_kernel_ignores_what_lies_beyond();
    an_outlier_score_does_not_spoil_the_value();
    return marginrank_failures() != 0;
}
