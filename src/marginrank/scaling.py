"""Column scales: what ``scale=`` divides the features by; and LETOR's normalisation within queries.

Only the divisor matters for ranking, because a constant added to a column moves all scores of a query alike.
So sparse data stay sparse, and the scale is folded into the coefficients, which stay in raw units.
Normalising within queries cannot be folded, because every query has its own divisors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from marginrank.chunks import ChunkedMatrix
from marginrank.exceptions import MarginRankError, shown
from marginrank.validation import Matrix, Vector, is_sparse

Scale = Literal["standard", "minmax"]

_BLOCK_VALUES = 1 << 16
_STEADY_BITS = 26


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
        raise MarginRankError(f"scale must be None, 'standard' or 'minmax'; got {shown(scale)}.")
    if isinstance(X, ChunkedMatrix):
        divisor, largest = _chunked_scale(X, scale, rows, weight)
    elif is_sparse(X):
        divisor, largest = _sparse_scale(X if rows is None else X[rows], scale, weight)
    else:
        divisor, largest = _dense_scale(X, scale, rows, weight)
    # Rounding leaves a constant column a tiny spread, which would blow its noise up.
    return np.where(divisor > 10 * np.finfo(X.dtype).eps * largest, divisor, 1.0)


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


def _chunked_scale(
    X: ChunkedMatrix, scale: Scale, rows: NDArray[np.int64] | None, weight: Vector | None
) -> tuple[Vector, Vector]:
    """Return the divisors and the largest absolute values of the columns, a chunk at a time."""
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    total, mean, squares = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for first, last, (block_low, block_high, block_mean, variance) in X.map_blocks(_moments, rows, weight):
        w = None if weight is None else weight[first:last]
        np.minimum(low, block_low, out=low)
        np.maximum(high, block_high, out=high)
        amount = float(last - first) if w is None else float(w.sum())
        shift = block_mean - mean
        squares += variance * amount + np.square(shift) * (total * amount / (total + amount))
        mean += shift * (amount / (total + amount))
        total += amount
    largest = np.maximum(np.abs(low), np.abs(high))
    return (high - low if scale == "minmax" else np.sqrt(squares / total)), largest


def _moments(X: Matrix, weight: Vector | None) -> tuple[Vector, Vector, Vector, Vector]:
    """Return the least and largest value, the mean and the variance of each column, dense or CSR."""
    if is_sparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

        X = X.copy()
        X.sum_duplicates()
        found = (*min_max_axis(X, axis=0), *mean_variance_axis(X, axis=0, weights=weight))
        low, high, mean, variance = (np.asarray(values, dtype=np.float64) for values in found)
        return low, high, mean, variance
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    mean = np.average(X, axis=0, weights=weight).astype(np.float64)
    deviation, _ = _dense_scale(X, "standard", None, weight)
    return low, high, mean, np.square(deviation)


def _sparse_scale(X: Matrix, scale: Scale, weight: Vector | None) -> tuple[Vector, Vector]:
    """Return the divisors and the largest absolute values of the columns."""
    # Not above: data are looked at, and models applied, without scikit-learn.
    from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

    if not X.has_canonical_format:  # entries stored twice count as their sum
        X = X.copy()
        X.sum_duplicates()
    low, high = (np.asarray(edge, dtype=np.float64) for edge in min_max_axis(X, axis=0))
    largest = np.maximum(np.abs(low), np.abs(high))
    if scale == "minmax":
        return high - low, largest
    _, variance = mean_variance_axis(X, axis=0, weights=weight)
    return np.sqrt(np.asarray(variance, dtype=np.float64)), largest


def _dense_scale(
    X: Matrix, scale: Scale, rows: NDArray[np.int64] | None, weight: Vector | None
) -> tuple[Vector, Vector]:
    """Return the same in one pass over blocks of rows that stay in cache."""
    n_rows = len(X) if rows is None else len(rows)
    step = max(1, _BLOCK_VALUES // X.shape[1])
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    total, mean, squares = 0.0, np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for start in range(0, n_rows, step):
        part = slice(start, min(start + step, n_rows))
        block = np.asarray(X[part] if rows is None else X[rows[part]], dtype=np.float64)
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
        if scale == "minmax":
            continue
        w = np.ones(len(block)) if weight is None else weight[part]
        amount = float(w.sum())
        block_mean = w @ block / amount
        shift = block_mean - mean
        # Chan's update: sums of squares about the running mean, without cancellation.
        squares += w @ np.square(block - block_mean) + np.square(shift) * (total * amount / (total + amount))
        mean += shift * (amount / (total + amount))
        total += amount
    largest = np.maximum(np.abs(low), np.abs(high))
    return (high - low if scale == "minmax" else np.sqrt(squares / total)), largest


def minmax_by_query(
    X: Matrix, query_ptr: NDArray[np.int64], order: NDArray[np.int64] | None = None
) -> NDArray[Any]:
    """Return ``(x - min) / (max - min)`` of each column within each query, as LETOR normalises.

    A column that is constant within a query becomes 0 there.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features; values that are not stored are 0 and count.
    query_ptr, order : ndarray of int64
        Rows ``order[query_ptr[k]:query_ptr[k + 1]]`` are a query, not empty; an order of None takes the rows
        as they stand.

    Returns
    -------
    ndarray
        Dense, of the shape and dtype of X, in the order of its rows.

    Notes
    -----
    Beside the result this needs memory for about three copies of the largest query.

    Examples
    --------
    >>> minmax_by_query(np.array([[1.0, 7.0], [3.0, 7.0], [2.0, 7.0], [5.0, 6.0]]), np.array([0, 3, 4]))
    array([[0. , 0. ],
           [1. , 0. ],
           [0.5, 0. ],
           [0. , 0. ]])
    """
    out = np.empty(X.shape, dtype=X.dtype)
    for part in _query_blocks(query_ptr, max(1, _BLOCK_VALUES // X.shape[1])):
        start, end = int(part[0]), int(part[-1])
        rows = slice(start, end) if order is None else order[start:end]
        block = X[rows].toarray() if is_sparse(X) else X[rows]
        out[rows] = _minmax_block(block, part - start)
    return out


def _query_blocks(query_ptr: NDArray[np.int64], n_rows: int) -> Iterator[NDArray[np.int64]]:
    """Cut the offsets into runs of whole queries of about ``n_rows`` rows each."""
    first, n_queries = 0, len(query_ptr) - 1
    while first < n_queries:
        last = int(np.searchsorted(query_ptr, query_ptr[first] + n_rows, side="right")) - 1
        last = max(last, first + 1)
        yield query_ptr[first : last + 1]
        first = last


def _minmax_block(block: NDArray[Any], query_ptr: NDArray[np.int64]) -> NDArray[Any]:
    low = np.minimum.reduceat(block, query_ptr[:-1], axis=0)
    high = np.maximum.reduceat(block, query_ptr[:-1], axis=0)
    with np.errstate(over="ignore"):
        span = high - low
    if not np.isfinite(span).all():  # a range beyond the largest number, though both ends are below it
        block, low, span = block / 2, low / 2, high / 2 - low / 2
    span[span == 0] = 1
    sizes = np.diff(query_ptr)
    shifted: NDArray[Any] = block - np.repeat(low, sizes, axis=0)
    shifted /= np.repeat(span, sizes, axis=0)
    return shifted
