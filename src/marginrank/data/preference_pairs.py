"""Explicit preferences between rows: which pairs are trained on, and which lie within some rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.labels import take
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.types import Rows, Vector


class TrainingPairs(NamedTuple):
    """What a loss over explicit pairs trains on: the pairs of positive weight; None means 1 for all."""

    pairs: NDArray[Any]
    weight: Vector | None
    margin: Vector | None


def training_pairs(
    pairs: NDArray[Any], weight: Vector | None, margin: Vector | None, part: Rows | None
) -> TrainingPairs:
    """Return all pairs, or those of some numbers, without those that weigh nothing."""
    kept: Any = part
    if weight is not None and not weight.all():
        weighty = weight > 0.0
        kept = weighty if part is None else part[weighty[part]]
        if not np.any(weighty if part is None else len(kept)):
            raise NothingToRankError("Every pair of this fold has zero weight; give fewer folds.")
    return TrainingPairs(take(pairs, kept), moderate(take(weight, kept)), take(margin, kept))


def pairs_within(pairs: Any, rows: NDArray[np.int64], n_rows: int) -> tuple[Any, Any]:
    """Return which pairs have both rows among ``rows``, and these pairs in the new row numbers."""
    if pairs is None:
        return None, None
    if len(np.unique(rows)) < len(rows):
        raise MarginRankError("rows must be distinct where there are pairs; some occur twice.")
    new_number = np.full(n_rows, -1, dtype=pairs.dtype)
    new_number[rows] = np.arange(len(rows))
    renumbered = new_number[pairs]
    kept = (renumbered >= 0).all(axis=1)
    if not kept.any():
        raise NothingToRankError("No pair has both of its rows in the subset, so there is nothing to rank.")
    return kept, renumbered[kept]
