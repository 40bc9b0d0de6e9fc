"""Discounts of NDCG."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import ParameterError
from marginrank.types import Vector


def discount_table(name: str, n_ranks: int) -> Vector:
    """Return the discount of the ranks 1 to ``n_ranks``.

    Examples
    --------
    >>> from marginrank.losses.structured.discounts import discount_table
    >>> discount_table("letor", 4).round(3).tolist()
    [1.0, 1.0, 0.631, 0.5]
    """
    rank = np.arange(1.0, n_ranks + 1.0)
    table: Vector
    if name == "log2":
        table = 1.0 / np.log2(1.0 + rank)
    elif name == "letor":
        table = 1.0 / np.log2(np.maximum(rank, 2.0))
    else:
        raise ParameterError("discount", "'log2' or 'letor'", name)
    return table


def weight_at_stake(scale: Vector, discount: Vector, query_ptr: NDArray[np.int64]) -> float:
    """Return the weight of the queries in which a ranking can lose, because not all ranks count the same.

    Elsewhere every ranking is ideal and costs exactly 0, whatever is rounded.

    Parameters
    ----------
    scale : ndarray of shape (n_queries,)
        The weight of each query.
    discount : ndarray
        What each rank counts, nowhere increasing; 0 beyond a cut-off.
    query_ptr : ndarray of int64
        First row of each query, and the number of rows.

    Examples
    --------
    >>> weight_at_stake(np.array([0.25, 0.75]), discount_table("letor", 3), np.array([0, 2, 5]))
    0.75
    """
    last = discount[np.diff(query_ptr) - 1]
    return float(scale[last < discount[0]].sum())
