"""Kernels on real data: table 4 of Chen et al. (2017) on OHSUMED, and what else there is to know.

Five folds and the LETOR evaluation. Of the paper's table, "Ranking support vector machine with kernel
approximation", the rows are trained at the authors' parameters, next to their figures. Their program has the
objective ``1/2 |w|^2 + (C/2) sum loss``, so ``alpha = 2 / (C N)`` for N pairs. Apart from these, "selected"
is what the library chooses by itself: alpha="auto" and gamma="auto" by MAP on the validation fold alone.

    MARGINRANK_DATA=... python benchmarks/kernel_tables.py
    MARGINRANK_DATA=... python benchmarks/kernel_tables.py --seeds 3 --rows nystroem fourier
    MARGINRANK_DATA=... python benchmarks/kernel_tables.py --sets ClueWeb09 MQ2008 --components 50 200

All of them are kernels alone (``linear_block=False``), as in the paper; benchmarks/linear_block.py has the
default.
``--sets`` compares both maps with the linear ranker on other data, query by query: gamma is selected once a
fold, with 200 landmarks, and alpha for each model.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank import KernelRankSVM, RankingData, RankSVM, load_letor
from marginrank.metrics import evaluate, parse_metric

METRICS = ["ndcg@1", "ndcg@3", "ndcg@5", "precision@1", "precision@3", "map"]
PAPER = {
    "linear": [0.5645, 0.5004, 0.4782, 0.6710, 0.6112, 0.4439],
    "nystroem": [0.5730, 0.4874, 0.4780, 0.6801, 0.5890, 0.4473],
    "fourier": [0.5728, 0.4965, 0.4804, 0.6801, 0.5983, 0.4472],
}
LINEAR_C = [2.0**k for k in range(-12, 7)]
KERNEL_C = KERNEL_GAMMA = 2.0**-6
N_COMPONENTS = 500
GAMMA_COMPONENTS = 200  # what --sets selects gamma with
LETOR_MAP = parse_metric("map", flavor="letor")

Fold = tuple[RankingData, RankingData, RankingData]
Ranker = RankSVM | KernelRankSVM


def read_folds(folder: Path) -> list[Fold]:
    """Return training, validation and test data of LETOR's five folds."""
    parts = [load_letor(next(folder.glob(f"S{k}.txt*"))) for k in range(1, 6)]
    dense = [np.asarray(part.X.toarray() if hasattr(part.X, "toarray") else part.X) for part in parts]
    width = max(X.shape[1] for X in dense)
    dense = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X in dense]

    def join(*numbers: int) -> RankingData:
        chosen = [k % 5 for k in numbers]
        y = np.concatenate([parts[k].y for k in chosen])
        qid = np.concatenate([parts[k].qid for k in chosen])
        return RankingData(np.concatenate([dense[k] for k in chosen]), y, qid=qid)

    return [(join(k, k + 1, k + 2), join(k + 3), join(k + 4)) for k in range(5)]


def n_pairs(data: RankingData) -> int:
    """Return the number of comparable pairs."""
    view = data.training_view()
    total = 0
    for first, last in zip(view.query_ptr[:-1], view.query_ptr[1:], strict=True):
        counts = np.unique(view.y[first:last], return_counts=True)[1]
        total += (int(counts.sum()) ** 2 - int((counts**2).sum())) // 2
    return total


def figures(ranker: Ranker, data: RankingData) -> np.ndarray:
    result = evaluate(data.y, ranker.predict(data), qid=data.qid, metrics=METRICS, flavor="letor")
    return np.array([result[name] for name in METRICS])


def mean_row(folds: list[Fold], train: Callable[[Fold], Ranker]) -> np.ndarray:
    return np.mean([figures(train(fold), fold[2]) for fold in folds], axis=0)


def paper_linear(folds: list[Fold], tol: float) -> np.ndarray:
    """Return the mean over folds, C by validation MAP; of equals the smallest C."""
    chosen = []

    def train(fold: Fold) -> RankSVM:
        training, validation, _ = fold
        alphas = 2.0 / (np.array(LINEAR_C) * n_pairs(training))
        ranker = RankSVM(
            "squared_hinge", alpha="auto", alphas=alphas, metric=LETOR_MAP, tol=tol, solver="newton"
        )
        ranker.fit(training, eval_set=validation)
        chosen.append(round(np.log2(2.0 / (ranker.alpha_ * n_pairs(training)))))
        return ranker

    row = mean_row(folds, train)
    print(f"linear: C = 2^k with k = {chosen}")
    return row


def paper_kernel(name: str, folds: list[Fold], seeds: int, dtype: str, tol: float) -> np.ndarray:
    """Return the means over folds, one row for each seed."""

    def trainer(seed: int) -> Callable[[Fold], Ranker]:
        def train(fold: Fold) -> KernelRankSVM:
            return KernelRankSVM(
                gamma=KERNEL_GAMMA,
                linear_block=False,
                approximation=name,
                n_components=N_COMPONENTS,
                alpha=2.0 / (KERNEL_C * n_pairs(fold[0])),
                tol=tol,
                solver="newton",
                dtype=dtype,
                random_state=seed,
            ).fit(fold[0])

        return train

    return np.array([mean_row(folds, trainer(seed)) for seed in range(seeds)])


