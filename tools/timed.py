"""Run a command, print how long it took, and keep that in ``build/times.txt`` for the summary of ``.ci/run``.

    python tools/timed.py --part certificates pytest tests/certificates

The time is that of the wall; beside it is the processor time of the command and of its children.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

KEPT = Path(__file__).resolve().parents[1] / "build" / "times.txt"


def run(part: str, command: list[str]) -> int:
    """Run a command and return its exit code."""
    start, before = time.perf_counter(), os.times()
    code = subprocess.run(command, check=False).returncode
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    line = f"{part:<28}{time.perf_counter() - start:>8.1f} s{used:>10.1f} s of processors"
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    with KEPT.open("a", encoding="utf-8") as file:
        file.write(f"{line}{'' if code == 0 else '  FAILED'}\n")
    print(line, flush=True)
    return code


def main() -> None:
    """Do what the arguments say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", required=True, help="the name of what is timed")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sys.exit(run(options.part, options.command))


if __name__ == "__main__":
    main()
