"""Hinge and squared hinge over explicit pairs: one row beats another, and nothing else is known."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PreferencePairs, QueryLoss
from marginrank.data import TrainingPairs
from marginrank.losses.base import Recipe, Vector
from marginrank.losses.native import NativeLoss


class PreferenceLoss(NativeLoss):
    """Base of the losses over explicit pairs.

    Parameters
    ----------
    training : TrainingPairs
        Winners, losers, weights and margins.
    n_rows : int
        Rows that the pairs refer to.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(rows + pairs).
    """

    native: QueryLoss | None = None
    recipe: Recipe | None = None
    # Whether pairs beyond their margin count as well.
    all_active: ClassVar[bool] = False

    def __init__(self, training: TrainingPairs, n_rows: int, *, n_threads: int) -> None:
        pairs = np.ascontiguousarray(training.pairs, dtype=np.int64)
        self.n_pairs = len(pairs)
        self._scale = 1.0 / (self.n_pairs if training.weight is None else float(training.weight.sum()))
        self._pairs = PreferencePairs(
            pairs, training.weight, training.margin, n_rows, self.smooth, self.all_active
        )
        super().__init__(self._pairs, n_rows, n_threads)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets; pairs know no queries, so all rows count as one."""
        return 2.0 * self._scale * self._pairs.partner_weight(), np.array([0, self.n_rows], dtype=np.int64)


class HingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))``."""

    name = "hinge"
    smooth = False


class SquaredHingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))^2``."""

    name = "squared_hinge"
    smooth = True
