"""Discounts of NDCG."""

from __future__ import annotations

import numpy as np

from marginrank.exceptions import MarginRankError, shown
from marginrank.losses.base import Vector


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
        raise MarginRankError(f"discount must be 'log2' or 'letor'; got {shown(name)}.")
    return table
