// Runs a fuzz target where the compiler has no libFuzzer: the inputs of a corpus, then N that are made of these by
// changes from a fixed seed. Without coverage it finds less, but it needs nothing. A corpus is a file with an input a
// line, in hexadecimal digits (tools/fuzz.py writes them).
//
//     fuzz_letor [-runs=N] [-seed=S] CORPUS ...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "input.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;

// In memory of its own size, so that the address sanitizer sees a look beyond it.
void run(const Bytes& bytes) {
    const std::unique_ptr<std::uint8_t[]> copy(new std::uint8_t[bytes.size()]);
    std::copy(bytes.begin(), bytes.end(), copy.get());
    LLVMFuzzerTestOneInput(copy.get(), bytes.size());
}

std::vector<Bytes> corpus(const std::vector<std::string>& places) {
    std::vector<Bytes> found;
    for (const std::string& place : places) {
        std::ifstream file(place);
        if (!file) {
            std::fprintf(stderr, "%s cannot be read\n", place.c_str());
            std::exit(2);
        }
        for (std::string line; std::getline(file, line);) {
            Bytes bytes;
            for (std::size_t k = 0; k + 1 < line.size(); k += 2)
                bytes.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(k, 2), nullptr, 16)));
            found.push_back(bytes);
        }
    }
    return found;
}

Bytes changed(Bytes bytes, const Bytes& other, std::mt19937_64& random) {
    for (auto n = 1 + random() % 6; n > 0; --n) {
        const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
        switch (random() % 6) {
            case 0: bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random())); break;
            case 1: if (!bytes.empty()) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 2: if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(random()); break;
            case 3: if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1u << random() % 8)); break;
            case 4: bytes.resize(at); break;
            default: {  // a piece of another input
                if (other.empty()) break;
                const std::size_t from = random() % other.size();
                const std::size_t size = std::min<std::size_t>(1 + random() % 32, other.size() - from);
                bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), other.begin() + static_cast<std::ptrdiff_t>(from),
                             other.begin() + static_cast<std::ptrdiff_t>(from + size));
            }
        }
    }
    if (bytes.size() > 4096) bytes.resize(4096);
    return bytes;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    long runs = 2000;
    std::uint64_t seed = 1;
    std::vector<std::string> places;
    for (int k = 1; k < n_arguments; ++k) {
        const std::string argument = arguments[k];
        if (argument.rfind("-runs=", 0) == 0) runs = std::atol(argument.c_str() + 6);
        else if (argument.rfind("-seed=", 0) == 0) seed = std::strtoull(argument.c_str() + 6, nullptr, 10);
        else if (argument[0] != '-') places.push_back(argument);
    }
    std::vector<Bytes> inputs = corpus(places);
    const std::size_t n_known = inputs.size();
    inputs.push_back({});
    for (const Bytes& input : inputs) run(input);
    std::mt19937_64 random(seed);
    for (int k = 0; k < 50; ++k) {  // noise of several lengths, for targets without a corpus
        Bytes noise(random() % 300);
        for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random());
        inputs.push_back(noise);
    }
    for (long k = 0; k < runs; ++k)
        run(changed(inputs[random() % inputs.size()], inputs[random() % inputs.size()], random));
    std::printf("%zu known and %ld changed inputs\n", n_known, runs);
    return 0;
}
