// LETOR text: rows or a problem with its place, the same whatever the chunks and threads; what was read can be written
// and is read again as the same rows.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "input.hpp"
#include "marginrank/letor.hpp"
#include "marginrank/letor_write.hpp"

using namespace marginrank;

namespace {

template <class Real>
struct Csr {
    std::vector<Real> data;
    std::vector<std::int64_t> indices, indptr;

    explicit Csr(const LetorRows<Real>& rows)
        : data(static_cast<std::size_t>(rows.n_entries())),
          indices(data.size()),
          indptr(static_cast<std::size_t>(rows.n_rows()) + 1) {
        letor_to_csr(Crew(1), rows, data.data(), indices.data(), indptr.data());
    }
    bool same(const Csr& other) const {
        return indices == other.indices && indptr == other.indptr &&
               (data.empty() || std::memcmp(data.data(), other.data.data(), data.size() * sizeof(Real)) == 0);
    }
};

template <class Real>
void check_rows(const LetorRows<Real>& rows, const LetorOptions& options) {
    const Csr<Real> csr(rows);
    for (std::size_t row = 0; row + 1 < csr.indptr.size(); ++row)
        for (auto k = csr.indptr[row]; k < csr.indptr[row + 1]; ++k) {
            MUST(csr.indices[static_cast<std::size_t>(k)] <= rows.last_column);
            MUST(k == csr.indptr[row] || csr.indices[static_cast<std::size_t>(k) - 1] < csr.indices[static_cast<std::size_t>(k)]);
        }
    if (rows.last_column < 64) {
        std::vector<Real> dense(static_cast<std::size_t>(rows.n_rows() * 64));
        letor_to_dense(Crew(1), rows, dense.data(), 64);
    }
    std::string features, text;
    std::vector<std::int64_t> ends(static_cast<std::size_t>(rows.n_rows()));
    write_letor_features(csr.data.data(), csr.indices.data(), csr.indptr.data(), rows.n_rows(), options.first_index, features,
                         ends.data());
    for (std::size_t row = 0, start = 0; row < ends.size(); start = static_cast<std::size_t>(ends[row++]))
        text += "1" + features.substr(start, static_cast<std::size_t>(ends[row]) - start) + "\n";
    const auto again = parse_letor<Real>(Crew(1), text.data(), static_cast<std::int64_t>(text.size()), options, 1 << 20);
    MUST(again.problem.fault == LetorFault::kNone);
    bool has_nan = false;
    for (Real v : csr.data) has_nan = has_nan || v != v;
    if (!has_nan) MUST(Csr<Real>(again).same(csr));
}

template <class Real>
void check_text(const char* text, std::int64_t size, const LetorOptions& options, std::int64_t chunk) {
    const auto whole = parse_letor<Real>(Crew(1), text, size, options, std::int64_t{1} << 20);
    const auto cut = parse_letor<Real>(Crew(2), text, size, options, chunk);
    MUST(whole.problem.fault == cut.problem.fault);
    MUST(whole.problem.where.begin == cut.problem.where.begin && whole.problem.where.end == cut.problem.where.end);
    if (whole.problem.fault != LetorFault::kNone) {
        MUST(whole.problem.where.begin >= 0 && whole.problem.where.begin <= whole.problem.where.end);
        MUST(whole.problem.where.end <= size);
        return;
    }
    MUST(whole.n_rows() == cut.n_rows() && whole.last_column == cut.last_column);
    MUST(Csr<Real>(whole).same(Csr<Real>(cut)));
    check_rows(whole, options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0 || size > 4096) return 0;
    const std::uint8_t how = data[0];
    const LetorOptions options{how & 1, (how & 2) != 0 ? 40 : std::numeric_limits<std::int32_t>::max(), (how & 4) != 0,
                               (how & 8) != 0, 0.5};
    const auto* text = reinterpret_cast<const char*>(data + 1);
    const auto length = static_cast<std::int64_t>(size - 1);
    if ((how & 16) != 0) check_text<float>(text, length, options, 1 + (how >> 5));
    else check_text<double>(text, length, options, 1 + (how >> 5));
    return 0;
}
