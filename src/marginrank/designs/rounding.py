"""What is known before a product about its rounding: sizes of the columns, and how many terms a sum has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import ProductRounding, Vector

# A sum of k terms, in any order, is off by at most k u / (1 - k u) of the sum of their sizes.
_SECOND_ORDER = 1.0001


class ColumnRange(NamedTuple):
    """Least and largest values of the columns over some rows; what is not stored is 0.

    ``full`` tells which columns have exactly one entry in each row. ``longest`` is the number of entries of
    the longest row. Where an entry is stored in parts, both signs of the sum of their sizes are in the range.
    """

    low: Vector
    high: Vector
    full: NDArray[np.bool_]
    longest: int

    @property
    def largest(self) -> Vector:
        """Bounds of the absolute values."""
        return np.maximum(np.abs(self.low), np.abs(self.high))


def merged_ranges(parts: Iterable[ColumnRange]) -> ColumnRange:
    """Return the range over the rows of all parts, of which there is at least one.

    Examples
    --------
    >>> one = ColumnRange(np.array([1.0]), np.array([2.0]), np.array([True]), 1)
    >>> other = ColumnRange(np.array([0.0]), np.array([5.0]), np.array([False]), 0)
    >>> merged_ranges([one, other])
    ColumnRange(low=array([0.]), high=array([5.]), full=array([False]), longest=1)
    """
    lows, highs, fulls, longest = zip(*parts, strict=True)
    low, high = np.min(lows, axis=0), np.max(highs, axis=0)
    return ColumnRange(low, high, np.all(fulls, axis=0), max(longest))


def steps(depth: float) -> float:
    """Return the factor of ``u`` for sums in which each term takes part in so many operations.

    Examples
    --------
    >>> 10.0 < steps(10) < 13.0
    True
    """
    return _SECOND_ORDER * (depth + 2.0)


def tree_depth(n_parts: int) -> int:
    """Return the additions on the way through a binary tree of so many parts."""
    return n_parts.bit_length() + 1 if n_parts > 1 else 0


def through_factor(inner: ProductRounding, factor: NDArray[np.float64]) -> ProductRounding:
    """Return the rounding of products with ``B F``, made of those with B and with the factor F, by BLAS.

    What either stage leaves is a share of ``sum_j column_j |w_j|``, where ``column_j`` is the sum over k of
    ``|f_kj|`` times the bound of column k of B; and likewise for the adjoint.
    """
    width, rank = factor.shape
    column = (inner.column @ np.abs(factor)) * (1.0 + steps(width) * 2.0**-52)
    return ProductRounding(column, steps(inner.scores_steps + rank), steps(inner.adjoint_steps + width))
