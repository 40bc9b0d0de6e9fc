"""One fault at a time: the n-th call of a kind fails in a process of its own; then all is looked at.

An operation is tried in a forked process with a folder of its own. After the fault, these must hold:

- the process lives, and the operation either gave the result that it gives undisturbed, or one sentence;
- files that were there are as they were, and nothing is left that the operation does not promise to leave;
- no descriptor is open and no thread runs that was not there before;
- tried again in the same process, without a fault, the operation gives its result and its files.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from marginrank.exceptions import MarginRankError

#: What can fail, in the order of the shim.
KINDS = ("", "kernels", "arrays", "thread", "read", "write", "sync", "rename", "open")
MEMORY = ("kernels", "arrays")
FILES = ("read", "write", "sync", "rename", "open")
#: Seconds; it only ends what would never end.
HANG = 300


class ShellError(Exception):
    """What a command said when it ended with exit code 1."""


@dataclass(frozen=True)
class Operation:
    """What is tried.

    Parameters
    ----------
    prepare : callable
        Puts the files into a folder that the operation finds there.
    run : callable
        Does it in the current folder, and returns bytes that tell its result from others.
    kinds : tuple of str
        What can fail in it.
    again : callable, optional
        How it is done after a fault, if not by the same call.
    stays : str
        A pattern of names that may be there after a fault, because ``again`` goes on from them.
    """

    prepare: Callable[[], object]
    run: Callable[[], bytes]
    kinds: tuple[str, ...]
    again: Callable[[], bytes] | None = None
    stays: str = "(?!)"


@dataclass(frozen=True)
class Fault:
    """The n-th call of a kind fails; ``lasting`` has all later ones fail, too."""

    kind: str
    number: int
    lasting: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.number}{' and later' if self.lasting else ''}"


@contextlib.contextmanager
def injected(shim: ctypes.CDLL, fault: Fault, calls: list[int]) -> Iterator[None]:
    """Let a fault happen, and note how many calls of its kind there were."""
    where = os.fsencode(os.getcwd())
    shim.faults_arm(KINDS.index(fault.kind), ctypes.c_long(fault.number), int(fault.lasting), where)
    try:
        yield
    finally:
        calls.append(shim.faults_disarm())


def everything(folder: Path) -> dict[str, str]:
    """Return the content of all files, and the names of all folders."""
    paths = sorted(folder.rglob("*"))
    return {str(one.relative_to(folder)): one.read_bytes().hex() if one.is_file() else "" for one in paths}


def attempted(
    shim: ctypes.CDLL, operation: Operation, fault: Fault, template: Path, expected: object
) -> dict:
    """Try an operation with a fault in a process of its own; return ``calls`` and ``wrong``."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder, tempfile.TemporaryFile() as answer:
        here = Path(folder) / "files"
        shutil.copytree(template, here)
        sys.stdout.flush()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads of BLAS
            pid = os.fork()
        if pid == 0:
            _child(shim, operation, fault, here, expected, answer)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answer.seek(0)
        said = answer.read()
        if code or not said:
            said_so_far = said.decode(errors="replace")
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return {"calls": fault.number, "wrong": [f"the process ended by {name} {said_so_far}"]}
        return json.loads(said)


def _child(
    shim: ctypes.CDLL, operation: Operation, fault: Fault, here: Path, expected: object, answer
) -> None:
    """Be the process: try, look, answer, and end without the exit handlers of the parent."""
    code = 1
    try:
        signal.alarm(HANG)
        os.chdir(here)
        result = _tried(shim, operation, fault, here, expected)
        answer.write(json.dumps(result).encode())
        answer.flush()
        code = 0
    except BaseException:
        answer.write(traceback.format_exc().encode())
        answer.flush()
    finally:
        os._exit(code)


def _tried(shim: ctypes.CDLL, operation: Operation, fault: Fault, here: Path, expected: object) -> dict:
    before, descriptors, threads = everything(here), _descriptors(), _threads()
    calls: list[int] = []
    result, error, wrong = None, None, []
    try:
        with injected(shim, fault, calls):
            result = operation.run()
    except BaseException as raised:
        error = raised
    outcome = {"calls": calls[0], "wrong": wrong, "said": None if error is None else _shown(error)}
    if expected is None:  # the undisturbed run
        outcome |= {"result": None if result is None else result.hex(), "files": everything(here)}
        wrong += [] if error is None else [f"undisturbed, it says {_shown(error)}"]
        return outcome
    wanted, files = expected
    if error is not None:
        wrong += _wrong_sentence(error)
        after = everything(here)
        # All was in place before there was an error: it could not be said, or looked at.
        done = files != before and _without(operation.stays, after) == files
        wrong += [] if done else _wrong_files(before, after, operation.stays)
    elif (done := result.hex()) != wanted:
        wrong.append("it gave another result")
    elif everything(here) != files:
        wrong.append(f"it was done, but the files differ: {_difference(files, everything(here))}")
    error = None
    gc.collect()
    if _descriptors() > descriptors:
        wrong.append(f"open descriptors: {_descriptors() - descriptors}")
    if not _ended(threads):
        wrong.append("threads run on")
    if not done:
        wrong += _wrong_again(operation, wanted, files, here)
    return outcome


def _wrong_again(operation: Operation, wanted: str, files: dict[str, str], here: Path) -> list[str]:
    try:
        result = (operation.again or operation.run)()
    except Exception as error:
        return [f"again, without a fault, it says {_shown(error)}"]
    if result.hex() != wanted:
        return ["again, without a fault, it gave another result"]
    if everything(here) != files:
        return [f"again, without a fault, the files differ: {_difference(files, everything(here))}"]
    return []


def _wrong_sentence(error: BaseException) -> list[str]:
    text = str(error)
    if isinstance(error, MemoryError) and not text:  # as Python has it
        return []
    if not isinstance(error, MarginRankError | OSError | MemoryError | ShellError):
        return ["".join(traceback.format_exception(error))]
    if "\n" in text or " " not in text:
        return [f"no sentence: {_shown(error)}"]
    return []


def _wrong_files(before: dict[str, str], after: dict[str, str], stays: str) -> list[str]:
    # What stays to go on from may have grown.
    grown = {
        name for name in before if re.match(stays, name) and after.get(name, "").startswith(before[name])
    }
    changed = [name for name in before if after.get(name) != before[name] and name not in grown]
    left = [name for name in after if name not in before and not re.match(stays, name)]
    return [f"{name} is not as it was" for name in changed] + [f"{name} is left behind" for name in left]


def _without(stays: str, files: dict[str, str]) -> dict[str, str]:
    return {name: content for name, content in files.items() if not re.match(stays, name)}


def _difference(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _descriptors() -> set[str]:
    folder = "/proc/self/fd"
    found = set()
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            found.add(f"{name} {os.readlink(f'{folder}/{name}')}")
    return {one for one in found if "/fd" not in one.split(" ", 1)[1][-12:]}


def _ended(threads: int) -> bool:
    """Whether there are no more threads than there were; one that was joined may take a moment to be gone."""
    for _ in range(500):
        if _threads() <= threads:
            return True
        time.sleep(0.01)
    return False


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))
