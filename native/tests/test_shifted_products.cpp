// Products that subtract a number from each column on the way equal those of the matrix without it.
//
// Entries are small integers beside the shift, so every sum is exact.
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "marginrank/block_passes.hpp"
#include "marginrank/passes.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;

// Every third column is stored in each row and has an offset; the shift is that offset, and 0 elsewhere.
struct Shifted {
    Plain small, large;
    Vec shift;
    Shifted(Random& random, std::int64_t n_rows, std::int64_t n_cols)
        : small(random, n_rows, n_cols), large(small), shift(static_cast<std::size_t>(n_cols), 0.0) {
        for (std::int64_t c = 0; c < n_cols; c += 3) {
            shift[static_cast<std::size_t>(c)] = 4096.0 + static_cast<double>(c);
            for (std::int64_t r = 0; r < n_rows; ++r)
                large.entries[static_cast<std::size_t>(r * n_cols + c)] += shift[static_cast<std::size_t>(c)];
        }
    }
};

void products_equal_those_without_the_offset() {
    Random random(1);
    for (std::int64_t n_cols : {1, 2, 4, 7, 8, 9, 13, 16})
        for (std::int64_t n_rows : {1, 3, 5, 30, 203, 12000}) {
            if (n_rows > 1000 && n_cols != 13) continue;  // many blocks
            const Shifted p(random, n_rows, n_cols);
            const Rows rows = some_rows(random, n_rows, n_rows + 2);
            const auto n = static_cast<std::int64_t>(rows.size());
            for_each_storage(p.large, [&](auto X) {
                X.shift = p.shift.data();
                const RowList list{rows.data()};
                for (std::int64_t n_vectors : {1, 2, 3, 8, 11})
                    for (int threads : {1, 3}) {
                        const Crew crew(threads);
                        const Vec W = integers(random, n_vectors * n_cols), G = integers(random, n_vectors * n);
                        Vec scores(static_cast<std::size_t>(n_vectors * n)), sums(W.size());
                        marginrank::multiply_block(crew, X, list, n, W.data(), n_vectors, scores.data());
                        const std::int64_t n_blocks = marginrank::block_adjoint_blocks(X.stored(), n_cols);
                        Vec partial(static_cast<std::size_t>(n_blocks * marginrank::kBlockWidth * n_cols));
                        marginrank::multiply_transposed_block(crew, X, list, n, G.data(), n_vectors, n_blocks,
                                                              partial.data(), sums.data());
                        for (std::int64_t v = 0; v < n_vectors; ++v) {
                            const Vec w(W.begin() + v * n_cols, W.begin() + (v + 1) * n_cols);
                            const Vec g(G.begin() + v * n, G.begin() + (v + 1) * n);
                            CHECK(Vec(scores.begin() + v * n, scores.begin() + (v + 1) * n) == p.small.times(rows, w));
                            CHECK(Vec(sums.begin() + v * n_cols, sums.begin() + (v + 1) * n_cols) ==
                                  p.small.transposed_times(rows, g));
                        }
                    }
            });
        }
}

}  // namespace

int main() {
    products_equal_those_without_the_offset();
    return marginrank_failures() != 0;
}
