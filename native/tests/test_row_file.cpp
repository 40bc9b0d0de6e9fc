// Products with rows that lie in a file: the bits of the same rows in memory, and errors that name the file.
#include "marginrank/row_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "check.hpp"
#include "column_range.hpp"
#include "marginrank/block_passes.hpp"
#include "marginrank/matrix.hpp"
#include "marginrank/pair_loss.hpp"
#include "marginrank/passes.hpp"
#include "marginrank/varying_columns.hpp"
#include "plain_matrix.hpp"

namespace {

using marginrank::Crew;
using marginrank::RowFile;

struct TemporaryFile {
    std::FILE* file = std::tmpfile();
    TemporaryFile() = default;
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { std::fclose(file); }

    template <class T>
    std::int64_t append(const T* values, std::size_t n) {
        const auto offset = static_cast<std::int64_t>(std::ftell(file));
        CHECK(n == 0 || std::fwrite(values, sizeof(T), n, file) == n);
        std::fflush(file);
        return offset;
    }
    int descriptor() const { return fileno(file); }
};

// Calls body with the view in memory and the view of the same rows in a file, for each storage.
template <class Body>
void for_each_file(const Plain& p, Body&& body) {
    auto dense = [&](const auto& held) {
        TemporaryFile there;
        there.append("before", 7);
        auto view = held.view;
        view.offset = there.append(held.data.data(), held.data.size());
        const RowFile file(there.descriptor(), "dense");
        view.file = &file;
        view.data = nullptr;
        body(held.view, view);
    };
    auto csr = [&](const auto& held) {
        TemporaryFile there;
        there.append("before", 5);
        auto view = held.view;
        view.data_offset = there.append(held.data.data(), held.data.size());
        view.indices_offset = there.append(held.indices.data(), held.indices.size());
        const RowFile file(there.descriptor(), "csr");
        view.file = &file;
        view.data = nullptr;
        view.indices = nullptr;
        body(held.view, view);
    };
    dense(Dense<float>(p));
    dense(Dense<double>(p));
    csr(Csr<float, std::int32_t>(p));
    csr(Csr<float, std::int64_t>(p));
    csr(Csr<double, std::int32_t>(p));
    csr(Csr<double, std::int64_t>(p));
}

Vec reals(Random& random, std::int64_t n) {
    std::normal_distribution<double> normal;
    Vec out(static_cast<std::size_t>(n));
    for (double& x : out) x = normal(random);
    return out;
}

struct Products {
    Vec scores, adjoint, block_scores, block_adjoint;

