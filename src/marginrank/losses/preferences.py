"""Hinge and squared hinge over explicit pairs: one row beats another, and nothing else is known."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PreferencePairs, QueryLoss
from marginrank.data import TrainingPairs
from marginrank.losses.base import ScorePoint, Vector


class PreferenceLoss:
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

    name: ClassVar[str]
    smooth: ClassVar[bool]
    native: QueryLoss | None = None

    def __init__(self, training: TrainingPairs, n_rows: int, *, n_threads: int) -> None:
        pairs = np.ascontiguousarray(training.pairs, dtype=np.int64)
        self.n_rows = n_rows
        self.n_pairs = len(pairs)
        self._n_threads = n_threads
        self._scale = 1.0 / (self.n_pairs if training.weight is None else float(training.weight.sum()))
        self._native = PreferencePairs(pairs, training.weight, training.margin, n_rows, self.smooth)

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""
        gradient = np.empty(self.n_rows)
        value = self._native.evaluate(scores, gradient, self._n_threads)
        return self.point(scores, value, gradient)

    def point(self, scores: Vector, value: float, gradient: Vector) -> ScorePoint:
        """Wrap a value and a gradient computed at the scores."""
        return ScorePoint(value, gradient, partial(self._hvp, scores))

    def _hvp(self, scores: Vector, direction: Vector) -> Vector:
        product = np.empty(self.n_rows)
        self._native.hessian(scores, direction, product, self._n_threads)
        return product

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets; pairs know no queries, so all rows count as one."""
        return 2.0 * self._scale * self._native.partner_weight(), np.array([0, self.n_rows], dtype=np.int64)


class HingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))``."""

    name = "hinge"
    smooth = False


class SquaredHingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))^2``."""

    name = "squared_hinge"
    smooth = True
