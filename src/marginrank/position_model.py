"""The position-based model of clicks, fitted by expectation maximisation."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginrank.types import Array, Rows, Vector

# Probabilities stay off 0 and 1, where the likelihood of a surprise is 0.
_LEAST = 1e-9
# Of the squared norm of the logistic coefficients of standardised columns, per row.
_RIDGE = 1e-6
_HALVINGS = 30


class PositionModel(NamedTuple):
    """Propensities by position, the first 1; the mean log likelihood after each iteration."""

    propensities: Vector
    log_likelihood: list[float]
    n_iter: int


class _ByItem:
    """A relevance for each item: the mean of what the clicks say of it."""

    def __init__(self, items: Rows) -> None:
        self._items = items
        self._counts = np.bincount(items)

    def start(self, rate: float) -> Vector:
        return np.full(len(self._items), rate)

    def fitted(self, expected: Vector) -> Vector:
        means: Vector = np.bincount(self._items, expected) / self._counts
        return means[self._items]


class _ByFeatures:
    """A logistic function of features: one Newton step at a time, halved until the fit improves."""

    def __init__(self, X: Array) -> None:
        spread = X.std(axis=0)
        kept = spread > 0
        self._X = np.column_stack([(X[:, kept] - X[:, kept].mean(axis=0)) / spread[kept], np.ones(len(X))])
        self._w = np.zeros(self._X.shape[1])
        self._ridge = np.full(len(self._w), _RIDGE)
        self._ridge[-1] = 0.0

    def start(self, rate: float) -> Vector:
        self._w[-1] = np.log(rate / (1.0 - rate))
        return np.full(len(self._X), rate)

    def fitted(self, expected: Vector) -> Vector:
        n, scores = len(expected), self._X @ self._w
        p = _sigmoid(scores)
        gradient = self._X.T @ (expected - p) / n - self._ridge * self._w
        curvature = (self._X * (p * (1.0 - p))[:, None]).T @ self._X / n
        curvature[np.diag_indices_from(curvature)] += self._ridge + 1e-12
        step = np.linalg.solve(curvature, gradient)
        along, value = self._X @ step, self._value(scores, self._w, expected)
        size = 1.0
        for _ in range(_HALVINGS):
            if self._value(scores + size * along, self._w + size * step, expected) >= value:
                self._w = self._w + size * step
                return _sigmoid(scores + size * along)
            size /= 2.0
        return p

    def _value(self, scores: Vector, w: Vector, expected: Vector) -> float:
        likelihood = float(np.mean(expected * scores - np.logaddexp(0.0, scores)))
        return likelihood - 0.5 * float(np.sum(self._ridge * w**2))


def fit_position_model(
    clicks: Vector,
    positions: Rows,
    *,
    items: Rows | None = None,
    X: Array | None = None,
    tol: float,
    max_iter: int,
) -> PositionModel:
    """Fit ``P(click) = propensity[position] * relevance`` by EM, with relevance by item or by features.

    Every iteration raises the likelihood (less the small ridge of the logistic function). Only ratios of
    propensities are determined, as relevance takes up any factor: that of the first position is 1.
    """
    relevance: Any = _ByItem(items) if items is not None else _ByFeatures(np.asarray(X))
    place, shown = positions - 1, np.bincount(positions - 1)
    seen = shown > 0
    examined = np.where(seen, 0.5, np.nan)
    liked = relevance.start(float(np.clip(2.0 * clicks.mean(), 0.01, 0.99)))
    likelihood = [_log_likelihood(clicks, examined[place] * liked)]
    for _ in range(max_iter):
        e, r = examined[place], liked
        neither = 1.0 - e * r
        # Where there was no click: looked at but not liked, or liked but not looked at.
        looked = clicks + (1.0 - clicks) * e * (1.0 - r) / neither
        fond = clicks + (1.0 - clicks) * r * (1.0 - e) / neither
        examined[seen] = _inside(np.bincount(place, looked)[seen] / shown[seen])
        liked = _inside(relevance.fitted(fond))
        likelihood.append(_log_likelihood(clicks, examined[place] * liked))
        if likelihood[-1] - likelihood[-2] < tol:
            break
    return PositionModel(np.minimum(examined / examined[0], 1.0), likelihood, len(likelihood) - 1)


def _sigmoid(scores: Vector) -> Vector:
    return np.exp(-np.logaddexp(0.0, -scores))


def _inside(p: Vector) -> Vector:
    return np.clip(p, _LEAST, 1.0 - _LEAST)


def _log_likelihood(clicks: Vector, p: Vector) -> float:
    p = _inside(p)
    return float(np.mean(clicks * np.log(p) + (1.0 - clicks) * np.log1p(-p)))
