"""How fast RankSVM trains, in units of one pass over the data.

Prints, for each kind of work, the wall time of the whole ``fit`` (validation and conversions included), the
passes over X, the certified gap, the peak memory above the input, and the ratio to ``ref``: one scipy
``X @ w`` plus ``X.T @ v`` plus ``np.argsort(scores)``, timed in the same run.

    python benchmarks/linear.py                 # everything, a few minutes
    python benchmarks/linear.py --rows 64000    # smaller global ranking, no scaling row
    python benchmarks/linear.py --only dense
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from marginrank import RankSVM
from results import Result, add_save_option, spread

N_ROWS, N_COLUMNS = 512_000, 47_000
ALPHA = 2e-5  # TreeRSVM's lambda 1e-5

# What README shows of it.
COLUMNS = {
    "work": "{label}",
    "time": "{ref:range .1f} ref ({seconds:range .1f} s)",
    "passes over X": "{passes:g}",
    "memory above the input": "{memory:.2f} of it",
}
LABELS = {
    "hinge": "one ranking of 512,000 rows, 47,000 sparse features, real-valued labels, hinge",
    "squared-hinge": "the same, squared hinge",
    "auc": "the same rows, two levels (AUC), hinge",
    "queries": "10,000 queries of 120 rows, 136 dense float32 features, labels 0-4, hinge",
    "queries-squared": "the same, squared hinge",
    "pairs": "1,000,000 explicit pairs over 64,000 sparse rows, hinge",
}


def tf_idf(n_rows: int, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Generate text-like rows of unit length and, as utility, their product with a held-out row."""
    rng = np.random.default_rng(seed)
    share = np.cumsum(1.0 / np.arange(1, N_COLUMNS + 1))
    words = rng.poisson(94, n_rows + 1).clip(10)
    columns = np.searchsorted(share / share[-1], rng.random(words.sum())).astype(np.int32)
    rows = np.repeat(np.arange(n_rows + 1, dtype=np.int32), words)
    X = sparse.csr_matrix((np.ones(len(columns)), (rows, columns)), shape=(n_rows + 1, N_COLUMNS))
    frequency = np.bincount(X.indices, minlength=N_COLUMNS) + 1
    X.data = (1 + np.log(X.data)) * np.log((n_rows + 2) / frequency)[X.indices]
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    utility = (X[:n_rows] @ X[n_rows].T).toarray().ravel()
    return X[:n_rows], utility


