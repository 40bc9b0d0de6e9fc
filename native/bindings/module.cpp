// The extension module, compiled once for any processor and once for wide registers; the latter has only what gains
// from them.
#include "common.hpp"

#include <exception>
#include <new>

namespace {

// True where the processor runs the module that was compiled for wide registers.
bool has_wide_registers() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

// The words of the standard library, std::bad_alloc, are no sentence.
void translate_bad_alloc(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, "Unable to allocate the memory that a kernel needs");
    }
}

}  // namespace

NB_MODULE(MARGINRANK_MODULE, m) {
    // Where Python ends while a thread works, objects of that thread are left: no leak that a user can mend.
    nb::set_leak_warnings(false);
    m.doc() = "Compiled kernels of marginrank; import them through marginrank._kernels.";
    m.def("has_wide_registers", &has_wide_registers);
    nb::register_exception_translator(translate_bad_alloc);
#if !defined(MARGINRANK_WIDE)
    bind_checks(m);
    bind_kernel_path(m);
    bind_letor(m);
    bind_metrics(m);
#endif
    bind_losses(m);
    bind_selection(m);  // before the matrices, whose methods take one
    bind_matrices(m);
    bind_row_product(m);
    bind_simplex_qp(m);
    bind_structured(m);
}
