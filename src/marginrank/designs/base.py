"""The contract of a design: products with X, never seeing labels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.losses.base import Loss
from marginrank.types import Vector

# A sum of k terms, in any order, is off by at most k u / (1 - k u) of the sum of their sizes.
_SECOND_ORDER = 1.0001


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


def steps(depth: float) -> float:
    """Return the factor of ``u`` for sums in which each term takes part in so many operations.

    Examples
    --------
    >>> 10.0 < steps(10) < 13.0
    True
    """
    return _SECOND_ORDER * (depth + 2.0)


def tree_depth(n_parts: int) -> int:
    """Return the additions on the way through a binary tree of so many parts."""
    return n_parts.bit_length() + 1 if n_parts > 1 else 0


@dataclass(frozen=True)
class Evaluation:
    """A loss at the scores ``X w``, with what the pass over X had of it.

    Attributes
    ----------
    w : ndarray
        The coefficients.
    value : float
        The risk.
    gradient : ndarray or None
        ``X' g`` of a (sub)gradient g of the loss; None where that takes another product with X.
    scores, score_gradient : ndarray or None
        ``X w`` and g; None where they stay with remote rows.
    """

    w: Vector
    value: float
    gradient: Vector | None = None
    scores: Vector | None = None
    score_gradient: Vector | None = None

    @property
    def passes(self) -> float:
        """Passes over X: a whole one that had the gradient, half of one that had not, none at the origin."""
        if self.gradient is not None:
            return 1.0
        return 0.5 if self.w.any() else 0.0


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

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``X w``, in the form of pass that suits both."""

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``X' H(X w) X v``; the scores ``X w``, where they exist, save making them again."""

    def fuses(self, loss: Loss) -> bool:
        """Whether a pass that evaluates this loss has the gradient, too."""

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores; they may stay with remote rows."""

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


def scores_at(design: Design, w: Vector) -> Vector:
    """Return ``X w``; the origin, where most runs start, costs nothing."""
    return design.scores(w) if w.any() else np.zeros(design.shape[0])


def split_evaluation(design: Design, w: Vector, loss: Loss) -> Evaluation:
    """Evaluate a loss at all scores; the adjoint is left to those who ask for the gradient."""
    scores = scores_at(design, w)
    point = loss.at(scores)
    return Evaluation(w, point.value, None, scores, point.gradient)


class LocalDesign(Design):
    """Base of the designs whose scores exist here: a pass is fused where that pays, and split where not."""

    @abstractmethod
    def _fused(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss, with ``X' g``, in one read of X."""

    @abstractmethod
    def _fused_hvp(self, v: Vector, loss: Loss, scores: Vector) -> Vector:
        """Return ``X' H(scores) X v`` in one read of X."""

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores: always."""
        del loss
        return True

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``X w``."""
        return self._fused(w, loss) if self.fuses(loss) else split_evaluation(self, w, loss)

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``X' H(X w) X v``."""
        at = scores_at(self, w) if scores is None else scores
        if self.fuses(loss):
            return self._fused_hvp(v, loss, at)
        return self.adjoint(loss.hvp(at, scores_at(self, v)))
