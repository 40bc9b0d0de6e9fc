"""Fit and score again and again, and print what grew: ``python flat.py --fits 1000 --predictions 10000``.

After a tenth of the work everything is warm: caches are full, the allocator has what it needs. What comes on
top from there to the end is printed. With ``--leak`` so many bytes and a descriptor are kept at each fit.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
from itertools import cycle

import numpy as np
from workloads import WORK, predicted

KEPT: list[object] = []
FITS = [work for name, work in WORK.items() if name not in ("predicted", "judged")]


def state() -> dict[str, int]:
    """Return what must not grow."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what is free but kept is no growth
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    descriptors, threads = (len(os.listdir(f"/proc/self/{what}")) for what in ("fd", "task"))
    return {
        "pages": pages,
        "descriptors": descriptors,
        "threads": threads,
        "objects": len(gc.get_objects()),
    }


def work(fits: int, predictions: int, leak: int = 0) -> None:
    """Train rankers of each kind in turn, and score and judge in between."""
    kinds = cycle(FITS)
    for number in range(fits):
        if leak:
            KEPT.append([np.ones(leak, dtype=np.int8), open(os.devnull)])  # noqa: SIM115
        next(kinds)()
        for _ in range(predictions * number // fits, predictions * (number + 1) // fits):
            predicted()
        WORK["judged"]()


def main() -> None:
    """Print the growth after the warm-up, as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fits", type=int, default=1000)
    parser.add_argument("--predictions", type=int, default=10_000)
    parser.add_argument("--leak", type=int, default=0)
    options = parser.parse_args()
    work(max(2 * len(FITS), options.fits // 10), options.predictions // 10)
    before = state()
    work(options.fits, options.predictions, options.leak)
    after = state()
    print(json.dumps({what: after[what] - before[what] for what in before} | {"at first": before}))


if __name__ == "__main__":
    main()
