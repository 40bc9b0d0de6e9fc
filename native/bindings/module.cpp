// The extension module, compiled once for any processor and once for wide registers.
#include "common.hpp"

namespace {

// True where the processor runs the module that was compiled for wide registers.
bool has_wide_registers() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

}  // namespace

NB_MODULE(MARGINRANK_MODULE, m) {
    // Where Python ends while a thread works, objects of that thread are left: no leak that a user can mend.
    nb::set_leak_warnings(false);
    m.doc() = "Compiled kernels of marginrank; import them through marginrank._kernels.";
    m.def("has_wide_registers", &has_wide_registers);
    bind_checks(m);
    bind_kernel_path(m);
    bind_letor(m);
    bind_losses(m);
    bind_selection(m);  // before the matrices, whose methods take one
    bind_matrices(m);
    bind_metrics(m);
    bind_row_product(m);
    bind_simplex_qp(m);
    bind_structured(m);
}
