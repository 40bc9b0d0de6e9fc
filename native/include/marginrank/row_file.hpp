// Rows that lie in a file: read piece by piece, by the worker that computes with them.
//
// A piece stays in the cache of the worker's core between the system's copy and the products, and copying is
// shared among the workers as the products are. Whoever asks for a pass has the system read the next file from the
// disk meanwhile; nothing here does.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "marginrank/simd.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <fcntl.h>
#include <unistd.h>
#endif

namespace marginrank {

// What the system said when it was asked for a part of a file.
struct FileFailed : std::runtime_error {
    int code;
    std::string path;
    FileFailed(int error, const char* what, std::string file) : std::runtime_error(what), code(error), path(std::move(file)) {}
};

// Room for one piece, used again for the next.
class PieceRoom {
public:
    char* of_size(std::size_t bytes) {
        if (room_.size() < bytes) room_ = AlignedVector<char>(bytes);
        return room_.data();
    }

private:
    AlignedVector<char> room_;
};

// A thread's own. Most live as long as one pass over a chunk; the one that called keeps its room, a few pieces.
inline PieceRoom& worker_room() {
    thread_local PieceRoom room;
    return room;
}

class RowFile {
public:
    // The descriptor is copied: the caller may close its own.
    RowFile(int descriptor, std::string path) : path_(std::move(path)) {
#if defined(__unix__) || defined(__APPLE__)
        // Not for programs that are started meanwhile.
        descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
        if (descriptor_ < 0) throw FileFailed(errno, "The file cannot be kept open", path_);
#else
        static_cast<void>(descriptor);
        throw FileFailed(ENOTSUP, "The kernels cannot read files on this system", path_);
#endif
    }
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;
    ~RowFile() {
#if defined(__unix__) || defined(__APPLE__)
        if (descriptor_ >= 0) ::close(descriptor_);
#endif
    }

    void read(std::int64_t offset, char* into, std::size_t bytes) const {
#if defined(__unix__) || defined(__APPLE__)
        while (bytes > 0) {
            const ssize_t got = ::pread(descriptor_, into, bytes, static_cast<off_t>(offset));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) throw FileFailed(errno, "The file cannot be read", path_);
            if (got == 0) fail("The file ended before the rows that it should hold");
            into += got;
            offset += got;
            bytes -= static_cast<std::size_t>(got);
        }
#else
        static_cast<void>(offset);
        static_cast<void>(into);
        static_cast<void>(bytes);
#endif
    }

    // Says what is wrong with the content.
    [[noreturn]] void fail(const char* what) const { throw FileFailed(EIO, what, path_); }

private:
    int descriptor_ = -1;
    std::string path_;
};

}  // namespace marginrank
