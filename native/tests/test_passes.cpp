// Products with dense and CSR matrices against plain loops. Entries are small integers, so every sum is
// exact and the results must be equal, whatever the order of the sums.
#include "marginrank/passes.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "check.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/pair_loss.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;

template <class Matrix>
void check_products(Random& random, const Plain& p, const Matrix& X, const Rows& rows, RowList list) {
    const auto n = static_cast<std::int64_t>(rows.size());
    const Vec w = integers(random, p.n_cols);
    Vec g = integers(random, n);
    for (std::size_t k = 8; k + 12 < g.size(); k += 40) std::fill(g.begin() + static_cast<std::ptrdiff_t>(k), g.begin() + static_cast<std::ptrdiff_t>(k) + 9, 0.0);
    const Vec scores = p.times(rows, w), adjoint = p.transposed_times(rows, g);
    for (int threads : {1, 3}) {
        const Crew crew(threads);
        Vec out(scores.size(), -1.0);
        marginrank::multiply(crew, X, list, n, w.data(), out.data());
        CHECK(out == scores);
        for (std::int64_t n_blocks : {1, 2, 3, 8, 64}) {
            Vec partial(static_cast<std::size_t>(n_blocks * p.n_cols), 1e9), sum(adjoint.size(), -1.0);
            marginrank::multiply_transposed(crew, X, list, n, g.data(), n_blocks, partial.data(), sum.data());
            CHECK(sum == adjoint);
        }
    }
}

void products_equal_plain_loops() {
    Random random(1);
    for (std::int64_t n_cols : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16})
        for (std::int64_t n_rows : {1, 2, 3, 4, 5, 30, 203}) {
            const Plain p(random, n_rows, n_cols);
            const Rows all = all_rows(n_rows), some = some_rows(random, n_rows, n_rows + 2);
            for_each_storage(p, [&](const auto& X) {
                check_products(random, p, X, all, RowList{nullptr});
                check_products(random, p, X, some, RowList{some.data()});
            });
        }
}

void products_in_many_blocks_equal_plain_loops() {
    Random random(2);
    for (auto [n_rows, n_cols] : {std::pair<int, int>{12000, 37}, {40, 20001}}) {
        const Plain p(random, n_rows, n_cols);
        const Rows all = all_rows(n_rows);
        for_each_storage(p, [&](const auto& X) { check_products(random, p, X, all, RowList{nullptr}); });
    }
}

void no_columns_give_zero_scores() {
    Random random(3);
    const Plain p(random, 6, 0);
    for_each_storage(p, [&](const auto& X) { check_products(random, p, X, all_rows(6), RowList{nullptr}); });
}

void no_rows_give_a_zero_adjoint() {
    Random random(4);
    const Plain p(random, 0, 5);
    for_each_storage(p, [&](const auto& X) { check_products(random, p, X, Rows{}, RowList{nullptr}); });
}

void the_number_of_adjoint_blocks_is_a_power_of_two_within_memory() {
    for (std::int64_t stored : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{1} << 22, std::int64_t{1} << 40})
        for (std::int64_t n_cols : {0, 1, 64, 1000, 47000, 100000000}) {
            const std::int64_t blocks = marginrank::adjoint_blocks(stored, n_cols);
            CHECK(blocks >= 1 && blocks <= 64 && (blocks & (blocks - 1)) == 0);
            CHECK(blocks <= 4 || blocks * n_cols * 8 <= std::int64_t{8} << 20);
        }
}

void query_blocks_cover_every_query_once() {
    const std::vector<std::int64_t> ptr{0, 0, 3, 3, 10, 11, 11};
    for (std::int64_t n_blocks : {1, 2, 3, 7, 64}) {
        const auto first = marginrank::query_blocks(ptr.data(), 6, n_blocks);
        CHECK(first.front() == 0 && first.back() == 6);
        CHECK(std::is_sorted(first.begin(), first.end()));
    }
}

struct Queries {
    std::vector<std::int64_t> ptr{0};
    Vec y, scale;
    Queries(Random& random, std::int64_t n_queries, std::uint64_t longest) {
        for (std::int64_t q = 0; q < n_queries; ++q)
            ptr.push_back(ptr.back() + static_cast<std::int64_t>(q == 3 ? 400 : random() % (longest + 1)));
        for (std::int64_t k = 0; k < ptr.back(); ++k) y.push_back(static_cast<double>(random() % 4));
        scale.assign(static_cast<std::size_t>(n_queries), 1.0);  // sums, not means: integers stay integers
    }
};

void a_fused_pass_equals_its_parts() {
    Random random(5);
    const Queries queries(random, 90, 40);
    const auto n = queries.ptr.back();
    const marginrank::PairLabels labels(Crew(1), queries.y.data(), nullptr, queries.ptr.data(), 90);
    for (std::int64_t n_cols : {1, 5, 13}) {
        const Plain p(random, n + 7, n_cols);
        const Rows rows = some_rows(random, n + 7, n);
        const Vec w = integers(random, n_cols), v = integers(random, n_cols);
        const Vec scores = p.times(rows, w), direction = p.times(rows, v);
        for (bool squared : {false, true}) {
            const marginrank::PairLoss loss(labels, queries.scale.data(), squared);
            Vec gradient(scores.size()), product(scores.size());
            const double value = loss.evaluate_all(Crew(1), scores.data(), gradient.data());
            loss.hessian_all(Crew(1), scores.data(), direction.data(), product.data());
            for_each_storage(p, [&](const auto& X) {
                for (int threads : {1, 2, 4})
                    for (std::int64_t n_blocks : {1, 4, 64}) {
                        Vec s(scores.size()), g(scores.size()), out(static_cast<std::size_t>(n_cols));
                        Vec partial(static_cast<std::size_t>(n_blocks * n_cols), 1e9);
                        const double got = marginrank::fused_pass(
                            Crew(threads), X, RowList{rows.data()}, loss, w.data(), s.data(), g.data(), n_blocks,
                            partial.data(), out.data(), [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                return loss.evaluate(q, s.data(), g.data(), scratch);
                            });
                        CHECK(got == value);
                        CHECK(s == scores && g == gradient);
                        CHECK(out == p.transposed_times(rows, gradient));
                        marginrank::fused_pass(Crew(threads), X, RowList{rows.data()}, loss, v.data(), s.data(),
                                               g.data(), n_blocks, partial.data(), out.data(),
                                               [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                                   loss.hessian(q, scores.data(), s.data(), g.data(), scratch);
                                                   return 0.0;
                                               });
                        CHECK(s == direction && g == product);
                        CHECK(out == p.transposed_times(rows, product));
                    }
            });
        }
    }
}

