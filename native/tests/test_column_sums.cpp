// Ranges and moments of columns, and columns that vary within queries, against plain loops over every storage.
#include "marginrank/column_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "check.hpp"
#include "column_range.hpp"
#include "marginrank/varying_columns.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;
using Flags = std::vector<std::uint8_t>;

// Storages leave out zeros, so a column is full in CSR rows where none of them is zero.
template <class Matrix>
struct StoresZeros : std::false_type {};
template <class Real>
struct StoresZeros<DenseMatrix<Real>> : std::true_type {};

template <class Matrix>
void check_range(const Plain& p, const Matrix& X, const Rows& rows, RowList list) {
    const auto n = static_cast<std::int64_t>(rows.size());
    const auto n_cols = static_cast<std::size_t>(p.n_cols);
    for (int threads : {1, 3}) {
        Vec low(n_cols, 9.0), high(n_cols, -9.0);
        Flags full(n_cols, 7);
        const std::int64_t longest =
            column_range(Crew(threads), X, list, n, low.data(), high.data(), full.data());
        std::int64_t most = StoresZeros<Matrix>::value ? p.n_cols : 0;
        for (std::int64_t r : rows) {
            std::int64_t stored = 0;
            for (std::int64_t c = 0; c < p.n_cols; ++c) stored += p.at(r, c) != 0.0;
            most = std::max(most, stored);
        }
        CHECK(longest == most);
        for (std::int64_t c = 0; c < p.n_cols; ++c) {
            Vec column;
            for (std::int64_t r : rows) column.push_back(p.at(r, c));
            const auto [least, largest] = std::minmax_element(column.begin(), column.end());
            const auto j = static_cast<std::size_t>(c);
            CHECK(low[j] == *least);
            CHECK(high[j] == *largest);
            CHECK(full[j] == (StoresZeros<Matrix>::value || std::count(column.begin(), column.end(), 0.0) == 0));
        }
    }
}

template <class Matrix>
void check_varying(Random& random, const Plain& p, const Matrix& X, const Rows& rows, RowList list) {
    Rows ptr{0};
    const auto n = static_cast<std::int64_t>(rows.size());
    while (ptr.back() < n)
        ptr.push_back(std::min<std::int64_t>(n, ptr.back() + static_cast<std::int64_t>(random() % 5)));
    const auto n_cols = static_cast<std::size_t>(p.n_cols);
    Flags want(n_cols, 0);
    want[0] = 1;  // known before
    for (std::size_t q = 0; q + 1 < ptr.size(); ++q)
        for (std::int64_t k = ptr[q] + 1; k < ptr[q + 1]; ++k)
            for (std::int64_t c = 0; c < p.n_cols; ++c)
                if (p.at(rows[static_cast<std::size_t>(k)], c) != p.at(rows[static_cast<std::size_t>(k - 1)], c))
                    want[static_cast<std::size_t>(c)] = 1;
    for (int threads : {1, 3}) {
        Flags varies(n_cols, 0);
        varies[0] = 1;
        marginrank::find_varying_columns(Crew(threads), X, list, ptr.data(), static_cast<std::int64_t>(ptr.size()) - 1,
                                         varies.data());
        CHECK(varies == want);
    }
}

// Sums of small integers and halves of them: means and squares are those of plain loops, but for the last bits.
template <class Matrix>
void check_moments(Random& random, const Plain& p, const Matrix& X, const Rows& rows, RowList list) {
    const auto n = static_cast<std::int64_t>(rows.size());
    Rows query_ptr{0}, block_ptr{0};
    while (query_ptr.back() < n) {
        query_ptr.push_back(std::min<std::int64_t>(n, query_ptr.back() + static_cast<std::int64_t>(random() % 90)));
        if (random() % 3 == 0 && query_ptr.back() > block_ptr.back()) block_ptr.push_back(query_ptr.back());
    }
    if (block_ptr.back() < n) block_ptr.push_back(n);
    Vec weight(rows.size()), unit(static_cast<std::size_t>(p.n_cols), 0.25);
    for (double& w : weight) w = 1.0 + static_cast<double>(random() % 3);
    const auto n_blocks = static_cast<std::int64_t>(block_ptr.size()) - 1;
    for (bool by_query : {false, true}) {
        marginrank::SummedRows given{block_ptr.data(), n_blocks};
        if (by_query) given.query_ptr = query_ptr.data();
        if (by_query) given.n_queries = static_cast<std::int64_t>(query_ptr.size()) - 1;
        given.weight = weight.data();
        given.unit = unit.data();
        Vec tables(static_cast<std::size_t>(n_blocks * marginrank::kColumnFields * p.n_cols)), again(tables);
        marginrank::sum_columns(Crew(1), X, list, given, tables.data());
        marginrank::sum_columns(Crew(3), X, list, given, again.data());
        CHECK(tables == again);
        for (std::int64_t b = 0; b < n_blocks; ++b)
            for (std::int64_t c = 0; c < p.n_cols; ++c) {
                const auto at = [&](std::int64_t k) { return 0.25 * p.at(rows[static_cast<std::size_t>(k)], c); };
                const auto found = [&](marginrank::ColumnField f) {
                    return tables[static_cast<std::size_t>((b * marginrank::kColumnFields + f) * p.n_cols + c)];
                };
                // About the mean of rows [begin, end): weight, mean and squares.
                const auto moments = [&](std::int64_t begin, std::int64_t end) {
                    double total = 0.0, mean = 0.0, squares = 0.0;
                    for (std::int64_t k = begin; k < end; ++k) total += weight[static_cast<std::size_t>(k)];
                    for (std::int64_t k = begin; k < end; ++k) mean += weight[static_cast<std::size_t>(k)] * at(k) / total;
                    for (std::int64_t k = begin; k < end; ++k)
                        squares += weight[static_cast<std::size_t>(k)] * (at(k) - mean) * (at(k) - mean);
                    return std::pair(mean, squares);
                };
                const std::int64_t begin = block_ptr[static_cast<std::size_t>(b)], end = block_ptr[static_cast<std::size_t>(b) + 1];
                const auto [mean, squares] = moments(begin, end);
                double within = 0.0, nonzero = 0.0;
                for (std::size_t q = 0; by_query && q + 1 < query_ptr.size(); ++q)
                    if (query_ptr[q] >= begin && query_ptr[q + 1] <= end)
                        within += moments(query_ptr[q], query_ptr[q + 1]).second;
                for (std::int64_t k = begin; k < end; ++k)
                    nonzero += at(k) != 0.0 ? weight[static_cast<std::size_t>(k)] : 0.0;
                const double rounding = 1e-13 * static_cast<double>(end - begin + 1);
                CHECK(std::abs(found(marginrank::kReference) + found(marginrank::kMean) - mean) <= rounding);
                CHECK(std::abs(found(marginrank::kSquares) - squares) <= rounding * (1.0 + squares));
                if (by_query) CHECK(std::abs(found(marginrank::kWithin) - within) <= rounding * (1.0 + within));
                CHECK(found(marginrank::kNonzero) == nonzero);
            }
    }
}

