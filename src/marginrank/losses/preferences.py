"""Hinge and squared hinge over explicit pairs: one row beats another, and nothing else is known."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import HingePairs, PreferencePairs, SquaredHingePairs
from marginrank.cached import cached_property
from marginrank.data import TrainingPairs
from marginrank.losses.native import Kernel, NativeLoss
from marginrank.rounding import UNIT, LossRounding
from marginrank.types import Vector


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

    cost = "linear"
    #: The compiled loss, by its class.
    pairs_kernel: ClassVar[Callable[..., PreferencePairs]]
    #: Margin of pairs that have none of their own, and the second derivative of the loss of a pair there.
    default_margin: ClassVar[float] = 1.0
    pair_curvature: ClassVar[float] = 2.0

    def __init__(self, training: TrainingPairs, n_rows: int, *, n_threads: int) -> None:
        super().__init__(np.array([0, n_rows], dtype=np.int64), n_threads)
        self.pairs = np.ascontiguousarray(training.pairs, dtype=np.int64)
        self.weight = training.weight
        self.margin = training.margin

    def _compiled(self) -> Kernel:
        return type(self).pairs_kernel(self.pairs, self.weight, self.margin, self.n_rows)

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return len(self.pairs)

    @cached_property
    def _largest_margin(self) -> float:
        return self.default_margin if self.margin is None else float(np.abs(self.margin).max())

    @property
    def _relative(self) -> float:
        """Sums over pairs are right to this part of themselves."""
        return UNIT * (2 * self.n_pairs + 256)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets; pairs know no queries, so all rows count as one."""
        total = self.n_pairs if self.weight is None else float(self.weight.sum())
        return self.pair_curvature * (1.0 / total) * self.compiled.partner_weight(), self.query_ptr


class HingePreferences(PreferenceLoss):
    """Mean of ``max(0, margin - (p_win - p_lose))``."""

    name = "hinge"
    smooth = False
    pairs_kernel = HingePairs

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
    pairs_kernel = SquaredHingePairs
