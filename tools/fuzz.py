"""Fuzz the C++ kernels and the readers of files; ``make fuzz`` does it for a minute each.

Kernels (``native/fuzz``) are fuzzed by libFuzzer under AddressSanitizer and UndefinedBehaviorSanitizer
where there is a Clang that has it; elsewhere by changes from a seed, without coverage. What is worth keeping
goes into the corpus (``native/fuzz/corpus``), which ``make native-test`` runs. Readers of files
(``tests/fuzz``) are fuzzed in Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "fuzz"
CORPUS = ROOT / "native" / "fuzz" / "corpus"
# Longer inputs say the same at more length.
_MAX_BYTES = 1024


def kernels() -> list[str]:
    """Return the names of the targets in C++."""
    return sorted(path.stem for path in (ROOT / "native" / "fuzz").glob("fuzz_*.cpp"))


def clang_with_fuzzer() -> str | None:
    """Return a Clang that links libFuzzer, if there is one."""
    found = shutil.which(os.environ.get("CLANGXX", "clang++"))
    if found is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text(
            'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n'
        )
        command = [found, "-fsanitize=fuzzer,address", str(source), "-o", str(Path(folder) / "empty")]
        done = subprocess.run(command, capture_output=True)
    return found if done.returncode == 0 else None


def build(clang: str | None, names: list[str]) -> Path:
    """Compile targets, with libFuzzer or alone, and return the folder with the programs."""
    folder = BUILD / ("libfuzzer" if clang else "standalone")
    settings = ["-DMARGINRANK_FUZZ=ON", f"-DCMAKE_CXX_COMPILER={clang}"]
    if clang is None:
        settings = ["-DMARGINRANK_NATIVE_TESTS=ON", "-DSANITIZE=address,undefined"]
    configure = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder), *settings]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "--target", *names], check=True)
    return folder


def fuzz_with_coverage(program: Path, seconds: int, *, keep: bool) -> bool:
    """Run libFuzzer from the corpus on, and add what it found to the corpus on request."""
    name = program.name
    known, found = BUILD / "known" / name, BUILD / "found" / name
    for folder in (known, found):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    for number, line in enumerate((CORPUS / f"{name}.hex").read_text().split()):
        (known / f"{number:06d}").write_bytes(bytes.fromhex(line))
    limits = [f"-max_total_time={seconds}", f"-max_len={_MAX_BYTES}", "-timeout=60", "-rss_limit_mb=2048"]
    command = [
        str(program),
        *limits,
        f"-artifact_prefix={BUILD}/{name}-",
        "-print_final_stats=1",
        str(found),
        str(known),
    ]
    log = BUILD / f"{name}.log"
    with log.open("w") as file:
        done = subprocess.run(command, stdout=file, stderr=subprocess.STDOUT)
    text = log.read_text(errors="replace")
    runs = next((line.split()[-1] for line in text.splitlines() if "number_of_executed_units" in line), "?")
    print(f"{name:24} {runs:>12} inputs, {len(list(found.iterdir()))} worth keeping", flush=True)
    if done.returncode:
        print("\n".join(text.splitlines()[-40:]), flush=True)
    elif keep:
        _merge(program, known, found)
    return done.returncode == 0


def _merge(program: Path, *folders: Path) -> None:
    """Write the corpus anew: the smallest inputs that reach all that was reached."""
    with tempfile.TemporaryDirectory() as merged:
        command = [str(program), "-merge=1", merged, *map(str, folders)]
        subprocess.run(command, check=True, capture_output=True)
        lines = sorted(path.read_bytes().hex() for path in Path(merged).iterdir())
    (CORPUS / f"{program.name}.hex").write_text("\n".join(lines) + "\n")


def fuzz_alone(program: Path, seconds: int, seed: int) -> bool:
    """Run a target without libFuzzer: about as many inputs as fit into the time."""
    runs = 200 * seconds
    command = [str(program), f"-runs={runs}", f"-seed={seed}", str(CORPUS / f"{program.name}.hex")]
    done = subprocess.run(command, capture_output=True, text=True)
    print(f"{program.name:24} {done.stdout.strip() or 'failed'}", flush=True)
    if done.returncode:
        print(done.stderr[-4000:], flush=True)
    return done.returncode == 0


def fuzz_readers(seconds: int, seed: int, names: list[str]) -> bool:
    """Fuzz the readers of files."""
    script = ROOT / "tests" / "fuzz" / "fuzz_run.py"
    command = [sys.executable, str(script), f"--seconds={seconds}", f"--seed={seed}", *names]
    return subprocess.run(command).returncode == 0


def main() -> int:
    """Fuzz what is asked for; return 1 if anything broke."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1, help="of what runs without libFuzzer")
    parser.add_argument("--keep", action="store_true", help="add what libFuzzer finds to the corpus")
    parser.add_argument("--only", metavar="TEXT", default="", help="only kernels with it in their name")
    parser.add_argument("--kernels", action="store_true", help="no readers of files")
    options = parser.parse_args()
    names = [name for name in kernels() if options.only in name]
    clang = clang_with_fuzzer()
    print(f"libFuzzer: {clang or 'no Clang that has it; changes from a seed instead'}", flush=True)
    programs = build(clang, names) if names else BUILD
    good = True
    for name in names:
        if clang is None:
            good = fuzz_alone(programs / name, options.seconds, options.seed) and good
        else:
            good = fuzz_with_coverage(programs / name, options.seconds, keep=options.keep) and good
    if not options.kernels:
        good = fuzz_readers(options.seconds, options.seed, []) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