// Columns that differ in one row only, at any place, or nowhere.
Plain steady(Random& random, std::int64_t n_rows, std::int64_t n_cols) {
    Plain p(random, n_rows, n_cols);
    for (std::int64_t c = 0; c < n_cols; ++c) {
        const double value = static_cast<double>(c % 3);
        for (std::int64_t r = 0; r < n_rows; ++r) p.entries[static_cast<std::size_t>(r * n_cols + c)] = value;
        if (c % 2 == 1) p.entries[random() % static_cast<std::uint64_t>(n_rows) * static_cast<std::size_t>(n_cols) + static_cast<std::size_t>(c)] += 1.0;
    }
    return p;
}

void ranges_moments_and_variation_equal_plain_loops() {
    Random random(1);
    for (std::int64_t n_cols : {1, 3, 8, 13})
        for (std::int64_t n_rows : {1, 2, 30, 203, 30000}) {
            if (n_rows > 1000 && n_cols != 13) continue;  // many blocks
            for (bool is_steady : {false, true}) {
                const Plain p = is_steady ? steady(random, n_rows, n_cols) : Plain(random, n_rows, n_cols);
                const Rows all = all_rows(n_rows), some = some_rows(random, n_rows, n_rows + 2);
                for_each_storage(p, [&](const auto& X) {
                    check_range(p, X, all, RowList{nullptr});
                    check_range(p, X, some, RowList{some.data()});
                    check_moments(random, p, X, all, RowList{nullptr});
                    check_moments(random, p, X, some, RowList{some.data()});
                    check_varying(random, p, X, all, RowList{nullptr});
                    check_varying(random, p, X, some, RowList{some.data()});
                });
            }
        }
}

void a_query_longer_than_a_block_is_compared_across_blocks() {
    Random random(2);
    const std::int64_t n_rows = 40000, n_cols = 37;
    for (int trial = 0; trial < 4; ++trial) {
        const Plain p = steady(random, n_rows, n_cols);
        const Rows ptr{0, n_rows};
        for_each_storage(p, [&](const auto& X) {
            Flags varies(static_cast<std::size_t>(n_cols), 0);
            marginrank::find_varying_columns(Crew(2), X, RowList{nullptr}, ptr.data(), 1, varies.data());
            for (std::int64_t c = 0; c < n_cols; ++c) CHECK(varies[static_cast<std::size_t>(c)] == (c % 2 == 1));
        });
    }
}

// Entries in parts: 3 as 1 + 2, and 1 + -1, whose sum is 0.
void entries_in_parts_widen_the_range_and_count_as_varying() {
    const std::vector<double> data{1.0, 2.0, 3.0, 4.0, 1.0, -1.0};
    const std::vector<std::int32_t> indices{0, 0, 0, 1, 2, 2}, indptr{0, 2, 4, 6};
    const CsrMatrix<double, std::int32_t> X{data.data(), indices.data(), indptr.data(), 3, 3};
    Vec low(3), high(3);
    Flags full(3), varies(3, 0);
    CHECK(column_range(Crew(1), X, RowList{nullptr}, 3, low.data(), high.data(), full.data()) == 2);
    CHECK(high[0] >= 3.0 && high[0] < 3.0001 && low[0] <= -3.0);
    CHECK(low[1] == 0.0 && high[1] == 4.0);
    CHECK(low[2] <= -2.0 && high[2] >= 2.0);
    CHECK(full == Flags({0, 0, 0}));
    const Rows ptr{0, 3};
    marginrank::find_varying_columns(Crew(1), X, RowList{nullptr}, ptr.data(), 1, varies.data());
    CHECK(varies == Flags({1, 1, 1}));
}

void no_rows_have_the_range_of_nothing() {
    Random random(3);
    const Dense<double> dense(Plain(random, 4, 2));
    Vec low(2, 5.0), high(2, 5.0);
    Flags full(2, 1);
    const Rows none;
    column_range(Crew(1), dense.view, RowList{none.data()}, 0, low.data(), high.data(), full.data());
    CHECK(low == Vec({0.0, 0.0}) && high == low && full == Flags({0, 0}));
}

}  // namespace

int main() {
    ranges_moments_and_variation_equal_plain_loops();
    a_query_longer_than_a_block_is_compared_across_blocks();
    entries_in_parts_widen_the_range_and_count_as_varying();
    no_rows_have_the_range_of_nothing();
    return marginrank_failures() != 0;
}
