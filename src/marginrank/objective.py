"""The objective ``R(X w) + alpha/2 ||w||^2`` and its points.

A design (the X side) and a loss (the score side) meet only here. Where the loss is a sum over small
queries, design and loss run fused, chunk by chunk, so that X is read from memory once per gradient
instead of twice; where it is one big ranking the pass splits into scores, loss and adjoint. Where the rows
lie elsewhere and their queries are whole there, the loss is evaluated with them, and no score travels.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import Design, EvaluatesRisk, ProductRounding, evaluating
from marginrank.losses.base import Loss, ScorePoint
from marginrank.penalties import SQUARED_NORM, Penalty
from marginrank.rounding import LATER, TINY, UNIT, LossRounding, PlaneRounding, upward
from marginrank.types import Vector

_SMALLEST_FUSED_STEP = 1e-3
_LEAST_SQUARE = 1e-290


def natural_alpha(design: Design, loss: Loss) -> float:
    """Return the alpha at which a step along the gradient at zero brings the margins to about 1.

    Above it the model is hardly more than that gradient; it follows the units of X. What may be the rounding
    of the product, because the terms of a column cancel out, counts as nothing.

    Returns
    -------
    float
        0 where no column pulls in any direction.
    """
    slope = loss.at(np.zeros(loss.n_rows)).gradient
    gradient, rounding = design.adjoint(slope), design.rounding()
    unit = 0.5 * np.finfo(np.float64).eps * rounding.adjoint_steps * float(np.abs(slope).sum())
    gradient = np.where(np.abs(gradient) > unit * rounding.column, gradient, 0.0)
    return squared_length(gradient)


def squared_length(gradient: Vector) -> float:
    """Return ``|g|^2``; it is an error if it is too large or too small for the decades about it.

    Examples
    --------
    >>> squared_length(np.array([3.0, 4.0]))
    25.0
    """
    with np.errstate(over="ignore"):
        square = float(gradient @ gradient)
    if gradient.any() and not _LEAST_SQUARE < square < 1.0 / _LEAST_SQUARE:
        raise FloatingPointError(f"The gradient at zero has the squared length {square:g}.")
    return square


class Objective:
    """Design, loss and ``alpha``; ``at(w)`` gives a :class:`Point`.

    Parameters
    ----------
    design : Design
        Multiplies with X and its transpose.
    loss : Loss
        The risk as a function of the scores ``X w``.
    alpha : float
        Weight of ``||w||^2 / 2``.

    Attributes
    ----------
    passes : float
        Passes over X so far; one product ``X w`` or ``X' g`` counts half.
    """

    def __init__(self, design: Design, loss: Loss, alpha: float) -> None:
        self.design = design
        self.loss = loss
        self.alpha = alpha
        self.penalty: Penalty = SQUARED_NORM
        self.n_features = design.shape[1]
        self.smooth = loss.smooth
        self.name = loss.name
        self.passes = 0.0
        self._curvature: list[NDArray[np.float64]] = []
        self._products: list[ProductRounding] = []
        self._known: Point | None = None
        self.afar = evaluating(design, loss)
        self.fused_loss: Loss | None = loss if design.fuses(loss) else None

    def with_alpha(self, alpha: float, known: Point | None = None) -> Objective:
        """Return the objective of the same design and loss at another alpha, with a count of its own.

        A point that is known is not computed again, so that a run from there starts without a pass.
        """
        other = Objective(self.design, self.loss, alpha)
        other._curvature = self._curvature
        other._products = self._products
        other._known = known
        return other

    def at(self, w: Vector) -> Point:
        """Evaluate at ``w``: half a pass over X, or a whole one that includes the gradient."""
        if self._known is not None and np.array_equal(w, self._known.w):
            return self._known.seen_from(self)
        if self.afar is not None:
            self.passes += 1.0
            return PointAfar(self, w, *self.afar.risk(w, self.loss), self.afar, self.loss)
        if self.fused_loss is not None:
            self.passes += 1.0
            scores, value, gradient, risk_gradient = self.design.fused(w, self.fused_loss)
            found = self.loss.point(scores, value, gradient)
            return Point(self, w, scores, found, self.score_error(w), risk_gradient)
        scores = self.scores(w)
        return Point(self, w, scores, self.loss.at(scores), self.score_error(w))

    def curvature(self) -> NDArray[np.float64]:
        """Estimate the Hessian of the risk at ``w = 0`` from some rows: its diagonal, or all of it.

        It is estimated once, for all alphas.
        """
        if not self._curvature:
            weights = self.loss.curvature()
            products = self.design.centred_products(*weights)
            self._curvature.append(self.design.centred_squares(*weights) if products is None else products)
        return self._curvature[0]

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
        """Return ``X w`` and count it; the origin, where most runs start, costs nothing."""
        if not w.any():
            return np.zeros(self.design.shape[0])
        self.passes += 0.5
        return self.design.scores(w)

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g`` and count it."""
        self.passes += 0.5
        return self.design.adjoint(g)


