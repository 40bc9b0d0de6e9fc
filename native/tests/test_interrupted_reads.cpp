// Reads that a signal interrupts, or that give less than was asked for, are gone on with; other failures are told.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "check.hpp"
#include "marginrank/row_file.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

namespace {

struct Disturbance {
    int interruptions = 0;     // of the next reads, how many fail with EINTR
    int failure = 0;           // what the next read fails with, once
    std::size_t most = 1 << 30;  // bytes that a read gives at most
    int calls = 0;
};

Disturbance disturbance;

}  // namespace

// Instead of that of the C library: regular files are not interrupted, files of networks are.
extern "C" ssize_t pread(int descriptor, void* into, std::size_t bytes, off_t offset) {
    ++disturbance.calls;
    if (disturbance.interruptions > 0) {
        --disturbance.interruptions;
        errno = EINTR;
        return -1;
    }
    if (disturbance.failure != 0) {
        errno = disturbance.failure;
        disturbance.failure = 0;
        return -1;
    }
    return syscall(SYS_pread64, descriptor, into, bytes < disturbance.most ? bytes : disturbance.most, offset);
}

namespace {

std::string read_all(const marginrank::RowFile& file, std::size_t bytes) {
    std::string text(bytes, ' ');
    file.read(3, text.data(), bytes);
    return text;
}

void interrupted_and_short_reads_are_gone_on_with() {
    std::FILE* stream = std::tmpfile();
    std::fputs("...0123456789", stream);
    std::fflush(stream);
    const marginrank::RowFile file(fileno(stream), "rows");
    disturbance = {3, 0, 4, 0};
    CHECK(read_all(file, 10) == "0123456789");
    CHECK(disturbance.calls == 6);  // three that were interrupted, and 4 + 4 + 2 bytes
    disturbance = {1, EIO, 4, 0};
    bool told = false;
    try {
        read_all(file, 10);
    } catch (const marginrank::FileFailed&) {
        told = true;
    }
    CHECK(told);
    CHECK(disturbance.calls == 2);
    std::fclose(stream);
}

}  // namespace

int main() {
    interrupted_and_short_reads_are_gone_on_with();
    return marginrank_failures() != 0;
}
#else
int main() { return 0; }
#endif
