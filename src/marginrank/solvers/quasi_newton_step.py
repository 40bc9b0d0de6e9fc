"""One step of a quasi-Newton method, for any penalty."""

from __future__ import annotations

from marginrank.solvers.base import Objective, Point
from marginrank.solvers.certificate import Certificate
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.line_search import Trial, search
from marginrank.solvers.penalised_model import model_step
from marginrank.types import Vector


def smooth_gradient(objective: Objective, point: Point, gradient: Vector) -> Vector:
    """Return the gradient that curvature is learnt from: without the kinks of the penalty."""
    if objective.penalty.smooth:
        return gradient
    return point.risk_gradient + objective.penalty.modulus(objective.alpha) * point.w


def step(certificate: Certificate, point: Point, gradient: Vector, inverse: InverseHessian) -> Trial | None:
    """Search the line from a point along the product of its gradient with the inverse Hessian."""
    objective = certificate.objective
    penalty, alpha = objective.penalty, objective.alpha
    if penalty.smooth:
        direction = -inverse.apply(gradient)
        slope = float(gradient @ direction)
    else:
        smooth = smooth_gradient(objective, point, gradient)
        direction = model_step(penalty, alpha, inverse.hessian(), point.w, smooth, gradient)
        slope = _slope(objective, point, direction)
    if not slope < 0.0:
        return None
    if len(inverse):
        return search(point.along(direction), point, slope, flatness=0.9, max_trials=3)
    # Without curvature the length is unknown. Were the objective linear down to the bound, this step would
    # reach it; from the origin it is within a factor of two of the best one.
    direction *= certificate.slack / -slope
    slope = -certificate.slack
    if not penalty.smooth:
        direction = penalty.allowed_step(point.w, direction, gradient)
        slope = _slope(objective, point, direction)
    return search(point.along(direction), point, slope, flatness=0.1, max_trials=6)


def _slope(objective: Objective, point: Point, direction: Vector) -> float:
    along = float(point.risk_gradient @ direction)
    return along + objective.penalty.slope(point.w, direction, objective.alpha)
