"""Which fold each query goes to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Rows


def dealt_in_order(sizes: NDArray[np.int64], order: Rows, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each query: as many queries in each, the first ones of ``order`` in the first fold.

    Examples
    --------
    >>> dealt_in_order(np.array([1, 1, 9]), np.array([2, 0, 1]), 2).tolist()
    [0, 1, 0]
    """
    del sizes
    fold_of = np.empty(len(order), dtype=np.int64)
    for fold, queries in enumerate(np.array_split(order, n_folds)):
        fold_of[queries] = fold
    return fold_of


def dealt_by_size(sizes: NDArray[np.int64], order: Rows, n_folds: int) -> NDArray[np.int64]:
    """Return the fold of each query of ``order``, heaviest first, each to the lightest fold; -1 for others.

    Folds have nearly as many rows as each other, whatever the order of the queries.

    Examples
    --------
    >>> dealt_by_size(np.array([1, 2, 9]), np.array([0, 1, 2]), 2).tolist()
    [1, 1, 0]
    """
    fold_of, load = np.full(len(sizes), -1, dtype=np.int64), np.zeros(n_folds)
    for query in order[np.argsort(-sizes[order], kind="stable")]:
        lightest = int(np.argmin(load))
        fold_of[query] = lightest
        load[lightest] += sizes[query]
    return fold_of
