"""How fast the exact kernel path is, in units of one single-threaded ``K @ v`` of its kernel matrix.

Usage, with MARGINRANK_DATA naming the folder that holds ``path/*.svm``::

    python benchmarks/path.py                          # four sets, all pairs, down to 1e-5
    python benchmarks/path.py --sets mixture pima --kernels rbf
    python benchmarks/path.py --max-events 30000       # only the first part of each path

Processor time, not wall time, so that other work on the machine does not matter much. An event that costs
less than one product is only possible because most rows have no active pair for most of the path.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.metrics.pairwise import pairwise_kernels
from threadpoolctl import threadpool_limits

from marginrank.paths import KernelRankPath, PathProgress, kernel_rank_path
from results import Result, add_save_option, spread

SETS = ("mixture", "auto-mpg", "wdbc", "pima")


def load(name: str) -> tuple[Any, Any]:
    """Return a set of the paper with standardised columns."""
    folder = os.environ.get("MARGINRANK_DATA")
    if not folder:
        raise SystemExit("Set MARGINRANK_DATA to the folder that holds path/*.svm.")
    X, y = load_svmlight_file(str(Path(folder) / "path" / f"{name}.svm"))
    X = X.toarray()
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def product_seconds(K: Any, repeats: int = 25, batch: int = 20) -> float:
    """Return the median time of one product, on one thread."""
    v = np.random.default_rng(0).normal(size=len(K))
    times = []
    with threadpool_limits(1):
        for _ in range(repeats):
            start = time.process_time()
            for _ in range(batch):
                K @ v
            times.append((time.process_time() - start) / batch)
    return float(np.median(times))


def timed_path(X: Any, y: Any, **options: Any) -> tuple[KernelRankPath, float]:
    """Return the path and the seconds per event, after the first 1,000, without matrix and final check."""
    clock: list[tuple[int, float]] = []

    def read_clock(progress: PathProgress) -> None:
        clock.append((progress.n_events, time.process_time()))

    path = kernel_rank_path(X, y, callbacks=read_clock, **options)
    (first, start), (last, end) = clock[0], clock[-1]
    return path, (end - start) / max(last - first, 1)


def select_share(X: Any, y: Any, path: KernelRankPath, seconds: float) -> float:
    """Return what choosing alpha on as many rows takes, in per cent of the path."""
    start = time.process_time()
    path.select(X, y)
    return 100 * (time.process_time() - start) / seconds


def save(found: list[dict[str, Any]]) -> None:
    """Write what the pages show of the table."""
    result = Result("path-notes", {}, "CPU time; select: per cent of the path; event: products K @ v.")
    rbf = [one for one in found if one["kernel"] == "rbf"]
    shares = {graph: [one["select"] for one in rbf if one["graph"] == graph] for graph in ("all", "sampled")}
    result.add("select", all=spread(shares["all"]), sampled=spread(shares["sampled"]))
    result.add("event", products=spread([one["ratio"] for one in found if one["graph"] == "all"]))
    pima = {one["graph"]: one for one in rbf if one["set"] == "pima"}
    times = {"seconds": pima["all"]["seconds"], "sampled_seconds": pima["sampled"]["seconds"]}
    result.add("pima", events=pima["all"]["events"], **times)
    result.save()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--kernels", nargs="+", default=("rbf", "linear"))
    parser.add_argument("--graphs", nargs="+", default=("all", "sampled"))
    parser.add_argument("--max-events", type=int)
    add_save_option(parser)
    options = parser.parse_args()
    found = []
    print(
        "set       kernel  graph      pairs   events ev/pair  active      gap  seconds us/event    K@v  ratio"
    )
    for name in options.sets:
        X, y = load(name)
        for kernel in options.kernels:
            product = product_seconds(pairwise_kernels(X, metric=kernel))
            for graph in options.graphs:
                path, each = timed_path(X, y, kernel=kernel, graph=graph, max_events=options.max_events)
                seconds = each * path.n_events_
                share = select_share(X, y, path, seconds)
                figures = {"ratio": each / product, "seconds": seconds, "select": share}
                found.append(
                    {"set": name, "kernel": kernel, "graph": graph, "events": path.n_events_, **figures}
                )
                print(
                    f"{name:<10}{kernel:<8}{graph:<9}{path.n_pairs_:7d}{path.n_events_:9d}"
                    f"{path.n_events_ / path.n_pairs_:8.2f}{path.active_size.max():8d}{path.gap_:9.1e}"
                    f"{seconds:9.2f}{1e6 * each:9.1f}{1e6 * product:7.1f}{each / product:7.2f}",
                    flush=True,
                )
    if options.save:
        save(found)


if __name__ == "__main__":
    main()
