// Makes the n-th call of a kind fail, and all later ones where that is asked for: memory, threads, files.
//
// Loaded before all other libraries (LD_PRELOAD), so the module under test is the one that users have. Allocations
// count by who asks: operator new and malloc of our module, or the arrays of numpy. Calls on files count
// where the file lies in a chosen folder. Nothing is written through to the disk: a process that ends
// loses nothing that the system has.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum Kind { kNone, kKernels, kArrays, kThread, kRead, kWrite, kSync, kRename, kOpen };

struct Range {
    uintptr_t first, last;
};
constexpr int kMostRanges = 64;

std::atomic<int> armed{kNone};
std::atomic<long> calls{0};
long wanted = 0;
bool lasting = false;
char folder[PATH_MAX];
size_t folder_length = 0;
Range ranges[kMostRanges];
int n_ranges = 0;

// Whether this call is one that shall fail.
bool fails() {
    const long number = calls.fetch_add(1) + 1;
    return number == wanted || (lasting && number > wanted);
}

// Who threw what nobody catches, for whoever mends it.
void show_and_abort() {
    void* frames[64];
    armed = kNone;
    backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
    abort();
}

int note_ranges(dl_phdr_info* info, size_t, void*) {
    const bool taken = strstr(info->dlpi_name, "marginrank/_native") || strstr(info->dlpi_name, "libstdc++");
    for (int i = 0; taken && i < info->dlpi_phnum; ++i) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD || n_ranges == kMostRanges) continue;
        const uintptr_t first = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        ranges[n_ranges++] = {first, first + info->dlpi_phdr[i].p_memsz};
    }
    return 0;
}

bool allocation_fails(const void* caller) {
    if (armed.load() != kKernels) return false;
    const auto address = reinterpret_cast<uintptr_t>(caller);
    for (int i = 0; i < n_ranges; ++i) {
        if (address >= ranges[i].first && address < ranges[i].last) return fails();
    }
    return false;
}

bool in_folder(const char* path) {
    return strncmp(path, folder, folder_length) == 0 && (path[folder_length] == '/' || path[folder_length] == '\0');
}

bool is_chosen(int descriptor) {
    char link[64], path[PATH_MAX];
    const int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (n < 0) return false;
    path[n] = '\0';
    return in_folder(path);
}

bool is_chosen(int directory, const char* path) {
    if (path[0] == '/') return in_folder(path);
    if (directory != AT_FDCWD) return is_chosen(directory);
    char here[PATH_MAX];
    return getcwd(here, sizeof here) != nullptr && in_folder(here);
}

template <class... Where>
bool file_fails(Kind kind, int code, Where... where) {
    if (armed.load() != kind || !is_chosen(where...) || !fails()) return false;
    errno = code;
    return true;
}

template <class Function>
Function next(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

void* failed_new(size_t size, const void* caller, size_t alignment) {
    void* block = nullptr;
    if (!allocation_fails(caller)) {
        block = alignment == 0 ? __libc_malloc(size == 0 ? 1 : size) : __libc_memalign(alignment, size == 0 ? 1 : size);
    }
    return block;
}

bool array_fails() { return armed.load() == kArrays && fails(); }
void* array_malloc(void*, size_t n) { return array_fails() ? nullptr : __libc_malloc(n); }
void* array_calloc(void*, size_t n, size_t size) { return array_fails() ? nullptr : __libc_calloc(n, size); }
void* array_realloc(void*, void* block, size_t n) { return array_fails() ? nullptr : __libc_realloc(block, n); }
void array_free(void*, void* block, size_t) { free(block); }

}  // namespace

#define CALLER __builtin_return_address(0)

void* operator new(size_t n) {
    if (void* block = failed_new(n, CALLER, 0)) return block;
    throw std::bad_alloc();
}
void* operator new[](size_t n) {
    if (void* block = failed_new(n, CALLER, 0)) return block;
    throw std::bad_alloc();
}
void* operator new(size_t n, std::align_val_t to) {
    if (void* block = failed_new(n, CALLER, static_cast<size_t>(to))) return block;
    throw std::bad_alloc();
}
void* operator new[](size_t n, std::align_val_t to) {
    if (void* block = failed_new(n, CALLER, static_cast<size_t>(to))) return block;
    throw std::bad_alloc();
}
void* operator new(size_t n, const std::nothrow_t&) noexcept { return failed_new(n, CALLER, 0); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return failed_new(n, CALLER, 0); }
void operator delete(void* block) noexcept { free(block); }
void operator delete[](void* block) noexcept { free(block); }
void operator delete(void* block, size_t) noexcept { free(block); }
void operator delete[](void* block, size_t) noexcept { free(block); }
void operator delete(void* block, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, std::align_val_t) noexcept { free(block); }
void operator delete(void* block, size_t, std::align_val_t) noexcept { free(block); }
void operator delete[](void* block, size_t, std::align_val_t) noexcept { free(block); }

