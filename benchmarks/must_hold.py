"""What is promised of the defaults, measured: that they converge, alpha="auto", rule="one_se" and AutoRanker.

1. On validation parts alpha="auto" is at most 0.005 behind the best of 21 alphas solved separately, by the
   pairwise error and by NDCG@10, and takes at most ten fits at the alpha that it chooses.
2. rule="one_se" is at most 0.003 behind rule="best" on test parts, on average.
3. AutoRanker is at most 0.003 behind the best single ranker on average over the sets, on none by more than
   two paired standard errors. The best one is picked by its test figures, which nobody knows beforehand.
4. No fit stalls at the defaults, with alpha="auto" or without, on raw rows or on columns of very unequal size
   (``stalls.py``).

Each line says whether it holds, and names the exceptions.

    MARGINRANK_DATA=... python benchmarks/must_hold.py
    MARGINRANK_DATA=... python benchmarks/must_hold.py --only auto --rankers ranksvm
    MARGINRANK_DATA=... python benchmarks/must_hold.py --only stall
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

import numpy as np

import alpha_auto
import out_of_the_box
import stalls
from kernel_tables import read_folds

BEHIND, BEHIND_ON_AVERAGE, MOST_FITS = 0.005, 0.003, 10.0
SETS = [*alpha_auto.LETOR, "IMDB", *alpha_auto.OWN]
FOLDS = [1, 2, 3, 4, 5]
METRICS = ["ndcg@10", "pairwise_error"]
SINGLE = [
    *("RankRLS", "RankRLS, leave-query-out", "KernelRankSVM, least squares"),
    *("RankSVM", "RankSVM, squared hinge", "RankSVM, logistic", "StructuredRankSVM"),
]


def verdict(what: str, holds: bool, figures: str) -> None:
    print(f"{'holds' if holds else 'SHORT':<7}{what}: {figures}", flush=True)


def check_auto(root: Path, rankers: list[str]) -> None:
    for ranker in rankers:
        make = alpha_auto.rankers()[ranker]
        behind: dict[str, list[tuple[float, str]]] = {metric: [] for metric in METRICS}
        most = 0.0
        for name, (train, held, _) in alpha_auto.problems(root, SETS, FOLDS):
            if ranker == "structured" and train.query_ids is None:
                continue
            for metric in alpha_auto.metrics_of(train, METRICS):
                row = alpha_auto.compare(make, train, held, metric, by_folds=False)
                behind[metric].append((row["behind"], name))
                most = max(most, row["fits"])
        for metric, found in behind.items():
            beyond = [f"{name} {by:.4f}" for by, name in found if by > BEHIND]
            mean = np.mean([max(by, 0.0) for by, _ in found])
            figures = (
                f"mean {mean:.4f}, worst {max(found)[0]:.4f} of {len(found)}; beyond: {beyond or 'none'}"
            )
            verdict(f"auto, {ranker}, {metric}, at most {BEHIND} behind", not beyond, figures)
        verdict(f"auto, {ranker}, at most {MOST_FITS:g} fits", most <= MOST_FITS, f"{most:.1f}")


def check_one_se(root: Path, rankers: list[str]) -> None:
    for ranker in rankers:
        make, lost = alpha_auto.rankers()[ranker], []
        for _, (train, held, test) in alpha_auto.problems(root, SETS, FOLDS):
            rows = held if test is None else test
            if ranker == "structured" and train.query_ids is None:
                continue
            for metric in alpha_auto.metrics_of(train, METRICS):
                best, careful = (
                    alpha_auto.figure(make(alpha="auto", metric=metric, rule=rule).fit(train), rows, metric)
                    for rule in ("best", "one_se")
                )
                lost.append((careful - best) * (1 if metric == "pairwise_error" else -1))
        mean = float(np.mean(lost))
        verdict(f"one_se, {ranker}, on average", mean <= BEHIND_ON_AVERAGE, f"{mean:+.4f} behind best")


def check_auto_ranker(root: Path) -> None:
    gaps, is_close = [], True
    for name in [*alpha_auto.LETOR, "IMDB"]:
        is_text = name == "IMDB"
        folds = out_of_the_box.reviews(root / name) if is_text else read_folds(root / name)
        metric = out_of_the_box.OF_REVIEWS if is_text else out_of_the_box.METRIC
        methods = [one for one in SINGLE if out_of_the_box.is_meant(one, name)]
        values = {
            method: out_of_the_box.measure(out_of_the_box.METHODS[method][0], folds, metric)[0]
            for method in ["AutoRanker", *methods]
        }
        best = max(methods, key=lambda method: float(np.nanmean(values[method])))
        difference = (values[best] - values["AutoRanker"])[~np.isnan(values[best])]
        gap, error = difference.mean(), difference.std(ddof=1) / np.sqrt(len(difference))
        gaps.append(gap)
        is_close &= bool(gap <= 2.0 * error)
        print(f"       {name}: {gap:+.4f} +- {error:.4f} behind {best}", flush=True)
    mean = float(np.mean(gaps))
    verdict("AutoRanker, on average", mean <= BEHIND_ON_AVERAGE, f"{mean:+.4f} behind the best")
    verdict("AutoRanker, on each set", is_close, "within two paired standard errors" if is_close else "")


def check_stalls(root: Path) -> None:
    found = stalls.stalls(root, list(stalls.SETS), list(stalls.RANKERS))
    verdict("no fit stalls", not found, "; ".join(found) or "none did")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["auto", "one_se", "auto_ranker", "stall"])
    parser.add_argument("--rankers", nargs="+", default=["ranksvm", "squared", "structured"])
    options = parser.parse_args()
    root = os.environ.get("MARGINRANK_DATA")
    if root is None:
        raise SystemExit("Set MARGINRANK_DATA to a folder with LETOR data sets.")
    warnings.simplefilter("ignore")
    if options.only in (None, "auto_ranker"):
        check_auto_ranker(Path(root))
    if options.only in (None, "one_se"):
        check_one_se(Path(root), options.rankers)
    if options.only in (None, "auto"):
        check_auto(Path(root), options.rankers)
    if options.only in (None, "stall"):
        check_stalls(Path(root))


if __name__ == "__main__":
    main()
