"""How far probabilities of pairs are from the shares that come true, on queries that nobody has seen.

Three measures of the mean distance over ten bins of as many pairs each:

- thirds: a third of the queries trains, a third calibrates, the last is measured; mean over random splits;
- cv: two thirds train and calibrate by ``calibrate(cv=5)``, the same last third is measured;
- folds: of five folds four train and calibrate by ``calibrate(cv=5)`` and one is measured, in turn, so that
  each query is held out once and all are measured. It has the most queries, hence the least chance in it;
  but it flatters: what one fold has too much of, the others lack.

A few queries differ from others, whatever the probabilities. What that makes of the first two is simulated:
queries are drawn with replacement, the shares among the pairs of all queries stand for the truth.

- no error: the truth itself, measured on as many queries as a third. No method can be below it but by luck;
- shares of: a fit to other drawn queries, of a third or of two, that knows no more than their shares;
- without: the measures less "no error"; squares add up. It is what is left for the method to answer for::

    MARGINRANK_DATA=... python benchmarks/calibration.py [--save]      # made data, and sets where they are
    python benchmarks/calibration.py MQ2008/S1.txt MQ2008/S2.txt ...   # files: all queries together
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from marginrank import RankingData, RankSVM, calibrate, load_letor
from marginrank.datasets import make_ranking
from results import Result, add_save_option

N_BINS = 10
SETS = ("MQ2008", "OHSUMED", "ClueWeb09")
COLUMNS = {
    "": "{label}",
    "queries": "{queries}",
    "folds": "{folds:.3f}",
    "thirds": "{thirds:.3f}",
    "`cv=5`": "{cv:.3f}",
    "no error": "{no_error:.3f}",
    "shares of one third": "{shares_one:.3f}",
    "of two thirds": "{shares_two:.3f}",
    "thirds without": "{thirds_without:.3f}",
    "`cv=5` without": "{cv_without:.3f}",
}


def pairs_of(data: RankingData):
    """Return the rows of all pairs with different labels, both ways round."""
    i, j = [], []
    order = np.arange(data.n_rows) if data.order is None else data.order
    for first, last in zip(data.query_ptr[:-1], data.query_ptr[1:], strict=True):
        rows = order[first:last]
        a, b = np.nonzero(data.y[rows][:, None] != data.y[rows][None, :])
        i.append(rows[a])
        j.append(rows[b])
    return np.concatenate(i), np.concatenate(j)


class Measured(NamedTuple):
    """Pairs of some queries: probability, whether it came true, number of the query."""

    probability: np.ndarray
    above: np.ndarray
    query: np.ndarray

    def error(self) -> float:
        """Return the mean distance of probability and share over bins of as many pairs."""
        return float(np.mean([abs(self.probability[b].mean() - self.above[b].mean()) for b in self.bins()]))

    def bins(self) -> list[np.ndarray]:
        """Return the rows of ten bins of as many pairs, by their probability."""
        return np.array_split(np.argsort(self.probability, kind="stable"), N_BINS)

    def by_chance(self, measured: float, fitted: float | None = None, n_draws: int = 50) -> float:
        """Return the error of the true shares on a share of the queries, or of those of other drawn queries.

        Queries are drawn with replacement, of those that have pairs.
        """
        bin_of_pair = np.empty(len(self.above), dtype=np.int64)
        for k, rows in enumerate(self.bins()):
            bin_of_pair[rows] = k
        rng, errors = np.random.default_rng(0), []
        by_query = np.argsort(self.query, kind="stable")
        pairs_of_query = np.split(by_query, np.flatnonzero(np.diff(self.query[by_query])) + 1)

        def drawn(share: float) -> np.ndarray:
            n = len(pairs_of_query)
            return np.concatenate([pairs_of_query[q] for q in rng.integers(n, size=round(share * n))])

        for _ in range(n_draws):
            known = slice(None) if fitted is None else drawn(fitted)
            counts = np.bincount(bin_of_pair[known], minlength=N_BINS)
            right = np.bincount(bin_of_pair[known], self.above[known], minlength=N_BINS)
            shares = right / np.maximum(counts, 1)
            rows = drawn(measured)
            # Sorted by what the model said, so that the bins are those of the measure.
            rows = rows[np.argsort(self.probability[rows], kind="stable")]
            probabilities = shares[bin_of_pair[rows]]
            parts = np.array_split(np.arange(len(rows)), N_BINS)
            errors.append(np.mean([abs(probabilities[p].mean() - self.above[rows[p]].mean()) for p in parts]))
        return float(np.mean(errors))


def pairs_measured(model, data: RankingData) -> Measured:
    """Return the pairs of queries that a calibrated model has not seen."""
    i, j = pairs_of(data)
    scores = model.predict(data)
    numbers = data.in_original_order(np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr)))
    return Measured(model.calibration.probability(scores[i] - scores[j]), data.y[i] > data.y[j], numbers[i])


def calibration_error(model, data: RankingData) -> float:
    """Return the mean distance of probability and share over bins of as many pairs."""
    return pairs_measured(model, data).error()


def parts_of(data: RankingData, n_parts: int, seed: int) -> np.ndarray:
    """Return the part that each row belongs to, by whole queries at random."""
    part = np.random.default_rng(seed).permutation(data.n_queries) % n_parts
    return data.in_original_order(np.repeat(part, np.diff(data.query_ptr)))


def by_thirds(data: RankingData, seed: int) -> tuple[float, float]:
    """Return the errors of one split into thirds: held-out calibration, and that by folds."""
    part = parts_of(data, 3, seed)
    train, held, test = (data.subset(part == k) for k in range(3))
    return (
        calibration_error(calibrate(RankSVM().fit(train), held), test),
        calibration_error(calibrate(RankSVM(), data.subset(part < 2), cv=5), test),
    )


def by_folds(data: RankingData, seed: int) -> Measured:
    """Return the pairs of all queries, each measured once."""
    part, found = parts_of(data, 5, seed), []
    for k in range(5):
        model = calibrate(RankSVM(), data.subset(part != k), cv=5)
        one = pairs_measured(model, data.subset(part == k))
        found.append(one._replace(query=one.query + k * data.n_queries))
    return Measured(*(np.concatenate(values) for values in zip(*found, strict=True)))


def read(files: Sequence[str | Path]) -> RankingData:
    """Return the queries of all files together, dense."""
    parts = [load_letor(file) for file in files]
    width = max(part.n_features for part in parts)
    rows = []
    for part in parts:
        dense = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X)
        rows.append(np.pad(dense, ((0, 0), (0, width - dense.shape[1]))))
    y = np.concatenate([part.y for part in parts])
    return RankingData(np.vstack(rows), y, qid=[q for part in parts for q in part.qid])


def _same(data: RankingData, seed: int) -> RankingData:
    del seed
    return data


def made(seed: int) -> RankingData:
    """Return 900 queries of noisy grades, others for each seed."""
    X, y, qid = make_ranking(900, 20, noise=2.0, random_state=seed)
    return RankingData(X, y, qid=qid)


def measure(data_of: Callable[[int], RankingData], n_seeds: int, n_folds: int) -> dict[str, float]:
    """Return what is measured of a set, or of sets made by a seed; means over the seeds."""
    splits, folds, chances = [], [], []
    for seed in range(n_seeds):
        data = data_of(seed)
        splits.append(by_thirds(data, seed))
        if seed < n_folds:
            measured = by_folds(data, seed)
            folds.append(measured.error())
            chances.append([measured.by_chance(1 / 3, fitted) for fitted in (None, 1 / 3, 2 / 3)])
    thirds, cv = np.mean(splits, axis=0)
    floor, one, two = np.mean(chances, axis=0)
    return {
        "queries": data.n_queries,
        "folds": float(np.mean(folds)),
        "folds_largest": max(folds),
        "thirds": thirds,
        "cv": cv,
        "no_error": floor,
        "shares_one": one,
        "shares_two": two,
        "thirds_without": max(0.0, thirds**2 - floor**2) ** 0.5,
        "cv_without": max(0.0, cv**2 - floor**2) ** 0.5,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", help="one set, instead of made data and those of MARGINRANK_DATA")
    parser.add_argument("--seeds", type=int, default=20, help="splits into thirds")
    parser.add_argument("--folds", type=int, default=10, help="splits into five folds")
    add_save_option(parser)
    options = parser.parse_args()
    sets: dict[str, Callable[[int], RankingData]] = {"made data": made}
    if folder := os.environ.get("MARGINRANK_DATA"):
        for name in SETS:
            sets[name] = partial(_same, read(sorted(Path(folder, name).glob("S*.txt*"))))
    if options.files:
        sets = {"files": partial(_same, read(options.files))}
    result = Result("calibration", COLUMNS)
    for name, data_of in sets.items():
        measured = measure(data_of, options.seeds, options.folds)
        print(name, *(f"\n  {key:<15} {value:.4g}" for key, value in measured.items()), flush=True)
        result.add(name.split()[0].lower(), label=name, **measured)
    if options.save:
        result.save()


if __name__ == "__main__":
    main()
