"""The objective ``R(X w) + P(w)`` and its points.

A design (the X side), a loss (the score side) and a penalty meet only here. The design chooses the form of a
pass (``designs/base.py``), and an :class:`Evaluation` has what the pass had: the gradient, too, where it was
fused, and the scores, unless they stay with remote rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.designs.base import Design, Evaluation, ProductRounding, scores_at
from marginrank.designs.hessians import RowHessians, row_hessians, small_hinge
from marginrank.losses.base import Loss, Smoothable, SmoothedLoss
from marginrank.rounding import LATER, TINY, UNIT, LossRounding, PlaneRounding, upward
from marginrank.solvers.penalties import SQUARED_NORM, Penalty
from marginrank.solvers.score_planes import ScorePlane, rounding_of
from marginrank.types import Vector

_SMALLEST_FUSED_STEP = 1e-3


class Objective:
    """Design, loss, penalty and its strength; ``at(w)`` gives a :class:`Point`.

    Parameters
    ----------
    design : Design
        Multiplies with X and its transpose.
    loss : Loss
        The risk as a function of the scores ``X w``.
    alpha : float
        Strength of the penalty.
    penalty : Penalty, optional
        A function of the coefficients; by default ``alpha/2 ||w||^2``.

    Attributes
    ----------
    passes : float
        Passes over X so far; one product ``X w`` or ``X' g`` counts half.
    """

    def __init__(self, design: Design, loss: Loss, alpha: float, penalty: Penalty = SQUARED_NORM) -> None:
        self.design = design
        self.loss = loss
        self.alpha = alpha
        self.penalty = penalty
        self.n_features = design.shape[1]
        self.smooth = loss.smooth
        self.name = loss.name
        self._count = [0.0]
        self._curvature: list[NDArray[np.float64]] = []
        self._products: list[ProductRounding] = []
        self._known: Point | None = None

    def with_alpha(self, alpha: float, known: Point | None = None) -> Objective:
        """Return the objective of the same design and loss at another alpha, with a count of its own.

        A point that is known is not computed again, so that a run from there starts without a pass.
        """
        other = Objective(self.design, self.loss, alpha, self.penalty)
        other._curvature = self._curvature
        other._products = self._products
        other._known = known
        return other

    @property
    def passes(self) -> float:
        """Passes over X so far, those of smoothed copies included."""
        return self._count[0]

    @passes.setter
    def passes(self, passes: float) -> None:
        self._count[0] = passes

    @cached_property
    def fused(self) -> bool:
        """Whether a pass over X that evaluates the loss has the gradient, too."""
        return self.design.fuses(self.loss)

    def at(self, w: Vector) -> Point:
        """Evaluate at ``w``: half a pass over X, or a whole one that includes the gradient."""
        if self._known is not None and np.array_equal(w, self._known.w):
            return self._known.seen_from(self)
        found = self.design.evaluate(w, self.loss)
        self.passes += found.passes
        return self._point(found, self.score_error(w))

    def _point(self, found: Evaluation, score_error: float) -> Point:
        return Point(self, found, score_error)

    def at_scores(self, w: Vector, scores: Vector, score_error: float) -> Point:
        """Evaluate at ``w`` whose scores are known, and how far these may be off, without a look at X."""
        point = self.loss.at(scores)
        return self._point(Evaluation(w, point.value, None, scores, point.gradient), score_error)

    def smoothed(self, width: float) -> SmoothedObjective | None:
        """Return this objective with a smoothed loss; None where the loss has none or scores are not here."""
        loss = self.loss.smoothed(width) if isinstance(self.loss, Smoothable) else None
        return SmoothedObjective(self, loss) if loss is not None and self.design.brings_scores(loss) else None

    def find_gradients(self, points: Sequence[Point]) -> None:
        """Compute the gradients of several points that have none yet, in one read of X."""
        missing = [point for point in points if point._risk_gradient is None]
        if missing:
            find_gradients(self, missing)

    def curvature(self) -> NDArray[np.float64]:
        """Estimate the Hessian of the risk at ``w = 0`` from some rows: its diagonal, or all of it.

        It is estimated once, for all alphas.
        """
        if not self._curvature:
            weights = self.loss.curvature()
            products = self.design.centred_products(*weights)
            self._curvature.append(self.design.centred_squares(*weights) if products is None else products)
        return self._curvature[0]

    @cached_property
    def hessians(self) -> RowHessians | None:
        """What makes whole Hessians of smooth losses, if they pay and the rows are here, or None."""
        return row_hessians(self.design, self.loss)

    @cached_property
    def small_hinge(self) -> Any:
        """Rows and pairs of a small problem with the hinge, or None."""
        return small_hinge(self.design, self.loss)

    @property
    def products(self) -> ProductRounding:
        """How far products with the design may be off; found once, for all alphas."""
        if not self._products:
            self._products.append(self.design.rounding())
        return self._products[0]

    @property
    def columns(self) -> Vector:
        """How large the entries of each column are at most."""
        return self.products.column

    def reach(self, w: Vector) -> float:
        """Return what the absolute value of a score is at most: ``sum_j column_j |w_j|``."""
        return upward(float(self.columns @ np.abs(w)), len(w) + 4.0)

    def score_error(self, w: Vector) -> float:
        """Return how far scores may be off that were computed at ``w``."""
        return self.products.scores_steps * UNIT * self.reach(w)

    def scores(self, w: Vector) -> Vector:
        """Return ``X w`` and count it, but for the origin."""
        self.passes += 0.5 if w.any() else 0.0
        return scores_at(self.design, w)

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g`` and count it."""
        self.passes += 0.5
        return self.design.adjoint(g)

    def plane_of(self, plane: ScorePlane) -> tuple[Vector, float, PlaneRounding]:
        """Return what a plane of the loss says about coefficients: a slope, an offset and their rounding."""
        return self.adjoint(plane.gradient), plane.offset, rounding_of(self, plane)


