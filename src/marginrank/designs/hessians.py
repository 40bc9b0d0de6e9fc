"""Whole Hessians ``X' H(p) X`` of small problems, from the rows as a dense matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.losses.written_pairs import WrittenPairs
from marginrank.types import Array, Vector

# Rows times squared columns: a Hessian takes a millisecond at most, as long as a few iterations of a solver
# that learns the curvature step by step.
_MOST_WORK = 1e7
# The Hessian with respect to the scores of one query takes a product for each of its rows.
_LONGEST_QUERY = 128
# With so many rows for each column solvers start from the whole Hessian near 0 (sampling.py): few steps.
_ROWS_A_COLUMN = 2
# Of a hinge, whose pairs are written out, and whose Hessian has an entry for each two rows.
_MOST_PAIRS, _MOST_ROWS = 10_000, 400


def hessian_pays(n_rows: int, n_columns: int, longest_query: int) -> bool:
    """Whether a problem is so small, and has so few rows, that a Hessian in every step is the fastest.

    Examples
    --------
    >>> hessian_pays(120, 100, 12), hessian_pays(100_000, 136, 120)
    (True, False)
    """
    if n_rows >= _ROWS_A_COLUMN * n_columns:
        return False
    return float(n_rows) * n_columns**2 <= _MOST_WORK and longest_query <= _LONGEST_QUERY


def small_hinge(design: Any, loss: Any) -> tuple[Array, WrittenPairs] | None:
    """Return the rows and the pairs of a hinge within queries, where the problem is small; else None."""
    write = getattr(loss, "written_pairs", None)
    n_rows, n_columns = design.shape
    if (
        write is None
        or not hessian_pays(n_rows, n_columns, 1)
        or getattr(loss, "n_pairs", np.inf) > _MOST_PAIRS
    ):
        return None
    pairs: WrittenPairs | None = write() if loss.n_rows <= _MOST_ROWS else None
    rows = None if pairs is None else getattr(design, "dense_rows", lambda: None)()
    return None if rows is None or pairs is None else (rows, pairs)


def row_hessians(design: Any, loss: Any) -> RowHessians | None:
    """Return what makes the Hessians of a smooth loss, where the problem is small; else None."""
    n_rows, n_columns = design.shape
    if not (loss.smooth and hessian_pays(n_rows, n_columns, loss.longest_query)):
        return None
    rows = getattr(design, "dense_rows", lambda: None)()
    return None if rows is None else RowHessians(rows, loss.query_ptr)


class RowHessians:
    """Hessians of risks of the same rows.

    The Hessian with respect to scores has a block for each query and nothing else. So one product tells a
    column of every block at once, and there are as many products as the longest query has rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        The rows, in the order of the loss.
    query_ptr : ndarray of int64
        Where queries begin.

    Examples
    --------
    >>> hessians = RowHessians(np.array([[1.0], [3.0]]), np.array([0, 2]))
    >>> H = np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> hessians.of(lambda direction: H @ direction)
    array([[4.]])
    """

    def __init__(self, rows: Array, query_ptr: NDArray[np.int64]) -> None:
        self._rows = rows
        self._starts, sizes = query_ptr[:-1], np.diff(query_ptr)
        self._order = np.arange(len(rows)) - np.repeat(self._starts, sizes)
        self._query = np.repeat(np.arange(len(sizes)), sizes)
        self._longest = int(sizes.max())
        padded = np.zeros((len(sizes), self._longest, rows.shape[1]))
        padded[self._query, self._order] = rows
        self._padded = padded

    def of(self, hvp: Callable[[Vector], Vector]) -> NDArray[np.float64]:
        """Return ``X' H X``, from products of H with directions."""
        blocks = np.zeros((len(self._starts), self._longest, self._longest))
        for k in range(self._longest):
            product = hvp((self._order == k).astype(np.float64))
            blocks[self._query, self._order, k] = product
        halves = (blocks @ self._padded)[self._query, self._order]
        hessian = self._rows.T @ halves
        return 0.5 * (hessian + hessian.T)
