"""Fuzz the readers of files: ``python tests/fuzz/fuzz_run.py [--seconds 60] [--seed 0] [TARGET ...]``.

An input that ends in a way not seen before (accepted, or refused with another sentence) is changed further.
What ends in anything else is printed as the corpus keeps it (``tests/fuzz/corpus``), and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz_targets import TARGETS, outcome

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Result:
    """Inputs tried, those of them accepted, ways in which they ended, and one that broke the library."""

    n_inputs: int
    n_accepted: int
    n_ends: int
    fault: bytes | None


def known_inputs(name: str) -> list[bytes]:
    """Return the inputs of a target that were faults once."""
    path = CORPUS / f"{name}.hex"
    return [bytes.fromhex(line) for line in path.read_text().split()] if path.exists() else []


def fuzz(name: str, *, seconds: float = 0.0, n_inputs: int = 0, seed: int = 0) -> Result:
    """Run a target on its seeds, on what was kept, and on changes of these: for so long, or so many."""
    target, random = TARGETS[name], Random(seed)
    pool = [*target.seeds(), *known_inputs(name)]
    waiting, ends, count, accepted = list(pool), set[str](), 0, 0
    stop = time.monotonic() + seconds
    while waiting or count < n_inputs or time.monotonic() < stop:
        data = waiting.pop() if waiting else target.change(random.choice(pool), pool, random)
        count += 1
        try:
            end = outcome(target, data)
        except Exception:
            traceback.print_exc()
            return Result(count, accepted, len(ends), data)
        accepted += end == "accepted"
        if end not in ends and len(data) < 20_000:
            ends.add(end)
            pool.append(data)
    return Result(count, accepted, len(ends), None)


def main() -> int:
    """Fuzz the targets that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="by default another one each time")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    options = parser.parse_args()
    if unknown := sorted(set(options.targets) - set(TARGETS)):
        parser.error(f"unknown target {unknown[0]}; there are {', '.join(TARGETS)}")
    failed = False
    for name in options.targets or TARGETS:
        found = fuzz(name, seconds=options.seconds, seed=options.seed)
        print(
            f"{name:12} {found.n_inputs:9,} inputs, {found.n_accepted:,} accepted, {found.n_ends} ways to end"
            f" (seed {options.seed})",
            flush=True,
        )
        if found.fault is not None:
            failed = True
            print(
                f"FAULT of {name}: add this line to {CORPUS.name}/{name}.hex\n{found.fault.hex()}", flush=True
            )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