    template <class Matrix>
    Products(const Crew& crew, const Matrix& X, RowList rows, std::int64_t n, const Vec& W, const Vec& G) {
        const std::int64_t n_vectors = 3, n_blocks = 4;
        const auto columns = static_cast<std::size_t>(X.n_cols);
        scores.resize(static_cast<std::size_t>(n));
        adjoint.resize(columns);
        block_scores.resize(static_cast<std::size_t>(n_vectors * n));
        block_adjoint.resize(static_cast<std::size_t>(n_vectors) * columns);
        Vec partial(static_cast<std::size_t>(n_blocks) * 8 * columns);
        marginrank::multiply(crew, X, rows, n, W.data(), scores.data());
        marginrank::multiply_transposed(crew, X, rows, n, G.data(), n_blocks, partial.data(), adjoint.data());
        marginrank::multiply_block(crew, X, rows, n, W.data(), n_vectors, block_scores.data());
        marginrank::multiply_transposed_block(crew, X, rows, n, G.data(), n_vectors, n_blocks, partial.data(),
                                              block_adjoint.data());
    }
    bool operator==(const Products& other) const {
        return scores == other.scores && adjoint == other.adjoint && block_scores == other.block_scores &&
               block_adjoint == other.block_adjoint;
    }
};

// Scores, gradient, adjoint and value of a pass over pairs of rows that are a query each.
template <class Matrix>
Vec fused(const Matrix& X, RowList rows, std::int64_t n, const Vec& w) {
    Rows ptr;
    Vec y;
    for (std::int64_t k = 0; k <= n; k += 2) ptr.push_back(k);
    for (std::int64_t k = 0; k < n; ++k) y.push_back(static_cast<double>(k % 2));
    const auto n_queries = static_cast<std::int64_t>(ptr.size()) - 1;
    const Vec scale(static_cast<std::size_t>(n_queries), 0.3);
    const marginrank::PairLabels labels(Crew(1), y.data(), nullptr, ptr.data(), n_queries);
    const marginrank::PairLoss loss(labels, scale.data(), false);
    Vec found(static_cast<std::size_t>(2 * n + X.n_cols) + 1), partial(static_cast<std::size_t>(2 * X.n_cols));
    double *scores = found.data(), *gradient = scores + n, *out = gradient + n;
    found.back() = marginrank::fused_pass(Crew(1), X, rows, loss, w.data(), scores, gradient, 2, partial.data(), out,
                                          [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                              return loss.evaluate(q, scores, gradient, scratch);
                                          });
    return found;
}

// Several pieces: a row of 400 numbers takes 1.6 to 4.8 KB, a piece 192 KB.
void products_have_the_bits_of_those_in_memory() {
    Random random(1);
    for (auto [n_rows, n_cols] : {std::pair<int, int>{1, 1}, {5, 3}, {700, 400}, {37, 30000}, {6, 0}, {0, 5}}) {
        const Plain p(random, n_rows, n_cols);
        Rows some;
        for (std::int64_t r = 0; r < n_rows; ++r)
            if (r % 7 != 2 && r % 50 < 30) some.push_back(r);
        const Vec W = reals(random, 3 * n_cols), G = reals(random, 3 * n_rows);
        const Vec shift = reals(random, p.n_cols);
        for_each_file(p, [&](auto held, auto filed) {
            const auto few = static_cast<std::int64_t>(some.size());
            const Products all(Crew(1), held, RowList{nullptr}, n_rows, W, G);
            const Products part(Crew(1), held, RowList{some.data()}, few, W, G);
            for (int threads : {1, 3}) {
                CHECK(all == Products(Crew(threads), filed, RowList{nullptr}, n_rows, W, G));
                CHECK(part == Products(Crew(threads), filed, RowList{some.data()}, few, W, G));
            }
            held.shift = filed.shift = shift.data();
            const Products less(Crew(1), held, RowList{some.data()}, few, W, G);
            CHECK(less == Products(Crew(2), filed, RowList{some.data()}, few, W, G));
            Vec low(shift.size()), high(shift.size()), low_there(shift.size()), high_there(shift.size());
            std::vector<std::uint8_t> full(shift.size()), full_there(shift.size());
            const RowList list{some.data()};
            column_range(Crew(1), held, list, few, low.data(), high.data(), full.data());
            column_range(Crew(2), filed, list, few, low_there.data(), high_there.data(), full_there.data());
            CHECK(low == low_there && high == high_there && full == full_there);
            std::vector<std::uint8_t> varies(shift.size()), varies_there(shift.size());
            const Rows ptr{0, few / 3, few};
            Vec sums(marginrank::kColumnFields * shift.size()), sums_there(sums);
            const Rows block{0, few};
            const marginrank::SummedRows given{block.data(), few > 0 ? 1 : 0, ptr.data(), 2};
            marginrank::sum_columns(Crew(1), held, list, given, sums.data());
            marginrank::sum_columns(Crew(2), filed, list, given, sums_there.data());
            CHECK(sums == sums_there);
            marginrank::find_varying_columns(Crew(1), held, list, ptr.data(), 2, varies.data());
            marginrank::find_varying_columns(Crew(2), filed, list, ptr.data(), 2, varies_there.data());
            CHECK(varies == varies_there);
        });
    }
}

// Between the rows that are taken lies a terabyte of zeros, for which there is no memory.
void rows_far_apart_are_read_alone() {
    Random random(3);
    const Plain p(random, 60, 64);
    const Vec W = reals(random, 3 * 64), G = reals(random, 3 * 60);
    const Dense<double> held(p);
    const std::int64_t n_rows = std::int64_t{1} << 31;
    Rows far;
    for (std::int64_t r = 0; r < 60; ++r) far.push_back(r < 25 ? r : r < 31 ? n_rows / 64 * r : n_rows - 60 + r);
    TemporaryFile there;
    for (std::size_t r = 0; r < 60; ++r)
        CHECK(::pwrite(there.descriptor(), held.data.data() + 64 * r, 512, static_cast<off_t>(512 * far[r])) == 512);
    const RowFile file(there.descriptor(), "dense");
    const DenseMatrix<double> X{nullptr, n_rows, 64, 64, 0, &file, 0};
    CHECK(Products(Crew(1), held.view, RowList{nullptr}, 60, W, G) == Products(Crew(1), X, RowList{far.data()}, 60, W, G));
    CHECK(fused(held.view, RowList{nullptr}, 60, W) == fused(X, RowList{far.data()}, 60, W));
}

void long_rows_between_others_are_not_read() {
    const std::int64_t many = std::int64_t{1} << 37;
    const Vec values{2.0, 3.0, 4.0, 5.0}, W{1.0, 10.0, 100.0, 1.0, 10.0, 100.0, 1.0, 10.0, 100.0};
    const Vec G{1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0}, scores{20.0, 300.0, 40.0, 5.0};
    const Rows ptr{0, 1, 2, many, many + 1, many + 2}, some{0, 1, 3, 4}, columns{1, 2, 1, 0};
    TemporaryFile there;
    for (std::size_t k = 0; k < 4; ++k) {
        const std::int64_t entry = ptr[static_cast<std::size_t>(some[k])];
        CHECK(::pwrite(there.descriptor(), &values[k], 8, static_cast<off_t>(8 * entry)) == 8);
        CHECK(::pwrite(there.descriptor(), &columns[k], 8, static_cast<off_t>(8 * (many + 2 + entry))) == 8);
    }
    const RowFile file(there.descriptor(), "csr");
    const CsrMatrix<double, std::int64_t> X{nullptr, nullptr, ptr.data(), 5, 3, 0, &file, 0, 8 * (many + 2)};
    const Products found(Crew(1), X, RowList{some.data()}, 4, W, G);
    CHECK(found.scores == scores && Vec(found.block_scores.end() - 4, found.block_scores.end()) == scores);
    CHECK((found.adjoint == Vec{10.0, 6.0, 6.0}));
    const Vec pass = fused(X, RowList{some.data()}, 4, W);
    CHECK(Vec(pass.begin(), pass.begin() + 4) == scores);
}

void fused_passes_have_the_bits_of_those_in_memory() {
    Random random(2);
    std::vector<std::int64_t> ptr{0, 0};  // the first query has no rows, and so has the last
    for (int q = 0; q < 60; ++q) ptr.push_back(ptr.back() + static_cast<std::int64_t>(q == 3 ? 150 : random() % 20));
    ptr.push_back(ptr.back());
    const auto n_queries = static_cast<std::int64_t>(ptr.size()) - 1, n = ptr.back();
    Vec y;
    for (std::int64_t k = 0; k < n; ++k) y.push_back(static_cast<double>(random() % 4));
    const Vec scale(static_cast<std::size_t>(n_queries), 0.3);
    const marginrank::PairLabels labels(Crew(1), y.data(), nullptr, ptr.data(), n_queries);
    const marginrank::PairLoss loss(labels, scale.data(), false);
    const Plain p(random, n, 500);
    const Vec w = reals(random, 500);
    for_each_file(p, [&](const auto& held, const auto& filed) {
        auto pass = [&](const auto& X, int threads) {
            Vec found(static_cast<std::size_t>(2 * n) + 501), partial(4 * 500);
            double *scores = found.data(), *gradient = scores + n, *out = gradient + n;
            found.back() = marginrank::fused_pass(Crew(threads), X, RowList{nullptr}, loss, w.data(), scores, gradient, 4,
                                                  partial.data(), out,
                                                  [&](std::int64_t q, marginrank::QueryScratch& scratch) {
                                                      return loss.evaluate(q, scores, gradient, scratch);
                                                  });
            return found;
        };
        const Vec expected = pass(held, 1);
        for (int threads : {1, 2, 4}) CHECK(pass(filed, threads) == expected);
    });
}

template <class Work>
int code_of(Work&& work, const std::string& path) {
    try {
        work();
    } catch (const marginrank::FileFailed& failure) {
        CHECK(failure.path == path);
        return failure.code;
    }
    return 0;
}

void what_goes_wrong_names_the_file() {
    const Vec numbers(1000, 1.0);
    TemporaryFile there;
    there.append(numbers.data(), 900);
    const RowFile file(there.descriptor(), "cut.bin");
    DenseMatrix<double> X{nullptr, 100, 10, 10};
    X.file = &file;
    Vec out(100);
    for (int threads : {1, 2})
        CHECK(code_of([&] { marginrank::multiply(Crew(threads), X, RowList{nullptr}, 100, numbers.data(), out.data()); },
                      "cut.bin") == EIO);
    X.n_rows = 90;
    CHECK(code_of([&] { marginrank::multiply(Crew(1), X, RowList{nullptr}, 90, numbers.data(), out.data()); }, "cut.bin") == 0);
    CHECK(code_of([] { const RowFile none(-1, "closed.bin"); }, "closed.bin") == EBADF);
}

// The file was looked through before, but somebody wrote to it since.
template <class Index>
void columns_outside_of_the_matrix_are_refused() {
    const std::vector<Index> ptr{0, 1, 2};
    const Vec numbers{1.0, 1.0, 1.0, 1.0};
    for (Index column : {Index{2}, Index{3}, Index{-1}, std::numeric_limits<Index>::max()}) {
        TemporaryFile there;
        there.append(numbers.data(), 2);
        const std::vector<Index> columns{0, column};
        const std::int64_t at = there.append(columns.data(), 2);
        const RowFile file(there.descriptor(), "changed.bin");
        const CsrMatrix<double, Index> X{nullptr, nullptr, ptr.data(), 2, 3, 0, &file, 0, at};
        Vec out(3), partial(3);
        const int expected = column == 2 ? 0 : EIO;
        CHECK(code_of([&] { marginrank::multiply(Crew(1), X, RowList{nullptr}, 2, numbers.data(), out.data()); },
                      "changed.bin") == expected);
        CHECK(code_of([&] {
                  marginrank::multiply_transposed(Crew(1), X, RowList{nullptr}, 2, numbers.data(), 1, partial.data(),
                                                  out.data());
              }, "changed.bin") == expected);
    }
}

void programs_that_are_started_do_not_get_the_file() {
    const TemporaryFile there;
    const int next = ::dup(there.descriptor());  // the lowest that is free, which the copy gets
    ::close(next);
    const RowFile file(there.descriptor(), "own.bin");
    CHECK((::fcntl(next, F_GETFD) & FD_CLOEXEC) != 0);
}

void the_file_may_be_closed_by_who_opened_it() {
    auto there = std::make_unique<TemporaryFile>();
    const double number = 2.5;
    there->append(&number, 1);
    const RowFile file(there->descriptor(), "one.bin");
    there.reset();
    DenseMatrix<double> X{nullptr, 1, 1, 1};
    X.file = &file;
    const double w = 2.0;
    double out = 0.0;
    marginrank::multiply(Crew(1), X, RowList{nullptr}, 1, &w, &out);
    CHECK(out == 5.0);
}

}  // namespace

int main() {
    products_have_the_bits_of_those_in_memory();
    rows_far_apart_are_read_alone();
    long_rows_between_others_are_not_read();
    fused_passes_have_the_bits_of_those_in_memory();
    what_goes_wrong_names_the_file();
    columns_outside_of_the_matrix_are_refused<std::int32_t>();
    columns_outside_of_the_matrix_are_refused<std::int64_t>();
    programs_that_are_started_do_not_get_the_file();
    the_file_may_be_closed_by_who_opened_it();
    return marginrank_failures() != 0;
}
