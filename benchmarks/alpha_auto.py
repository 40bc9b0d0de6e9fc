"""What alpha="auto" finds and costs, against a grid of 21 alphas solved separately over the same range.

For each fold of MQ2008 and OHSUMED: three parts train, one validates. ``behind`` is by how much the best of
the grid is better on the validation part, by the metric that selects; negative where alpha="auto" is better.
Passes are those of the search, of 17 of its alphas solved in turn, each from the one before, and of the 21
solved separately.

    MARGINRANK_DATA=... python benchmarks/alpha_auto.py                       # RankSVM, ten folds
    MARGINRANK_DATA=... python benchmarks/alpha_auto.py --ranker structured --folds 1
"""

from __future__ import annotations

import argparse
import os
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from marginrank import KernelRankSVM, RankingData, RankSVM, StructuredRankSVM, load_letor
from marginrank.metrics import evaluate

N_GRID, EVERY = 21, 8


def rankers() -> dict[str, Any]:
    return {
        "ranksvm": RankSVM,
        "structured": lambda **p: StructuredRankSVM("ndcg@10", **p),
        "kernel": lambda **p: KernelRankSVM(n_components=100, random_state=0, **p),
    }


@cache
def part(folder: Path, number: int) -> RankingData:
    return load_letor(next(folder.glob(f"S{number}.txt*")))


def joined(parts: list[RankingData]) -> RankingData:
    width = max(p.X.shape[1] for p in parts)
    X = [np.pad(_dense(p.X), ((0, 0), (0, width - p.X.shape[1]))) for p in parts]
    return RankingData(
        np.vstack(X), np.concatenate([p.y for p in parts]), qid=np.concatenate([p.qid for p in parts])
    )


def _dense(X: Any) -> np.ndarray:
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray())


def fold_of(folder: Path, fold: int) -> tuple[RankingData, RankingData]:
    """Return the training and the validation part of a LETOR fold."""
    numbers = [(fold + k - 1) % 5 + 1 for k in range(4)]
    return joined([part(folder, n) for n in numbers[:3]]), joined([part(folder, numbers[3])])


def compare(make: Any, train: RankingData, held: RankingData, metric: str) -> dict[str, float]:
    def figure(model: Any) -> float:
        return float(evaluate(held.y, model.predict(held.X), qid=held.qid, metrics=metric)[metric])

    sign = -1.0 if metric == "pairwise_error" else 1.0
    start = time.perf_counter()
    auto = make(alpha="auto", metric=metric).fit(train, eval_set=held)
    seconds = time.perf_counter() - start
    some = make(alpha="auto", alphas=auto.alphas_[::EVERY], metric=metric).fit(train, eval_set=held)
    grid = [make(alpha=a).fit(train) for a in np.geomspace(auto.alphas_[0], auto.alphas_[-1], N_GRID)]
    best = max(sign * figure(model) for model in grid)
    return {
        "auto": figure(auto),
        "grid": sign * best,
        "behind": best - sign * figure(auto),
        "alpha": auto.alpha_,
        "passes": auto.n_passes_,
        "passes of 17": some.n_passes_,
        "passes of 21": sum(model.n_passes_ for model in grid),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranker", choices=sorted(rankers()), default="ranksvm")
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--metrics", nargs="+", default=["ndcg@10", "pairwise_error"])
    options = parser.parse_args()
    root = Path(os.environ["MARGINRANK_DATA"])
    print(
        "| set | fold | metric | auto | best of 21 | behind | alpha | passes | 17 in turn | 21 alone | s |\n"
        + "| --- " * 11
        + "|"
    )
    worst = -np.inf
    for name in ("MQ2008", "OHSUMED"):
        for fold in options.folds:
            for metric in options.metrics:
                row = compare(rankers()[options.ranker], *fold_of(root / name, fold), metric)
                worst = max(worst, row["behind"])
                print(
                    f"| {name} | {fold} | {metric} | {row['auto']:.4f} | {row['grid']:.4f} | "
                    f"{row['behind']:+.4f} | {row['alpha']:.2g} | {row['passes']:.0f} | "
                    f"{row['passes of 17']:.0f} | {row['passes of 21']:.0f} | {row['seconds']:.2f} |",
                    flush=True,
                )
    print(f"\nat most {worst:.4f} behind")


if __name__ == "__main__":
    main()