def find_gradients(objective: Objective, points: Sequence[Point]) -> None:
    """Compute the gradients of several points in one read of X, which counts as one product."""
    objective.passes += 0.5
    found = objective.design.adjoint_block(np.stack([point.score_point.gradient for point in points]))
    for point, gradient in zip(points, found, strict=True):
        point._risk_gradient = gradient.copy()


def combination(objective: Objective, weights: Sequence[float] | Vector, models: Sequence[Any]) -> Point:
    """Evaluate a combination of models whose scores are known, without a look at X.

    Parameters
    ----------
    objective : Objective
        What to evaluate.
    weights : sequence of float
        One for each model.
    models : sequence
        What has ``w``, ``scores`` and ``score_error``: points, or knots of a path.
    """
    w = _weighted_sum(weights, [model.w for model in models])
    scores = _weighted_sum(weights, [model.scores for model in models])
    # Coefficients and scores round apart: with each weight twice, and in sums of so many terms.
    steps = 2.0 * (len(models) + 3) * UNIT
    error = sum(
        abs(float(weight)) * (model.score_error + steps * objective.reach(model.w))
        for weight, model in zip(weights, models, strict=True)
    )
    return Point(objective, w, scores, objective.loss.at(scores), upward(error))


def _weighted_sum(weights: Sequence[float] | Vector, vectors: Sequence[Vector]) -> Vector:
    total: Vector = weights[0] * vectors[0]
    for weight, vector in zip(weights[1:], vectors[1:], strict=True):
        total += weight * vector
    return total


