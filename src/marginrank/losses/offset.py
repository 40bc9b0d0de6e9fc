"""Scores that are added before the loss: those of another ranker, which this one shall improve on."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.losses.base import ComparesPairs, Cost, ScorePoint
from marginrank.losses.native import NativeLoss
from marginrank.losses.written_pairs import WrittenPairs
from marginrank.rounding import UNIT, LossRounding, upward
from marginrank.types import Vector


class OffsetLoss:
    """The loss at ``scores + offset``, a value like the loss itself.

    Parameters
    ----------
    inner : NativeLoss
        The loss.
    offset : ndarray of shape (n_rows,)
        What is added, in the order of the scores.
    """

    def __init__(self, inner: NativeLoss, offset: Vector) -> None:
        self.inner = inner
        self.offset = offset
        self.name = inner.name
        self.smooth = inner.smooth
        self.quadratic = inner.quadratic
        self.query_ptr = inner.query_ptr

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "compiled"}

    @property
    def cost(self) -> Cost:
        """How the time of one evaluation grows with the rows of a query."""
        return self.inner.cost

    def written_pairs(self) -> WrittenPairs | None:
        """Return the pairs of a hinge one by one, with margins less the differences of their offsets."""
        write = getattr(self.inner, "written_pairs", None)
        if write is None:
            return None
        pairs: WrittenPairs = write()
        ahead = self.offset[pairs.better] - self.offset[pairs.worse]
        error = 4.0 * UNIT * (1.0 + 2.0 * float(np.abs(self.offset).max()))
        return pairs._replace(margin=1.0 - ahead, margin_error=error)

    @property
    def n_rows(self) -> int:
        """Number of scores."""
        return self.inner.n_rows

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.inner.n_queries

    @property
    def longest_query(self) -> int:
        """Rows of the longest query."""
        return self.inner.longest_query

    @cached_property
    def compiled(self) -> Any:
        """The compiled loss, which adds the offset itself: for passes over X that evaluate it."""
        made: Any = self.inner._compiled()
        made.add_offset(self.offset)
        return made

    def part(self, first: int, last: int) -> Self:
        """Return the loss of the queries ``first`` to ``last``, whose rows count from 0."""
        rows = slice(int(self.query_ptr[first]), int(self.query_ptr[last]))
        return type(self)(self.inner.part(first, last), self.offset[rows])

    def with_threads(self, n_threads: int) -> Self:
        """Return the same loss, evaluated by so many threads."""
        return type(self)(self.inner.with_threads(n_threads), self.offset)

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""
        return self.inner.at(scores + self.offset)

    def hvp(self, scores: Vector, direction: Vector) -> Vector:
        """Return the product of the (generalised) Hessian at the scores with a direction."""
        return self.inner.hvp(scores + self.offset, direction)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets for the diagonal of the Hessian at equal scores."""
        return self.inner.curvature()

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The largest difference of two offsets, and the largest one, at least."""
        return upward(float(np.ptp(self.offset))), float(np.abs(self.offset).max())

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off; each sum of score and offset is rounded once.

        Without scores, ``reach`` is twice what a score is at most.
        """
        spread, largest = self._sizes
        moved = None if scores is None else scores + self.offset
        size = reach if scores is None else float(np.abs(scores).max())
        found = self.inner.rounding(value, upward(reach + spread), length, moved)
        return found._replace(shift=upward(found.shift + UNIT * (size + largest)))

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most where every score has moved by ``shift`` or less."""
        return self.inner.risen(value, shift)

    def steepest(self, value: float) -> float:
        """Return what the 1-norm of a gradient is at most where the risk is ``value``."""
        return self.inner.steepest(value)


class OffsetPairLoss(OffsetLoss):
    """The loss of pairs at ``scores + offset``."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are compared."""
        assert isinstance(self.inner, ComparesPairs)
        return self.inner.n_pairs


def with_offset(inner: NativeLoss, offset: Vector) -> OffsetLoss:
    """Return the loss at ``scores + offset``, with a number of pairs where the loss has one."""
    # A class of its own, because type checks at run time look for the name alone since Python 3.12.
    return (OffsetPairLoss if isinstance(inner, ComparesPairs) else OffsetLoss)(inner, offset)
