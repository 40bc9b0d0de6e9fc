"""How near fits come to what reading X costs at least, and where the rest of the time goes.

First the bandwidth: the rate at which one and two threads read an array that no cache holds. Then, for each
fit, the bytes that its passes must read (X once for a fused pass, once for each product of a split one), the
time that this takes at that bandwidth as a share of the fit's CPU time, and the CPU time of the parts:

    passes    products with X, and the loss where a pass is fused with it
    loss      the loss at scores that exist
    planes    cutting planes, their quadratic programme and the bound
    curvature the estimate of the Hessian, before the first step
    rest      validation, quasi-Newton, copies

    python benchmarks/roofline.py                       # a minute
    python benchmarks/roofline.py --rows 512000 --json roofline.json
    python benchmarks/roofline.py --only dense --threads 2
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from linear import input_bytes, search_like, tf_idf
from marginrank import RankSVM, __version__
from marginrank.designs.matrix import MatrixDesign
from marginrank.losses.native import NativeLoss
from marginrank.solvers.objective import Objective
from marginrank.solvers.planes import CuttingPlanes

PARTS = {
    "passes": [(MatrixDesign, "evaluate"), (MatrixDesign, "scores"), (MatrixDesign, "adjoint")],
    "loss": [(NativeLoss, "at")],
    "planes": [(CuttingPlanes, "add"), (CuttingPlanes, "bound")],
    "curvature": [(Objective, "curvature")],
}


def bandwidth(n_threads: int, megabytes: int = 512, repeats: int = 5) -> float:
    """Return the bytes a second that so many threads read together; the best of a few tries.

    By the clock on the wall, because waiting for memory is what is measured: other work makes it too low.
    """
    parts = np.array_split(np.ones(megabytes << 17), n_threads)
    best = 0.0
    for _ in range(repeats):
        threads = [threading.Thread(target=part.max) for part in parts]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        best = max(best, (megabytes << 20) / (time.perf_counter() - start))
    return best


class Clock:
    """CPU time by part of a fit. A part within another one counts for itself only."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._open: list[float] = []

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same and counts for a part."""

        def measured(*arguments: Any, **options: Any) -> Any:
            start = time.process_time()
            self._open.append(0.0)
            try:
                return function(*arguments, **options)
            finally:
                spent, within = time.process_time() - start, self._open.pop()
                self.seconds[part] += spent - within
                if self._open:
                    self._open[-1] += spent

        return measured


@contextmanager
def clocked() -> Iterator[Clock]:
    """Measure the parts of every fit within."""
    clock, kept = Clock(), []
    for part, places in PARTS.items():
        for kind, name in places:
            kept.append((kind, name, name in vars(kind), getattr(kind, name)))
            setattr(kind, name, clock.timed(part, getattr(kind, name)))
    try:
        yield clock
    finally:
        for kind, name, own, function in kept:
            if own:
                setattr(kind, name, function)
            else:
                delattr(kind, name)


def measure(name: str, X: Any, fit: Callable[[], RankSVM], fused: bool, rate: float) -> dict[str, Any]:
    """Fit twice, take the faster run, and say what its time went into."""
    best: dict[str, Any] = {}
    for _ in range(2):
        with clocked() as clock:
            start, wall = time.process_time(), time.perf_counter()
            model = fit()
            seconds, wall = time.process_time() - start, time.perf_counter() - wall
        if best and seconds >= best["cpu_seconds"]:
            continue
        passes = float(model.history_[-1].passes)
        needed = passes * input_bytes(X) * (1 if fused else 2)
        parts = dict(clock.seconds)
        parts["rest"] = seconds - sum(parts.values())
        best = {
            "work": name,
            "cpu_seconds": seconds,
            "seconds": wall,
            "passes": passes,
            "megabytes": needed / 2**20,
            "share": needed / rate / seconds,
            "parts": parts,
        }
    return best


def works(options: argparse.Namespace, rate: float) -> Iterator[dict[str, Any]]:
    plain = {"scale": None, "n_jobs": options.threads}
    if options.only in (None, "text"):
        X, y = tf_idf(options.rows)
        for loss in ("hinge", "squared_hinge"):
            ranker = RankSVM(loss, alpha=2e-5, **plain)
            yield measure(f"text {options.rows:,} rows, {loss}", X, lambda r=ranker: r.fit(X, y), False, rate)
    if options.only in (None, "dense"):
        X, y, qid = search_like()
        rows = int(np.searchsorted(qid, options.queries))
        X, y, qid = X[:rows].copy(), y[:rows], qid[:rows]
        for loss in ("hinge", "squared_hinge"):
            ranker = RankSVM(loss, alpha=1e-4, **plain)
            name = f"dense {options.queries:,} queries, {loss}"
            yield measure(name, X, lambda r=ranker: r.fit(X, y, qid=qid), True, rate)


def show(row: dict[str, Any]) -> None:
    parts = "  ".join(f"{name} {seconds / row['cpu_seconds']:4.0%}" for name, seconds in row["parts"].items())
    print(
        f"{row['work']:34s} {row['cpu_seconds']:6.2f} s CPU {row['seconds']:6.2f} s"
        f"  {row['passes']:5.1f} passes"
        f"  {row['megabytes']:8.0f} MB  {row['share']:4.0%} of the roofline   {parts}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=64_000, help="rows of text, one ranking")
    parser.add_argument("--queries", type=int, default=2_000, help="dense queries of about 120 rows")
    parser.add_argument("--threads", type=int, default=1, help="threads of the fits")
    parser.add_argument("--only", choices=["text", "dense"])
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    rates = {n: bandwidth(n) for n in (1, 2)}
    for n, rate in rates.items():
        print(f"{n} thread{'s' if n > 1 else ' '} read {rate / 2**30:5.1f} GB/s")
    print(f"the second thread adds {rates[2] / rates[1]:.2f} times")
    # Shares are of CPU time, so each thread is held against what one thread reads.
    rows = []
    for row in works(options, rates[1]):
        show(row)
        rows.append(row)
    if options.json is not None:
        machine = {
            "machine": platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        }
        found = {"marginrank": __version__, **machine, "threads": options.threads, "fits": rows}
        found["bytes_a_second"] = {str(n): rate for n, rate in rates.items()}
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
