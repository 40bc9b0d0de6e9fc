"""The width of a kernel: a number, or a rule that takes it from the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel, euclidean_distances, manhattan_distances

from marginrank.data.finite import extremes
from marginrank.data.matrices import is_sparse
from marginrank.designs.columns import large_offset, shifted_rows
from marginrank.designs.compared import plain_design
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps.kernel_columns import DIFFERENCES, with_small_indices
from marginrank.feature_maps.kernel_units import UNITS, ordinary_entries
from marginrank.feature_maps.row_draws import DistinctRows
from marginrank.parameters import check_positive
from marginrank.types import MemoryMatrix, Vector

# Half a million distances give the median to a fraction of a percent.
_MEDIAN_ROWS = 1000


def resolve_gamma(
    gamma: Any, kernel: str, X: MemoryMatrix, rng: np.random.RandomState, weight: Vector | None = None
) -> float | None:
    """Return gamma as a number, or None for a kernel that has none.

    Parameters
    ----------
    gamma : float or {"scale", "median"}
        A number is taken as it is. "scale" is ``1 / (n_features * Var)`` over all entries of X, as in
        scikit-learn's SVC, with the standard deviation instead where the kernel's distance is of the first
        power (laplacian, chi2). For kernels of differences (rbf, laplacian) a large common offset of a
        column, more than 1024 times its range, is taken off first. "median" is 1 over the median of the
        kernel's own distance between rows: squared Euclidean, L1, or chi-squared.
    kernel : str
        The name of the kernel.
    X : ndarray or CSR matrix
        The rows.
    rng : RandomState
        Draws the rows that the median is taken over.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows; a weight is a repetition.

    Examples
    --------
    >>> resolve_gamma("scale", "rbf", np.array([[0.0, 2.0], [2.0, 0.0]]), np.random.RandomState(0))
    0.5
    """
    if kernel not in UNITS:
        return None
    if isinstance(gamma, str) and gamma == "scale":
        rows = without_offsets(X) if kernel in DIFFERENCES else X
        return _in_ordinary_unit(rows, gamma, kernel, lambda found: _scale(found, UNITS[kernel], weight))
    if isinstance(gamma, str) and gamma == "median":
        return _in_ordinary_unit(X, gamma, kernel, lambda rows: _median(rows, kernel, rng, weight))
    return check_positive(gamma, "gamma", "a positive, finite number, 'scale' or 'median'")


def without_offsets(X: MemoryMatrix) -> MemoryMatrix:
    """Return rows less the large common offsets of their columns; of sparse rows, of columns that all have.

    Examples
    --------
    >>> without_offsets(np.array([[1e9, 1.0], [1e9 + 2.0, 3.0]])).tolist()
    [[-1.0, 1.0], [1.0, 3.0]]
    """
    found = plain_design(X, n_threads=1).column_range
    shift = np.where(found.full, large_offset(found.low, found.high), 0.0)
    return shifted_rows(X, shift) if shift.any() else X


def _in_ordinary_unit(
    X: MemoryMatrix, name: str, kernel: str, rule: Callable[[MemoryMatrix], float]
) -> float:
    """Return what a rule finds for rows whose squares fit float64, in the unit of X."""
    rows, exponent = ordinary_entries(X)
    found = rule(rows)
    if found == 0.0:  # no two rows differ, and any gamma serves
        return 1.0
    gamma = float(np.ldexp(found, UNITS[kernel] * exponent))
    if not 0.0 < gamma < np.inf:
        raise MarginRankError(f"gamma={name!r} would be {gamma:g}, beyond float64. {extremes(X)}")
    return gamma


def _scale(X: MemoryMatrix, power: int, weight: Vector | None) -> float:
    if is_sparse(X):
        if not X.has_canonical_format:  # entries stored twice count as their sum
            X = X.copy()
            X.sum_duplicates()
        by_row = np.ones(X.shape[0]) if weight is None else weight
        n_entries = float(by_row.sum()) * X.shape[1]
        values, each = X.data.astype(np.float64), np.repeat(by_row, np.diff(X.indptr))
        mean = float(each @ values) / n_entries
        # The entries that are not stored lie at -mean.
        squares = float(each @ np.square(values - mean)) + (n_entries - float(each.sum())) * mean**2
        variance = squares / n_entries
    elif weight is None:
        variance = float(np.var(X, dtype=np.float64))
    else:
        mean = float(np.average(X.mean(axis=1, dtype=np.float64), weights=weight))
        deviations = np.subtract(X, mean, dtype=np.float64)
        variance = float(np.average(np.square(deviations).mean(axis=1), weights=weight))
    spread = variance ** (power / 2)
    return 1.0 / (X.shape[1] * spread) if spread > 0.0 else 0.0


def _median(X: MemoryMatrix, kernel: str, rng: np.random.RandomState, weight: Vector | None) -> float:
    if kernel == "polynomial":
        raise MarginRankError(
            "gamma='median' needs a kernel of a distance: 'rbf', 'laplacian' or 'chi2'; got 'polynomial'. "
            "Use gamma='scale' or a number."
        )
    distinct = DistinctRows(X, weight, rng)
    sample = X[distinct.rows[distinct.draw(_MEDIAN_ROWS)]]
    sample = without_offsets(sample) if kernel in DIFFERENCES else sample
    sample = with_small_indices(sample) if is_sparse(sample) else sample
    if kernel == "rbf":
        distance = euclidean_distances(sample, squared=True)
    elif kernel == "laplacian":
        distance = manhattan_distances(sample)
    else:
        distance = -additive_chi2_kernel(sample.toarray() if is_sparse(sample) else sample)
    distance = distance[np.triu_indices_from(distance, 1)]
    distance = distance[distance > 0]
    return 1.0 / float(np.median(distance)) if len(distance) else 0.0
