"""Column statistics from a sample of the rows, for scaling a solver's first steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.designs.base import Vector
from marginrank.validation import Matrix, is_sparse

_SAMPLE_ROWS = 4096


def sampled_squares(
    take: Callable[[NDArray[np.int64]], Matrix],
    n_cols: int,
    row_weight: Vector,
    query_ptr: NDArray[np.int64],
    n_rows: int = _SAMPLE_ROWS,
) -> Vector:
    """Estimate ``sum_i h_i (x_ij - mean_qj)^2`` per column j from about ``n_rows`` rows."""
    positions, starts = sample_rows(query_ptr, min(n_rows, _SAMPLE_ROWS))
    weight = row_weight[positions]
    total = float(weight.sum())
    if total == 0.0:
        return np.zeros(n_cols)
    return weighted_squares(take(positions), weight, starts) * (float(row_weight.sum()) / total)


def sample_rows(
    query_ptr: NDArray[np.int64], size: int = _SAMPLE_ROWS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose about ``size`` rows: whole queries spread over the data, evenly thinned where they are longer.

    Returns their positions and, in that list, where each query starts.

    Examples
    --------
    >>> positions, starts = sample_rows(np.array([0, 3, 5]))
    >>> positions.tolist(), starts.tolist()
    ([0, 1, 2, 3, 4], [0, 3])
    """
    n_queries, n_rows = len(query_ptr) - 1, int(query_ptr[-1])
    if n_rows <= size:
        chosen = np.flatnonzero(np.diff(query_ptr) > 0)
        return np.arange(n_rows), query_ptr[chosen]
    n_chosen = max(1, n_queries * size // n_rows)
    chosen = np.unique(np.linspace(0, n_queries - 1, n_chosen).astype(np.int64))
    chosen = chosen[np.diff(query_ptr)[chosen] > 0]
    if not len(chosen):
        return np.arange(0), np.arange(0)
    room = max(1, size // max(1, len(chosen)))
    parts = [_thinned(int(query_ptr[q]), int(query_ptr[q + 1]), 4 * room) for q in chosen]
    starts = np.concatenate(([0], np.cumsum([len(part) for part in parts])[:-1])).astype(np.int64)
    return np.concatenate(parts), starts


def weighted_squares(X: Matrix, weight: Vector, starts: NDArray[np.int64]) -> Vector:
    """Return ``sum_i h_i (x_ij - mean_qj)^2`` per column, with h-weighted means of each group of rows.

    Groups are consecutive and start at ``starts``.
    """
    total = np.add.reduceat(weight, starts)
    safe = np.where(total > 0.0, total, 1.0)
    if is_sparse(X):
        X = X.astype(np.float64)
        X.sum_duplicates()
        group_ptr = np.append(starts, len(weight))
        by_group = sparse.csr_array(
            (weight, np.arange(len(weight)), group_ptr), shape=(len(starts), len(weight))
        )
        sums: Matrix = by_group @ X
        squares: Vector = X.power(2).T @ weight
        between: Vector = sums.power(2).T @ (1.0 / safe)
        return np.maximum(squares - between, 0.0)
    X = np.asarray(X, dtype=np.float64)
    means = np.add.reduceat(weight[:, None] * X, starts, axis=0) / safe[:, None]
    centred = X - np.repeat(means, np.diff(np.append(starts, len(weight))), axis=0)
    return np.asarray(weight @ np.square(centred))


def _thinned(begin: int, end: int, room: int) -> NDArray[np.int64]:
    if end - begin <= room:
        return np.arange(begin, end)
    return np.linspace(begin, end - 1, room).astype(np.int64)
