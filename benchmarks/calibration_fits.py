"""Which fit of probabilities errs least on other queries: why ``calibrate`` is isotonic over pairs.

Queries differ in how far scores can be trusted, and few of them are held out. On made queries of four kinds:

- alike: 20 rows each, scores more or less steep;
- sizes: the same with 4 to 150 rows;
- hard: large queries are the hard ones;
- lost: in three queries of ten the scores say nothing.

Mean distance of probability and share over ten bins of as many pairs of 400 other queries, so that nearly all
of it is the fit's; mean of 10 draws of the queries that are fitted to::

    python benchmarks/calibration_fits.py

"power" is ``1 / (1 + exp(-a d**b))``, a logistic curve through the origin with one more parameter. "queries"
weighs a query of n pairs by ``n / (1 + (n - 1) rho)`` with the correlation rho of its pairs. "mixed" is the
mean of isotonic and power whose weight has the least logarithmic loss over five folds of the queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression, minimize

N_BINS = 60
KINDS = ("alike", "sizes", "hard", "lost")
Fit = Callable[[np.ndarray], np.ndarray]


def made_query(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance of the scores of each pair of a query, and whether the order is right."""
    m = 20 if kind in ("alike", "lost") else int(np.clip(np.exp(3 + 0.9 * rng.normal()), 4, 150))
    trust = np.exp(0.7 * rng.normal())
    if kind == "hard":
        trust = np.exp(0.5 * rng.normal() - 0.4 * (np.log(m) - 3))
    elif kind == "lost":
        trust = 3.0 if rng.random() < 0.7 else 0.0
    scores = rng.normal(size=m) * np.exp(0.3 * rng.normal())
    y = np.searchsorted([0.6, 1.6], 0.7 * trust * scores + rng.normal(size=m))
    i, j = np.triu_indices(m, 1)
    i, j = i[y[i] != y[j]], j[y[i] != y[j]]
    return np.abs(scores[i] - scores[j]), ((scores[i] > scores[j]) == (y[i] > y[j])).astype(float)


def made_queries(kind: str, n_queries: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the pairs of so many queries; some have none, which say nothing."""
    rng = np.random.default_rng(seed)
    found = [made_query(kind, rng) for _ in range(n_queries)]
    return [pairs for pairs in found if len(pairs[0])]


class Counts:
    """Pairs of each query in bins of their distance: how many, and how many in the right order."""

    def __init__(self, queries: list[tuple[np.ndarray, np.ndarray]]) -> None:
        everywhere = np.concatenate([distance for distance, _ in queries])
        edges = np.quantile(everywhere, np.linspace(0, 1, N_BINS + 1)[1:-1])
        bins = [np.searchsorted(edges, distance) for distance, _ in queries]
        self.n = np.array([np.bincount(b, minlength=N_BINS) for b in bins], dtype=float)
        self.right = np.array(
            [np.bincount(b, right, N_BINS) for b, (_, right) in zip(bins, queries, strict=True)]
        )
        self.centre = np.bincount(np.concatenate(bins), everywhere, N_BINS) / self.n.sum(axis=0)

    def sums(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the pairs of each bin, and those in the right order, with weights of queries."""
        scale = self.n.sum() / (weights @ self.n).sum()
        return scale * (weights @ self.n), scale * (weights @ self.right)

    def by_queries(self) -> np.ndarray:
        """Return the weight of each pair of a query by the correlation of pairs of one query."""
        share = self.right.sum(axis=0) / self.n.sum(axis=0)
        rest, variance = (self.right - self.n * share).sum(axis=1), self.n @ (share * (1 - share))
        size = self.n.sum(axis=1)
        rho = np.clip((rest**2 - variance).sum() / (variance * (size - 1)).sum(), 0, 1)
        return 1 / (1 + (size - 1) * rho)


def isotonic(counts: Counts, weights: np.ndarray) -> Fit:
    n, right = counts.sums(weights)
    shares = isotonic_regression((right + 0.5) / (n + 1), weights=n + 1e-9).x.clip(0.5, 1)
    return lambda d: np.interp(d, np.append(0, counts.centre), np.append(0.5, shares))


def logistic(counts: Counts, weights: np.ndarray, power: bool = False) -> Fit:
    n, right = counts.sums(weights)
    unit = (n @ counts.centre) / n.sum()

    def curve(parameters: np.ndarray, d: np.ndarray) -> np.ndarray:
        exponent = np.exp(parameters[1]) if power else 1.0
        return (1 / (1 + np.exp(-np.exp(parameters[0]) * (d / unit) ** exponent))).clip(1e-9, 1 - 1e-9)

    def loss(parameters: np.ndarray) -> float:
        p = curve(parameters, counts.centre)
        return -float(right @ np.log(p) + (n - right) @ np.log(1 - p)) / n.sum()

    found = minimize(loss, np.zeros(1 + power), method="BFGS", options={"gtol": 1e-4, "maxiter": 30}).x
    return lambda d: curve(found, d)


def mixed(counts: Counts, weights: np.ndarray) -> Fit:
    fold, shares = np.arange(len(counts.n)) % 5, np.linspace(0, 1, 11)
    losses = np.zeros(len(shares))
    for k in range(5):
        known, (n, right) = weights * (fold != k), counts.sums(weights * (fold == k))
        size = (weights * (fold == k)) @ counts.n
        one, other = isotonic(counts, known)(counts.centre), logistic(counts, known, True)(counts.centre)
        for index, share in enumerate(shares):
            p = ((1 - share) * one + share * other).clip(1e-9, 1 - 1e-9)
            losses[index] -= (right @ np.log(p) + (n - right) @ np.log(1 - p)) / n.sum() * size.sum()
    share = shares[losses.argmin()]
    one, other = isotonic(counts, weights), logistic(counts, weights, True)
    return lambda d: (1 - share) * one(d) + share * other(d)


def fits(counts: Counts) -> dict[str, Fit]:
    """Return every fit to the same held-out queries."""
    pairs, queries = np.ones(len(counts.n)), counts.by_queries()
    return {
        "isotonic": isotonic(counts, pairs),
        "logistic": logistic(counts, pairs),
        "power": logistic(counts, pairs, True),
        "mixed": mixed(counts, pairs),
        "isotonic, queries": isotonic(counts, queries),
        "power, queries": logistic(counts, queries, True),
    }


def error(fit: Fit, distance: np.ndarray, right: np.ndarray) -> float:
    """Return the mean distance of probability and share over ten bins, pairs both ways round."""
    p = fit(distance)
    p, right = np.append(p, 1 - p), np.append(right, 1 - right)
    bins = np.array_split(np.argsort(p, kind="stable"), 10)
    return float(np.mean([abs(p[rows].mean() - right[rows].mean()) for rows in bins]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help=f"by default {', '.join(KINDS)}")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    for kind in options.kinds:
        distance, right = (np.concatenate(one) for one in zip(*made_queries(kind, 400, 99), strict=True))
        for n_queries in (35, 70):
            errors: dict[str, list[float]] = {}
            for seed in range(options.draws):
                for name, fit in fits(Counts(made_queries(kind, n_queries, 1000 + seed))).items():
                    errors.setdefault(name, []).append(error(fit, distance, right))
            figures = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in errors.items())
            print(f"{kind}, {n_queries} queries: {figures}", flush=True)


if __name__ == "__main__":
    main()
