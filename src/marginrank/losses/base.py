"""The contract of a loss: from scores to value, gradient and Hessian product, never seeing X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from marginrank.rounding import LossRounding
from marginrank.types import Vector

#: How the time of one evaluation grows with the rows of a query.
Cost = Literal["linear", "n log n", "quadratic"]


class ScorePoint(NamedTuple):
    """A loss at one vector of scores.

    Attributes
    ----------
    value : float
        The risk.
    gradient : ndarray
        A (sub)gradient with respect to the scores.
    hvp : callable
        Product of the (generalised) Hessian in score space with a vector.
    """

    value: float
    gradient: Vector
    hvp: Callable[[Vector], Vector]


class Loss(Protocol):
    """A convex, nonnegative risk of the scores: a sum over queries.

    A loss is a value, made of labels, weights, offsets and the factor of each query. It can be pickled, and
    compiles itself where it is first evaluated.
    """

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def smooth(self) -> bool:
        """Whether Hessian products mean something to a Newton method."""

    @property
    def quadratic(self) -> bool:
        """Whether its Hessian is the same everywhere, so that one step of Newton's method is enough."""

    @property
    def cost(self) -> Cost:
        """How the time of one evaluation grows with the rows of a query."""

    @property
    def n_rows(self) -> int:
        """Number of scores."""

    @property
    def query_ptr(self) -> NDArray[np.int64]:
        """First row of each query, and the number of rows; explicit pairs make one query of all rows."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    @property
    def longest_query(self) -> int:
        """Rows of the longest query."""

    @property
    def compiled(self) -> Any:
        """The compiled loss; a ``QueryLoss`` for designs to fuse with, wherever there are several queries."""

    def part(self, first: int, last: int) -> Self:
        """Return the loss of the queries ``first`` to ``last``, whose rows count from 0.

        The factor of each query goes along, so the parts of a loss add up to it.
        """

    def with_threads(self, n_threads: int) -> Self:
        """Return the same loss, evaluated by so many threads; the result does not depend on it."""

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""

    def hvp(self, scores: Vector, direction: Vector) -> Vector:
        """Return the product of the (generalised) Hessian at the scores with a direction."""

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets that give the diagonal of the Hessian.

        It is about the weighted squares of the columns, centred within each query.
        """

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off, computed at scores that are taken as they are.

        Parameters
        ----------
        value : float
            The computed risk.
        reach : float
            Largest difference of two scores, at least.
        length : float
            1-norm of the gradient, at least.
        scores : ndarray of shape (n_rows,), optional
            The scores, where they are at hand: for a closer look at large queries.
        """

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most where every score has moved by ``shift`` or less."""

    def steepest(self, value: float) -> float:
        """Return what the 1-norm of a gradient is at most where the risk is ``value``."""


@runtime_checkable
class ComparesPairs(Protocol):
    """What losses over pairs have in addition; those over whole rankings do not."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are compared."""


class SmoothedLoss(Loss, Protocol):
    """A smooth loss that lies above another one and whose gradients are slopes of planes below that one."""

    def level(self, scores: Vector) -> tuple[float, LossRounding]:
        """Return the height b of the plane ``g.p + b`` below the other loss, g the gradient at the scores.

        Its rounding says how far b may be off, and the gradient from the slope of a plane of that height.
        """


@runtime_checkable
class Smoothable(Protocol):
    """What losses with kinks have in addition, if they can be smoothed."""

    def smoothed(self, width: float) -> SmoothedLoss | None:
        """Return the loss without kinks, which differs from this one near these only, the less the narrower.

        None where looking at it would cost too much.
        """
