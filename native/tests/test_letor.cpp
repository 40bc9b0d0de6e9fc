// LETOR text: the parser against texts cut anywhere, and the writer against the parser.
#include "marginrank/letor.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "marginrank/letor_write.hpp"

namespace {

using namespace marginrank;

// In memory that ends with the text, so that the address sanitizer sees a look beyond it.
template <class Real = double>
LetorRows<Real> parse(const std::string& text, int threads = 1, std::int64_t chunk = 1 << 20, LetorOptions options = {}) {
    const std::unique_ptr<char[]> copy(new char[text.size()]);
    std::copy(text.begin(), text.end(), copy.get());
    return parse_letor<Real>(Crew(threads), copy.get(), static_cast<std::int64_t>(text.size()), options, chunk);
}

LetorFault fault(const std::string& text) { return parse(text).problem.fault; }

void numbers_are_correctly_rounded() {
    std::mt19937_64 random(1);
    const auto agrees = [](const std::string& text) {
        double value = -1.0;
        const char* stop = nullptr;
        const char* end = text.data() + text.size();
        return parse_decimal(text.data(), end, value, stop) == Parsed::kNumber && stop == end &&
               value == std::strtod(text.c_str(), nullptr);
    };
    for (int repeat = 0; repeat < 20000; ++repeat) {
        std::string text = random() % 2 ? "-" : "";
        for (auto n = random() % 12; n > 0; --n) text += static_cast<char>('0' + random() % 10);
        text += '.';
        for (auto n = random() % 14 + 1; n > 0; --n) text += static_cast<char>('0' + random() % 10);
        if (random() % 3 == 0) text += "e" + std::to_string(static_cast<int>(random() % 80) - 40);
        CHECK(agrees(text));
    }
    for (const char* text : {"0", "-0", "1e-400", "-1e-400", "5e-324", "1.7976931348623157e308", "9007199254740993",
                             "0.000000000000000000000000000001", "123456789012345678901234567890", "1E5", "1e+5"})
        CHECK(agrees(text));
    double value = 0.0;
    const char* stop = nullptr;
    for (const std::string text : {"1e400", "-1e99999999999999999999", "123e307"})
        CHECK(parse_decimal(text.data(), text.data() + text.size(), value, stop) == Parsed::kTooLarge);
    for (const std::string text : {"", "-", "+", ".", "+-1", "e5", "x"})
        CHECK(parse_decimal(text.data(), text.data() + text.size(), value, stop) == Parsed::kNothing);
}

void problems_have_their_kind_and_place() {
    CHECK(fault("1 qid:1 1:2 # c\n") == LetorFault::kNone);
    CHECK(fault("x") == LetorFault::kLabel);
    CHECK(fault("1 qid:") == LetorFault::kEmptyQid);
    CHECK(fault("1 -") == LetorFault::kNoColon);
    CHECK(fault("1 -:") == LetorFault::kIndex);
    CHECK(fault("1 -1:") == LetorFault::kNegativeIndex);
    CHECK(fault("1 0:1") == LetorFault::kZeroIndex);
    CHECK(fault("1 99999999999999999999999:1") == LetorFault::kIndexAbove);
    CHECK(fault("1 2147483648:1") == LetorFault::kIndexAbove);
    CHECK(fault("1 2147483647:1") == LetorFault::kNone);
    CHECK(fault("1 1:NUL") == LetorFault::kValue);
    CHECK(fault("1 1:NULL") == LetorFault::kNull);
    CHECK(fault(std::string("1 1:1 #\0", 8)) == LetorFault::kNul);
    const auto rows = parse("1 1:1\n0 3:1 2:1 3:4");
    CHECK(rows.problem.fault == LetorFault::kDuplicate);
    CHECK(rows.problem.where.begin == 16 && rows.problem.where.end == 19);
}

// Any cut and any flipped byte gives rows or a problem, never a look beyond the text.
void no_text_breaks_the_parser() {
    const std::string good = "1 qid:ab 1:0.5 3:-1e-5 #docid = x\r\n\n# c\n-2.5 qid:7 2:NULL 1:nan\n";
    for (std::size_t end = 0; end <= good.size(); ++end)
        for (std::int64_t chunk : {1, 7, 1 << 20}) parse(good.substr(0, end), 1, chunk);
    std::mt19937 random(2);
    const std::string alphabet("01.:-+eqidNUL# \t\r\n\0\xff", 20);
    for (int repeat = 0; repeat < 30000; ++repeat) {
        std::string text = good;
        for (int k = 0; k < 3; ++k) text[random() % text.size()] = alphabet[random() % alphabet.size()];
        const auto one = parse(text), other = parse(text, 1, 5);
        CHECK(one.problem.fault == other.problem.fault && one.problem.where.begin == other.problem.where.begin);
        if (one.problem.fault == LetorFault::kNone) CHECK(one.n_rows() == other.n_rows());
    }
}

template <class Real>
void written_rows_are_read_back() {
    std::mt19937_64 random(3);
    std::vector<Real> data;
    std::vector<std::int64_t> indices, indptr{0};
    for (int row = 0; row < 500; ++row) {
        for (std::int64_t column = 0; column < 30; ++column) {
            if (random() % 3) continue;
            data.push_back(static_cast<Real>(std::ldexp(static_cast<double>(random()) - 9e18, static_cast<int>(random() % 120) - 100)));
            indices.push_back(column);
        }
        indptr.push_back(static_cast<std::int64_t>(data.size()));
    }
    std::string features, text;
    std::vector<std::int64_t> ends(500);
    write_letor_features(data.data(), indices.data(), indptr.data(), 500, 1, features, ends.data());
    for (std::size_t row = 0, start = 0; row < ends.size(); start = static_cast<std::size_t>(ends[row++]))
        text += "1" + features.substr(start, static_cast<std::size_t>(ends[row]) - start) + "\n";
    for (int threads : {1, 2, 4})
        for (std::int64_t chunk : {11, 1000, 1 << 20}) {
            const auto rows = parse<Real>(text, threads, chunk);
            CHECK(rows.problem.fault == LetorFault::kNone && rows.n_rows() == 500);
            CHECK(rows.n_entries() == static_cast<std::int64_t>(data.size()));
            std::vector<Real> read(data.size()), dense(500 * 30);
            std::vector<std::int64_t> columns(data.size()), ptr(501);
            letor_to_csr(Crew(threads), rows, read.data(), columns.data(), ptr.data());
            CHECK(read == data && columns == indices && ptr == indptr);
            letor_to_dense(Crew(threads), rows, dense.data(), 30);
            for (std::size_t row = 0; row < 500; ++row)
                for (auto k = static_cast<std::size_t>(ptr[row]); k < static_cast<std::size_t>(ptr[row + 1]); ++k)
                    CHECK(dense[row * 30 + static_cast<std::size_t>(columns[k])] == data[k]);
        }
}

}  // namespace

int main() {
    numbers_are_correctly_rounded();
    problems_have_their_kind_and_place();
    no_text_breaks_the_parser();
    written_rows_are_read_back<float>();
    written_rows_are_read_back<double>();
    return marginrank_failures() != 0;
}
