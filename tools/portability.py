"""Run the numerical tests as on other machines: other BLAS kernels, other vector code, fewer or busier cores.

``make portability`` runs all of it, ``make portability-share`` what continuous integration has time for: the
oldest, a middle and the newest kernel that this processor runs. What could not be run is printed. Logs are in
``build/portability``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "portability"

#: OpenBLAS' kernels for x86-64, oldest first, and what a processor needs to run them.
KERNELS: dict[str, frozenset[str]] = {
    "Prescott": frozenset({"pni"}),
    "Nehalem": frozenset({"sse4_2"}),
    "Sandybridge": frozenset({"avx"}),
    "Haswell": frozenset({"avx2", "fma"}),
    "Zen": frozenset({"avx2", "fma"}),
    "SkylakeX": frozenset({"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}),
    "Cooperlake": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512_bf16"}),
    "SapphireRapids": frozenset({"avx512f", "avx512bw", "avx512vl", "avx512_bf16", "amx_tile"}),
}
_PARTS = (
    "data",
    "datasets",
    "designs",
    "estimators",
    "explanation",
    "export",
    "feature_maps",
    "losses",
    "metrics",
    "model",
    "model_selection",
    "paths",
    "solvers",
    "storage",
    "system",
    "training",
)
#: Everything that computes with numbers, and the pages and docstrings that show them.
NUMERICAL = [
    "tests/certificates",
    "tests/contract",
    "tests/property/test_pair_counts.py",
    *(f"tests/unit/{part}" for part in _PARTS),
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/unit/test_*.py")),
    *(f"src/marginrank/{part}" for part in _PARTS),
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("src/marginrank/[a-z]*.py")),
]
#: The part of it in which last bits were seen to matter most.
SHARE = [
    "tests/contract/test_feature_maps.py",
    "tests/contract/test_solvers.py",
    "tests/unit/estimators/test_alpha_paths.py",
    "tests/unit/estimators/test_searches_on_disk.py",
    "tests/unit/paths/test_kernel_rank_path.py",
    "tests/unit/paths/test_linear_path.py",
    "tests/unit/solvers",
    "tests/unit/test_documentation.py",
]
_N_BUSY = 3


@dataclass(frozen=True)
class Setting:
    """A kind of machine: an environment, one core or all, so many busy loops beside the tests."""

    name: str
    environment: dict[str, str] = field(default_factory=dict)
    one_core: bool = False
    busy_loops: int = 0


@dataclass(frozen=True)
class Outcome:
    """What pytest said under a setting."""

    setting: str
    summary: str
    seconds: float
    failures: list[str]


def processor_flags() -> frozenset[str]:
    """Return what the processor can do, as Linux tells it; nothing elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found.group(1).split()) if found else frozenset()


def taken_kernels(environment: dict[str, str]) -> str:
    """Return the kernels that numpy's and scipy's BLAS say they use under an environment."""
    code = (
        "import numpy, scipy.linalg, threadpoolctl\n"
        "blas = [info for info in threadpoolctl.threadpool_info() if info['user_api'] == 'blas']\n"
        "print(*sorted({str(info.get('architecture')) for info in blas}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
    )
    return done.stdout.strip() if done.returncode == 0 else f"none: it ended with {done.returncode}"


def kernel_settings(flags: frozenset[str]) -> tuple[list[Setting], list[str]]:
    """Return a setting for each kernel that can be run and is unlike the others, and why not for the rest."""
    settings, left_out, seen = [], [], dict[str, str]()
    for name, needs in KERNELS.items():
        missing = sorted(needs - flags)
        if missing:
            left_out.append(f"{name}: this processor has no {', '.join(missing)}")
            continue
        environment = {"OPENBLAS_CORETYPE": name}
        taken = taken_kernels(environment)
        if taken in seen:
            left_out.append(f"{name}: BLAS takes the kernels that it calls {taken}, as for {seen[taken]}")
            continue
        seen[taken] = name
        settings.append(Setting(f"{name} (BLAS: {taken})", environment))
    return settings, left_out


