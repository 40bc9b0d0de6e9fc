"""Kernels beside the columns against the columns alone, query by query: the default of KernelRankSVM.

LETOR's five folds of each set, of which training and validation parts are trained on; alpha by
cross-validation over five folds of these, by the default metric. Differences are over the test queries of all
folds, plus or minus their paired standard errors; for several seeds of the landmarks, each query has its mean
over them. ``--alone`` has the kernel without the columns, too.

    MARGINRANK_DATA=... python benchmarks/linear_block.py
    MARGINRANK_DATA=... python benchmarks/linear_block.py --loss squared_hinge --sets MQ2008 --seeds 1
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from kernel_tables import Fold, read_folds
from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM
from marginrank.metrics import evaluate

METRICS = ["ndcg@10", "pairwise_error(weighting=queries)"]


def joined(fold: Fold) -> RankingData:
    """Return the rows of training and validation parts."""
    parts = fold[:2]
    X, y, qid = (np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "qid"))
    return RankingData(X, y, qid=qid)


def per_query(ranker: Any, test: RankingData) -> np.ndarray:
    """Return the metrics of each query, of shape (n_metrics, n_queries)."""
    found = evaluate(test.y, ranker.predict(test), qid=test.qid, metrics=METRICS)
    return np.array([found.per_query[name] for name in METRICS])


def compare(folder: Path, loss: str, seeds: int, *, alone: bool) -> None:
    linear: list[np.ndarray] = []
    kinds: dict[str, list[np.ndarray]] = {"beside the columns": [], **({"alone": []} if alone else {})}
    seconds = dict.fromkeys(["linear", *kinds], 0.0)
    for fold in read_folds(folder):
        rows = joined(fold)
        ranker = RankRLS("auto", cv=5) if loss == "least_squares" else RankSVM(loss, alpha="auto")
        began = time.process_time()
        linear.append(per_query(ranker.fit(rows), fold[2]))
        seconds["linear"] += time.process_time() - began
        for kind, values in kinds.items():
            began = time.process_time()
            of_seeds = [
                per_query(
                    KernelRankSVM(
                        loss=loss, alpha="auto", random_state=seed, linear_block=kind == "beside the columns"
                    ).fit(rows),
                    fold[2],
                )
                for seed in range(seeds)
            ]
            seconds[kind] += (time.process_time() - began) / seeds
            values.append(np.mean(of_seeds, axis=0))
    base = np.concatenate(linear, axis=1)
    print(f"{folder.name}, {loss}, {seeds} seeds: {'  '.join(METRICS)}, CPU seconds")
    figures = "  ".join(f"{value:.4f}" for value in np.nanmean(base, axis=1))
    print(f"  {'linear':<20}{figures}  {seconds['linear']:.1f}")
    for kind, values in kinds.items():
        found = np.concatenate(values, axis=1)
        cells = []
        for one, other in zip(found, base, strict=True):
            difference = (one - other)[~np.isnan(one)]
            error = difference.std(ddof=1) / np.sqrt(len(difference))
            cells.append(f"{np.nanmean(one):.4f} ({difference.mean():+.4f} +- {error:.4f})")
        print(f"  {kind:<20}{'  '.join(cells)}  {seconds[kind]:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=["MQ2008", "OHSUMED", "ClueWeb09"])
    parser.add_argument("--loss", default="least_squares")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    data = os.environ.get("MARGINRANK_DATA")
    if data is None:
        raise SystemExit("Set MARGINRANK_DATA to a folder with LETOR data sets.")
    for name in options.sets:
        compare(Path(data) / name, options.loss, options.seeds, alone=options.alone)


if __name__ == "__main__":
    main()
