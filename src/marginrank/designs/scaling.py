"""Column scales: what ``scale=`` divides the features by.

Only the divisor matters for ranking, because a constant added to a column moves all scores of a query alike.
So sparse data stay sparse, and the scale is folded into the coefficients, which stay in raw units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import csr_like, in_memory, is_sparse
from marginrank.designs.columns import large_offset
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.types import Matrix, MemoryMatrix, SparseMatrix, StoredMatrix, Vector

Scale = Literal["standard", "minmax"]

_BLOCK_VALUES = 1 << 16
_STEADY_BITS = 26
_LARGE = 2.0**400


def column_scale(
    X: Matrix, scale: Scale, rows: NDArray[np.int64] | None = None, weight: Vector | None = None
) -> Vector:
    """Return a positive divisor per column: standard deviation, or range; 1 for constant columns.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features.
    scale : {"standard", "minmax"}
        Standard deviation (of the population, weighted) or maximum minus minimum.
    rows : ndarray of int64, optional
        The rows that take part; by default all.
    weight : ndarray, optional
        Weights of these rows; they count as repetitions.

    Examples
    --------
    >>> column_scale(np.array([[1.0, 5.0], [3.0, 5.0]]), "minmax").tolist()
    [2.0, 1.0]
    """
    if scale not in ("standard", "minmax"):
        raise ParameterError("scale", "None, 'standard' or 'minmax'", scale)
    with np.errstate(over="ignore", invalid="ignore"):  # columns whose squares overflow are looked at again
        if not in_memory(X):
            found = _stored_moments(X, rows, weight)
        elif is_sparse(X):
            found = _moments(X if rows is None else X[rows], weight)
        else:
            found = _dense_moments(X, rows, weight, squares=scale == "standard")
        divisor = found.high - found.low if scale == "minmax" else np.sqrt(found.variance)
        divisor = np.where(_squares_fit(found), divisor, _extreme_scale(X, scale, rows, weight, found))
    if not np.isfinite(divisor).all():
        column = int(np.argmin(np.isfinite(divisor)))
        raise MarginRankError(
            f"Column {column} of X goes from {found.low[column]:.3g} to {found.high[column]:.3g}, which "
            f"scale={scale!r} cannot measure in float64; multiply or divide it by a power of ten."
        )
    # Rounding leaves a constant column a tiny deviation, which would blow its noise up.
    return np.where((found.high > found.low) & (divisor > 0.0), divisor, 1.0)


def _squares_fit(found: _Moments) -> NDArray[np.bool_]:
    """Return the columns whose squares float64 can hold."""
    width, largest = found.high - found.low, np.maximum(np.abs(found.low), np.abs(found.high))
    return np.asarray((largest < _LARGE) & ((width == 0.0) | (width > 1.0 / _LARGE)))


def _extreme_scale(
    X: Matrix, scale: Scale, rows: NDArray[np.int64] | None, weight: Vector | None, found: _Moments
) -> Vector:
    """Return the divisors of columns of extreme size, computed in a unit of their own; others are NaN."""
    divisor = np.full(X.shape[1], np.nan)
    columns = np.flatnonzero(~_squares_fit(found))
    if not len(columns) or not in_memory(X):  # on disk a copy may be too large
        return divisor
    part = X[:, columns] if rows is None else X[rows][:, columns]
    exponent = np.frexp(np.maximum(np.abs(found.low), np.abs(found.high)))[1][columns]
    if is_sparse(part):
        data = np.ldexp(part.data.astype(np.float64), -exponent[part.indices])
        part = csr_like(part, data)
    else:
        part = np.ldexp(part.astype(np.float64), -exponent)
    moments = _moments(part, weight)
    width = moments.high - moments.low if scale == "minmax" else np.sqrt(moments.variance)
    divisor[columns] = np.ldexp(width, exponent)
    return divisor


def steady(scale: Vector) -> Vector:
    """Return a scale rounded to 26 bits, for rows that are drawn by their content after the division.

    The last bits of a sum depend on the order of its terms. They would change every entry of the rows, and so
    which of them are drawn.

    Examples
    --------
    >>> bool(steady(np.array([0.1 + 0.2])) == steady(np.array([0.3])))
    True
    """
    fraction, exponent = np.frexp(scale)
    return np.asarray(np.ldexp(np.round(np.ldexp(fraction, _STEADY_BITS)), exponent - _STEADY_BITS))


class _Moments(NamedTuple):
    """Least and largest value, mean and variance of each column."""

    low: Vector
    high: Vector
    mean: Vector
    variance: Vector


def _together(parts: Iterator[tuple[_Moments, float]]) -> _Moments:
    """Return the moments of all rows from those of parts, by Chan's update about the running mean."""
    (low, high, mean, variance), total = next(parts)
    squares = variance * total
    for part, amount in parts:
        low, high = np.minimum(low, part.low), np.maximum(high, part.high)
        step = part.mean - mean
        squares += part.variance * amount
        squares += np.square(step) * (total * amount / (total + amount))
        mean = mean + step * (amount / (total + amount))
        total += amount
    return _Moments(low, high, mean, squares / total)


def _amount(weight: Vector | None, first: int, last: int) -> float:
    """Return the weight of the rows from the first to the last."""
    return float(last - first) if weight is None else float(weight[first:last].sum())


def _stored_moments(X: StoredMatrix, rows: NDArray[np.int64] | None, weight: Vector | None) -> _Moments:
    blocks = X.map_blocks(_moments, rows, weight)
    return _together((_Moments(*found), _amount(weight, first, last)) for first, last, found in blocks)


def _moments(X: MemoryMatrix, weight: Vector | None) -> _Moments:
    """Return the moments of rows in memory, dense or CSR."""
    return _sparse_moments(X, weight) if is_sparse(X) else _dense_moments(X, None, weight)


def _sparse_moments(X: SparseMatrix, weight: Vector | None) -> _Moments:
    # Not above: data are looked at, and models applied, without scikit-learn.
    from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

    if not X.has_canonical_format:  # entries stored twice count as their sum
        X = X.copy()
        X.sum_duplicates()
    low, high = (np.asarray(edge, dtype=np.float64) for edge in min_max_axis(X, axis=0))
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    reference = np.where(full, large_offset(low, high), 0.0)
    if reference.any():
        X = csr_like(X, X.data - reference[X.indices])
    found = mean_variance_axis(X, axis=0, weights=weight)
    mean, variance = (np.asarray(values, dtype=np.float64) for values in found)
    return _Moments(low, high, mean + reference, variance)


def _dense_moments(
    X: NDArray[Any], rows: NDArray[np.int64] | None, weight: Vector | None, *, squares: bool = True
) -> _Moments:
    """Return the moments from one pass over blocks of rows that stay in cache."""
    n_rows = len(X) if rows is None else len(rows)
    step = max(1, _BLOCK_VALUES // X.shape[1])

    def moments(start: int) -> tuple[_Moments, float]:
        part = slice(start, min(start + step, n_rows))
        block = np.asarray(X[part] if rows is None else X[rows[part]], dtype=np.float64)
        low, high = block.min(axis=0), block.max(axis=0)
        amount = _amount(weight, part.start, part.stop)
        if not squares:
            return _Moments(low, high, low, np.zeros_like(low)), amount
        w = np.ones(len(block)) if weight is None else weight[part]
        reference = large_offset(low, high)
        block = block - reference
        mean = w @ block / amount
        return _Moments(low, high, mean + reference, w @ np.square(block - mean) / amount), amount

    return _together(moments(start) for start in range(0, n_rows, step))
