// A line of LETOR/SVMlight text: `label [qid:id] index:value ... [# comment]`.
//
// The parser knows places and kinds of problems; the sentences about them are written in Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "marginrank/decimal.hpp"

namespace marginrank {

// The numbers are known to io/letor_faults.py.
enum class LetorFault : int {
    kNone = 0,
    kNul = 1,
    kLabel = 2,
    kLabelTooLarge = 3,
    kLabelNotFinite = 4,
    kMissingQid = 5,
    kLateQid = 6,
    kEmptyQid = 7,
    kSecondQid = 8,
    kNoColon = 9,
    kIndex = 10,
    kNegativeIndex = 11,
    kZeroIndex = 12,
    kIndexAbove = 13,
    kDuplicate = 14,
    kNoValue = 15,
    kValue = 16,
    kValueTooLarge = 17,
    kNotFinite = 18,
    kNull = 19,
    kUnexpectedQid = 20,
};

struct LetorOptions {
    std::int64_t first_index = 1;
    std::int64_t last_index = std::numeric_limits<std::int32_t>::max();
    bool allow_nonfinite = false;
    bool read_null = false;
    double null_value = 0.0;
};

// Bytes begin to end of the text.
struct TextSpan {
    std::int64_t begin = -1;
    std::int64_t end = -1;
};

struct LetorProblem {
    LetorFault fault = LetorFault::kNone;
    TextSpan where;
};

template <class Real>
struct LetorChunk {
    std::vector<double> labels;
    std::vector<std::int64_t> row_ends;  // of each row within columns and values
    std::vector<std::int32_t> columns;   // from 0, ascending within a row
    std::vector<Real> values;            // without those that are +0
    std::vector<TextSpan> qids, comments;
    std::vector<std::int64_t> integer_qids;
    std::int32_t last_column = -1;
    bool qids_are_integers = true;
    bool has_comments = false;
    TextSpan first_qid, first_without;  // where the first row with a qid has it, and one without misses it
    LetorProblem problem;
};

// Whether [p, end) is an int64 as a program would print it: no plus, no leading zeros, no -0.
inline bool parse_canonical_integer(const char* p, const char* end, std::int64_t& value) {
    const auto [stop, error] = std::from_chars(p, end, value);
    if (error != std::errc{} || stop != end) return false;
    const bool negative = *p == '-';
    return p[negative] != '0' || (!negative && end - p == 1);
}

template <class Real>
class LetorParser {
public:
    LetorParser(const char* text, const LetorOptions& options, LetorChunk<Real>& out)
        : text_(text), options_(options), out_(out) {}

    // Parses one line without its line end; false at the first problem.
    bool line(const char* p, const char* end) {
        while (end > p && end[-1] == '\r') --end;
        end_ = end;
        has_qid_ = false;
        p = skip_blanks(p);
        if (p == end) return true;
        if (*p == '#') return no_nul(p);  // a line that is only a comment belongs to no row
        return label(p) && qid(p) && features(p) && comment(p);
    }

private:
    static bool is_blank(char c) { return c == ' ' || c == '\t'; }
    bool ends_token(const char* p) const { return p == end_ || is_blank(*p) || *p == '#'; }

    const char* skip_blanks(const char* p) const {
        while (p < end_ && is_blank(*p)) ++p;
        return p;
    }

    TextSpan span(const char* begin, const char* end) const { return {begin - text_, end - text_}; }

    TextSpan token(const char* p) const {
        const char* end = p;
        while (!ends_token(end)) ++end;
        return span(p, end);
    }

    bool fail(LetorFault fault, const char* p) {
        TextSpan where = token(p);
        if (const void* nul = std::memchr(p, 0, static_cast<std::size_t>(where.end - where.begin))) {
            fault = LetorFault::kNul;
            where.begin = static_cast<const char*>(nul) - text_;
        }
        out_.problem = {fault, where};
        return false;
    }

    bool no_nul(const char* p) {
        const void* nul = std::memchr(p, 0, static_cast<std::size_t>(end_ - p));
        return nul == nullptr || fail(LetorFault::kNul, static_cast<const char*>(nul));
    }

    bool label(const char*& p) {
        const char* stop = p;
        double value = 0.0;
        const Parsed parsed = parse_decimal(p, end_, value, stop);
        if (parsed == Parsed::kNothing || !ends_token(stop)) return fail(LetorFault::kLabel, p);
        if (parsed == Parsed::kTooLarge) return fail(LetorFault::kLabelTooLarge, p);
        if (!std::isfinite(value)) return fail(LetorFault::kLabelNotFinite, p);
        out_.labels.push_back(value);
        p = skip_blanks(stop);
        return true;
    }

    bool starts_qid(const char* p) const { return end_ - p >= 4 && std::memcmp(p, "qid:", 4) == 0; }

    bool qid(const char*& p) {
        if (!starts_qid(p)) {
            if (out_.first_without.begin < 0) out_.first_without = token(p);
            return true;
        }
        const TextSpan whole = token(p);
        const TextSpan id{whole.begin + 4, whole.end};
        if (id.begin == id.end) return fail(LetorFault::kEmptyQid, p);
        const char* end = text_ + id.end;
        if (std::memchr(p, 0, static_cast<std::size_t>(end - p))) return fail(LetorFault::kNul, p);
        if (out_.first_qid.begin < 0) out_.first_qid = whole;
        std::int64_t number = 0;
        if (out_.qids_are_integers && parse_canonical_integer(p + 4, end, number))
            out_.integer_qids.push_back(number);
        else
            out_.qids_are_integers = false;
        out_.qids.push_back(id);
        p = skip_blanks(end);
        has_qid_ = true;
        return true;
    }

