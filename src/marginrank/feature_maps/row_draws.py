"""Drawing rows by what they contain: the same rows whatever their order, and a weight is a repetition."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import is_sparse
from marginrank.types import MemoryMatrix, Vector

Keys = NDArray[np.uint64]

# The constants of splitmix64, a well-known mixer of 64 bits.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ENTRIES_AT_ONCE = 1 << 20


class DistinctRows:
    """The different rows of a matrix that weigh something; equal ones are one, of the sum of their weights.

    What is drawn from them depends on the content of the rows and the seed alone. So their order does not
    matter, and a row of weight 2 is as likely as two equal ones.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The rows.
    weight : ndarray of shape (n_rows,) or None
        Their weights.
    rng : RandomState
        The only source of chance.

    Attributes
    ----------
    rows : ndarray of int64
        Number of the first of each, in an order that chance has made.
    weight : ndarray
        The weights, in that order.

    Examples
    --------
    >>> distinct = DistinctRows(np.array([[5.0], [1.0], [5.0], [2.0]]), None, np.random.RandomState(0))
    >>> np.sort(distinct.rows), distinct.weight.sum()
    (array([0, 1, 3]), np.float64(4.0))
    >>> len(distinct.draw(2))
    2
    """

    def __init__(self, X: MemoryMatrix, weight: Vector | None, rng: np.random.RandomState) -> None:
        self._rng = rng
        counted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0.0)
        keys = _row_keys(X, self._salt())[counted]
        self._keys, first, group = np.unique(keys, return_index=True, return_inverse=True)
        self.rows = counted[first].astype(np.int64)
        by_row = None if weight is None else weight[counted]
        self.weight: Vector = np.bincount(group, by_row, minlength=len(self.rows)).astype(np.float64)

    def draw(self, n_rows: int, factor: Vector | None = None) -> NDArray[np.int64]:
        """Return positions in ``rows``, drawn without replacement with a chance that grows with the weight.

        Parameters
        ----------
        n_rows : int
            How many to draw; all, if there are fewer.
        factor : ndarray, optional
            What weights are multiplied by; those of 0 are not drawn.
        """
        weight = self.weight if factor is None else self.weight * factor
        # The first n of exponential clocks that run at the speed of the weights are such a draw.
        chance = ((_mixed(self._keys ^ self._salt()) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        with np.errstate(divide="ignore"):
            order = np.argsort(-np.log(chance) / weight, kind="stable")
        return order[: min(n_rows, int(np.count_nonzero(weight)))]

    def _salt(self) -> np.uint64:
        return np.uint64(self._rng.randint(0, 2**63 - 1, dtype=np.int64))


def _row_keys(X: MemoryMatrix, seed: np.uint64) -> Keys:
    """Return a hash of the entries of each row that are not zero, the same for dense and sparse rows."""
    keys = np.zeros(X.shape[0], dtype=np.uint64)
    columns = _mixed(seed + _STEP * np.arange(1, X.shape[1] + 1, dtype=np.uint64))
    if is_sparse(X):
        if not X.has_canonical_format:  # entries stored twice count as their sum
            X = X.copy()
            X.sum_duplicates()
        for first, last in _runs(X.indptr):
            part = slice(X.indptr[first], X.indptr[last])
            entries = _entry_keys(X.data[part], columns[X.indices[part]])
            sums = np.concatenate(([np.uint64(0)], np.cumsum(entries, dtype=np.uint64)))
            offsets = X.indptr[first : last + 1] - X.indptr[first]
            keys[first:last] = sums[offsets[1:]] - sums[offsets[:-1]]
        return keys
    step = max(1, _ENTRIES_AT_ONCE // max(1, X.shape[1]))
    for first in range(0, X.shape[0], step):
        keys[first : first + step] = _entry_keys(X[first : first + step], columns).sum(
            axis=1, dtype=np.uint64
        )
    return keys


def _runs(indptr: NDArray[Any]) -> list[tuple[int, int]]:
    """Return ranges of rows with about as many entries each as are hashed at once."""
    bounds = np.unique(np.searchsorted(indptr, np.arange(0, indptr[-1] + 1, _ENTRIES_AT_ONCE)))
    ends = np.append(bounds[bounds < len(indptr) - 1], len(indptr) - 1)
    return list(zip(np.concatenate(([0], ends[:-1])).tolist(), ends.tolist(), strict=True))


def _entry_keys(values: NDArray[Any], columns: Keys) -> Keys:
    wide = np.ascontiguousarray(values, dtype=np.float64)
    return np.where(wide == 0.0, np.uint64(0), _mixed(wide.view(np.uint64) ^ columns))


def _mixed(bits: Any) -> Keys:
    """Return bits mixed so that each depends on all."""
    bits = np.asarray(bits, dtype=np.uint64) + _STEP
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)))
