"""Whether defaults stall: every ranker, as it comes, on real rows, raw and with columns of very unequal size.

Each ranker is fitted with its default settings, with its default losses or targets by name, and with
alpha="auto" by folds. A fit stalls where it warns that it did not converge, or leaves a certified gap above
``tol``. The training part of each LETOR fold; 1,400 and all 25,000 film reviews as one ranking; the sets of
scikit-learn and of the paper about paths, raw, as one ranking each. ``x lognormal`` are the same rows (but
not all reviews), each column times exp of a normal number of deviation 3, fixed for a set: what nobody has
normalised.

Structured rankers are for queries: one ranking is left out of theirs; the logistic loss takes up to 20,000
rows in one. ``passes`` are of the data, all that a search took included; of AutoRanker, those of its choice.

    MARGINRANK_DATA=... python benchmarks/stalls.py
    MARGINRANK_DATA=... python benchmarks/stalls.py --sets MQ2008 --rankers RankSVM "RankRLS, auto"
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import alpha_auto
from marginrank import AutoRanker, KernelRankSVM, RankingData, RankRLS, RankSVM, StructuredRankSVM, load_letor

SIGMA = 3.0
ALL_REVIEWS = "IMDB, 25,000"
PATH_SETS = ("auto-mpg", "pima", "wdbc", "mixture")
SETS = (*alpha_auto.LETOR, "IMDB", *alpha_auto.OWN, *PATH_SETS)
DEFAULTS: dict[str, Callable[..., Any]] = {
    "RankSVM": RankSVM,
    "RankSVM, squared hinge": lambda **p: RankSVM("squared_hinge", **p),
    "RankSVM, logistic": lambda **p: RankSVM("logistic", **p),
    "RankRLS": RankRLS,
    "KernelRankSVM": lambda **p: KernelRankSVM(random_state=0, **p),
    "KernelRankSVM, least squares": lambda **p: KernelRankSVM(loss="least_squares", random_state=0, **p),
    "StructuredRankSVM": StructuredRankSVM,
    "StructuredRankSVM, MAP": lambda **p: StructuredRankSVM("map", **p),
    "StructuredRankSVM, MRR": lambda **p: StructuredRankSVM("mrr", **p),
}
RANKERS: dict[str, Callable[[], Any]] = {
    **DEFAULTS,
    **{f"{name}, auto": lambda make=make: make(alpha="auto") for name, make in DEFAULTS.items()},
    "AutoRanker": AutoRanker,
}
Fit = tuple[float, float, bool]


def times_lognormal(data: RankingData) -> RankingData:
    """Return the same rows with columns of very unequal size."""
    factors = np.random.default_rng(0).lognormal(sigma=SIGMA, size=data.X.shape[1])
    X = data.X.multiply(factors).tocsr() if sparse.issparse(data.X) else np.asarray(data.X) * factors
    return RankingData(X, data.y, qid=None if data.query_ids is None else data.qid)


def raw(root: Path, name: str) -> Iterator[tuple[str, RankingData]]:
    """Return what a set has to train on."""
    if name in alpha_auto.LETOR:
        for fold in range(1, 6):
            yield f"{name} {fold}", alpha_auto.fold_of(root / name, fold)[0]
    elif name == "IMDB":
        yield "IMDB, 1,400", alpha_auto.reviews(root / name)[0]
        labels = np.load(root / name / "train.labels.npz")
        X = sparse.load_npz(root / name / "train.X.npz").tocsr()
        yield ALL_REVIEWS, RankingData(X, labels[labels.files[0]].astype(float))
    elif name in PATH_SETS:
        rows = load_letor(root / "path" / f"{name}.svm")
        yield name, RankingData(rows.X, rows.y)
    else:
        yield name, alpha_auto.own(name)[0]


def fit(make: Callable[[], Any], data: RankingData) -> tuple[float, float, bool]:
    """Return passes, CPU seconds, and whether the fit reached its certificate."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.process_time()
        ranker = make().fit(data)
        seconds = time.process_time() - start
    stalled = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    model = getattr(ranker, "best_estimator_", ranker)
    reached = not stalled and bool(model.gap_ <= model.tol)
    return float(model.n_passes_), seconds, reached


def is_meant(ranker: str, form: str, name: str, data: RankingData) -> bool:
    """Whether a ranker takes such rows, and this benchmark the time for it."""
    if name == ALL_REVIEWS and (form != "raw" or "logistic" in ranker):
        return False
    return data.query_ids is not None or not ranker.startswith("Structured")


def stalls(root: Path, sets: list[str], rankers: list[str]) -> list[str]:
    """Print a line for each ranker and form of the rows, and return where fits stalled."""
    found = []
    print("| ranker | rows | fits | stalled | most passes | on | CPU s, most |\n" + "| --- " * 7 + "|")
    forms = {"raw": lambda data: data, "x lognormal": times_lognormal}
    for ranker in rankers:
        for form, change in forms.items():
            fits: dict[str, Fit] = {}
            for name, data in (one for some in sets for one in raw(root, some)):
                if is_meant(ranker, form, name, data):
                    fits[name] = fit(RANKERS[ranker], change(data))
            if not fits:
                continue
            bad = [name for name, (_, _, reached) in fits.items() if not reached]
            found += [f"{ranker} on {name} {form}" for name in bad]
            slowest = max(fits, key=lambda name: fits[name][0])
            seconds = max(one[1] for one in fits.values())
            print(
                f"| {ranker} | {form} | {len(fits)} | {', '.join(bad) or 0} | {fits[slowest][0]:.0f} | "
                f"{slowest} | {seconds:.2f} |",
                flush=True,
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS), choices=list(RANKERS))
    options = parser.parse_args()
    root = os.environ.get("MARGINRANK_DATA")
    if root is None:
        raise SystemExit("Set MARGINRANK_DATA to a folder with LETOR data sets.")
    found = stalls(Path(root), options.sets, options.rankers)
    print("\nno fit stalled" if not found else "\nstalled: " + "; ".join(found))


if __name__ == "__main__":
    main()