def selected(name: str, folds: list[Fold], seed: int) -> np.ndarray:
    """Return the mean over folds of what the library selects on the validation folds."""

    def train(fold: Fold) -> Ranker:
        ranker: Ranker
        if name == "linear":
            ranker = RankSVM("squared_hinge", alpha="auto", metric=LETOR_MAP)
        else:
            ranker = KernelRankSVM(
                gamma="auto",
                alpha="auto",
                linear_block=False,
                approximation=name,
                n_components=N_COMPONENTS,
                metric=LETOR_MAP,
                random_state=seed,
            )
        return ranker.fit(fold[0], eval_set=fold[1])

    return mean_row(folds, train)


def show(name: str, values: np.ndarray) -> None:
    print(f"{name:<24}" + "".join(f"{value:>9.4f}" for value in values), flush=True)


def paper_table(folds: list[Fold], options: argparse.Namespace) -> None:
    print(" " * 24 + "".join(f"{name.replace('precision', 'P'):>9}" for name in METRICS))
    for name in options.rows:
        began = time.perf_counter()
        if name == "linear":
            found = paper_linear(folds, options.tol)[None, :]
        else:
            found = paper_kernel(name, folds, options.seeds, options.dtype, options.tol)
        show(f"{name}, paper", np.array(PAPER[name]))
        show(f"{name}, ours", found.mean(axis=0))
        show("  difference", found.mean(axis=0) - PAPER[name])
        if len(found) > 1:
            show(f"  sd over {len(found)} seeds", found.std(axis=0, ddof=1))
        seeds = 1 if name == "linear" else options.selected_seeds
        if seeds:
            rows = np.array([selected(name, folds, seed) for seed in range(seeds)])
            show(f"{name}, selected", rows.mean(axis=0))
        print(f"  {time.perf_counter() - began:.1f} s", flush=True)


def per_query(ranker: Ranker, test: RankingData) -> dict[str, np.ndarray]:
    names = ["mean_ndcg", "map"]
    result = evaluate(test.y, ranker.predict(test), qid=test.qid, metrics=names, flavor="letor")
    return {name: result.per_query[name] for name in names}


def compare_on(folder: Path, components: list[int]) -> None:
    """Print means over the test queries of all folds, and differences to linear with standard errors."""
    folds = read_folds(folder)
    common = {"alpha": "auto", "metric": LETOR_MAP, "random_state": 0, "linear_block": False}
    values: dict[str, list[dict[str, np.ndarray]]] = {}
    gammas, seconds = [], dict.fromkeys(["linear", "gamma"], 0.0)

    def timed(name: str, ranker: Ranker, fold: Fold) -> Ranker:
        began = time.perf_counter()
        ranker.fit(fold[0], eval_set=fold[1])
        seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - began
        return ranker

    for fold in folds:
        linear = timed("linear", RankSVM("squared_hinge", alpha="auto", metric=LETOR_MAP), fold)
        values.setdefault("linear", []).append(per_query(linear, fold[2]))
        search = KernelRankSVM(gamma="auto", n_components=GAMMA_COMPONENTS, **common)
        gammas.append(timed("gamma", search, fold).gamma_)
        for approximation in ("nystroem", "fourier"):
            for m in components:
                ranker = KernelRankSVM(
                    gamma=gammas[-1], approximation=approximation, n_components=m, **common
                )
                name = f"{approximation}, {m}"
                values.setdefault(name, []).append(per_query(timed(name, ranker, fold), fold[2]))
    print(f"{folder.name}: gamma = {[float(f'{g:.3g}') for g in gammas]}, in {seconds['gamma']:.0f} s")
    print(f"{'':<16}{'MeanNDCG':>9}{'MAP':>9}{'to linear, se':>20}{'':>20}{'seconds':>9}")
    base = {key: np.concatenate([one[key] for one in values["linear"]]) for key in ("mean_ndcg", "map")}
    for name, by_fold in values.items():
        joined = {key: np.concatenate([one[key] for one in by_fold]) for key in base}
        row = f"{name:<16}" + "".join(f"{np.nanmean(one):>9.4f}" for one in joined.values())
        for key, one in joined.items():
            lead = (one - base[key])[~np.isnan(one)]
            row += f"{lead.mean():>+11.4f} ({lead.std(ddof=1) / np.sqrt(len(lead)):.4f})"
        print(f"{row}{seconds[name]:>9.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="+", default=list(PAPER), choices=list(PAPER))
    parser.add_argument("--seeds", type=int, default=10, help="of the paper's rows")
    parser.add_argument("--selected-seeds", type=int, default=1, help="of the library's own selection")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64"])
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--sets", nargs="+", help="other data to compare on, instead of the table")
    parser.add_argument("--components", type=int, nargs="+", default=[50, 200, 500, 2000])
    options = parser.parse_args()
    data = os.environ.get("MARGINRANK_DATA")
    if not data:
        parser.error("MARGINRANK_DATA must name the folder that holds OHSUMED.")
    warnings.simplefilter("always", ConvergenceWarning)
    if options.sets:
        for name in options.sets:
            compare_on(Path(data) / name, options.components)
    else:
        paper_table(read_folds(Path(data) / "OHSUMED"), options)


if __name__ == "__main__":
    main()