    bool features(const char*& p) {
        const char* first = p;
        const std::size_t start = out_.columns.size();
        std::int32_t before = -1;
        bool ascending = true, zeros = false;
        while (p < end_ && *p != '#') {
            std::int32_t column = 0;
            Real value = 0;
            if (!index(p, column) || !number(p, value)) return false;
            ascending = ascending && column > before;
            zeros = zeros || (value == Real(0) && !std::signbit(value));
            out_.last_column = std::max(out_.last_column, column);
            before = column;
            out_.columns.push_back(column);
            out_.values.push_back(value);
            p = skip_blanks(p);
        }
        if (!ascending && !sort_row(start, first)) return false;
        if (zeros) drop_zeros(start);
        out_.row_ends.push_back(static_cast<std::int64_t>(out_.columns.size()));
        return true;
    }

    // Reads 'index:' and leaves p behind the colon.
    bool index(const char*& p, std::int32_t& column) {
        const char* stop = p;
        std::int64_t value = 0;
        for (; stop < end_ && is_digit(*stop); ++stop)
            if (value <= options_.last_index) value = value * 10 + (*stop - '0');  // stays above once above
        if (stop == p || stop == end_ || *stop != ':') return bad_index(p);
        if (value < options_.first_index) return fail(LetorFault::kZeroIndex, p);
        if (value > options_.last_index) return fail(LetorFault::kIndexAbove, p);
        column = static_cast<std::int32_t>(value - options_.first_index);
        token_ = p;
        p = stop + 1;
        return true;
    }

    bool bad_index(const char* p) {
        if (starts_qid(p)) return fail(has_qid_ ? LetorFault::kSecondQid : LetorFault::kLateQid, p);
        const TextSpan where = token(p);
        const char* end = text_ + where.end;
        if (std::find(p, end, ':') == end) return fail(LetorFault::kNoColon, p);
        const bool negative = *p == '-' && is_digit(p[1]);
        return fail(negative ? LetorFault::kNegativeIndex : LetorFault::kIndex, p);
    }

    bool number(const char*& p, Real& value) {
        const char* stop = p;
        if (ends_token(p)) return fail(LetorFault::kNoValue, token_);
        const Parsed parsed = parse_decimal(p, end_, value, stop);
        if (parsed == Parsed::kNothing || !ends_token(stop)) return null(p, value);
        if (parsed == Parsed::kTooLarge) return fail(LetorFault::kValueTooLarge, token_);
        if (!options_.allow_nonfinite && !std::isfinite(value)) return fail(LetorFault::kNotFinite, token_);
        p = stop;
        return true;
    }

    bool null(const char*& p, Real& value) {
        const bool is_null = end_ - p >= 4 && std::memcmp(p, "NULL", 4) == 0 && ends_token(p + 4);
        if (!is_null) return fail(LetorFault::kValue, token_);
        if (!options_.read_null) return fail(LetorFault::kNull, token_);
        value = static_cast<Real>(options_.null_value);
        p += 4;
        return true;
    }

    bool sort_row(std::size_t start, const char* first) {
        const std::size_t n = out_.columns.size() - start;
        entries_.resize(n);
        for (std::size_t k = 0; k < n; ++k) entries_[k] = {out_.columns[start + k], out_.values[start + k]};
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t k = 0; k < n; ++k) {
            if (k > 0 && entries_[k].first == entries_[k - 1].first) return duplicate(first);
            out_.columns[start + k] = entries_[k].first;
            out_.values[start + k] = entries_[k].second;
        }
        return true;
    }

    // Goes through the row once more, for the first feature that was there before.
    bool duplicate(const char* p) {
        std::vector<std::int32_t> seen;
        std::int32_t column = 0;
        Real value = 0;
        while (index(p, column) && std::find(seen.begin(), seen.end(), column) == seen.end() && number(p, value)) {
            seen.push_back(column);
            p = skip_blanks(p);
        }
        return fail(LetorFault::kDuplicate, token_);
    }

    void drop_zeros(std::size_t start) {
        std::size_t kept = start;
        for (std::size_t k = start; k < out_.columns.size(); ++k) {
            if (out_.values[k] == Real(0) && !std::signbit(out_.values[k])) continue;
            out_.columns[kept] = out_.columns[k];
            out_.values[kept++] = out_.values[k];
        }
        out_.columns.resize(kept);
        out_.values.resize(kept);
    }

    bool comment(const char* p) {
        if (p == end_) {
            out_.comments.push_back({});
            return true;
        }
        out_.comments.push_back(span(p + 1, end_));
        out_.has_comments = out_.has_comments || p + 1 < end_;
        return no_nul(p);
    }

    const char* text_;
    const LetorOptions& options_;
    LetorChunk<Real>& out_;
    const char* end_ = nullptr;    // of the line
    const char* token_ = nullptr;  // the feature that is being read
    bool has_qid_ = false;
    std::vector<std::pair<std::int32_t, Real>> entries_;
};

}  // namespace marginrank
