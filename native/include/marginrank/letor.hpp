// LETOR/SVMlight text, one row a line.
//
// The text is cut into chunks of whole lines whose number depends on the text only; each is parsed into
// buffers of its own, and these meet in chunk order, so the result does not depend on the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "marginrank/letor_line.hpp"
#include "marginrank/parallel.hpp"

namespace marginrank {

// Parses the lines that start in [begin, end).
template <class Real>
void parse_letor_chunk(const char* text, std::int64_t size, std::int64_t begin, std::int64_t end,
                       const LetorOptions& options, LetorChunk<Real>& out) {
    const auto line_end = [&](std::int64_t from) {
        const void* found = std::memchr(text + from, '\n', static_cast<std::size_t>(size - from));
        return found ? static_cast<const char*>(found) - text : size;
    };
    if (begin > 0) begin = line_end(begin - 1) + 1;
    LetorParser<Real> parser(text, options, out);
    while (begin < end) {
        const std::int64_t stop = line_end(begin);
        if (!parser.line(text + begin, text + stop)) return;
        begin = stop + 1;
    }
}

// All rows of a text.
template <class Real>
struct LetorRows {
    std::vector<LetorChunk<Real>> chunks;
    std::vector<std::int64_t> first_row, first_entry;  // of each chunk, and the totals
    LetorProblem problem;
    std::int32_t last_column = -1;
    bool has_qid = false;
    bool qids_are_integers = true;
    bool has_comments = false;

    std::int64_t n_rows() const { return first_row.back(); }
    std::int64_t n_entries() const { return first_entry.back(); }

    void note(LetorFault fault, TextSpan where) {
        const bool earlier = problem.fault == LetorFault::kNone || where.begin < problem.where.begin;
        if (where.begin >= 0 && earlier) problem = {fault, where};
    }

    void join() {
        first_row.assign(1, 0);
        first_entry.assign(1, 0);
        TextSpan first_qid, first_without;
        for (const auto& chunk : chunks) {
            first_row.push_back(first_row.back() + static_cast<std::int64_t>(chunk.labels.size()));
            first_entry.push_back(first_entry.back() + static_cast<std::int64_t>(chunk.columns.size()));
            if (first_qid.begin < 0) first_qid = chunk.first_qid;
            if (first_without.begin < 0) first_without = chunk.first_without;
            last_column = std::max(last_column, chunk.last_column);
            qids_are_integers = qids_are_integers && chunk.qids_are_integers;
            has_comments = has_comments || chunk.has_comments;
            if (chunk.problem.fault != LetorFault::kNone) {
                note(chunk.problem.fault, chunk.problem.where);
                break;
            }
        }
        has_qid = first_qid.begin >= 0;
        if (!has_qid || first_without.begin < 0) return;
        const bool qid_first = first_qid.begin < first_without.begin;
        note(qid_first ? LetorFault::kMissingQid : LetorFault::kUnexpectedQid, qid_first ? first_without : first_qid);
    }
};

constexpr std::int64_t kLetorChunk = 1 << 20;

template <class Real>
LetorRows<Real> parse_letor(const Crew& crew, const char* text, std::int64_t size, const LetorOptions& options,
                            std::int64_t chunk_size = kLetorChunk) {
    const std::int64_t n_chunks = (size + chunk_size - 1) / chunk_size;
    LetorRows<Real> rows;
    rows.chunks.resize(static_cast<std::size_t>(n_chunks));
    crew.run(n_chunks, [&](std::int64_t c, int) {
        LetorChunk<Real> chunk;  // its own memory, so that threads do not write to the same cache lines
        const auto guess = static_cast<std::size_t>(std::min(chunk_size, size) / 8);
        chunk.columns.reserve(guess);
        chunk.values.reserve(guess);
        parse_letor_chunk(text, size, c * chunk_size, std::min(size, (c + 1) * chunk_size), options, chunk);
        rows.chunks[static_cast<std::size_t>(c)] = std::move(chunk);
    });
    rows.join();
    return rows;
}

// Copies the rows into the arrays of a CSR matrix.
template <class Real, class Index>
void letor_to_csr(const Crew& crew, const LetorRows<Real>& rows, Real* data, Index* indices, Index* indptr) {
    indptr[0] = 0;
    crew.run(static_cast<std::int64_t>(rows.chunks.size()), [&](std::int64_t c, int) {
        const auto& chunk = rows.chunks[static_cast<std::size_t>(c)];
        const std::int64_t row = rows.first_row[static_cast<std::size_t>(c)];
        const std::int64_t entry = rows.first_entry[static_cast<std::size_t>(c)];
        std::copy(chunk.values.begin(), chunk.values.end(), data + entry);
        std::copy(chunk.columns.begin(), chunk.columns.end(), indices + entry);
        for (std::size_t i = 0; i < chunk.row_ends.size(); ++i)
            indptr[row + static_cast<std::int64_t>(i) + 1] = static_cast<Index>(entry + chunk.row_ends[i]);
    });
}

// Writes the rows into a C-ordered matrix of zeros.
template <class Real>
void letor_to_dense(const Crew& crew, const LetorRows<Real>& rows, Real* X, std::int64_t n_columns) {
    crew.run(static_cast<std::int64_t>(rows.chunks.size()), [&](std::int64_t c, int) {
        const auto& chunk = rows.chunks[static_cast<std::size_t>(c)];
        Real* row = X + rows.first_row[static_cast<std::size_t>(c)] * n_columns;
        std::int64_t entry = 0;
        for (const std::int64_t end : chunk.row_ends) {
            for (; entry < end; ++entry)
                row[chunk.columns[static_cast<std::size_t>(entry)]] = chunk.values[static_cast<std::size_t>(entry)];
            row += n_columns;
        }
    });
}

}  // namespace marginrank
