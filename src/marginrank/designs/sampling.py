"""Column statistics from a sample of the rows, for scaling a solver's first steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data.matrices import is_sparse
from marginrank.designs.columns import ColumnTransform, shifted_rows
from marginrank.system.threads import run_parallel
from marginrank.types import Array, Matrix, MemoryMatrix, Rows, Vector

_SAMPLE_ROWS = 4096
# Products of all columns are estimated from at least twice as many rows as columns; from as many, a solver
# takes a third more passes. A multiplication of a large product takes about a sixth of the time of one in a
# pass, so the products may cost as much as 13 passes; and what is below the other bound is over in no time.
_ROWS_A_COLUMN = 2
_WORTH_PASSES = 80.0
_SMALL_WORK = 1e9
_MOST_COLUMNS = 4096  # 128 MB of products, and as much for their factor
_PANEL_COLUMNS = 256


class SampledRows:
    """Base of the designs of rows of a matrix, which estimate sums over them from a sample."""

    shape: tuple[int, int]
    _X: Matrix
    _rows: Rows | None
    _transform: ColumnTransform
    _n_threads: int

    def take(self, positions: Rows) -> MemoryMatrix:
        """Return the rows of X at these positions of the order of the loss, in memory, less the shift."""
        taken = self._X[positions if self._rows is None else self._rows[positions]]
        return shifted_rows(taken, self._transform.shift)

    @property
    def _pass_work(self) -> float:
        """Multiplications of one pass over all rows."""
        return 2.0 * self.shape[0] * self.shape[1]

    def centred_squares(self, row_weight: Vector, query_ptr: Rows) -> Vector:
        """Estimate ``sum_i h_i (x_ij - mean_qj)^2`` for each column j from a sample of the rows."""
        return sampled_squares(self.take, self.shape[1], row_weight, query_ptr)

    def centred_products(self, row_weight: Vector, query_ptr: Rows) -> Array | None:
        """Estimate the same of all pairs of columns, where that pays."""
        return sampled_products(
            self.take, self.shape[1], self._pass_work, row_weight, query_ptr, self._n_threads
        )


def sampled_squares(
    take: Callable[[NDArray[np.int64]], MemoryMatrix],
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


def sampled_products(
    take: Callable[[NDArray[np.int64]], MemoryMatrix],
    n_cols: int,
    pass_work: float,
    row_weight: Vector,
    query_ptr: NDArray[np.int64],
    n_threads: int,
) -> NDArray[np.float64] | None:
    """Estimate ``sum_i h_i (x_ij - mean_qj)(x_ik - mean_qk)`` for all columns j and k from a sample.

    Parameters
    ----------
    take : callable
        From positions of rows to these rows.
    n_cols : int
        Number of columns.
    pass_work : float
        Multiplications of one pass over all rows.
    row_weight, query_ptr
        The ``h_i``, and where queries begin.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_cols, n_cols) or None
        None where the products would cost more than they save a solver.
    """
    if not products_pay(len(row_weight), n_cols, pass_work):
        return None
    positions, starts = sample_rows(query_ptr, _rows_for_products(n_cols))
    weight = row_weight[positions]
    total = float(weight.sum())
    if total == 0.0:
        return np.zeros((n_cols, n_cols))
    X = take(positions)
    if is_sparse(X):  # what a pass costs is known only now, where the rows lie on disk or elsewhere
        pass_work = min(pass_work, 2.0 * X.nnz / X.shape[0] * len(row_weight))
        if not products_pay(len(row_weight), n_cols, pass_work):
            return None
        X = X.toarray()
    rows = _centred(X, weight, starts)
    rows *= np.sqrt(weight * (float(row_weight.sum()) / total))[:, None]
    return _gram(rows, n_threads)


def products_pay(n_rows: int, n_cols: int, pass_work: float, further_work: float = 0.0) -> bool:
    """Whether the products of all columns save a solver more than they cost.

    Parameters
    ----------
    n_rows, n_cols : int
        Shape of the data.
    pass_work : float
        Multiplications of one pass over all rows.
    further_work : float
        Multiplications in addition to those of the products and of their factorisation.

    Examples
    --------
    >>> products_pay(100_000, 100, 2e7), products_pay(100_000, 50_000, 2e7)
    (True, False)
    """
    work = min(_rows_for_products(n_cols), n_rows) * float(n_cols) ** 2 + float(n_cols) ** 3 / 3.0
    return n_cols <= _MOST_COLUMNS and work + further_work <= _SMALL_WORK + _WORTH_PASSES * pass_work


def _rows_for_products(n_cols: int) -> int:
    return max(_SAMPLE_ROWS, _ROWS_A_COLUMN * n_cols)


def _gram(rows: NDArray[np.float64], n_threads: int) -> NDArray[np.float64]:
    """Return ``rows' rows``, one panel of columns per task."""
    n_cols = rows.shape[1]
    out = np.empty((n_cols, n_cols))

    def fill(first: int) -> None:
        panel = slice(first, first + _PANEL_COLUMNS)
        np.matmul(rows[:, first:].T, rows[:, panel], out=out[first:, panel])
        out[panel, first:] = out[first:, panel].T

    if n_cols <= _PANEL_COLUMNS:
        fill(0)
    else:
        run_parallel(fill, range(0, n_cols, _PANEL_COLUMNS), n_threads)
    return out


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


def weighted_squares(X: MemoryMatrix, weight: Vector, starts: NDArray[np.int64]) -> Vector:
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
        sums: Any = by_group @ cast(Any, X)
        squares: Vector = X.power(2).transpose() @ weight
        between: Vector = sums.power(2).T @ (1.0 / safe)
        return np.maximum(squares - between, 0.0)
    return np.asarray(weight @ np.square(_centred(X, weight, starts)))


def _centred(X: NDArray[Any], weight: Vector, starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return dense rows less the weighted mean of their group."""
    rows = np.array(X, dtype=np.float64)
    total = np.add.reduceat(weight, starts)
    sizes = np.diff(np.append(starts, len(weight)))
    for first in range(0, rows.shape[1], _PANEL_COLUMNS):
        panel = rows[:, first : first + _PANEL_COLUMNS]
        means = np.add.reduceat(weight[:, None] * panel, starts, axis=0)
        means /= np.where(total > 0.0, total, 1.0)[:, None]
        panel -= np.repeat(means, sizes, axis=0)
    return rows


def _thinned(begin: int, end: int, room: int) -> NDArray[np.int64]:
    if end - begin <= room:
        return np.arange(begin, end)
    return np.linspace(begin, end - 1, room).astype(np.int64)