// Integers, so that sums do not depend on how they are cut.
void fused_passes_over_parts_of_the_queries_add_up() {
    Random random(6);
    const Queries queries(random, 30, 20);
    const auto n = queries.ptr.back();
    const marginrank::PairLabels labels(Crew(1), queries.y.data(), nullptr, queries.ptr.data(), 30);
    const Plain p(random, n, 5);
    Rows rows;
    for (std::int64_t k = 0; k < n; ++k) rows.push_back(k);
    const Vec w = integers(random, 5), scores = p.times(rows, w);
    const marginrank::PairLoss loss(labels, queries.scale.data(), true);
    Vec gradient(scores.size());
    const double value = loss.evaluate_all(Crew(1), scores.data(), gradient.data());
    for_each_storage(p, [&](const auto& X) {
        Vec s(scores.size(), 1e9), g(scores.size(), 1e9), total(5), out(5), partial(4 * 5);
        double sum = 0.0;
        for (const marginrank::QueryRange range : {marginrank::QueryRange{0, 11}, {11, 12}, {12, 30}}) {
            const std::int64_t* own = rows.data() + queries.ptr[static_cast<std::size_t>(range.first)];
            sum += marginrank::fused_pass(Crew(2), X, RowList{own}, loss, range, w.data(), s.data(), g.data(), 4,
                                          partial.data(), out.data(),
                                          [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                              return loss.evaluate(q, s.data(), g.data(), scratch);
                                          });
            for (std::size_t j = 0; j < 5; ++j) total[j] += out[j];
        }
        CHECK(sum == value && s == scores && g == gradient);
        CHECK(total == p.transposed_times(rows, gradient));
    });
}

template <class Index>
void the_first_bad_row_is_found() {
    const std::int64_t n_rows = 10000, n_cols = 20;
    std::vector<Index> indices, indptr{0};
    for (std::int64_t r = 0; r < n_rows; ++r) {
        for (std::int64_t k = 0; k < r % 4; ++k) indices.push_back(static_cast<Index>((r + 7 * k) % n_cols));
        indptr.push_back(static_cast<Index>(indices.size()));
    }
    const auto stored = static_cast<std::int64_t>(indices.size());
    auto bad_row = [&](const std::vector<Index>& columns, const std::vector<Index>& ptr, int threads) {
        const CsrMatrix<double, Index> X{nullptr, columns.data(), ptr.data(), n_rows, n_cols};
        return marginrank::first_bad_row(Crew(threads), X, stored);
    };
    for (int threads : {1, 2, 4}) {
        CHECK(bad_row(indices, indptr, threads) == -1);
        for (Index column : {Index(-1), Index(20), std::numeric_limits<Index>::max(), std::numeric_limits<Index>::min()})
            for (std::int64_t row : {1, 4095, 4097, 9999}) {
                auto columns = indices;
                columns[static_cast<std::size_t>(indptr[static_cast<std::size_t>(row)])] = column;
                columns[static_cast<std::size_t>(indptr[9999])] = column;
                CHECK(bad_row(columns, indptr, threads) == row);
            }
        for (Index end : {Index(-1), std::numeric_limits<Index>::max(), std::numeric_limits<Index>::min()}) {
            auto ptr = indptr;
            ptr[5001] = end;
            CHECK(bad_row(indices, ptr, threads) == 5000);
        }
        auto ptr = indptr;
        ptr[0] = 1;
        CHECK(bad_row(indices, ptr, threads) == 0);
        ptr = indptr;
        ptr.back() = static_cast<Index>(stored + 1);
        CHECK(bad_row(indices, ptr, threads) == 9999);
    }
}

void a_matrix_without_rows_or_entries_is_not_bad() {
    const std::vector<std::int32_t> indptr{0, 0, 0};
    const CsrMatrix<double, std::int32_t> empty_rows{nullptr, nullptr, indptr.data(), 2, 0};
    const CsrMatrix<double, std::int32_t> no_rows{nullptr, nullptr, indptr.data(), 0, 0};
    CHECK(marginrank::first_bad_row(Crew(1), empty_rows, 0) == -1);
    CHECK(marginrank::first_bad_row(Crew(1), no_rows, 0) == -1);
}

}  // namespace

int main() {
    products_equal_plain_loops();
    products_in_many_blocks_equal_plain_loops();
    no_columns_give_zero_scores();
    no_rows_give_a_zero_adjoint();
    the_number_of_adjoint_blocks_is_a_power_of_two_within_memory();
    query_blocks_cover_every_query_once();
    a_fused_pass_equals_its_parts();
    fused_passes_over_parts_of_the_queries_add_up();
    the_first_bad_row_is_found<std::int32_t>();
    the_first_bad_row_is_found<std::int64_t>();
    a_matrix_without_rows_or_entries_is_not_bad();
    return marginrank_failures() != 0;
}