class Point:
    """The objective at one ``w``; everything it answers follows from its scores.

    ``score_error`` says how far each of these may be off the exact ``X w``.
    """

    def __init__(
        self,
        objective: Objective,
        w: Vector,
        scores: Vector,
        score_point: ScorePoint,
        score_error: float,
        risk_gradient: Vector | None = None,
    ) -> None:
        self.objective = objective
        self.w = w
        self.scores = scores
        self.score_point = score_point
        self.score_error = score_error
        self.risk = score_point.value
        self.value = self.risk + 0.5 * objective.alpha * float(w @ w)
        self._risk_gradient = risk_gradient

    @property
    def risk_gradient(self) -> Vector:
        """A (sub)gradient of the risk with respect to ``w``, computed when first asked for."""
        if self._risk_gradient is None:
            self._risk_gradient = self.objective.adjoint(self.score_point.gradient)
        return self._risk_gradient

    def seen_from(self, objective: Objective) -> Point:
        """Return this point for another objective of the same design and loss, with all that is known."""
        return Point(objective, self.w, self.scores, self.score_point, self.score_error, self._risk_gradient)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The largest difference of scores and the 1-norm of their gradient, at least."""
        length = float(np.abs(self.score_point.gradient).sum())
        return upward(float(np.ptp(self.scores))), upward(length, len(self.scores) + 4.0)

    @cached_property
    def _loss_rounding(self) -> LossRounding:
        return self.objective.loss.rounding(self.risk, *self._sizes, self.scores)

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

    def hvp(self, v: Vector) -> Vector:
        """Product of the Hessian of the objective with ``v``."""
        objective = self.objective
        if objective.fused_loss is not None:
            objective.passes += 1.0
            product = objective.design.fused_hvp(v, self.scores, objective.fused_loss)
        else:
            product = objective.adjoint(self.score_point.hvp(objective.scores(v)))
        return product + objective.alpha * v

    def along(self, direction: Vector) -> Line:
        """The objective on the line ``w + t * direction``."""
        return Line(self, direction)


class PointAfar(Point):
    """The objective at one ``w``, evaluated where the rows are; scores are fetched if they are asked for."""

    def __init__(
        self,
        objective: Objective,
        w: Vector,
        risk: float,
        risk_gradient: Vector,
        afar: EvaluatesRisk,
        loss: Loss,
    ) -> None:
        self.objective = objective
        self.w = w
        self.risk = risk
        self.value = risk + 0.5 * objective.alpha * float(w @ w)
        self._risk_gradient = risk_gradient
        self._where = (afar, loss)
        self.score_error = objective.score_error(w)

    @cached_property
    def scores(self) -> Vector:  # type: ignore[override]  # read as the attribute is
        """The scores ``X w``."""
        return self.objective.scores(self.w)

    @cached_property
    def score_point(self) -> ScorePoint:  # type: ignore[override]  # read as the attribute is
        """The loss at the scores."""
        return self.objective.loss.at(self.scores)

    def seen_from(self, objective: Objective) -> Point:
        """Return this point for another objective of the same design and loss, with all that is known."""
        return PointAfar(objective, self.w, self.risk, self.risk_gradient, *self._where)

    @cached_property
    def _sizes(self) -> tuple[float, float]:
        """The same of scores that do not travel: as large as they can be."""
        reach, loss = 2.0 * self.objective.reach(self.w), self.objective.loss
        most = self.risk + loss.rounding(self.risk, reach, loss.steepest(self.risk)).value
        return reach, upward(loss.steepest(upward(most)))

    @cached_property
    def _loss_rounding(self) -> LossRounding:
        return self.objective.loss.rounding(self.risk, *self._sizes)

    def hvp(self, v: Vector) -> Vector:
        """Product of the Hessian of the objective with ``v``, for which the scores are made again."""
        afar, loss = self._where
        self.objective.passes += 1.5
        return afar.risk_hvp(self.w, v, loss) + self.objective.alpha * v

    def along(self, direction: Vector) -> Line:
        """The objective on the line ``w + t * direction``."""
        return LineAfar(self, direction)


class Line:
    """The objective on a line through a point.

    When design and loss are fused, the first trial is a whole fused pass, because it is accepted most
    of the time and then its gradient is already there; ``X d`` follows from its scores by a difference.
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
        is_first = self._score_direction is None
        # From a tiny step the difference would have lost its digits.
        if is_first and objective.fused_loss is not None and abs(t) >= _SMALLEST_FUSED_STEP:
            point = objective.at(w)
            self._score_direction = (point.scores - start.scores) / t
            error = point.score_error + start.score_error + self._step_rounding(t)
            self._direction_error = upward(error) / abs(t)
            return point
        scores = start.scores + t * self._look_along()
        error = start.score_error + abs(t) * self._direction_error + self._step_rounding(t)
        return Point(objective, w, scores, objective.loss.at(scores), upward(error))

    def _look_along(self) -> Vector:
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
        scores, alpha = self._look_along(), self._start.objective.alpha
        return float(point.score_point.gradient @ scores + alpha * np.dot(point.w, self._direction))


class LineAfar(Line):
    """The objective on a line where scores do not travel: every trial is a whole evaluation."""

    def at(self, t: float) -> Point:
        """Return the point ``w + t * direction``."""
        return self._start.objective.at(self._start.w + t * self._direction)

    def slope(self, point: Point) -> float:
        """Derivative in ``t`` of the objective at a point of this line."""
        alpha = self._start.objective.alpha
        return float((point.risk_gradient + alpha * point.w) @ self._direction)
