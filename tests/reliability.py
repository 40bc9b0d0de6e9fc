"""What ``docs/reliability.md`` counts, counted again: ``python tests/reliability.py`` prints it.

A figure of the page is a floor ("at least"), so that a new test does not make the page wrong; fewer than
it says fails ``tests/unit/test_reliability.py``. To add a figure, add a function to ``COUNTS`` and a row to
the page.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADERS = ROOT / "native" / "include" / "marginrank"
NATIVE_TESTS = ROOT / "native" / "tests"
FUZZ = ROOT / "native" / "fuzz"
_INCLUDE = re.compile(r'^#include "(?:marginrank/)?([\w.]+)"', re.MULTILINE)

#: Where each compiled kernel is compared with its slow definition.
ORACLES = {
    "CsrF32I32": "tests/contract/test_designs.py",
    "CsrF32I64": "tests/contract/test_designs.py",
    "CsrF64I32": "tests/contract/test_designs.py",
    "CsrF64I64": "tests/contract/test_designs.py",
    "DenseF32": "tests/contract/test_designs.py",
    "DenseF64": "tests/contract/test_designs.py",
    "HingePairs": "tests/brute_force.py",
    "KernelPath": "tests/path_oracle.py",
    "LeastSquares": "native/tests/test_least_squares.cpp",
    "LeastSquaresPairs": "native/tests/test_preference_pairs.cpp",
    "LetorRowsF32": "tests/property/test_letor.py",
    "LetorRowsF64": "tests/property/test_letor.py",
    "LogisticLoss": "native/tests/test_logistic.cpp",
    "LogisticPairs": "native/tests/test_logistic.cpp",
    "MetricSpec": "tests/metric_oracle.py",
    "PairLabels": "tests/property/test_pair_counts.py",
    "PairLoss": "tests/brute_force.py",
    "PreferencePairs": "tests/brute_force.py",
    "QueryLoss": "tests/contract/test_losses.py",
    "QuerySelection": "native/tests/test_query_selection.cpp",
    "RowFile": "native/tests/test_row_file.cpp",
    "exponentials": "native/tests/test_exponential.cpp",
    "RowMatrix": "tests/contract/test_designs.py",
    "RowProductF32": "native/tests/test_row_product.cpp",
    "RowProductF64": "native/tests/test_row_product.cpp",
    "SmoothedHinge": "native/tests/test_smoothed_hinge.cpp",
    "SquaredHingePairs": "tests/brute_force.py",
    "StructuredAuc": "tests/structured_oracle.py",
    "StructuredDorm": "tests/structured_oracle.py",
    "StructuredLoss": "tests/structured_oracle.py",
    "StructuredMap": "tests/structured_oracle.py",
    "StructuredMrr": "tests/structured_oracle.py",
    "StructuredMrrFirst": "tests/structured_oracle.py",
    "StructuredNdcg": "tests/structured_oracle.py",
    "StructuredSum": "tests/structured_oracle.py",
    "first_bad_row": "tests/unit/data/test_validation.py",
    "first_nonfinite": "native/tests/test_finite.cpp",
    "pair_errors": "native/tests/test_pair_selection.cpp",
    "ranking_metrics": "tests/metric_oracle.py",
    "simplex_qp": "native/tests/test_simplex_qp.cpp",
    "write_letor_features": "tests/property/test_letor.py",
}


def functions_of_tests(folder: str) -> Iterator[tuple[Path, ast.FunctionDef]]:
    """Yield the test functions of a folder below ``tests``, each once however many cases it has."""
    for path in sorted((ROOT / "tests" / folder).rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield path, node


def headers_under_test() -> set[str]:
    """Return the kernel headers that the C++ tests include, directly or through another header."""
    waiting = [name for test in NATIVE_TESTS.iterdir() for name in _INCLUDE.findall(test.read_text())]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found and (HEADERS / name).exists():
            found.add(name)
            waiting += _INCLUDE.findall((HEADERS / name).read_text())
    return found


def _count_tests(folder: str) -> Callable[[], int]:
    return lambda: sum(1 for _ in functions_of_tests(folder))


def _malformed_inputs() -> int:
    sys.path.insert(0, str(ROOT / "tests" / "unit" / "io"))
    import malformed
    import malformed_others

    return len(malformed.REFUSED) + len(malformed.READ) + len(malformed_others.BAD)


def _certificates() -> list[tuple[str, str]]:
    sys.path.insert(0, str(ROOT / "tests" / "certificates"))
    import problems

    return problems.first_problems(problems.IN_EVERY_RUN)


def _wrong_values() -> tuple[int, int]:
    """Return how many wrong values there are, and how many parameters each of them is passed to."""
    sys.path.insert(0, str(ROOT / "tests" / "wrong_values"))
    import bad_values
    import base_calls

    skipped = {name for names in base_calls.NOT_CALLED.values() for name in names}
    called = (function for name, function in base_calls.public_names() if name not in skipped)
    return len(bad_values.WRONG_VALUES), sum(len(base_calls.parameters_of(one)) for one in called)


def _fuzz_targets() -> int:
    sys.path.insert(0, str(ROOT / "tests" / "fuzz"))
    import fuzz_targets

    return len(fuzz_targets.TARGETS) + len(list(FUZZ.glob("fuzz_*.cpp")))


def _faulty_operations() -> int:
    sys.path.insert(0, str(ROOT / "tests" / "faults"))
    import operations

    return sum(len(operation.kinds) for operation in operations.OPERATIONS.values())


def _fuzz_inputs() -> int:
    return sum(len(path.read_text().split()) for path in (FUZZ / "corpus").glob("*.hex"))


def _mutants() -> int:
    sys.path.insert(0, str(ROOT / "tests" / "mutants"))
    import run_mutants

    return len(run_mutants.mutants())


def _documented_examples() -> int:
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    return sum(len(re.findall(r"^\s*Examples\n\s*-------", source, re.MULTILINE)) for source in sources)


COUNTS: dict[str, Callable[[], int]] = {
    "unit tests": _count_tests("unit"),
    "contract tests": _count_tests("contract"),
    "property tests": _count_tests("property"),
    "reference tests": _count_tests("reference"),
    "problems whose certificates are held against exact arithmetic": lambda: len(_certificates()),
    "classes of such problems": lambda: len({problem[:2] for problem in _certificates()}),
    "C++ test programs": lambda: len(list(NATIVE_TESTS.glob("test_*.cpp"))),
    "kernel headers under sanitizers": lambda: len(headers_under_test()),
    "compiled kernels with an oracle": lambda: len(ORACLES),
    "examples in docstrings": _documented_examples,
    "malformed inputs": _malformed_inputs,
    "wrong values": lambda: _wrong_values()[0],
    "parameters that get each of them": lambda: _wrong_values()[1],
    "operations times kinds of faults": _faulty_operations,
    "fuzz targets": _fuzz_targets,
    "inputs in the corpus of kernels": _fuzz_inputs,
    "mutants": _mutants,
}


def page_figures() -> dict[str, int]:
    """Return the floors that the page states, by what they count."""
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| at least ([\d,]+) \|", page, re.MULTILINE)
    return {what.strip(): int(number.replace(",", "")) for what, number in rows}


if __name__ == "__main__":
    for what, count in COUNTS.items():
        print(f"{count():6,d}  {what}")
