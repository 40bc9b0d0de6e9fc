"""The same work in two installations, alternately: what a change made slower or faster.

Each installation is an interpreter that has its own marginrank; it works in a process of its own, on one
thread, and reports the CPU time of each whole ``fit``. They take turns, so both meet the same machine; the
least of all repeats counts, because other work on the machine only adds to it.

    python benchmarks/side_by_side.py ../before/.venv/bin/python .venv/bin/python
    python benchmarks/side_by_side.py A B --only dense --repeats 9
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

Fit = Callable[[], Any]


def _text(n_rows: int) -> tuple[Any, np.ndarray]:
    from linear import tf_idf

    return tf_idf(n_rows)


def _letor(n_queries: int, dtype: type = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(n_queries), rng.integers(60, 181, n_queries))
    X = rng.standard_normal((len(qid), 136)).astype(dtype)
    utility = X[:, ::2] @ rng.normal(size=68) / 8 + rng.standard_normal(len(qid))
    return X, np.digitize(utility, [0.5, 1.2, 1.9, 2.6]).astype(np.float64), qid


def _pairs(y: np.ndarray, count: int) -> np.ndarray:
    pairs = np.random.default_rng(2).integers(len(y), size=(count, 2))
    pairs = pairs[y[pairs[:, 0]] != y[pairs[:, 1]]]
    return np.where((y[pairs[:, 0]] < y[pairs[:, 1]])[:, None], pairs[:, ::-1], pairs)


def _on_disk(X: Any, y: np.ndarray, qid: np.ndarray) -> Any:
    from marginrank import open_dataset, write_dataset

    folder = Path(mkdtemp(prefix="side-by-side-")) / "rows.mrd"
    write_dataset(folder, X, y, qid=qid, chunk_rows=20_000)
    return open_dataset(folder)


def works() -> dict[str, Callable[[], Fit]]:
    """Return what is timed: each makes its data, then returns one fit."""
    from scipy import sparse

    from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM

    plain = {"n_jobs": 1, "scale": None}

    def text(loss: str, n_rows: int = 64_000, alpha: float = 2e-5) -> Fit:
        X, y = _text(n_rows)
        return lambda: RankSVM(loss, alpha=alpha, **plain).fit(X, y)

    def dense(loss: str, n_queries: int = 1000) -> Fit:
        X, y, qid = _letor(n_queries)
        return lambda: RankSVM(loss, alpha=1e-4, **plain).fit(X, y, qid=qid)

    def pairs(ranker: Any) -> Fit:
        X, y = _text(64_000)
        chosen = _pairs(y, 400_000)
        return lambda: ranker.fit_pairs(X, chosen)

    def tiny(loss: str) -> Fit:
        X, y, qid = _letor(1, np.float64)
        return lambda: RankSVM(loss, alpha=1e-4, **plain).fit(X[:100], y[:100], qid=qid[:100])

    def many_queries() -> Fit:
        rng = np.random.default_rng(0)
        qid = np.arange(300_000) // 3
        X, y = rng.normal(size=(len(qid), 5)), rng.integers(0, 3, len(qid))
        return lambda: RankSVM(**plain).fit(X, y, qid=qid)

    def cheap_sparse() -> Fit:
        rng = np.random.default_rng(0)
        columns = rng.integers(200_000, size=(20_000, 20)).ravel()
        X = sparse.csr_matrix(
            (np.ones(len(columns)), columns, np.arange(0, len(columns) + 1, 20)), (20_000, 200_000)
        )
        X.sum_duplicates()
        y = rng.integers(0, 3, X.shape[0])
        qid = np.arange(X.shape[0]) // 20
        return lambda: RankSVM(alpha=1.0, **plain).fit(X, y, qid=qid)

    def cheap_dense(scale: str | None) -> Fit:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(100_000, 40)), rng.integers(0, 3, 100_000)
        qid = np.arange(len(y)) // 20
        return lambda: RankSVM("squared_hinge", alpha=1.0, n_jobs=1, scale=scale).fit(X, y, qid=qid)

    def structured(target: str) -> Fit:
        X, y, qid = _letor(100)
        y = (y >= 2).astype(float)
        return lambda: StructuredRankSVM(target, alpha=1e-2, **plain).fit(X, y, qid=qid)

    def rls(X: Any, y: np.ndarray, *, qid: Any = None, **named: Any) -> Fit:
        return lambda: RankRLS(**{**plain, "alpha": 1e-4, **named}).fit(X, y, qid=qid)

    def folds(ranker: Any) -> Fit:
        X, y, qid = _letor(50)
        return lambda: ranker.fit(X, y, qid=qid)

    def disk(loss: str) -> Fit:
        data = _on_disk(*_letor(1000))
        return lambda: RankSVM(loss, alpha=1e-4, **plain).fit(data)

    def kernel() -> Fit:
        X, y, qid = _letor(50)
        ranker = KernelRankSVM(
            gamma=1e-3, n_components=200, alpha=1e-4, random_state=0, **plain, **_without_linear_block()
        )
        return lambda: ranker.fit(X, y, qid=qid)

    def _without_linear_block() -> dict[str, bool]:
        return {"linear_block": False} if "linear_block" in KernelRankSVM().get_params() else {}

    return {
        "text 64,000, hinge": lambda: text("hinge"),
        "text 64,000, squared hinge": lambda: text("squared_hinge"),
        "text 400, squared hinge": lambda: text("squared_hinge", 400),
        "dense 1,000 queries, hinge": lambda: dense("hinge"),
        "dense 1,000 queries, squared hinge": lambda: dense("squared_hinge"),
        "dense 100 x 136, hinge": lambda: tiny("hinge"),
        "dense 100 x 136, squared hinge": lambda: tiny("squared_hinge"),
        "100,000 queries of 3 rows, hinge": many_queries,
        "pairs, hinge": lambda: pairs(RankSVM(alpha=2e-5, **plain)),
        "pairs, squared hinge": lambda: pairs(RankSVM("squared_hinge", alpha=2e-5, **plain)),
        "pairs, least squares": lambda: pairs(RankRLS(alpha=1e-4, **plain)),
        "cheap sparse 20,000 x 200,000": cheap_sparse,
        "cheap dense 100,000 x 40": lambda: cheap_dense(None),
        "cheap dense 100,000 x 40, standardised": lambda: cheap_dense("standard"),
        "structured ndcg@10": lambda: structured("ndcg@10"),
        "structured map": lambda: structured("map"),
        "rls text 64,000, conjugate gradients": lambda: rls(*_text(64_000), solver="cg"),
        "rls dense, direct": lambda: rls(
            *(found := _letor(300, np.float64))[:2], qid=found[2], alpha="auto", solver="direct"
        ),
        "auto by folds, squared hinge": lambda: folds(
            RankSVM("squared_hinge", alpha="auto", alphas=np.logspace(0, -4, 9), **plain)
        ),
        "disk 1,000 queries, hinge": lambda: disk("hinge"),
        "kernel, 200 landmarks": kernel,
    }


def serve() -> None:
    """Answer requests: the name of a work, and back the CPU seconds of one fit."""
    known, ready = works(), dict[str, Fit]()
    for line in sys.stdin:
        name = line.strip()
        if name not in ready:
            ready.clear()
            ready[name] = known[name]()
            ready[name]()  # compiles, imports, warms caches
        start = time.process_time()
        ready[name]()
        print(json.dumps(time.process_time() - start), flush=True)


def one_thread() -> dict[str, str]:
    """Return an environment in which no library uses more than one thread."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, **threads, "PYTHONWARNINGS": "ignore"}


def _start(python: str) -> subprocess.Popen[str]:
    command = [python, str(Path(__file__).resolve()), "--serve"]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=one_thread()
    )


def _ask(process: subprocess.Popen[str], name: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(name + "\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise SystemExit(f"{name}: one of the processes ended; see above.")
    return float(json.loads(answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", nargs="?", help="interpreter of one installation")
    parser.add_argument("after", nargs="?", help="interpreter of the other")
    parser.add_argument("--only", help="only works with this text in their name")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    if options.before is None or options.after is None:
        parser.error("two interpreters are needed")
    processes = [_start(options.before), _start(options.after)]
    print(f"{'CPU ms, least of ' + str(options.repeats):42} {'before':>9} {'after':>9}  ratio")
    for name in works():
        if options.only is not None and options.only not in name:
            continue
        times = [[_ask(process, name) for process in processes] for _ in range(options.repeats)]
        before, after = np.min(times, axis=0)
        print(f"{name:42} {1e3 * before:9.1f} {1e3 * after:9.1f}  {after / before:5.2f}", flush=True)
    for process in processes:
        process.kill()


if __name__ == "__main__":
    main()
