"""Newton's method with the whole Hessian, for problems so small that it costs next to nothing."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers.base import Objective, Point
from marginrank.solvers.certificate import Certificate
from marginrank.solvers.cholesky import cholesky_factor, solved
from marginrank.solvers.line_search import search
from marginrank.types import Vector

# Where the balance, the squared gradient at zero, is below this many times alpha, a dozen steps that learn
# the curvature lead to the end; and a run that starts from another model has curvature, or is near already.
_LEAST_BALANCE = 300.0
# Beside the curvature of the penalty, so that rounding leaves a factor.
_ROUNDING = 1e-13
# What is added to the Hessian, in parts of its diagonal at the start: the part of the first gradient that is
# left, times a number that falls after a long step and rises after a short one. Far from the optimum of
# nearly separable data the Hessian has few pairs, and bare steps of Newton lead nowhere: on eight problems of
# 120 x 100 at alpha=1e-4 they took 49 passes on average, 65 at most, and these 23 and 28.
_LONG, _SHORT, _FALL, _RISE = 0.8, 0.5, 0.2, 2.0


def newton_pays(objective: Objective, start: Point) -> bool:
    """Whether a run from zero has a cheap Hessian, and an alpha that makes it long enough to need one."""
    if not objective.smooth or start.w.any():
        return False
    if not (objective.penalty.is_squared_norm and hasattr(objective, "hessians")):
        return False
    slope = start.risk_gradient
    return bool(float(slope @ slope) >= _LEAST_BALANCE * objective.alpha and objective.hessians is not None)


def exact_newton_steps(certificate: Certificate, point: Point, max_iter: int) -> str | None:
    """Step until the run is over and return its status, or None when a step leads nowhere.

    Near the optimum the gradient falls with its square, and with it what a single plane leaves open: no
    planes of a bundle are needed, as they are where curvature is learnt step by step.
    """
    gradient = certificate.subgradient(point)
    damping: _Damping | None = None
    while certificate.iteration < max_iter:
        with np.errstate(all="ignore"):  # what is not finite has no factor
            hessian = point.hessian()
            if damping is None:
                damping = _Damping(hessian, gradient)
            direction = _direction(certificate.objective, hessian, gradient, damping.of(gradient))
        if direction is None:
            return None
        slope = float(gradient @ direction)
        trial = search(point.along(direction), point, slope, flatness=0.3, max_trials=6)
        if trial is None:
            return None
        damping.learn(trial.step)
        point = trial.point
        gradient = certificate.cut(point)
        status = certificate.report()
        if status:
            return status
    return "max_iter"


class _Damping:
    """What is added to the diagonal of the Hessian (Levenberg and Marquardt)."""

    def __init__(self, hessian: NDArray[np.float64], gradient: Vector) -> None:
        diagonal = hessian.diagonal().copy()
        largest = float(diagonal.max(initial=0.0))
        self._rounding = _ROUNDING * largest
        self._diagonal = diagonal + max(1e-12 * largest, np.finfo(np.float64).tiny)
        self._first = self._length(gradient)
        self._factor = 1.0

    def _length(self, gradient: Vector) -> float:
        return sqrt(float(gradient @ (gradient / self._diagonal)))

    def of(self, gradient: Vector) -> Vector:
        """Return it for a gradient."""
        part = self._length(gradient) / self._first if self._first > 0.0 else 0.0
        return np.asarray(self._factor * part * self._diagonal + self._rounding)

    def learn(self, step: float) -> None:
        """Take note of the step that a search found in units of the direction."""
        if step >= _LONG:
            self._factor *= _FALL
        elif step < _SHORT:
            self._factor = min(_RISE * self._factor, 1.0)


def _direction(
    objective: Objective, hessian: NDArray[np.float64], gradient: Vector, damping: Vector
) -> Vector | None:
    """Return ``-H^-1 gradient``; None where rounding leaves no factor."""
    hessian[np.diag_indices_from(hessian)] += objective.penalty.modulus(objective.alpha) + damping
    factor = cholesky_factor(hessian)
    if factor is None:
        return None
    direction = -solved(factor, gradient)
    return direction if np.isfinite(direction).all() else None
