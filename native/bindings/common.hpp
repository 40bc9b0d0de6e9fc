// What all bindings share. This folder is the only place that knows Python.
//
// Arrays are taken as they are (noconvert): a wrong dtype is an error, never a silent copy. The GIL is
// released around kernels; the calling thread looks for Ctrl-C.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "marginrank/parallel.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// A namespace without a name: each file has its own copy, and the two modules share nothing.
namespace {

using marginrank::Crew;

template <class T>
using In = nb::ndarray<const T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<T, nb::numpy, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using In2 = nb::ndarray<const T, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Out2 = nb::ndarray<double, nb::numpy, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Asks for the GIL. A thread that does so while the interpreter shuts down is ended by Python before 3.14, by
// unwinding its stack (pthread_exit); that must pass through no destructor and through nothing of nanobind, whose
// functions are noexcept: the process would abort. As of 3.14, such a thread waits for the end of the process instead.
template <class Ask>
void ask_for_gil(Ask&& ask) {
    try {
        ask();
    } catch (...) {
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
}

// While it lives, other threads have the GIL.
class ReleasedGil {
public:
    ReleasedGil() : state_(PyEval_SaveThread()) {}
    ReleasedGil(const ReleasedGil&) = delete;
    ReleasedGil& operator=(const ReleasedGil&) = delete;
    ~ReleasedGil() {
        ask_for_gil([this] { PyEval_RestoreThread(state_); });
    }

private:
    PyThreadState* state_;
};

inline bool user_wants_to_stop() {
    PyGILState_STATE state{};
    ask_for_gil([&] { state = PyGILState_Ensure(); });
    const bool stop = PyErr_CheckSignals() != 0;
    PyGILState_Release(state);
    return stop;
}

// Runs a kernel without the GIL; a Ctrl-C that the crew noticed becomes the Python exception.
template <class Kernel>
auto without_gil(int n_threads, Kernel&& kernel) {
    const Crew crew(n_threads, user_wants_to_stop);
    try {
        const ReleasedGil released;
        return kernel(crew);
    } catch (const marginrank::Cancelled&) {
        throw nb::python_error();
    }
}

inline void require(bool holds, const char* what) {
    if (!holds) throw nb::value_error(what);
}

template <class T>
[[maybe_unused]] nb::ndarray<nb::numpy, T, nb::ndim<1>> to_numpy(const std::vector<T>& values) {
    auto* copy = new std::vector<T>(values);
    nb::capsule owner(copy, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(copy->data(), {copy->size()}, owner);
}

}  // namespace

// Each file of this folder adds its part to the module.
void bind_checks(nb::module_& m);
void bind_kernel_path(nb::module_& m);
void bind_letor(nb::module_& m);
void bind_losses(nb::module_& m);
void bind_matrices(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_row_product(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_simplex_qp(nb::module_& m);
void bind_structured(nb::module_& m);
