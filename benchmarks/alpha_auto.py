"""What alpha="auto" finds and costs, against a grid of 21 alphas solved separately over eight decades.

Part of each set trains, another part validates: three parts and one of each LETOR fold; the first 1,400 film
reviews of a permutation and the next 1,400; two halves of scikit-learn's own sets. ``behind`` is by how much
the best of the grid is better on the validation part, by the metric that selects; negative where alpha="auto"
is better. ``fits`` are the passes of the search in fits at the chosen alpha: 10 at most, for each fold with
``--cv``.

    MARGINRANK_DATA=... python benchmarks/alpha_auto.py                       # RankSVM, all sets
    MARGINRANK_DATA=... python benchmarks/alpha_auto.py --ranker structured --sets OHSUMED --folds 1
    MARGINRANK_DATA=... python benchmarks/alpha_auto.py --cv --one-se         # test figures of both rules
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets

from marginrank import KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, load_letor
from marginrank.metrics import evaluate

N_GRID, DECADES = 21, 8
LONGEST = 200  # passes, after which a model of the grid is measured as it is
LETOR = ("OHSUMED", "MQ2008", "ClueWeb09")
OWN = ("diabetes", "breast_cancer", "wine", "digits", "iris")
Parts = tuple[RankingData, RankingData, RankingData | None]


def rankers() -> dict[str, Any]:
    return {
        "ranksvm": RankSVM,
        "squared": lambda **p: RankSVM("squared_hinge", **p),
        "logistic": lambda **p: RankSVM("logistic", **p),
        "rankrls": RankRLS,
        "rankrls-cg": lambda **p: RankRLS(solver="cg", **p),
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


def fold_of(folder: Path, fold: int) -> tuple[RankingData, RankingData, RankingData]:
    """Return the training, the validation and the test part of a LETOR fold."""
    numbers = [(fold + k - 1) % 5 + 1 for k in range(5)]
    width = max(part(folder, n).X.shape[1] for n in numbers)
    parts = [joined([part(folder, n) for n in some]) for some in (numbers[:3], numbers[3:4], numbers[4:])]
    train, held, test = (
        RankingData(np.pad(p.X, ((0, 0), (0, width - p.X.shape[1]))), p.y, qid=p.qid) for p in parts
    )
    return train, held, test


def reviews(folder: Path) -> Parts:
    X = sparse.load_npz(folder / "train.X.npz").tocsr()
    labels = np.load(folder / "train.labels.npz")
    y = labels[labels.files[0]].astype(float)
    order = np.random.default_rng(0).permutation(len(y))
    some = [order[1400 * k : 1400 * (k + 1)] for k in range(3)]
    train, held, test = (RankingData(X[rows], y[rows]) for rows in some)
    return train, held, test


def own(name: str) -> Parts:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(y))
    half = len(y) // 2
    return RankingData(X[order[:half]], y[order[:half]]), RankingData(X[order[half:]], y[order[half:]]), None


def problems(root: Path, sets: list[str], folds: list[int]) -> Iterator[tuple[str, Parts]]:
    for name in sets:
        if name in LETOR:
            for fold in folds:
                yield f"{name} {fold}", fold_of(root / name, fold)
        else:
            yield name, reviews(root / name) if name == "IMDB" else own(name)


def figure(model: Any, rows: RankingData, metric: str) -> float:
    return float(evaluate(rows.y, model.predict(rows.X), qid=rows.qid, metrics=metric)[metric])


def compare(make: Any, train: RankingData, held: RankingData, metric: str, by_folds: bool) -> dict[str, Any]:
    sign = -1.0 if metric == "pairwise_error" else 1.0
    start = time.process_time()
    auto = make(alpha="auto", metric=metric).fit(train, eval_set=None if by_folds else held)
    seconds = time.process_time() - start
    fits = auto.n_passes_ / make(alpha=auto.alpha_).fit(train).n_passes_
    if by_folds:
        return {"auto": auto, "fits": fits / 5, "seconds": seconds}
    # The search starts a decade above the alpha at which regularisation and risk balance, as the grid does.
    alphas = auto.alphas_[0] * np.logspace(0, -DECADES, N_GRID)
    grid = [make(alpha=a).fit(train, callbacks=lambda state: state.passes > LONGEST) for a in alphas]
    best = max(sign * figure(model, held, metric) for model in grid)
    return {
        **{"auto": auto, "fits": fits, "seconds": seconds, "grid": sign * best},
        "behind": best - sign * figure(auto, held, metric),
        "passes of 21": sum(model.n_passes_ for model in grid),
    }


def metrics_of(train: RankingData, wanted: list[str]) -> list[str]:
    """Return what to select by; one ranking of many rows has its pairwise error only."""
    return wanted if train.query_ids is not None else ["pairwise_error"]


def show_on_sets(options: argparse.Namespace, root: Path) -> None:
    print(
        "| set | metric | auto | best of 21 | behind | alpha | alphas | passes | fits | of 21 | end | s |\n"
        + "| --- " * 12
        + "|"
    )
    worst, most = -np.inf, 0.0
    for name, (train, held, _) in problems(root, options.sets, options.folds):
        for metric in metrics_of(train, options.metrics):
            row = compare(rankers()[options.ranker], train, held, metric, by_folds=False)
            worst, most = max(worst, row["behind"]), max(most, row["fits"])
            auto = row["auto"]
            print(
                f"| {name} | {metric} | {auto.best_score_:.4f} | {row['grid']:.4f} | {row['behind']:+.4f} | "
                f"{auto.alpha_:.2g} | {len(auto.alphas_)} | {auto.n_passes_:.0f} | {row['fits']:.1f} | "
                f"{row['passes of 21']:.0f} | {auto.search_end_} | {row['seconds']:.2f} |",
                flush=True,
            )
    print(f"\nat most {worst:.4f} behind, and {most:.1f} fits of at most 10")


def show_by_folds(options: argparse.Namespace, root: Path) -> None:
    print(
        "| set | metric | alpha | passes | fits | end | test, best | test, one_se | s |\n"
        + "| --- " * 9
        + "|"
    )
    most, lost = 0.0, []
    make = rankers()[options.ranker]
    for name, (train, held, test) in problems(root, options.sets, options.folds):
        for metric in metrics_of(train, options.metrics):
            row = compare(make, train, held, metric, by_folds=True)
            auto, rows = row["auto"], held if test is None else test
            figures = [figure(auto, rows, metric)]
            if options.one_se:
                careful = make(alpha="auto", metric=metric, rule="one_se").fit(train)
                figures.append(figure(careful, rows, metric))
                lost.append((figures[1] - figures[0]) * (1 if metric == "pairwise_error" else -1))
            most = max(most, row["fits"])
            shown = [f"{one:.4f}" for one in figures] + [""] * (2 - len(figures))
            print(
                f"| {name} | {metric} | {auto.alpha_:.2g} | {auto.n_passes_:.0f} | {row['fits']:.1f} | "
                f"{auto.search_end_} | {shown[0]} | {shown[1]} | {row['seconds']:.2f} |",
                flush=True,
            )
    print(f"\nat most {most:.1f} fits for each fold, of at most 10")
    if lost:
        print(f"one_se is {np.mean(lost):+.4f} worse than best on average")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranker", choices=sorted(rankers()), default="ranksvm")
    parser.add_argument("--sets", nargs="+", default=[*LETOR, "IMDB", *OWN])
    parser.add_argument("--folds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--metrics", nargs="+", default=["ndcg@10", "pairwise_error"])
    parser.add_argument("--cv", action="store_true", help="search by folds of the training part")
    parser.add_argument("--one-se", action="store_true", help="with --cv: the other rule, too")
    options = parser.parse_args()
    root = Path(os.environ["MARGINRANK_DATA"])
    (show_by_folds if options.cv else show_on_sets)(options, root)


if __name__ == "__main__":
    main()
