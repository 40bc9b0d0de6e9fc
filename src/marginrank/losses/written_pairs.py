"""The pairs of a hinge one by one, for problems so small that they may be written out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Rows, Vector


class WrittenPairs(NamedTuple):
    """The risk ``sum_k weight_k max(0, margin_k - (p_better_k - p_worse_k))``, term by term.

    Attributes
    ----------
    better, worse : ndarray of int64
        The rows of each pair, in the order of the loss.
    weight : ndarray
        Its weight, positive.
    relative : float
        Weights are right to this part of themselves.
    margin : ndarray or float
        What differences of scores should reach: 1, less the difference of offsets where there are any.
    margin_error : float
        Margins are right to this.
    """

    better: Rows
    worse: Rows
    weight: Vector
    relative: float
    margin: Vector | float = 1.0
    margin_error: float = 0.0


def write_pairs(
    y: Vector, query_ptr: NDArray[np.int64], weight: Vector | None, factor: Vector, relative: float
) -> WrittenPairs:
    """Write out the pairs of different labels within queries, but for those that weigh nothing.

    Examples
    --------
    >>> pairs = write_pairs(np.array([0.0, 2.0, 1.0]), np.array([0, 3]), None, np.array([0.5]), 0.0)
    >>> pairs.better.tolist(), pairs.worse.tolist(), pairs.weight.tolist()
    ([1, 1, 2], [0, 2, 0], [0.5, 0.5, 0.5])
    """
    query = np.repeat(np.arange(len(factor)), np.diff(query_ptr))
    better, worse = np.nonzero((y[:, None] > y[None, :]) & (query[:, None] == query[None, :]))
    weights = factor[query[better]]
    if weight is not None:
        weights = weights * (weight[better] * weight[worse])
    kept = weights > 0.0
    return WrittenPairs(better[kept], worse[kept], weights[kept], relative)
