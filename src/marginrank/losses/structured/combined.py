"""A weighted sum of structured losses, each with a slack of its own: SVMCOMBO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from marginrank._kernels import StructuredSum
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError
from marginrank.losses.native import Kernel
from marginrank.losses.structured.base import StructuredLoss
from marginrank.types import Vector


class CombinedLoss(StructuredLoss):
    """Weighted sum of the risks of several targets.

    Parameters
    ----------
    view : TrainingView
        The one from which the parts were built.
    parts : sequence of (float, StructuredLoss)
        Weights and losses. Each part is a mean over the queries that count for it.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs what its parts cost together.
    """

    name = "combined"
    feature_map = "combined"

    def __init__(
        self, view: TrainingView, parts: Sequence[tuple[float, StructuredLoss]], *, n_threads: int
    ) -> None:
        self.parts = tuple(parts)
        weights = self._weights
        if not len(weights) or not np.all(np.isfinite(weights) & (weights > 0.0)):
            raise MarginRankError(
                f"A combined target needs at least one target, and positive weights; got {weights.tolist()}."
            )
        super().__init__(view.query_ptr, n_threads)

    @property
    def _weights(self) -> Vector:
        return np.array([weight for weight, _ in self.parts], dtype=np.float64)

    def _compiled(self) -> Kernel:
        return StructuredSum([loss.compiled for _, loss in self.parts], self._weights)

    def part(self, first: int, last: int) -> Self:
        """Return the loss of the queries ``first`` to ``last``, whose rows count from 0."""
        return super().part(first, last)._each(lambda loss: loss.part(first, last))

    def with_threads(self, n_threads: int) -> Self:
        """Return the same loss, evaluated by so many threads."""
        return super().with_threads(n_threads)._each(lambda loss: loss.with_threads(n_threads))

    def _each(self, change: Callable[[StructuredLoss], StructuredLoss]) -> Self:
        return self._with(parts=tuple((weight, change(loss)) for weight, loss in self.parts))

    @cached_property
    def pull(self) -> float:
        """What the 1-norm of a gradient is at most."""
        return sum(weight * loss.pull for weight, loss in self.parts)

    @cached_property
    def total(self) -> float:
        """Weight of the queries in which a ranking can lose."""
        return sum(weight * loss.total for weight, loss in self.parts)

    @property
    def size(self) -> float:
        """What the terms of the risk are at most where all scores are equal."""
        return float(self._weights.sum())

    def _row_curvature(self) -> Vector:
        return np.asarray(sum(weight * loss.curvature()[0] for weight, loss in self.parts))
