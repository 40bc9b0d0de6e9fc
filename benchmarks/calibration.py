"""How far probabilities of pairs are from the shares that come true, on queries that nobody has seen.

A third of the queries trains, a third calibrates, and the error is measured on the last::

    python benchmarks/calibration.py                                   # made data, 20 seeds
    python benchmarks/calibration.py MQ2008/S1.txt MQ2008/S2.txt ...   # files: all queries together
"""

from __future__ import annotations

import argparse

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


def calibration_error(model, data: RankingData, n_bins: int = 10) -> float:
    """Return the mean distance of probability and share over bins of as many pairs."""
    i, j = pairs_of(data)
    scores = model.predict(data)
    probability = model.calibration.probability(scores[i] - scores[j])
    above = data.y[i] > data.y[j]
    order = np.argsort(probability, kind="stable")
    bins = np.array_split(order, n_bins)
    return float(np.mean([abs(probability[rows].mean() - above[rows].mean()) for rows in bins]))


def measured(data: RankingData, seed: int) -> float:
    """Return the error of one split into thirds."""
    part = np.random.default_rng(seed).permutation(data.n_queries) % 3
    of_row = data.in_original_order(np.repeat(part, np.diff(data.query_ptr)))
    train, held, test = (data.subset(of_row == k) for k in range(3))
    return calibration_error(calibrate(RankSVM().fit(train), held), test)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*")
    parser.add_argument("--seeds", type=int, default=20)
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
    for seed in range(options.seeds):
        if not options.files:
            X, y, qid = make_ranking(900, 20, noise=2.0, random_state=seed)
            data = RankingData(X, y, qid=qid)
        errors.append(measured(data, seed))
    print(f"{data.n_queries} queries: expected error {np.mean(errors):.4f}, largest {max(errors):.4f}")


if __name__ == "__main__":
    main()
