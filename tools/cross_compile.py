"""Compile all C++ for other systems: objects of both modules, of the tests and of the fuzz targets.

``python tools/cross_compile.py`` takes Clang with the headers of every system from the package ``ziglang``
(in an environment of its own, ``build/cross``) and runs CMake with it as on that system. For Linux on aarch64
and macOS on arm64 all must compile; on Windows CMake must refuse with its sentence. ``--only macos`` for one.
Headers of Python are those of this machine, so that nothing is linked or run: that is left to the workflows.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "cross"


class Target(NamedTuple):
    """A system to compile for, and the words with which CMake refuses it, if it does."""

    triple: str
    system: str
    processor: str
    refusal: str = ""


TARGETS = {
    "linux": Target("aarch64-linux-gnu.2.28", "Linux", "aarch64"),
    "macos": Target("aarch64-macos.11.0", "Darwin", "arm64"),
    "windows": Target("x86_64-windows-gnu", "Windows", "AMD64", "marginrank is not made for Windows"),
}
#: What is compiled: the Python module as it is released, the tests without optimisation.
PARTS = {
    "module": ["-DCMAKE_BUILD_TYPE=Release"],
    "tests": ["-DCMAKE_BUILD_TYPE=Debug", "-DMARGINRANK_NATIVE_TESTS=ON"],
}
#: CMake asks which compiler it has by a whole program, which this one compiles without linking.
WRAPPER = """#!/bin/sh
case " $* " in
  *" -c "* | *" -E "* | *" -v "* | *" --version "*) ;;
  *) set -- -c "$@" ;;
esac
exec "{compiler}" c++ -target {triple} "$@"
"""


def zig() -> Path:
    """Return the compiler, installed first where it is not yet there."""
    place = BUILD / "zig"
    python = place / "bin" / "python"
    find = [python, "-c", "import ziglang; print(ziglang.__path__[0])"]
    if not python.exists():
        venv.create(place, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "ziglang"], check=True)
    folder = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
    return Path(folder) / "zig"


def wrapper(compiler: Path, target: Target) -> Path:
    """Return a program that compiles for the target; linking would build its C++ library first."""
    file = BUILD / f"{target.triple}-c++"
    file.write_text(WRAPPER.format(compiler=compiler, triple=target.triple), encoding="utf-8")
    file.chmod(0o755)
    return file


def configure(folder: Path, target: Target, compiler: Path, options: list[str]) -> tuple[int, str]:
    """Run CMake as on the target; return its exit code and what it said."""
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", folder, *options]
    command += [f"-DCMAKE_SYSTEM_NAME={target.system}", f"-DCMAKE_SYSTEM_PROCESSOR={target.processor}"]
    command += [f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY"]
    command += ["-DCMAKE_OSX_SYSROOT=", f"-DPython_EXECUTABLE={sys.executable}"]
    command += [f"-DPython_INCLUDE_DIR={sysconfig.get_path('include')}"]
    environment = {name: value for name, value in os.environ.items() if name not in ("CXX", "CXXFLAGS")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def objects(folder: Path) -> list[str]:
    """Return the object files that a build has, without what is linked of them."""
    listed = subprocess.run(
        ["ninja", "-C", folder, "-t", "targets", "all"], check=True, capture_output=True, text=True
    ).stdout
    names = (line.rsplit(": ", 1)[0] for line in listed.splitlines())
    return [name for name in names if name.endswith((".o", ".obj"))]


def compile_part(name: str, part: str, compiler: Path) -> bool:
    """Compile a part for a target, say how it went, and return whether it is as it must be."""
    target = TARGETS[name]
    folder = BUILD / f"{name}-{part}"
    code, said = configure(folder, target, wrapper(compiler, target), PARTS[part])
    if target.refusal:
        refused = code != 0 and target.refusal in " ".join(said.split())
        print(f"{name}, {part}: {'refused by CMake with its sentence' if refused else said}", flush=True)
        return refused
    if code != 0:
        print(f"{name}, {part}: CMake fails\n{said}", flush=True)
        return False
    wanted = objects(folder)
    done = subprocess.run(["ninja", "-C", folder, "-k", "0", *wanted], capture_output=True, text=True)
    warnings = Counter(re.findall(r"\[-W[\w+-]+\]", done.stdout))
    shown = "".join(f", {count} {kind}" for kind, count in sorted(warnings.items()))
    print(
        f"{name}, {part}: {len(wanted)} objects{shown or ', no warnings'}"
        + ("" if done.returncode == 0 else f", FAILED\n{done.stdout}"),
        flush=True,
    )
    return done.returncode == 0 and bool(wanted)


def main() -> None:
    """Do what the arguments say; the exit code is 1 if anything is not as it must be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", choices=TARGETS, help="one system")
    parser.add_argument("--part", choices=PARTS, help="one part")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    compiler = zig()
    held = [
        compile_part(name, part, compiler)
        for name in TARGETS
        for part in PARTS
        if options.only in (None, name) and options.part in (None, part)
    ]
    sys.exit(0 if all(held) else 1)


if __name__ == "__main__":
    main()
