"""How far probabilities of pairs are from the shares that come true, on queries that nobody has seen.

Three measures of the mean distance over ten bins of as many pairs each:

- thirds: a third of the queries trains, a third calibrates, the last is measured; mean over random splits;
- cv: two thirds train and calibrate by ``calibrate(cv=5)``, the same last third is measured;
- folds: of five folds three train, one calibrates and one is measured, in turn, so that each query is
  measured once; over the pairs of all queries.

Beside them, what probabilities without any error would show on a third of the queries drawn at random,
because so few queries differ from all of them; and the first two without that part, whose squares add up::

    python benchmarks/calibration.py                                   # made data, 20 seeds
    python benchmarks/calibration.py MQ2008/S1.txt MQ2008/S2.txt ...   # files: all queries together
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np

from marginrank import RankingData, RankSVM, calibrate, load_letor
from marginrank.datasets import make_ranking


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

    def error(self, n_bins: int = 10) -> float:
        """Return the mean distance of probability and share over bins of as many pairs."""
        bins = np.array_split(np.argsort(self.probability, kind="stable"), n_bins)
        return float(np.mean([abs(self.probability[rows].mean() - self.above[rows].mean()) for rows in bins]))

    def floor(self, n_queries: int, n_draws: int = 20, n_bins: int = 10) -> float:
        """Return the error of the shares of all pairs on so many of the queries, drawn at random."""
        order, perfect = np.argsort(self.probability, kind="stable"), np.empty(len(self.above))
        for rows in np.array_split(order, n_bins):
            perfect[rows] = self.above[rows].mean()
        queries, number = np.unique(self.query, return_inverse=True)
        errors = []
        for seed in range(n_draws):
            drawn = np.random.default_rng(seed).permutation(len(queries)) < n_queries
            taken = np.flatnonzero(drawn[number])
            bins = np.array_split(taken[np.argsort(self.probability[taken], kind="stable")], n_bins)
            errors.append(np.mean([abs(perfect[rows].mean() - self.above[rows].mean()) for rows in bins]))
        return float(np.mean(errors))


def pairs_measured(model, data: RankingData) -> Measured:
    """Return the pairs of queries that a calibrated model has not seen."""
    i, j = pairs_of(data)
    scores = model.predict(data)
    numbers = data.in_original_order(np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr)))
    return Measured(model.calibration.probability(scores[i] - scores[j]), data.y[i] > data.y[j], numbers[i])


def calibration_error(model, data: RankingData, n_bins: int = 10) -> float:
    """Return the mean distance of probability and share over bins of as many pairs."""
    return pairs_measured(model, data).error(n_bins)


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
        place = (part - k) % 5
        model = calibrate(RankSVM().fit(data.subset(place < 3)), data.subset(place == 3))
        one = pairs_measured(model, data.subset(place == 4))
        found.append(one._replace(query=one.query + k * data.n_queries))
    return Measured(*(np.concatenate(values) for values in zip(*found, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--folds", type=int, default=5, help="seeds of the five folds")
    options = parser.parse_args()
    errors = []
    if options.files:
        parts = [load_letor(file) for file in options.files]
        width = max(part.n_features for part in parts)
        rows = []
        for part in parts:
            dense = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X)
            rows.append(np.pad(dense, ((0, 0), (0, width - dense.shape[1]))))
        X, y = np.vstack(rows), np.concatenate([part.y for part in parts])
        data = RankingData(X, y, qid=[q for part in parts for q in part.qid])
    folds, floors = [], []
    for seed in range(options.seeds):
        if not options.files:
            X, y, qid = make_ranking(900, 20, noise=2.0, random_state=seed)
            data = RankingData(X, y, qid=qid)
        errors.append(by_thirds(data, seed))
        if seed < options.folds:
            measured = by_folds(data, seed)
            folds.append(measured.error())
            floors.append(measured.floor(data.n_queries // 3))
    thirds, cv = np.transpose(errors)
    print(f"{data.n_queries} queries")
    for name, values in {"thirds": thirds, "cv": cv, "folds": folds}.items():
        print(f"  {name:<8} {np.mean(values):.4f}, largest {max(values):.4f} of {len(values)}")
    floor = np.mean(floors)
    print(f"  no error {floor:.4f} on {data.n_queries // 3} queries")
    for name, values in {"thirds": thirds, "cv": cv}.items():
        print(f"  {name:<8} {np.sqrt(max(0.0, np.mean(values) ** 2 - floor**2)):.4f} without that part")


if __name__ == "__main__":
    main()
