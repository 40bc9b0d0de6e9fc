"""Inject faults one by one: ``make faults`` for every n, ``--share 120`` for about so many, spread evenly.

Prints what was tried, and every fault that was not taken well; exits with 1 if there was one.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from injection import Operation

HERE = Path(__file__).resolve().parent
_SET_HANDLER = 304  # where numpy's table of functions has PyDataMem_SetHandler
SHIM = HERE.parents[1] / "build" / "faults" / "shim.so"


def built() -> Path:
    """Compile the shim where it is older than its source."""
    source = HERE / "shim.cpp"
    if not SHIM.exists() or SHIM.stat().st_mtime < source.stat().st_mtime:
        SHIM.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CXX", "c++")
        new = SHIM.with_name(f"shim-{os.getpid()}.so")
        command = [
            compiler,
            "-std=c++17",
            "-O1",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            str(source),
            "-o",
            str(new),
        ]
        subprocess.run([*command, "-ldl", "-pthread"], check=True)
        new.replace(SHIM)
    return SHIM


def again_with_shim() -> None:
    """Start this program anew with the shim before all libraries, and BLAS without threads."""
    os.environ |= {"LD_PRELOAD": str(built()), "OPENBLAS_NUM_THREADS": "1", "MARGINRANK_FAULTS": "1"}
    os.execv(sys.executable, [sys.executable, *sys.argv])


def numbers(total: int, share: int | None, only: int | None) -> Iterator[int]:
    """Yield which calls shall fail: all until there are no more, or some from the first to the last."""
    if only is not None:
        yield only
    elif share is None:
        number = 0
        while True:
            yield (number := number + 1)
    elif total:
        yield from sorted({1 + k * (total - 1) // max(1, share - 1) for k in range(min(share, total))})


def tried(
    shim: ctypes.CDLL, operation: Operation, kind: str, which: tuple[int | None, int | None], template: Path
) -> tuple[int, list[str]]:
    """Inject the faults of one kind into one operation; return how many, and what was not taken well."""
    from injection import FILES, Fault, attempted

    plain = attempted(shim, operation, Fault(kind, 0, lasting=False), template, None)
    if plain["wrong"]:
        return 0, plain["wrong"]
    expected = (plain["result"], plain["files"])
    done, wrong = 0, []
    for lasting in (False, True) if kind in (*FILES, "kernels", "thread") else (False,):
        for number in numbers(plain["calls"], *which):
            fault = Fault(kind, number, lasting)
            outcome = attempted(shim, operation, fault, template, expected)
            if outcome["calls"] < number:
                break
            done += 1
            wrong += [f"{fault}: {one}" for one in outcome["wrong"]]
            if os.environ.get("MARGINRANK_FAULTS_SAID") and outcome.get("said"):
                print(f"    {fault}: {outcome['said']}")
    return done, wrong


def warm_up(operation: Operation, template: Path) -> None:
    """Do it once in this process, so that the forked ones find what is imported on the way."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        shutil.copytree(template, folder, dirs_exist_ok=True)
        os.chdir(folder)
        operation.run()
    os.chdir(template)
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy all there is


def take_over_arrays(shim: ctypes.CDLL) -> None:
    """Have numpy ask the shim for the content of arrays from now on.

    Its other allocations are left alone: some that fail while it indexes become a ``SystemError`` of its own.
    """
    import numpy as np

    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.POINTER(ctypes.c_void_p), [ctypes.py_object, ctypes.c_char_p]
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    core = getattr(np, "_core", None) or np.core
    functions = pointer(core._multiarray_umath._ARRAY_API, None)
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(functions[_SET_HANDLER])
    handler = ctypes.addressof(ctypes.c_char.in_dll(shim, "faults_handler"))
    set_handler(capsule(handler, b"mem_handler", None))


def main() -> int:
    """Inject what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--share", type=int, help="of each kind and operation only so many")
    parser.add_argument("--only", default="", help="only operations with this in their name")
    parser.add_argument("--kind", help="only this kind of fault")
    parser.add_argument("--table", default="operations", help="the module that has the operations")
    parser.add_argument("--number", type=int, help="only the call of this number")
    options = parser.parse_args()
    if "MARGINRANK_FAULTS" not in os.environ:
        again_with_shim()
    del os.environ["LD_PRELOAD"]  # what is started from here on is left alone
    from injection import KINDS

    warnings.simplefilter("ignore")  # of trainings that are stopped early
    shim = ctypes.CDLL(str(SHIM))
    shim.faults_disarm.restype = ctypes.c_long
    take_over_arrays(shim)
    total, failed = 0, 0
    for name, operation in import_module(options.table).OPERATIONS.items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="faults-") as folder:
            os.chdir(folder)
            operation.prepare()
            warm_up(operation, Path(folder))
            for kind in (one for one in KINDS if one in operation.kinds):
                if options.kind in (None, kind):
                    done, wrong = tried(shim, operation, kind, (options.share, options.number), Path(folder))
                    total, failed = total + done, failed + len(wrong)
                    print(f"{name:30} {kind:12} {done:6d} faults, {len(wrong)} not taken well", flush=True)
                    print("".join(f"    {one}\n" for one in wrong), end="", flush=True)
            os.chdir("/")
    print(f"{total} faults injected, {failed} not taken well")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
