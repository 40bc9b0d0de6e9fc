"""Figures as means of parts, and how sure one may be of them: alone, and of the difference of two.

A part is a query, or a whole fold where that is one ranking. Two models are compared on the same parts, so
the error of their difference leaves out how much harder some queries are than others, which is most of the
error of each figure alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marginrank.data.weights import moderate
from marginrank.metrics.evaluator import weighted_means
from marginrank.types import Array, Vector


class PairedParts(NamedTuple):
    """What figures are means of: values of shape (n_parts, n_alphas), NaN where a part does not count.

    ``weight`` has one entry for each part; None stands for equal ones.
    """

    values: Array
    weight: Vector | None = None

    @property
    def n_counted(self) -> int:
        """Number of parts that count at every alpha."""
        return int(np.count_nonzero(~np.isnan(self.values).any(axis=1)))


def pooled(tables: Sequence[Array], weights: Sequence[Vector | None]) -> PairedParts:
    """Return the parts of all folds, weighted so that their mean is the mean of the folds' figures.

    Parameters
    ----------
    tables : sequence of ndarray of shape (n_alphas, n_parts)
        The parts of each fold.
    weights : sequence of ndarray or None
        Their weights within the fold.

    Examples
    --------
    >>> parts = pooled([np.array([[0.2, 0.4]]), np.array([[0.5]])], [None, None])
    >>> parts.weight.tolist(), float(parts.weight @ parts.values[:, 0])
    ([0.25, 0.25, 0.5], 0.4)
    """
    shares, values = [], []
    for table, weight in zip(tables, weights, strict=True):
        counts = ~np.isnan(table).any(axis=0)
        if not counts.any():
            continue
        share = np.ones(int(counts.sum())) if weight is None else moderate(weight[counts])
        total = float(share.sum())
        if total > 0.0:
            shares.append(share / total)
            values.append(table.T[counts])
    if not values:
        n_alphas = len(tables[0]) if tables else 0
        return PairedParts(np.empty((0, n_alphas)), np.empty(0))
    return PairedParts(np.concatenate(values), np.concatenate(shares) / len(values))


def mean_and_error(parts: PairedParts) -> tuple[Vector, Vector]:
    """Return the mean of the parts at each alpha and its standard error; NaN where it takes more parts."""
    values, weight = _counted(parts)
    if not len(weight):
        nothing = np.full(parts.values.shape[1], np.nan)
        return nothing, nothing
    mean = weighted_means(np.ascontiguousarray(values.T), None if parts.weight is None else weight)
    return mean, _standard_error(values - mean, weight)


def error_of_difference(parts: PairedParts, index: int) -> Vector:
    """Return the standard error of the mean difference to one alpha, at each alpha; 0 there.

    Examples
    --------
    >>> values = np.array([[0.1, 0.2], [0.5, 0.6], [0.7, 0.8]])  # always worse by 0.1
    >>> error_of_difference(PairedParts(values), 0).round(9).tolist()
    [0.0, 0.0]
    """
    values, weight = _counted(parts)
    if not len(weight):
        return np.full(parts.values.shape[1], np.nan)
    difference = values - values[:, index : index + 1]
    mean = (weight[:, None] * difference).sum(axis=0) / weight.sum()
    return _standard_error(difference - mean, weight)


def _counted(parts: PairedParts) -> tuple[Array, Vector]:
    """Return the parts that count and their weights; none where all of them weigh nothing."""
    counts = ~np.isnan(parts.values).any(axis=1)
    values = parts.values[counts]
    if parts.weight is None:
        return values, np.ones(len(values))
    if not len(values):
        return values, np.empty(0)
    weight = moderate(parts.weight[counts])
    return (values, weight) if weight.sum() > 0.0 else (values[:0], weight[:0])


def _standard_error(deviations: Array, weight: Vector) -> Vector:
    """Return the error of a weighted mean, with the small-sample correction that equal weights need."""
    n = len(weight)
    if n < 2:
        return np.full(deviations.shape[1], np.nan)
    squares = np.square(deviations) * np.square(weight / weight.sum())[:, None]
    # One order of summation, whatever the shape: numpy adds rows of a table in another one than vectors.
    return np.sqrt(np.array([float(column.sum()) for column in squares.T.copy()]) * n / (n - 1))
