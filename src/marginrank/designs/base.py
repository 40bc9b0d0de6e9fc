"""The contract of a design: products with X, never seeing labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from marginrank.losses.base import Loss
from marginrank.types import Vector


@dataclass(frozen=True)
class ProductRounding:
    """How far the computed products of a design may lie from those in exact arithmetic.

    The exact matrix ``X`` is what the design stands for: the numbers as they are stored, less their shift and
    divided by their scale where there are such, without any rounding. With ``u = 2**-53``, for every ``w``
    and ``g``, and whichever of the design's products computes them, one by one, in a block, or fused::

        |fl(X w) - X w|_i   <=  scores_steps * u * sum_j column_j |w_j|    for every row i
        |fl(X' g) - X' g|_j <=  adjoint_steps * u * column_j * ||g||_1     for every column j

    This holds as long as no product falls below the smallest normal number.

    Attributes
    ----------
    column : ndarray of shape (n_columns,)
        An upper bound of ``|x_ij|`` over the rows.
    scores_steps, adjoint_steps : float
        Roundings on the way of a term into its sum, at most.
    """

    column: Vector
    scores_steps: float
    adjoint_steps: float


class Design(Protocol):
    """Products with a matrix whose rows are taken in the order of the loss."""

    shape: tuple[int, int]

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""

    def scores_block(self, W: Vector) -> Vector:
        """Return ``W X'``: the scores of each row of W, in one read of X for up to eight of them."""

    def adjoint_block(self, G: Vector) -> Vector:
        """Return ``G X``: the adjoint of each row of G, in one read of X for up to eight of them."""

    def fuses(self, loss: Loss) -> bool:
        """Whether the fused products pay for this loss: many queries, each small enough for the cache."""

    def fused(self, w: Vector, loss: Loss) -> tuple[Vector, float, Vector, Vector]:
        """Return scores, value and gradient of the loss there, and ``X' g``, in one read of X."""

    def fused_hvp(self, v: Vector, scores: Vector, loss: Loss) -> Vector:
        """Return ``X' H(scores) X v`` in one read of X."""

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded; one read of X for the first call."""

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate ``sum_i h_i (x_ij - mean_qj)^2`` for each column j from a sample of the rows."""

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate ``sum_i h_i (x_ij - mean_qj)(x_ik - mean_qk)`` for all columns j and k from such a sample.

        None where a solver would gain less than the products cost: with many columns, or few rows.
        """


@runtime_checkable
class EvaluatesRisk(Protocol):
    """What designs have beside that have a loss evaluated where its rows are, so that no score travels."""

    def evaluates(self, loss: Loss) -> bool:
        """Whether every query lies in one place."""

    def risk(self, w: Vector, loss: Loss) -> tuple[float, Vector]:
        """Return the value of the loss at ``X w`` and ``X' g`` of its gradient there."""

    def risk_hvp(self, w: Vector | None, v: Vector, loss: Loss) -> Vector:
        """Return ``X' H(X w) X v``; None for ``w`` stands for a Hessian that is the same everywhere."""


def evaluating(design: Design, loss: Loss) -> EvaluatesRisk | None:
    """Return the design as one that evaluates this loss, if it does."""
    return design if isinstance(design, EvaluatesRisk) and design.evaluates(loss) else None
