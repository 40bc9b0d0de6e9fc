"""The sums that a Gram matrix is made of, block by block: an interrupt leaves those of the blocks so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marginrank.designs.centred import CentredRows
from marginrank.types import Array, Vector


class BlockSum(NamedTuple):
    """What rows ``begin:end`` add to a Gram matrix and to its products with the targets.

    Columns ``begin:end``, where the matrix is over rows; the products are the targets there.
    """

    matrix: Array
    moment: Array
    begin: int
    end: int


@dataclass(frozen=True)
class PartialGram:
    """The Gram matrix of some of the rows, or of some of the columns where it is over rows.

    Attributes
    ----------
    rows : CentredRows
        All rows.
    over_rows : bool
        Whether ``matrix`` is ``Xc Xc'`` rather than ``Xc' Xc``.
    matrix, moment : ndarray
        As those of a ``CentredGram``.
    taken : tuple of (int, int)
        Bounds of the rows, or of the columns, that are in it.
    """

    rows: CentredRows
    over_rows: bool
    matrix: Array
    moment: Array
    taken: tuple[tuple[int, int], ...]

    @property
    def mass(self) -> float:
        """The weight of the rows that are in it."""
        if self.over_rows:
            return self.rows.mass
        return float(sum(np.square(self.rows.root_weight[begin:end]).sum() for begin, end in self.taken))

    def balance(self) -> float:
        """Return the mean curvature along the products with the targets, as ``NormalEquations.balance``."""
        largest = float(np.abs(self.moment).max(initial=0.0))
        side = self.moment / (largest or 1.0)  # its square may leave float64
        product = self.matrix @ side
        # Over rows the right side is Xc' times the targets, and itself not there.
        curvature = _dot(product if self.over_rows else side, product)
        square = _dot(side, product if self.over_rows else side)
        return 2.0 / self.mass * curvature / square if square > 0.0 else 1.0

    def coefficients(self, alpha: float) -> Array:
        """Return the exact minimiser over what is in it, of shape (n_targets, n_features).

        One system of equations: the decomposition that serves every alpha takes many times as long, and
        whoever interrupts does not want to wait for it.
        """
        shifted = self.matrix.copy()
        shifted.flat[:: len(shifted) + 1] += alpha * self.mass / 2.0
        w: Array = np.linalg.solve(shifted, self.moment).astype(np.float64, copy=False)
        if self.over_rows:
            known = np.zeros(self.rows.shape[1], dtype=bool)
            for begin, end in self.taken:
                known[begin:end] = True
            w = np.where(known[:, None], self.rows.adjoint(w), 0.0)
        return np.ascontiguousarray(w.T)

    def coefficients_at(self, alphas: Sequence[float] | Vector) -> Array:
        """Return the minimisers for several alphas, of shape (n_alphas, n_targets, n_features)."""
        return np.stack([self.coefficients(float(alpha)) for alpha in alphas])


class GramSums:
    """The sums of blocks that a Gram matrix is made of; whole after every block.

    Parameters
    ----------
    rows : CentredRows
        The data.
    over_rows : bool, optional
        The matrix to form; None takes the smaller one.

    Examples
    --------
    >>> rows = CentredRows(np.array([[1.0], [3.0], [0.0], [4.0]]), np.array([0, 2, 4]), n_threads=1)
    >>> sums = GramSums(rows)
    >>> sums.so_far() is None
    True
    >>> sums.keep(0, BlockSum(np.array([[2.0]]), np.array([[3.0]]), 0, 2))
    >>> sums.so_far().coefficients(1.0)  # (2 + lambda) w = 3 with lambda = 1
    array([[1.]])
    """

    def __init__(self, rows: CentredRows, over_rows: bool | None = None) -> None:
        self.rows = rows
        self.over_rows = rows.shape[0] < rows.shape[1] if over_rows is None else over_rows
        self._sums: dict[int, BlockSum] = {}
        self._stopped = False

    def keep(self, strip: int, total: BlockSum) -> None:
        """Set the sum of a strip, in one step: an interrupt leaves it, or the one before."""
        self._sums[strip] = total

    def keep_whole(self, matrix: Array, moment: Array) -> None:
        """Set the sum of everything, and let go of all others."""
        self._sums = {0: BlockSum(matrix, moment, 0, self.rows.shape[1 if self.over_rows else 0])}

    def until_stopped(self, blocks: Sequence[Any]) -> Iterator[Any]:
        """Return blocks, until there is a stop."""
        for block in blocks:
            if self._stopped:
                return
            yield block

    def stop(self) -> None:
        """Have each thread end after the block that it is at."""
        self._stopped = True

    def so_far(self) -> PartialGram | None:
        """Return the Gram matrix of the blocks so far; None where there are none."""
        sums = [total for _, total in sorted(self._sums.items())]
        if not sums:
            return None
        matrix = tree_sum([one.matrix for one in sums])
        moment = sums[0].moment if self.over_rows else tree_sum([one.moment for one in sums])
        taken = tuple((one.begin, one.end) for one in sums)
        return PartialGram(self.rows, self.over_rows, matrix, moment, taken)


def tree_sum(parts: Sequence[Any]) -> Any:
    """Return the sum of arrays, which are left alone, in a fixed tree.

    Examples
    --------
    >>> tree_sum([1.0, 2.0, 4.0])
    7.0
    """
    if len(parts) == 1:
        return parts[0]
    half = 1 << ((len(parts) - 1).bit_length() - 1)
    return tree_sum(parts[:half]) + tree_sum(parts[half:])


def _dot(a: Array, b: Array) -> float:
    return float(np.einsum("ij,ij->", a, b))
