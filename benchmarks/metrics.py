"""How fast ten metrics are, in units of one ``np.argsort`` of all scores.

Usage::

    python benchmarks/metrics.py                       # 10,000 queries of 120 rows
    python benchmarks/metrics.py --queries 1 --rows 1000000
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from marginrank.metrics import evaluate

TEN = (
    "ndcg@5",
    "ndcg@10",
    "mean_ndcg",
    "map",
    "mrr@10",
    "precision@5",
    "recall@20",
    "err@10",
    "auc",
    "pairwise_error",
)


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    work()  # the first run fills caches
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=120, help="rows per query")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    n_rows = options.queries * options.rows
    qid = np.repeat(np.arange(options.queries), options.rows)
    y = rng.choice(5, n_rows, p=[0.5, 0.3, 0.13, 0.05, 0.02]).astype(np.float64)
    scores = y + rng.standard_normal(n_rows)
    unit = median_seconds(lambda: np.argsort(scores), options.repeats)
    print(f"{options.queries:,} queries x {options.rows:,} rows; np.argsort(scores) {1e3 * unit:.0f} ms")
    coarse = scores.round(1)
    for name, values, flavor in (
        ("ten metrics", scores, "standard"),
        ("ten metrics, many ties", coarse, "standard"),
        ("ten metrics, ties averaged", coarse, "sklearn"),
    ):
        for n_jobs in (1, None):
            seconds = median_seconds(
                lambda v=values, f=flavor, n=n_jobs: evaluate(y, v, qid=qid, metrics=TEN, flavor=f, n_jobs=n),
                options.repeats,
            )
            threads = "all threads" if n_jobs is None else "one thread"
            print(f"{name:<28}{threads:<12}{1e3 * seconds:7.0f} ms  {seconds / unit:6.2f} argsort")


if __name__ == "__main__":
    main()
