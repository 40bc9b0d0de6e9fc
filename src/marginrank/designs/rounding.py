"""What is known before a product about its rounding, from the sizes of columns and the lengths of sums."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import ProductRounding
from marginrank.designs.columns import ColumnTransform

# A sum of k terms, in any order, is off by at most k u / (1 - k u) of the sum of their sizes.
_SECOND_ORDER = 1.0001


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


def product_rounding(transform: ColumnTransform, adjoint_depth: int) -> ProductRounding:
    """Return the rounding of products with columns whose range is known, less their shift."""
    known = transform.known
    assert known is not None
    shifts = 0 if transform.shift is None else 1
    return ProductRounding(
        known.largest(transform.shift), steps(known.longest + shifts), steps(adjoint_depth + shifts)
    )