def find_gradients(objective: Objective, points: Sequence[Point]) -> None:
    """Compute the gradients of several points in one read of X, which counts as one product."""
    objective.passes += 0.5
    found = objective.design.adjoint_block(np.stack([point.score_gradient for point in points]))
    for point, gradient in zip(points, found, strict=True):
        point._risk_gradient = gradient.copy()


class Point:
    """The objective at one ``w``; everything it answers follows from what was evaluated there.

    ``score_error`` says how far each score may be off the exact ``X w``.
    """

    def __init__(self, objective: Objective, evaluation: Evaluation, score_error: float) -> None:
        self.objective = objective
        self.score_error = score_error
        self.w = evaluation.w
        self.risk = evaluation.value
        self.value = self.risk + objective.penalty.value(self.w, objective.alpha)
        self._evaluation = evaluation
        self._risk_gradient = evaluation.gradient

    @property
    def risk_gradient(self) -> Vector:
        """A (sub)gradient of the risk with respect to ``w``, computed when first asked for."""
        if self._risk_gradient is None:
            self._risk_gradient = self.objective.adjoint(self.score_gradient)
        return self._risk_gradient

    @property
    def has_scores(self) -> bool:
        """Whether the scores are here, so that asking for them costs nothing."""
        return self._evaluation.scores is not None

    @cached_property
    def scores(self) -> Vector:
        """The scores ``X w``; those of remote rows are made and sent when first asked for."""
        found = self._evaluation.scores
        return self.objective.scores(self.w) if found is None else found

    @cached_property
    def score_gradient(self) -> Vector:
        """A (sub)gradient of the risk with respect to the scores."""
        found = self._evaluation.score_gradient
        return self.objective.loss.at(self.scores).gradient if found is None else found

    def seen_from(self, objective: Objective) -> Point:
        """Return this point for another objective of the same design and loss, with all that is known."""
        known = replace(self._evaluation, gradient=self._risk_gradient)
        return objective._point(known, self.score_error)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The largest difference of scores and the 1-norm of their gradient, at least.

        Where the scores are not here, both are as large as they can be.
        """
        if self.has_scores:
            length = float(np.abs(self.score_gradient).sum())
            return upward(float(np.ptp(self.scores))), upward(length, len(self.scores) + 4.0)
        reach, loss = 2.0 * self.objective.reach(self.w), self.objective.loss
        most = self.risk + loss.rounding(self.risk, reach, loss.steepest(self.risk)).value
        return reach, upward(loss.steepest(upward(most)))

    @cached_property
    def _loss_rounding(self) -> LossRounding:
        return self.objective.loss.rounding(self.risk, *self._sizes, self._evaluation.scores)

    @cached_property
    def value_error(self) -> float:
        """By how much the objective may exceed the computed value; see :mod:`marginrank.rounding`."""
        loss, found = self.objective.loss, self._loss_rounding
        shift = self.score_error + found.shift + LATER * UNIT * self.objective.reach(self.w)
        risen = loss.risen(self.risk + found.value, shift) - self.risk
        penalty = (len(self.w) + 2 * LATER + 8) * UNIT * abs(self.value - self.risk)
        return upward(risen + penalty + 16.0 * UNIT * self.value) + self._tiny

    @cached_property
    def plane_rounding(self) -> PlaneRounding:
        """How far the plane ``R(v) >= risk + risk_gradient.(v - w)`` may be off."""
        found, (_, length) = self._loss_rounding, self._sizes
        products, size = self.objective.products, self.objective.reach(self.w)
        slope = products.adjoint_steps * UNIT * length + found.slope
        offset = found.value + (length + found.slope) * (self.score_error + found.shift) + slope * size
        product = float(np.abs(self.risk_gradient) @ np.abs(self.w))
        offset += (len(self.w) + 4) * UNIT * product + 4.0 * UNIT * self.risk
        return PlaneRounding(upward(offset) + self._tiny, upward(slope) + self._tiny, length)

    @property
    def _tiny(self) -> float:
        """What numbers too small to be represented may have taken away."""
        return TINY if self.w.any() else 0.0

    @property
    def score_plane(self) -> ScorePlane:
        """The plane of the loss at the scores of this point, taken as they are: it knows nothing of X."""
        found, (_, length) = self._loss_rounding, self._sizes
        g, p = self.score_gradient, self.scores
        off = found.value + found.slope * float(np.abs(p).max()) + (length + found.slope) * found.shift
        off += (len(p) + 8) * UNIT * float(np.abs(g) @ np.abs(p)) + 4.0 * UNIT * self.risk
        return ScorePlane(g, self.risk - float(g @ p), upward(off) + TINY, upward(found.slope), length)

    def hvp(self, v: Vector) -> Vector:
        """Product of the Hessian of the objective with ``v``: a pass, and half of one more without scores."""
        objective = self.objective
        objective.passes += 1.0 if self.has_scores else 1.5
        product = objective.design.hvp(self.w, v, objective.loss, self._evaluation.scores)
        return product + objective.penalty.hvp(self.w, v, objective.alpha)

    def hessian(self) -> NDArray[np.float64]:
        """The Hessian of the risk, where the objective knows it; it takes one read of the rows."""
        hessians = self.objective.hessians
        if hessians is None:
            raise RuntimeError("The Hessian of this objective is not known as a whole.")
        self.objective.passes += 0.5
        return hessians.of(partial(self.objective.loss.hvp, self.scores))

    def along(self, direction: Vector) -> Line:
        """The objective on the line ``w + t * direction``."""
        return Line(self, direction)


class SmoothedObjective(Objective):
    """An objective with a smoothed loss: points are of this one, their planes of the one it was made of."""

    loss: SmoothedLoss

    def __init__(self, original: Objective, loss: SmoothedLoss) -> None:
        super().__init__(original.design, loss, original.alpha, original.penalty)
        self._original = original
        self._count, self._products = original._count, original._products

    def _point(self, found: Evaluation, score_error: float) -> SmoothedPoint:
        return SmoothedPoint(self, found, score_error)

    def smoothed_at(self, point: Point) -> SmoothedPoint:
        """Evaluate where a point is, of the original or of another width, without a look at X."""
        return cast(SmoothedPoint, self.at_scores(point.w, point.scores, point.score_error))

    def original(self, point: Point) -> Point:
        """Return the original's point where a point of this one is, without a look at X."""
        return self._original.at_scores(point.w, point.scores, point.score_error)