def dispatched_features() -> str:
    """Return the vector code that numpy chose beyond its baseline, as NPY_DISABLE_CPU_FEATURES takes it."""
    try:
        umath = import_module("numpy._core._multiarray_umath")
    except ImportError:
        umath = import_module("numpy.core._multiarray_umath")  # numpy 1
    return " ".join(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name))


def other_settings() -> tuple[list[Setting], list[str]]:
    """Return what is tried beside kernels of BLAS, and what cannot be."""
    settings = [
        Setting("one thread", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}),
        Setting(f"{_N_BUSY} busy loops beside it", busy_loops=_N_BUSY),
    ]
    left_out = []
    if import_module("marginrank._native").has_wide_registers():
        settings.append(Setting("our module without AVX2", {"MARGINRANK_AVX2": "0"}))
    else:
        left_out.append("our module with AVX2: this processor has none; what ran is the one without")
    if features := dispatched_features():
        settings.append(Setting("numpy without its vector code", {"NPY_DISABLE_CPU_FEATURES": features}))
    else:
        left_out.append("numpy without its vector code: it uses none beyond its baseline")
    if hasattr(os, "sched_setaffinity"):
        settings.append(Setting("one core", one_core=True))
    else:
        left_out.append("one core: this system cannot keep a process to one")
    return settings, left_out


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """Keep so many processes spinning in a ``with`` block."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def _stay_on_one_core() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def run(setting: Setting, tests: Iterable[str]) -> Outcome:
    """Run tests under a setting; what they print goes to a log."""
    before: Callable[[], None] | None = _stay_on_one_core if setting.one_core else None
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    command += [] if setting.one_core else ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]
    log = LOGS / (re.sub(r"\W+", "-", setting.name).strip("-") + ".log")
    started = time.monotonic()
    with busy_loops(setting.busy_loops), log.open("w") as file:
        environment = {**os.environ, **setting.environment}
        done = subprocess.run(
            command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT, preexec_fn=before
        )
    lines = log.read_text(errors="replace").splitlines()
    failures = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    if done.returncode and not failures:
        failures = [f"pytest ended with {done.returncode}; see {log.relative_to(ROOT)}"]
    summary = lines[-1].strip("= ") if lines else "nothing was printed"
    return Outcome(setting.name, summary, time.monotonic() - started, failures if done.returncode else [])


def share_of(settings: list[Setting]) -> list[Setting]:
    """Return the first, a middle and the last of a list."""
    return [settings[k] for k in sorted({0, len(settings) // 2, len(settings) - 1})] if settings else []


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for, print a table, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--share", action="store_true", help="three kernels and the tests that need them most"
    )
    parser.add_argument("--only", metavar="TEXT", help="only settings whose name contains it")
    parser.add_argument("--list", action="store_true", help="print the settings and run nothing")
    parser.add_argument("tests", nargs="*", help="what to run instead of the list in this file")
    options = parser.parse_args(arguments)
    settings, left_out = kernel_settings(processor_flags())
    if options.share:
        settings = share_of(settings)
    else:
        others, not_these = other_settings()
        settings, left_out = settings + others, left_out + not_these
    if options.only is not None:
        settings = [setting for setting in settings if options.only.lower() in setting.name.lower()]
    LOGS.mkdir(parents=True, exist_ok=True)
    tests = options.tests or (SHARE if options.share else NUMERICAL)
    outcomes = []
    for setting in settings:
        print(setting.name, flush=True)
        if not options.list:
            outcomes.append(run(setting, tests))
            print("   ", outcomes[-1].summary, flush=True)
    print(f"\n{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    for outcome in outcomes:
        verdict = "FAILED" if outcome.failures else "passed"
        print(f"{verdict}  {outcome.setting:40} {outcome.seconds:6.0f} s  {outcome.summary}")
        for failure in outcome.failures:
            print(f"        {failure}")
    for reason in left_out:
        print(f"not run {reason}")
    return int(any(outcome.failures for outcome in outcomes) or not settings)


if __name__ == "__main__":
    sys.exit(main())
