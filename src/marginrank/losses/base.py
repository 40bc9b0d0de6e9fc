"""The contract of a loss: from scores to value, gradient and Hessian product, never seeing X."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import QueryLoss
from marginrank.rounding import LossRounding

Vector = NDArray[np.float64]


class Recipe(Protocol):
    """Makes a compiled sum over queries, of all of them or of some; unlike what it makes it can be sent."""

    @property
    def query_ptr(self) -> NDArray[np.int64]:
        """First row of each query, and the number of rows."""

    def part(self, first: int, last: int) -> Recipe:
        """Return the recipe for the queries ``first`` to ``last``, whose rows count from 0."""

    def build(self, n_threads: int) -> Any:
        """Make the loss."""


@dataclass(frozen=True)
class ScorePoint:
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
    hvp: Callable[[Vector], Vector] = field(repr=False)


class Loss(Protocol):
    """A convex, nonnegative risk of the scores."""

    @property
    def name(self) -> str:
        """As users write it."""

    @property
    def n_rows(self) -> int:
        """Number of scores."""

    @property
    def smooth(self) -> bool:
        """Whether Hessian products mean something to a Newton method."""

    @property
    def native(self) -> QueryLoss | None:
        """The compiled sum over queries, for designs to fuse with; None where the loss is no such sum."""

    @property
    def recipe(self) -> Recipe | None:
        """What the compiled sum over queries is made of, to be evaluated elsewhere; None where it is none."""

    def at(self, scores: Vector) -> ScorePoint:
        """Evaluate at the scores."""

    def point(self, scores: Vector, value: float, gradient: Vector) -> ScorePoint:
        """Wrap what a fused pass computed at the scores."""

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
    """What losses over pairs have beside; those over whole rankings do not."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are compared."""