class SmoothedPoint(Point):
    """A point of a smoothed objective, whose plane is one of the risk that was smoothed."""

    objective: SmoothedObjective

    @cached_property
    def plane(self) -> tuple[float, PlaneRounding]:
        """The b of the plane ``R(v) >= risk_gradient.v + b``, and how far the plane may be off.

        It is a sum over pairs that knows nothing of X, so the rounding of the scores does not matter.
        """
        plane = self.score_plane
        return plane.offset, rounding_of(self.objective, plane)

    @cached_property
    def score_plane(self) -> ScorePlane:
        """The plane of the loss that was smoothed, whose height is a sum over pairs."""
        level, found = self.objective.loss.level(self.scores)
        off, slope = upward(found.value) + self._tiny, upward(found.slope) + self._tiny
        return ScorePlane(self.score_gradient, level, off, slope, self._sizes[1])

    @property
    def plane_value(self) -> float:
        """How high that plane is at ``w``, about."""
        return float(self.score_gradient @ self.scores) + self.plane[0]


class Line:
    """The objective on a line through a point.

    Where a pass has the gradient, the first trial is a whole one, because it is accepted most of the time and
    then its gradient is already there; ``X d`` follows from its scores by a difference. Where scores stay
    with remote rows, every trial is a whole pass.
    """

    def __init__(self, start: Point, direction: Vector) -> None:
        self._start = start
        self._direction = direction
        self._score_direction: Vector | None = None
        self._direction_error = 0.0

    def at(self, t: float) -> Point:
        """Return the point ``w + t * direction``."""
        start, objective = self._start, self._start.objective
        w = start.w + t * self._direction
        if not start.has_scores:
            return objective.at(w)
        # From a tiny step the difference would have lost its digits.
        if self._score_direction is None and objective.fused and abs(t) >= _SMALLEST_FUSED_STEP:
            point = objective.at(w)
            self._score_direction = (point.scores - start.scores) / t
            error = point.score_error + start.score_error + self._step_rounding(t)
            self._direction_error = upward(error) / abs(t)
            return point
        scores = t * self.look_along()
        scores += start.scores
        error = start.score_error + abs(t) * self._direction_error + self._step_rounding(t)
        return objective.at_scores(w, scores, upward(error))

    def look_along(self) -> Vector:
        """Return ``X d``."""
        if self._score_direction is None:
            objective = self._start.objective
            self._score_direction = objective.scores(self._direction)
            self._direction_error = objective.score_error(self._direction)
        return self._score_direction

    @cached_property
    def _reaches(self) -> tuple[float, float]:
        objective = self._start.objective
        return objective.reach(self._start.w), objective.reach(self._direction)

    def _step_rounding(self, t: float) -> float:
        """Return what the sums for scores and coefficients of a step, or their difference, round."""
        at_start, along = self._reaches
        return 8.0 * UNIT * (at_start + abs(t) * along)

    def slope(self, point: Point) -> float:
        """Derivative in ``t`` of the objective at a point of this line."""
        objective = self._start.objective
        if point.has_scores:
            along = float(point.score_gradient @ self.look_along())
        else:
            along = float(point.risk_gradient @ self._direction)
        return along + objective.penalty.slope(point.w, self._direction, objective.alpha)
