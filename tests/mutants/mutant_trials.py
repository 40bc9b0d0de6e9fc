"""Tries mutants: their tests with the mistake made, each in a process of its own."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from time import monotonic, sleep
from typing import NoReturn

import chosen_mutants
import native_places
import pytest
import python_places
from code_exchange import NotInAFunctionError, exchange
from mutant_places import ROOT, Place

FOLDER = Path(__file__).resolve().parent
HOOK = FOLDER / "hook"
#: Seconds. What waits for ever is ended after it; nothing else takes so long.
HANG = 900
# CPU seconds of a program in C++, of which none takes a tenth.
_PROGRAM = 40
# Mistakes in sizes must not take the memory of the machine.
_MEMORY = 6 << 30
_NOT_RUN = 70
_NEW_PROCESS = 71
# Plugins that are loaded already do not explain their assertions, which nobody reads here.
_OPTIONS = (
    *("-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:faulthandler"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
CANNOT_BE_IMPORTED = "cannot be imported"
DOES_NOT_COMPILE = "does not compile"
_FAST = ("-O1", "-D_GLIBCXX_ASSERTIONS")
_SANITIZED = (
    "-Og",
    "-g",
    "-D_GLIBCXX_ASSERTIONS",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)


class PythonTrials:
    """Tests that are loaded once, with the library; each trial is a fork in which the mistake is made.

    Parameters
    ----------
    tests : sequence of str
        Files and folders of tests from which trials take theirs.
    """

    def __init__(self, tests: Sequence[str]) -> None:
        files = sorted({test.partition("::")[0] for test in tests})
        self._reached: dict[str, list[str]] | None = None
        if files:
            os.chdir(ROOT)
            sys.path[:] = [str(HOOK), *sys.path]
            with _silent():
                code = pytest.main(["--collect-only", *_OPTIONS, *files])
            if code:
                raise RuntimeError(f"The tests cannot be collected: {' '.join(files)}")

    def check(self, tests: Sequence[str]) -> str | None:
        """Run tests without a mistake, note which functions each of them runs, and return one that fails."""
        with tempfile.NamedTemporaryFile(prefix="marginrank-reached-") as reached:
            failed = self._tried({"MARGINRANK_REACHED": reached.name}, tests, lambda: None)
            if failed is None:
                self._reached = json.loads(Path(reached.name).read_text(encoding="utf-8"))
        return failed

    def nearest(self, place: Place, tests: Sequence[str], apart: Sequence[str]) -> list[str]:
        """Return those of the tests that run the function of a place, as far as that is known.

        Tests that run the library in processes of their own (``apart``) are always among them.
        """
        if self._reached is None:
            return list(tests)
        reaching = self._reached.get(f"{place.file} {place.function}", ())
        near = [one for test in tests for one in reaching if one.startswith((test, f"{test}/"))]
        return list(dict.fromkeys([*near, *apart]))

    def tried(self, place: Place, tests: Sequence[str]) -> str | None:
        """Return the test that notices a mistake, or none; one that never ends has ``hangs:``."""
        path = python_places.SOURCE / place.file
        module = "marginrank." + place.file.removesuffix(".py").replace("/", ".")
        environment = {"MARGINRANK_MUTATED": module, "MARGINRANK_MUTANT": place.name}
        return self._tried(environment, tests, lambda: exchange(path, place.name))

    def tried_chosen(self, name: str) -> str | None:
        """Return the test that notices a mistake chosen by hand, or none."""
        mutant = chosen_mutants.MUTANTS[name]
        environment = {"MARGINRANK_MUTATED": mutant.module, "MARGINRANK_MUTANT": f"chosen: {name}"}
        return self._tried(environment, [mutant.test], None)

    def _tried(
        self, environment: dict[str, str], tests: Sequence[str], make: Callable[[], None] | None
    ) -> str | None:
        with tempfile.TemporaryDirectory(prefix="marginrank-mutant-") as folder:
            report, output = Path(folder) / "report", Path(folder) / "output"
            environment |= {
                "PYTHONPATH": os.pathsep.join(filter(None, [str(HOOK), os.environ.get("PYTHONPATH")])),
                "MARGINRANK_MUTANT_REPORT": str(report),
                "TMPDIR": folder,
            }
            arguments = ["-x", *_OPTIONS, "-p", "mutant_report", "--basetemp", f"{folder}/base", *tests]
            code = _forked(environment, output, arguments, make)
            said = output.read_text(encoding="utf-8", errors="replace")
            if code in (4, 5, _NOT_RUN):
                raise RuntimeError(f"The tests did not run: {' '.join(tests)}\n{said[-2000:]}")
            if code == 0:
                return None
            if "MARGINRANK_MUTANT" not in environment:
                print(said[-4000:], flush=True)
            found = report.read_text(encoding="utf-8") if report.exists() else CANNOT_BE_IMPORTED
        if code > 0:
            found = found.removeprefix("hangs: ")
        elif code not in (-signal.SIGPROF, -signal.SIGKILL):
            found = found.replace("hangs: ", "crashes: ")
        return found.partition("[")[0]


def _forked(
    environment: dict[str, str], output: Path, arguments: list[str], make: Callable[[], None] | None
) -> int:
    """Run pytest in a fork with the mistake made, or in a new process where it cannot be made in a fork."""
    code = _NEW_PROCESS
    if make is not None:
        pid = os.fork()
        if pid == 0:
            _run_tests(environment, output, arguments, make)
        code = _waited(pid, output)
    if code == _NEW_PROCESS:
        with output.open("wb") as file:
            command = [sys.executable, "-m", "pytest", *arguments]
            streams = {"stdout": file, "stderr": subprocess.STDOUT}
            started = subprocess.Popen(command, env=os.environ | environment, process_group=0, **streams)
        code = _waited(started.pid, output)
        started.returncode = code
    return code


def _run_tests(
    environment: dict[str, str], output: Path, arguments: list[str], make: Callable[[], None]
) -> NoReturn:
    """Run pytest in this process, which is a fork, and end it."""
    code = _NOT_RUN
    try:
        os.setpgid(0, 0)
        with output.open("wb") as file:
            for stream in (1, 2):
                os.dup2(file.fileno(), stream)
        os.environ.update(environment)
        tempfile.tempdir = None
        try:
            make()
        except NotInAFunctionError:
            os._exit(_NEW_PROCESS)
        code = int(pytest.main(arguments))
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _waited(pid: int, output: Path) -> int:
    """Return how a process ended: its code, or the signal below 0.

    One that has said nothing for long is ended; a test that ends says so.
    """
    end, said = monotonic() + HANG, -1
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        size = output.stat().st_size if output.exists() else 0
        if size != said:
            end, said = monotonic() + HANG, size
        if monotonic() > end:
            os.killpg(pid, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sleep(0.02)


@contextmanager
def _silent() -> Iterator[None]:
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        yield


def try_native(header: str | None, name: str, programs: Sequence[str], *, quick: bool = False) -> str | None:
    """Return the program that notices a mistake in a header, or none.

    What the plain programs let through is tried with sanitizers, as ``make native-test`` has them, unless it
    must be quick.
    """
    with tempfile.TemporaryDirectory(prefix="marginrank-mutant-") as folder:
        include = Path(folder) / "include"
        if header is not None:
            path = native_places.HEADERS / header
            (include / "marginrank").mkdir(parents=True)
            (include / "marginrank" / header).write_text(native_places.mutated(path, name), encoding="utf-8")
        for flags in (_FAST,) if quick else (_FAST, _SANITIZED):
            for program in programs:
                verdict = _try_program(ROOT / program, include, flags)
                if verdict is not None:
                    return verdict if verdict == DOES_NOT_COMPILE else verdict + program
    return None


def _try_program(source: Path, include: Path, flags: Sequence[str]) -> str | None:
    """Return how a program fails: an empty text, one that says it, or none if it does not."""
    binary = include.parent / "program"
    sources = [source]
    arguments: list[str] = []
    if source.name.startswith("fuzz_"):
        sources.append(source.with_name("standalone.cpp"))
        arguments = ["-runs=200", str(ROOT / "native" / "fuzz" / "corpus" / f"{source.stem}.hex")]
    objects = []
    for one in sources:
        objects.append(str(include.parent / f"{one.stem}.o"))
        headers = [
            "-I",
            str(include),
            "-I",
            str(native_places.HEADERS.parent),
            "-I",
            str(ROOT / "native" / "tests"),
        ]
        command = [
            *_compiler(),
            "-std=c++17",
            "-DMARGINRANK_STOP_AT_FIRST",
            "-w",
            "-ffp-contract=off",
            *flags,
            *headers,
        ]
        if _run([*command, "-c", str(one), "-o", objects[-1]], os.environ)[0]:
            return DOES_NOT_COMPILE
    subprocess.run(
        [_compiler()[-1], *flags, *objects, "-o", str(binary), "-lpthread"], check=True, capture_output=True
    )
    code, _ = _run([str(binary), *arguments], os.environ, limited="-O1" in flags, seconds=_PROGRAM)
    if code == 0:
        return None
    return "hangs: " if code in (-24, -9) else ""


def _compiler() -> list[str]:
    launcher = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "")
    return [*filter(None, [launcher]), *shlex.split(os.environ.get("CXX", "c++"))]


def _run(
    command: Sequence[str],
    environment: os._Environ[str] | dict[str, str],
    *,
    limited: bool = False,
    seconds: int = 0,
) -> tuple[int, str]:
    """Run a command in the root of the repository; return its code and what it said."""

    def limit() -> None:
        if limited:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        if seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryFile("w+", errors="replace") as output:
        started = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=limit,
            process_group=0,
        )
        try:
            code = started.wait(HANG)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, 9)
            code = started.wait()
        output.seek(0)
        return code, output.read()
