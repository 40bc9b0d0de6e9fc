// Features as LETOR/SVMlight text: the shortest digits that read back as the same number.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace marginrank {

// Appends ' index:value' for each entry of some CSR rows; ends says where each row ends in the text.
template <class Real, class Index>
void write_letor_features(const Real* data, const Index* indices, const Index* indptr, std::int64_t n_rows,
                          std::int64_t first_index, std::string& text, std::int64_t* ends) {
    char buffer[64];  // int64 has 20 characters, the shortest form of a double 24
    for (std::int64_t row = 0; row < n_rows; ++row) {
        for (Index k = indptr[row]; k < indptr[row + 1]; ++k) {
            char* p = buffer;
            *p++ = ' ';
            p = std::to_chars(p, buffer + sizeof buffer, indices[k] + first_index).ptr;
            *p++ = ':';
            p = std::to_chars(p, buffer + sizeof buffer, data[k]).ptr;
            text.append(buffer, static_cast<std::size_t>(p - buffer));
        }
        ends[row] = static_cast<std::int64_t>(text.size());
    }
}

}  // namespace marginrank
