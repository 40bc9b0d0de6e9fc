// Rows times a matrix: the definition, and the same bits whatever rows stand beside a row.
#include "marginrank/row_product.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"

namespace {

using marginrank::RowProduct;

template <class Real>
std::vector<Real> random_matrix(std::size_t size, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<Real> values(size);
    for (Real& value : values) value = static_cast<Real>(normal(random));
    return values;
}

// The sums of 256 products, one after the other, as the header says.
template <class Real>
Real entry(const Real* row, const Real* column, std::size_t depth, std::size_t stride) {
    Real total = 0;
    for (std::size_t begin = 0; begin < depth; begin += 256) {
        Real part = 0;
        for (std::size_t k = begin; k < std::min(begin + 256, depth); ++k) part += row[k] * column[k * stride];
        total += part;
    }
    return total;
}

template <class Real>
void entries_have_the_bits_of_the_definition() {
    std::mt19937 random(0);
    for (std::size_t depth : {0, 1, 3, 255, 256, 257, 700})
        for (std::size_t width : {1, 3, 4, 8, 15, 16, 17, 40})
            for (std::size_t rows : {0, 1, 5, 6, 7, 95, 96, 97, 200}) {
                const auto A = random_matrix<Real>(rows * depth, random), B = random_matrix<Real>(depth * width, random);
                std::vector<Real> out(rows * width, Real(7));
                RowProduct<Real>(B.data(), depth, width).apply(A.data(), rows, out.data());
                std::size_t wrong = 0;
                for (std::size_t r = 0; r < rows; ++r)
                    for (std::size_t c = 0; c < width; ++c)
                        wrong += out[r * width + c] != entry(A.data() + r * depth, B.data() + c, depth, width);
                CHECK(wrong == 0);
            }
}

template <class Real>
void a_row_that_is_not_finite_stays_alone() {
    std::mt19937 random(1);
    const std::size_t rows = 13, depth = 20, width = 19;
    auto A = random_matrix<Real>(rows * depth, random);
    const auto B = random_matrix<Real>(depth * width, random);
    const RowProduct<Real> product(B.data(), depth, width);
    std::vector<Real> before(rows * width), after(rows * width);
    product.apply(A.data(), rows, before.data());
    A[4 * depth] = std::numeric_limits<Real>::infinity();
    product.apply(A.data(), rows, after.data());
    for (std::size_t r = 0; r < rows; ++r) {
        const bool same = std::memcmp(&before[r * width], &after[r * width], width * sizeof(Real)) == 0;
        CHECK(same == (r != 4));
    }
}

}  // namespace

int main() {
    entries_have_the_bits_of_the_definition<float>();
    entries_have_the_bits_of_the_definition<double>();
    a_row_that_is_not_finite_stays_alone<float>();
    a_row_that_is_not_finite_stays_alone<double>();
    return marginrank_failures() != 0;
}