extern "C" {

// How numpy gets the content of its arrays, as its PyDataMem_SetHandler takes it.
struct {
    char name[127];
    uint8_t version;
    void* context;
    void* (*malloc)(void*, size_t);
    void* (*calloc)(void*, size_t, size_t);
    void* (*realloc)(void*, void*, size_t);
    void (*free)(void*, void*, size_t);
} faults_handler = {"faults", 1, nullptr, array_malloc, array_calloc, array_realloc, array_free};

// Lets the n-th call of a kind fail from now on; `all_later` has those after it fail, too.
void faults_arm(int kind, long n, int all_later, const char* where) {
    armed = kNone;
    calls = 0;
    wanted = n;
    lasting = all_later != 0;
    std::set_terminate(show_and_abort);
    strncpy(folder, where, sizeof folder - 1);
    folder_length = strlen(folder);
    n_ranges = 0;
    dl_iterate_phdr(note_ranges, nullptr);
    armed = kind;
}

// Ends it, and returns how many calls of the kind there were.
long faults_disarm() {
    armed = kNone;
    return calls.load();
}

void* malloc(size_t n) {
    if (allocation_fails(CALLER)) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(n);
}

void* calloc(size_t n, size_t size) {
    if (allocation_fails(CALLER)) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_calloc(n, size);
}

void* realloc(void* block, size_t n) {
    if (allocation_fails(CALLER)) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_realloc(block, n);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* how, void* (*start)(void*), void* with) {
    using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    if (armed.load() == kThread && fails()) return EAGAIN;
    return next<Function>("pthread_create")(thread, how, start, with);
}

ssize_t read(int file, void* into, size_t n) {
    if (file_fails(kRead, EIO, file)) return -1;
    return next<ssize_t (*)(int, void*, size_t)>("read")(file, into, n);
}

ssize_t pread(int file, void* into, size_t n, off_t from) {
    if (file_fails(kRead, EIO, file)) return -1;
    return next<ssize_t (*)(int, void*, size_t, off_t)>("pread")(file, into, n, from);
}

ssize_t pread64(int file, void* into, size_t n, off_t from) { return pread(file, into, n, from); }

void* mmap64(void* at, size_t n, int protection, int flags, int file, off_t from) {
    if (file >= 0 && file_fails(kRead, EIO, file)) return reinterpret_cast<void*>(-1);
    return next<void* (*)(void*, size_t, int, int, int, off_t)>("mmap64")(at, n, protection, flags, file, from);
}

// As on a disk that fills up: half of the bytes are written, then no more.
ssize_t write(int file, const void* from, size_t n) {
    const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
    if (!file_fails(kWrite, ENOSPC, file)) return real(file, from, n);
    if (lasting && n > 1 && calls.load() == wanted) return real(file, from, n / 2);
    errno = ENOSPC;
    return -1;
}

int fsync(int file) { return file_fails(kSync, EIO, file) ? -1 : 0; }
int fdatasync(int file) { return file_fails(kSync, EIO, file) ? -1 : 0; }

int rename(const char* from, const char* to) {
    if (file_fails(kRename, EIO, AT_FDCWD, to)) return -1;
    return next<int (*)(const char*, const char*)>("rename")(from, to);
}

int renameat(int of, const char* from, int in, const char* to) {
    if (file_fails(kRename, EIO, in, to)) return -1;
    return next<int (*)(int, const char*, int, const char*)>("renameat")(of, from, in, to);
}

int renameat2(int of, const char* from, int in, const char* to, unsigned flags) {
    if (file_fails(kRename, EIO, in, to)) return -1;
    return next<int (*)(int, const char*, int, const char*, unsigned)>("renameat2")(of, from, in, to, flags);
}

int link(const char* from, const char* to) {
    if (file_fails(kRename, EIO, AT_FDCWD, to)) return -1;
    return next<int (*)(const char*, const char*)>("link")(from, to);
}

int linkat(int of, const char* from, int in, const char* to, int flags) {
    if (file_fails(kRename, EIO, in, to)) return -1;
    return next<int (*)(int, const char*, int, const char*, int)>("linkat")(of, from, in, to, flags);
}

int mkdir(const char* path, mode_t mode) {
    if (file_fails(kOpen, ENOSPC, AT_FDCWD, path)) return -1;
    return next<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}

int mkdirat(int in, const char* path, mode_t mode) {
    if (file_fails(kOpen, ENOSPC, in, path)) return -1;
    return next<int (*)(int, const char*, mode_t)>("mkdirat")(in, path, mode);
}

int openat(int in, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    if (file_fails(kOpen, EMFILE, in, path)) return -1;
    return next<int (*)(int, const char*, int, mode_t)>("openat")(in, path, flags, mode);
}

int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return openat(AT_FDCWD, path, flags, mode);
}

int openat64(int in, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return openat(in, path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return openat(AT_FDCWD, path, flags, mode);
}

}  // extern "C"
