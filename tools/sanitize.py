"""Python tests under AddressSanitizer and UndefinedBehaviorSanitizer, C++ tests under ThreadSanitizer.

``make sanitize`` compiles the module once more, with the sanitizers, into ``build/sanitize``. Tests find that
one in place of the installed module, also in processes that they start. What limits its own memory is left
out, because the sanitizer needs terabytes of address space.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys

from instrumented import ROOT, TESTS, check_module, cmake, module_environment, run_tests

BUILD = ROOT / "build" / "sanitize"
#: What counts or limits memory, which sanitizers take for themselves.
LEFT_OUT = (
    "tests/unit/io/test_lakes.py::test_a_folder_larger_than_the_memory_is_converted",
    "tests/load/test_load.py",
)


def library(name: str) -> str:
    """Return the file of a library of the compiler."""
    compiler = os.environ.get("CXX", "c++")
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def python_environment() -> dict[str, str]:
    """Compile the module with sanitizers; return the environment in which tests find it."""
    return {
        **module_environment(BUILD, "-DSANITIZE=address,undefined"),
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }


def run_python_tests(tests: list[str]) -> bool:
    """Run the tests; a fault that a sanitizer sees ends them."""
    environment = python_environment()
    check_module(environment, BUILD)
    left_out = [f"--deselect={test}" for test in LEFT_OUT]
    # -s: what a sanitizer says before it ends the process must be seen.
    return run_tests(environment, tests, "-s", *left_out)


def run_thread_tests() -> bool:
    """Run the C++ tests under ThreadSanitizer."""
    folder = BUILD / "threads"
    cmake(folder, "-DMARGINRANK_NATIVE_TESTS=ON", "-DSANITIZE=thread")
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"}
    # Older ThreadSanitizers cannot place their memory where the system scatters addresses widely.
    still = ["setarch", platform.machine(), "-R"] if shutil.which("setarch") else []
    command = [*still, "ctest", "--test-dir", str(folder), "--output-on-failure"]
    return subprocess.run(command, env=environment).returncode == 0


def main() -> int:
    """Run what is asked for; return 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", choices=["python", "threads"], help="one of the two")
    parser.add_argument("tests", nargs="*", help="other Python tests than those of the list")
    options = parser.parse_args()
    good = True
    if options.only != "python":
        good = run_thread_tests() and good
    if options.only != "threads":
        good = run_python_tests(options.tests or list(TESTS)) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
