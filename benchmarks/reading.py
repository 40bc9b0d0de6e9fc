"""How fast LETOR text is read, beside scikit-learn.

Writes a file of about the given size into a temporary folder (rows of 136 features with six decimals, as
MSLR-WEB has them), reads it with ``load_letor`` and with ``sklearn.datasets.load_svmlight_file``, checks
that both give the same numbers, and prints seconds and their ratio.

    python benchmarks/reading.py                # 100 MB, two threads
    python benchmarks/reading.py --megabytes 20 --jobs 1
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from marginrank import load_letor

N_FEATURES = 136
ROWS_A_QUERY = 120


def write_file(path: Path, megabytes: float, seed: int = 0) -> None:
    """Write rows with a label, a query id, features and a comment until the file is large enough."""
    rng = np.random.default_rng(seed)
    row_format = " ".join(f"{k}:%.6f" for k in range(1, N_FEATURES + 1))
    with path.open("w") as file:
        query = 0
        while file.tell() < megabytes * 1e6:
            query += 1
            values = rng.gamma(0.5, 2.0, (ROWS_A_QUERY, N_FEATURES))
            labels = rng.integers(0, 5, ROWS_A_QUERY)
            for k, (label, row) in enumerate(zip(labels, values.tolist(), strict=True)):
                file.write(f"{label} qid:{query} {row_format % tuple(row)} #docid = D{query}-{k}\n")


def best_time(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the shortest of some wall times, and the result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.txt"
        write_file(path, options.megabytes)
        size = path.stat().st_size / 1e6
        ours, data = best_time(lambda: load_letor(path, n_jobs=options.jobs), options.repeats)
        theirs, (X, y, qid) = best_time(lambda: load_svmlight_file(str(path), query_id=True), 1)
    assert np.array_equal(data.X, X.toarray())
    assert np.array_equal(data.y, y)
    assert np.array_equal(data.qid, qid)
    print(f"{size:.0f} MB, {data.n_rows} rows of {data.n_features} features, {options.jobs} threads")
    print(f"  load_letor          {ours:7.3f} s  {size / ours:7.1f} MB/s  (best of {options.repeats})")
    print(f"  load_svmlight_file  {theirs:7.3f} s  {size / theirs:7.1f} MB/s")
    print(f"  ratio               {theirs / ours:7.1f}")


if __name__ == "__main__":
    main()
