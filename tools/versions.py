"""Run the tests with the oldest and the newest dependencies that pyproject.toml allows, under every Python.

``make versions`` looks for Python 3.11 to 3.13 on the PATH and among pyenv's, and says which it found. Each
gets an environment in ``build/versions`` with the newest dependencies; the oldest Python also one with the
lower bound of every dependency, which newer Pythons mostly have no wheels of. It needs nothing but Python.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENTS = ROOT / "build" / "versions"
PYTHONS = ("3.11", "3.12", "3.13")
# They start processes of their own, so they run alone.
CLUSTER_TESTS = ["tests/unit/distributed", "tests/unit/cli/workers/test_dask_commands.py"]
_BUILD_TOOLS = ["scikit-build-core", "nanobind", "cmake", "ninja"]
# Their own dependencies, where the newest release makes them warn: matplotlib before 3.10.7 calls names that
# pyparsing 3.3 deprecates.
_OF_THEIR_TIME = ["pyparsing<3.3"]
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(\[[^]]*\])?>=([0-9.]+)")


def found_pythons() -> dict[str, str]:
    """Return the interpreter of each version that is there."""
    return {version: path for version in PYTHONS if (path := next(_interpreters(version), None))}


def _interpreters(version: str) -> Iterator[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]
    for path in filter(None, candidates):
        code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            yield path


def lower_bounds() -> list[str]:
    """Return ``name==bound`` for every ``name>=bound`` of pyproject.toml but those of linters."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    requirements = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for name in extras.keys() - {"all", "dev"}:
        requirements += extras[name]
    bounds = dict[str, str]()
    for requirement in requirements:
        parts = _REQUIREMENT.match(requirement)
        if parts is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound; write name>=version.")
        name, bound = parts.group(1), parts.group(3)
        if bounds.setdefault(name, bound) != bound:
            raise SystemExit(f"pyproject.toml: {name} has two lower bounds, {bounds[name]} and {bound}.")
    return sorted(f"{name}=={bound}" for name, bound in bounds.items())


def prepare(python: str, folder: Path, constraints: list[str]) -> Path:
    """Make an environment with the package and all that its tests use, and return its interpreter."""
    subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    limits = folder / "constraints.txt"
    limits.write_text("\n".join(constraints) + "\n")
    # PIP_CONSTRAINT would reach the tools that pip builds other packages with, too; -c does not.
    _install(folder, "-c", str(limits), *_BUILD_TOOLS)
    return install_package(folder, "-c", str(limits), extra="[test]")


def install_package(folder: Path, *options: str, extra: str = "") -> Path:
    """Build the package as it is now in an environment, and return the interpreter."""
    build = f"--config-settings=build-dir={folder / 'build'}"
    _install(folder, *options, "--no-build-isolation", build, f"{ROOT}{extra}")
    return folder / "bin" / "python"


def _install(folder: Path, *arguments: str) -> None:
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *arguments], check=True)


def run_tests(python: Path, tests: list[str]) -> bool:
    """Run tests against the installed package, and tell whether all passed."""
    pytest = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if tests:
        commands = [[*pytest, *tests]]
    else:
        several = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]
        ignored = [f"--ignore={path}" for path in CLUSTER_TESTS]
        commands = [[*pytest, *several, "tests", *ignored], *([*pytest, path] for path in CLUSTER_TESTS)]
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    codes = [subprocess.run(command, cwd=ROOT, env=environment).returncode for command in commands]
    return not any(codes)


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for, print a table, and return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", metavar="TEXT", help="only environments with it in their name: 3.12, lowest"
    )
    parser.add_argument("--keep", action="store_true", help="keep the dependencies of the last run")
    parser.add_argument("tests", nargs="*", help="what to run instead of all tests")
    options = parser.parse_args(arguments)
    pythons = found_pythons()
    for version in PYTHONS:
        print(f"Python {version}: {pythons.get(version, 'not found, not tried')}", flush=True)
    plans = [(version, "newest", list[str]()) for version in pythons]
    lowest = [*lower_bounds(), *_OF_THEIR_TIME]
    plans += [(version, "lowest", lowest) for version in list(pythons)[:1]]
    verdicts = {}
    for version, which, constraints in plans:
        name = f"{version}-{which}"
        if options.only is not None and options.only not in name:
            continue
        print(f"\n{name}", flush=True)
        folder = ENVIRONMENTS / name
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            if options.keep and (folder / "bin" / "python").exists():
                python = install_package(folder, "--no-deps", "--force-reinstall")
            else:
                python = prepare(pythons[version], folder, constraints)
            verdicts[name] = "passed" if run_tests(python, options.tests) else "FAILED"
        except subprocess.CalledProcessError as error:
            verdicts[name] = f"FAILED to install: {error}"
    print()
    for name, verdict in verdicts.items():
        print(f"{name:14} {verdict}")
    return int(not verdicts or any(verdict != "passed" for verdict in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
