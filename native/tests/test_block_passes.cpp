// Products with several vectors at once against plain loops.
#include "marginrank/block_passes.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;

template <class Times>
Vec one_by_one(const Vec& vectors, std::int64_t n_vectors, Times&& times) {
    Vec out;
    const auto length = static_cast<std::ptrdiff_t>(vectors.size()) / n_vectors;
    for (std::ptrdiff_t v = 0; v < n_vectors; ++v) {
        const Vec product = times(Vec(vectors.begin() + v * length, vectors.begin() + (v + 1) * length));
        out.insert(out.end(), product.begin(), product.end());
    }
    return out;
}

template <class Matrix>
void check_products(Random& random, const Plain& p, const Matrix& X, const Rows& rows, RowList list,
                    std::int64_t n_vectors) {
    const auto n = static_cast<std::int64_t>(rows.size());
    const Vec W = integers(random, n_vectors * p.n_cols), G = integers(random, n_vectors * n);
    const Vec scores = one_by_one(W, n_vectors, [&](const Vec& w) { return p.times(rows, w); });
    const Vec adjoint = one_by_one(G, n_vectors, [&](const Vec& g) { return p.transposed_times(rows, g); });
    for (int threads : {1, 3}) {
        const Crew crew(threads);
        Vec out(scores.size(), -1.0);
        marginrank::multiply_block(crew, X, list, n, W.data(), n_vectors, out.data());
        CHECK(out == scores);
        for (std::int64_t n_blocks : {1, 3, 8}) {
            Vec partial(static_cast<std::size_t>(n_blocks * p.n_cols * marginrank::kBlockWidth), 1e9);
            Vec sum(adjoint.size(), -1.0);
            marginrank::multiply_transposed_block(crew, X, list, n, G.data(), n_vectors, n_blocks, partial.data(),
                                                  sum.data());
            CHECK(sum == adjoint);
        }
    }
}

void any_number_of_vectors_equals_plain_loops() {
    Random random(1);
    for (std::int64_t n_cols : {1, 3, 8, 13})
        for (std::int64_t n_rows : {1, 3, 4, 17, 70}) {
            const Plain p(random, n_rows, n_cols);
            const Rows all = all_rows(n_rows), some = some_rows(random, n_rows, n_rows + 2);
            for_each_storage(p, [&](const auto& X) {
                for (std::int64_t n_vectors : {1, 2, 3, 4, 5, 7, 8, 9, 19}) {
                    check_products(random, p, X, all, RowList{nullptr}, n_vectors);
                    check_products(random, p, X, some, RowList{some.data()}, n_vectors);
                }
            });
        }
}

void products_in_many_blocks_equal_plain_loops() {
    Random random(2);
    for (auto [n_rows, n_cols] : {std::pair<int, int>{9000, 37}, {40, 9001}}) {
        const Plain p(random, n_rows, n_cols);
        const Rows all = all_rows(n_rows);
        for_each_storage(p, [&](const auto& X) { check_products(random, p, X, all, RowList{nullptr}, 6); });
    }
}

void nothing_to_multiply_gives_zeros_or_nothing() {
    Random random(3);
    const Plain no_columns(random, 6, 0), no_rows(random, 0, 5);
    for_each_storage(no_columns,
                     [&](const auto& X) { check_products(random, no_columns, X, all_rows(6), RowList{nullptr}, 3); });
    for_each_storage(no_rows, [&](const auto& X) { check_products(random, no_rows, X, Rows{}, RowList{nullptr}, 3); });
    const Plain p(random, 6, 5);
    for_each_storage(p, [&](const auto& X) {
        marginrank::multiply_block(Crew(1), X, RowList{nullptr}, 6, nullptr, 0, nullptr);
        marginrank::multiply_transposed_block(Crew(1), X, RowList{nullptr}, 6, nullptr, 0, 1, nullptr, nullptr);
    });
}

// Real numbers this time, so that another order of the sums would show.
void a_vector_has_the_same_bits_whatever_is_beside_it() {
    Random random(4);
    const std::int64_t n_rows = 3000, n_cols = 21, n_blocks = 8;
    const Plain p(random, n_rows, n_cols);
    std::normal_distribution<double> normal;
    Vec W(8 * 21), G(8 * 3000);
    for (double& w : W) w = normal(random);
    for (double& g : G) g = normal(random);
    for_each_storage(p, [&](const auto& X) {
        Vec scores(8 * 3000), adjoint(8 * 21), partial(static_cast<std::size_t>(n_blocks * n_cols * 8));
        marginrank::multiply_block(Crew(1), X, RowList{nullptr}, n_rows, W.data(), 8, scores.data());
        marginrank::multiply_transposed_block(Crew(1), X, RowList{nullptr}, n_rows, G.data(), 8, n_blocks,
                                              partial.data(), adjoint.data());
        for (std::int64_t n_vectors : {2, 3, 4, 7})
            for (int threads : {1, 2, 4}) {
                Vec s(static_cast<std::size_t>(n_vectors * n_rows)), a(static_cast<std::size_t>(n_vectors * n_cols));
                marginrank::multiply_block(Crew(threads), X, RowList{nullptr}, n_rows, W.data(), n_vectors, s.data());
                marginrank::multiply_transposed_block(Crew(threads), X, RowList{nullptr}, n_rows, G.data(), n_vectors,
                                                      n_blocks, partial.data(), a.data());
                CHECK(std::equal(s.begin(), s.end(), scores.begin()));
                CHECK(std::equal(a.begin(), a.end(), adjoint.begin()));
            }
    });
}

}  // namespace

int main() {
    any_number_of_vectors_equals_plain_loops();
    products_in_many_blocks_equal_plain_loops();
    nothing_to_multiply_gives_zeros_or_nothing();
    a_vector_has_the_same_bits_whatever_is_beside_it();
    return marginrank_failures() != 0;
}
