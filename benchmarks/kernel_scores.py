"""How far scores of float32 kernel maps are off, and what it costs to compute them in float64.

    MARGINRANK_DATA=.../data python benchmarks/kernel_scores.py [--save]

KernelRankSVM trains on features of float32 and scores in float64. Here the scores of the training rows are
computed both ways, in turns: the largest change of a difference of two scores of a query, as a part of the
scores' deviation within queries, and the processor time of float64 over that of float32, the least of each.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from marginrank import KernelRankSVM, RankingData, load_letor
from marginrank.export.checking import compare_scores
from marginrank.model.mapping import mapped_scores
from marginrank.training.mapped_columns import scaled_map
from results import Result, add_save_option

SETS = {"OHSUMED": "OHSUMED/S1.txt.gz", "MQ2008": "MQ2008/S1.txt"}
MAPS = ("rbf", "laplacian", "polynomial", "cosine", "Fourier")
COLUMNS = {
    "data": "{data}",
    "map": "{map}, {width}",
    "float32 is off by": "{off:.0e} of the spread",
    "time, all rows": "{all:.1f}",
    "time, 100 rows": "{few:.1f}",
}


def scored(ranker: KernelRankSVM, X: Any, dtype: Any) -> tuple[Any, float]:
    """Return scores by a map in a dtype, and the processor time they took."""
    start = time.process_time()
    mapping = scaled_map(ranker.feature_map_, ranker.column_scale_, dtype)
    scores = mapped_scores(mapping, X, ranker.coef_, ranker.linear_coef_, n_threads=1)
    return scores, time.process_time() - start


def least(ranker: KernelRankSVM, X: Any, repeats: int) -> float:
    """Return the least time in float64 over the least in float32."""
    times = {dtype: [] for dtype in (np.float32, np.float64)}
    for _ in range(repeats):
        for dtype, taken in times.items():
            taken.append(scored(ranker, X, dtype)[1])
    return min(times[np.float64]) / min(times[np.float32])


def measure(name: str, data: RankingData, which: str, width: int, repeats: int) -> dict[str, Any]:
    """Return a row of the table."""
    kind = {"approximation": "fourier"} if which == "Fourier" else {"kernel": which}
    ranker = KernelRankSVM(n_components=width, random_state=0, tol=0.05, **kind).fit(data)
    _, queries = np.unique(np.asarray(data.qid), return_inverse=True)
    exact, blurred = (scored(ranker, data.X, dtype)[0] for dtype in (np.float64, np.float32))
    return {
        "data": name,
        "map": which,
        "width": width,
        "off": compare_scores(exact, blurred, queries).largest_difference,
        "all": least(ranker, data.X, repeats),
        "few": least(ranker, data.X[:100], 4 * repeats),
    }


def main() -> None:
    """Measure every map on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=9)
    add_save_option(parser)
    given = parser.parse_args()
    result = Result("kernel-scores", COLUMNS, note="alpha 1e-4, one thread; time of float64 over float32")
    for name, file in SETS.items():
        data = load_letor(Path(os.environ["MARGINRANK_DATA"]) / file)
        for which in MAPS:
            for width in (100, 500):
                row = measure(name, data, which, width, given.repeats)
                result.add(f"{name}-{which}-{width}".lower(), **row)
                print(*(pattern.format(**row) for pattern in COLUMNS.values()), sep=" | ", flush=True)
    if given.save:
        print(result.save())


if __name__ == "__main__":
    main()
