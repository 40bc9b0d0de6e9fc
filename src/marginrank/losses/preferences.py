"""Hinge and squared hinge over explicit pairs: one row beats another, and nothing else is known."""

from __future__ import annotations

from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PreferencePairs, QueryLoss
from marginrank.data import TrainingPairs
from marginrank.losses.base import Recipe, Vector
from marginrank.losses.native import NativeLoss
from marginrank.rounding import UNIT, LossRounding


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
        margin = np.ones(1) if training.margin is None else training.margin
        self._largest_margin = float(np.abs(margin).max())
        self._relative = UNIT * (2 * self.n_pairs + 256)
        super().__init__(self._pairs, n_rows, n_threads)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets; pairs know no queries, so all rows count as one."""
        return 2.0 * self._scale * self._pairs.partner_weight(), np.array([0, self.n_rows], dtype=np.int64)


class HingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))``."""

    name = "hinge"
    smooth = False

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off: a slack t of margin m is right to ``u (m + 2 t)``."""
        del length, scores
        error = self._relative * value + UNIT * (self._largest_margin + 2.0 * value)
        return LossRounding(error if reach > 0.0 else self._relative * value, 2.0 * self._relative)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: a difference of two scores moves twice as far."""
        return value + 2.0 * shift

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: every pair pulls at two rows."""
        del value
        return 2.0


class SquaredPreferences(PreferenceLoss):
    """Base of the losses that are means of squares."""

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        A slack t of margin m is right to ``u (|m| + 2 |t|)``, and whichever t is taken gives a plane that
        holds.
        """
        del length, scores
        root = sqrt(value)
        part = UNIT * (self._largest_margin + 2.0 * root) if reach > 0.0 else 0.0
        error = self._relative * value + 2.0 * part * root + part * part
        return LossRounding(error, 4.0 * self._relative * root)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: its root is a norm of the slacks."""
        root = sqrt(value) + 2.0 * shift
        return root * root

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: four times the mean slack, which is at most the root."""
        return 4.0 * sqrt(value)


class SquaredHingePreferences(SquaredPreferences):
    """Mean of ``max(0, margin - (p_win - p_lose))^2``."""

    name = "squared_hinge"
    smooth = True
