"""LETOR's normalisation of columns within each query.

Unlike a column scale it cannot be folded into the coefficients, because every query has its own divisors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import as_dense
from marginrank.types import Matrix

_BLOCK_VALUES = 1 << 16


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
        block = as_dense(X[rows])
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