def search_like(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Generate 10,000 queries of about 120 rows with 136 standardised features and labels 0 to 4."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(60, 181, 10_000)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.standard_normal((len(qid), 136), dtype=np.float32)
    X[:, :40] += rng.standard_normal((len(sizes), 40), dtype=np.float32)[qid]
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    utility = X[:, ::2] @ rng.normal(size=68).astype(np.float32) / 8 + rng.standard_normal(len(qid))
    return X, np.digitize(utility, [0.5, 1.2, 1.9, 2.6]).astype(np.float64), qid


def reference(X: Any, repeats: int = 5) -> float:
    """Time one product with X, one with its transpose and one argsort of the scores."""
    rng = np.random.default_rng(1)
    dtype = X.dtype
    w, v = rng.normal(size=X.shape[1]).astype(dtype), rng.normal(size=X.shape[0]).astype(dtype)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        scores = X @ w
        X.T @ v
        np.argsort(scores)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def input_bytes(X: Any) -> int:
    if sparse.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


def reset_peak_memory() -> int:
    """Give freed memory back, forget the peak so far, and return the memory in use (Linux only)."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return memory_bytes("VmRSS")


def memory_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def measure(name: str, X: Any, fit: Callable[[], RankSVM], repeats: int) -> dict[str, Any]:
    """Fit a few times and report the median; the first run also shows the peak memory."""
    before = reset_peak_memory()
    times, units = [], []
    for repeat in range(repeats):
        start = time.perf_counter()
        model = fit()
        times.append(time.perf_counter() - start)
        if repeat == 0:
            memory = memory_bytes("VmHWM") - before
        units.append(reference(X))  # in turns with the fits, as others may load the machine meanwhile
    seconds, unit = float(np.median(times)), float(np.median(units))
    return {
        "work": name,
        "seconds": seconds,
        "ref": seconds / unit,
        "spread": {
            "ref": spread([one / of for one, of in zip(times, units, strict=True)]),
            "seconds": spread(times),
        },
        "unit_ms": 1e3 * unit,
        "passes": model.history_[-1].passes,
        "gap": model.gap_,
        "memory": memory / input_bytes(X),
        "rows": X.shape[0],
    }


def global_ranking(n_rows: int, loss: str, repeats: int, binary: bool = False) -> dict[str, Any]:
    X, y = tf_idf(n_rows)
    if binary:
        y = (y > np.quantile(y, 0.9)).astype(np.float64)
    name = f"{n_rows:,} rows, {'AUC labels' if binary else 'real labels'}, {loss}"
    return measure(name, X, lambda: RankSVM(loss, alpha=ALPHA).fit(X, y), repeats)


def dense_queries(loss: str, repeats: int, offset: float = 0.0) -> dict[str, Any]:
    """Train on dense rows; a column with a large offset has all passes subtract a shift."""
    X, y, qid = search_like()
    X[:, 5] += np.float32(offset)
    name = f"10,000 queries x 120, 136 dense float32, {loss}" + (", an offset" if offset else "")
    return measure(name, X, lambda: RankSVM(loss, alpha=1e-4).fit(X, y, qid=qid), repeats)


def explicit_pairs(loss: str, repeats: int) -> dict[str, Any]:
    X, y = tf_idf(64_000)
    rng = np.random.default_rng(2)
    pairs = rng.integers(len(y), size=(1_100_000, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]][:1_000_000]
    wrong = y[pairs[:, 0]] < y[pairs[:, 1]]
    pairs[wrong] = pairs[wrong, ::-1]
    name = f"{len(pairs):,} pairs over 64,000 rows, {loss}"
    return measure(name, X, lambda: RankSVM(loss, alpha=ALPHA).fit_pairs(X, pairs), repeats)


def show(row: dict[str, Any], goal: str) -> None:
    print(
        f"{row['work']:52s} {row['seconds']:7.2f} s {row['ref']:6.1f} ref  (goal {goal:>4s})"
        f" {row['passes']:5.1f} passes  gap {row['gap']:.1e}  memory {row['memory']:.2f} x input"
        f"  ref = {row['unit_ms']:.1f} ms",
        flush=True,
    )


def apart(job: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run in a process of its own, so that peak memory belongs to this work alone."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=N_ROWS, help="rows of the global ranking")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=["global", "dense", "pairs"])
    add_save_option(parser)
    options = parser.parse_args()
    result = Result("linear", COLUMNS)

    def keep(key: str, goal: str, *job: Any) -> dict[str, Any]:
        row = apart(*job)
        show(row, goal)
        if key in LABELS:
            result.add(key, label=LABELS[key], passes=row["passes"], memory=row["memory"], **row["spread"])
        return row

    if options.only in (None, "global"):
        large = keep("hinge", "10", global_ranking, options.rows, "hinge", options.repeats)
        keep("squared-hinge", "18", global_ranking, options.rows, "squared_hinge", options.repeats)
        keep("auc", "8", global_ranking, options.rows, "hinge", options.repeats, True)
        small = keep("small", "-", global_ranking, 64_000, "hinge", 2 * options.repeats + 1)
        growth = (large["seconds"] / large["rows"]) / (small["seconds"] / small["rows"])
        print(f"time per row, {large['rows']:,} against {small['rows']:,} rows: {growth:.2f} (goal 1.3)")
    if options.only in (None, "dense"):
        for key, loss in (("queries", "hinge"), ("queries-squared", "squared_hinge")):
            keep(key, "12", dense_queries, loss, options.repeats)
        keep("offset", "-", dense_queries, "hinge", options.repeats, 2.0**18)
    if options.only in (None, "pairs"):
        for key, loss in (("pairs", "hinge"), ("pairs-squared", "squared_hinge")):
            keep(key, "20", explicit_pairs, loss, 2 * options.repeats + 1)
    if options.save:
        if options.only or options.rows != N_ROWS:
            parser.error("--save keeps the whole table: leave --only and --rows out.")
        result.save()


if __name__ == "__main__":
    main()
