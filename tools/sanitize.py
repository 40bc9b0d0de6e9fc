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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "sanitize"
#: Tests that reach the compiled module; the only list of them.
TESTS = (
    "tests/unit/test_kernels.py",
    "tests/unit/losses",
    "tests/unit/designs",
    "tests/unit/metrics",
    "tests/unit/io",
    "tests/unit/storage",
    "tests/unit/data",
    "tests/unit/solvers",
    "tests/unit/paths/test_kernel_rank_path.py",
    "tests/unit/paths/test_linear_path.py",
    "tests/unit/model",
    "tests/contract/test_losses.py",
    "tests/contract/test_structured_losses.py",
    "tests/contract/test_designs.py",
    "tests/contract/test_metrics.py",
    "tests/contract/test_solvers.py",
    "tests/property",
    "tests/fuzz",
    "tests/load",
)
#: What counts or limits memory, which sanitizers take for themselves.
LEFT_OUT = (
    "tests/unit/io/test_lakes.py::test_a_folder_larger_than_the_memory_is_converted",
    "tests/load/test_load.py",
)
_REDIRECT = '''"""Made by tools/sanitize.py: the module with sanitizers takes the place of the other."""
import importlib.util
import sys


class Sanitized:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "marginrank._native":
            return None
        return importlib.util.spec_from_file_location(name, {module!r})


sys.meta_path.insert(0, Sanitized)
'''


def cmake(folder: Path, *settings: str, targets: tuple[str, ...] = ()) -> None:
    """Configure and compile."""
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder), *settings]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    chosen = ["--target", *targets] if targets else []
    subprocess.run(["cmake", "--build", str(folder), *chosen], check=True)


def library(name: str) -> str:
    """Return the file of a library of the compiler."""
    compiler = os.environ.get("CXX", "c++")
    found = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def python_environment() -> dict[str, str]:
    """Compile the module with sanitizers; return the environment in which tests find it."""
    python = f"-DPython_EXECUTABLE={sys.executable}"
    cmake(BUILD / "module", "-DSANITIZE=address,undefined", python, targets=("_native",))
    (module,) = (BUILD / "module").glob("_native.*so")
    site = BUILD / "site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text(_REDIRECT.format(module=str(module)))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")])),
        "LD_PRELOAD": f"{library('libasan.so')} {library('libstdc++.so')}",
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "MARGINRANK_AVX2": "0",  # only the module for any processor is compiled; the sources are the same
    }


def is_sanitized(environment: dict[str, str]) -> bool:
    """Whether tests get the module with sanitizers, and an overrun of an array is seen."""
    look = "import marginrank._native as module; print(module.__file__)"
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True)
    print(f"under AddressSanitizer and UndefinedBehaviorSanitizer: {done.stdout.strip()}", flush=True)
    return str(BUILD) in done.stdout


def run_python_tests(tests: list[str]) -> bool:
    """Run the tests; a fault that a sanitizer sees ends them."""
    environment = python_environment()
    if not is_sanitized(environment):
        return False
    there = [test for test in tests if (ROOT / test.split("::")[0]).exists()]
    left_out = [f"--deselect={test}" for test in LEFT_OUT]
    # -s: what a sanitizer says before it ends the process must be seen.
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *left_out, *there]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


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
