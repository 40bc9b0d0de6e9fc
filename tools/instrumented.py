"""Compile the kernels in another way than users get them, and let the Python tests use that module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
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
_REDIRECT = '''"""Made by tools/instrumented.py: another build takes the place of the installed module."""
import importlib.util
import sys


class Instrumented:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "marginrank._native":
            return None
        return importlib.util.spec_from_file_location(name, {module!r})


sys.meta_path.insert(0, Instrumented)
'''


def cmake(folder: Path, *settings: str, targets: tuple[str, ...] = ()) -> None:
    """Configure and compile."""
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder), *settings]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    chosen = ["--target", *targets] if targets else []
    subprocess.run(["cmake", "--build", str(folder), *chosen], check=True)


def module_environment(folder: Path, *settings: str) -> dict[str, str]:
    """Compile the module in a folder; return the environment in which Python finds it."""
    cmake(folder / "module", *settings, f"-DPython_EXECUTABLE={sys.executable}", targets=("_native",))
    (module,) = (folder / "module").glob("_native.*so")
    site = folder / "site"
    site.mkdir(parents=True, exist_ok=True)
    (site / "sitecustomize.py").write_text(_REDIRECT.format(module=str(module)))
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")])),
        "MARGINRANK_AVX2": "0",  # only the module for any processor is compiled; the sources are the same
    }


def check_module(environment: dict[str, str], folder: Path) -> None:
    """Print which module Python finds in an environment, and stop if it is not the one of the folder."""
    look = "import marginrank._native as module; print(module.__file__)"
    done = subprocess.run([sys.executable, "-c", look], env=environment, capture_output=True, text=True)
    print(f"the compiled module of these tests: {done.stdout.strip()}", flush=True)
    if str(folder) not in done.stdout:
        raise SystemExit(f"Python does not load the module of {folder}.\n{done.stderr}")


def run_tests(environment: dict[str, str], tests: list[str], *options: str) -> bool:
    """Run those of the tests that exist."""
    existing = [test for test in tests if (ROOT / test.split("::")[0]).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, *existing]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0
