// The range of columns, from the sums over some blocks of rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "marginrank/column_sums.hpp"

namespace {

// Offsets of about so many blocks, none of them empty.
std::vector<std::int64_t> blocks_of(std::int64_t n, std::int64_t n_blocks) {
    std::vector<std::int64_t> ptr{0};
    for (std::int64_t b = 1; b <= std::min(n, n_blocks); ++b) ptr.push_back(b * n / std::min(n, n_blocks));
    return ptr;
}

// Fills in low, high and full (whether each row has one entry of the column) and returns the entries of the longest row.
template <class Matrix>
std::int64_t column_range(const marginrank::Crew& crew, const Matrix& X, marginrank::RowList rows, std::int64_t n,
                          double* low, double* high, std::uint8_t* full, std::int64_t n_blocks = 5) {
    const auto ptr = blocks_of(n, n_blocks);
    marginrank::SummedRows given{ptr.data(), static_cast<std::int64_t>(ptr.size()) - 1};
    std::vector<double> tables(static_cast<std::size_t>(given.n_blocks * marginrank::kColumnFields * X.n_cols), 7e77);
    const std::int64_t longest = marginrank::sum_columns(crew, X, rows, given, tables.data());
    for (std::int64_t j = 0; j < X.n_cols; ++j) {
        double stored = 0.0;
        low[j] = high[j] = 0.0;
        for (std::int64_t b = 0; b < given.n_blocks; ++b) {
            const auto at = [&](marginrank::ColumnField f) {
                return tables[static_cast<std::size_t>((b * marginrank::kColumnFields + f) * X.n_cols + j)];
            };
            const bool in_parts = at(marginrank::kParts) > 0.0;
            const double least = in_parts ? std::min(at(marginrank::kLow), -at(marginrank::kParts)) : at(marginrank::kLow);
            const double most = in_parts ? std::max(at(marginrank::kHigh), at(marginrank::kParts)) : at(marginrank::kHigh);
            low[j] = b == 0 ? least : std::min(low[j], least);
            high[j] = b == 0 ? most : std::max(high[j], most);
            stored += at(marginrank::kStored);
        }
        full[j] = n > 0 && stored == static_cast<double>(n);
    }
    return longest;
}

}  // namespace
