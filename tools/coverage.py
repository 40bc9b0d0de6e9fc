"""Which lines and branches of the kernels the tests run.

``make coverage`` compiles the C++ tests and the module with gcc's counters into ``build/coverage``, runs the
C++ tests and the Python tests that reach the module, and prints for each header the share of lines and
branches that ran and the lines that did not. It returns 1 below the share of lines that is asked for.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from instrumented import ROOT, TESTS, check_module, cmake, module_environment, run_tests

BUILD = ROOT / "build" / "coverage"
# -O0: an optimizer merges lines. Counters of several threads are added atomically where the machine can.
FLAGS = "-DCMAKE_CXX_FLAGS=--coverage -O0 -fprofile-update=prefer-atomic"
SETTINGS = (FLAGS, "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_COMPILER_LAUNCHER=")
#: What counts memory, which unoptimized code uses otherwise.
LEFT_OUT = ("tests/unit/io/test_lakes.py::test_a_folder_larger_than_the_memory_is_converted", "tests/load")


def clear_counters() -> None:
    """Forget what earlier runs counted."""
    for counters in BUILD.rglob("*.gcda"):
        counters.unlink()


def run_native_tests() -> bool:
    """Run the C++ tests with counters."""
    folder = BUILD / "native"
    cmake(folder, "-DMARGINRANK_NATIVE_TESTS=ON", *SETTINGS)
    return subprocess.run(["ctest", "--test-dir", str(folder), "--output-on-failure"]).returncode == 0


def run_python_tests(tests: list[str]) -> bool:
    """Run the Python tests with a module that counts."""
    environment = module_environment(BUILD / "python", *SETTINGS)
    check_module(environment, BUILD)
    parallel = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")
    left_out = [f"--deselect={test}" for test in LEFT_OUT]
    return run_tests(environment, tests, *parallel, *left_out)


def counts() -> dict:
    """Return gcovr's counts of the headers and bindings."""
    file = BUILD / "coverage.json"
    command = [sys.executable, "-m", "gcovr", "--root", str(ROOT), "--filter", "native/include/", "--filter"]
    command += ["native/bindings/", "--exclude-throw-branches", "--exclude-unreachable-branches"]
    command += ["--merge-mode-functions=separate", "--json", str(file), str(BUILD)]
    subprocess.run(command, cwd=ROOT, check=True)
    return json.loads(file.read_text())


def ranges(numbers: list[int]) -> str:
    """Write sorted numbers with their runs as ranges."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def report(found: dict) -> float:
    """Print a line for each file, and return the share of lines that ran."""
    n_lines = n_run = n_branches = n_taken = 0
    print(f"{'file':45} {'lines':>6} {'run':>7} {'branches':>8} {'taken':>7}  not run")
    for file in sorted(found["files"], key=lambda entry: entry["file"]):
        # A line of a template has an entry for each function that was made of it.
        lines: dict[int, int] = {}
        branches: dict[tuple[int, int], int] = {}
        for line in file["lines"]:
            if line.get("gcovr/noncode"):
                continue
            number = line["line_number"]
            lines[number] = lines.get(number, 0) + line["count"]
            for k, branch in enumerate(line["branches"]):
                branches[number, k] = branches.get((number, k), 0) + branch["count"]
        run, taken = sum(map(bool, lines.values())), sum(map(bool, branches.values()))
        missed = ranges(sorted(number for number, count in lines.items() if not count))
        share, of_branches = 100 * run / max(len(lines), 1), 100 * taken / max(len(branches), 1)
        row = f"{file['file'].removeprefix('native/'):45} {len(lines):6} {share:6.1f}% {len(branches):8}"
        print(f"{row} {of_branches:6.1f}%  {missed}")
        n_lines, n_run = n_lines + len(lines), n_run + run
        n_branches, n_taken = n_branches + len(branches), n_taken + taken
    share, of_branches = 100 * n_run / max(n_lines, 1), 100 * n_taken / max(n_branches, 1)
    print(f"{'all':45} {n_lines:6} {share:6.1f}% {n_branches:8} {of_branches:6.1f}%")
    return share


def main() -> int:
    """Run the tests and print the shares; return 1 if a test failed or too few lines ran."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--least", type=float, default=95.0, help="least share of lines in percent")
    parser.add_argument("--only", choices=["native", "python"], help="one kind of tests")
    parser.add_argument("tests", nargs="*", help="other Python tests than those of the list")
    options = parser.parse_args()
    clear_counters()
    good = True
    if options.only != "python":
        good = run_native_tests() and good
    if options.only != "native":
        good = run_python_tests(options.tests or list(TESTS)) and good
    return int(report(counts()) < options.least or not good)


if __name__ == "__main__":
    sys.exit(main())
