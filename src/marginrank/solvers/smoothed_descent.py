"""Quasi-Newton on an objective whose kinks are smoothed, with planes of the objective as it is.

A hinge has a gradient that jumps, and steps that are right for one set of active pairs are wrong for the
next: with few pairs in each query, a descent on the hinge itself takes many short steps. A smoothed risk has
a curvature to learn, and each of its gradients is the slope of a plane below the risk itself. What smoothing
takes off that plane shrinks with the square of the width, so the width follows what is left to prove: it is
soon as narrow as half of the gap that is asked for needs, and stays there.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from marginrank.solvers.base import Point, Smoothed, SmoothedPoint
from marginrank.solvers.certificate import Certificate
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.quasi_newton_step import smooth_gradient, step
from marginrank.types import Vector

_WIDTH = 0.2
# What smoothing takes off a plane is at most the larger of these parts: of the gap that is asked for, and of
# the slack that is left. With a tenth of the latter the first planes are worth less than they cost.
_PART_OF_TOL = 0.5
_PART_OF_SLACK = 0.02
# Where values go to 0, as with separable data, the width would follow them, and narrow pieces are as good as
# kinks: 120 x 100 random numbers took 304 passes instead of 138. For a gap of 1e-3 the width must promise to
# stay above the first of these, the risk must be at least such a part of the first width (below that next to
# no pair is left that a plane could use), and at the last the descent ends.
_PROMISED = 0.03
_LEAST_RISK = 0.02
_NARROWEST = 0.01
_WINDOW = 15
_GAIN = 0.02


class SmoothedDescent:
    """A descent that continues from a certificate's best point.

    Parameters
    ----------
    certificate : Certificate
        What the run has found so far.
    inverse : InverseHessian
        The curvature that it has seen; this descent adds to it.
    smoothed : Smoothed
        The objective of the certificate, smoothed by the width to start with.
    """

    def __init__(self, certificate: Certificate, inverse: InverseHessian, smoothed: Smoothed) -> None:
        self._certificate, self._inverse = certificate, inverse
        self._smoothed, self._width = smoothed, _WIDTH
        best = certificate.best
        self._point = self._narrowed(smoothed.smoothed_at(best), best)

    @property
    def is_promising(self) -> bool:
        """Whether the width that a gap of ``tol`` would need here is wide enough to help."""
        certificate = self._certificate
        risk = certificate.best.risk
        if not risk >= _LEAST_RISK * _WIDTH:
            return False
        cost = risk - self._point.plane_value
        needed = _PART_OF_TOL * certificate.tol * certificate.value
        return self._width * sqrt(min(1.0, needed / max(cost, 1e-300))) >= self._in_units(_PROMISED)

    def run(self, max_iter: int) -> str | None:
        """Iterate until the run is over, or return None when smoothing does not help any more."""
        certificate, inverse = self._certificate, self._inverse
        first = certificate.iteration
        certificate.cut_below(self._point)
        self._gradient = certificate.subgradient(self._point)
        inverse.move(self._point.w, self._smooth_gradient(self._point, self._gradient))
        while certificate.iteration < max_iter:
            trial = step(certificate, self._point, self._gradient, inverse)
            if trial is None:
                if not len(inverse):
                    return None
                inverse.forget()
                continue
            self._accept(trial.point)
            status = certificate.report()
            if status:
                return status
            settled = certificate.iteration - first > _WINDOW and certificate.settled(_WINDOW, _GAIN)
            if settled or self._width < self._in_units(_NARROWEST):
                return None
        return "max_iter"

    def _accept(self, point: Any) -> None:
        """Take the planes of a point, and of the same place with a narrower width where that is due."""
        certificate, inverse = self._certificate, self._inverse
        exact = self._smoothed.original(point)
        certificate.observe(exact)
        narrow = self._narrowed(point, exact)
        certificate.objective.find_gradients([point] if narrow is point else [point, narrow])
        certificate.cut_below(point)
        gradient = certificate.subgradient(point)
        # Gradients of different widths differ by more than curvature, so each pair of them is of one width.
        inverse.visit(point.w, self._smooth_gradient(point, gradient))
        if narrow is not point:
            certificate.cut_below(narrow)
            gradient = certificate.subgradient(narrow)
            inverse.move(narrow.w, self._smooth_gradient(narrow, gradient))
        self._point, self._gradient = narrow, gradient

    def _in_units(self, width: float) -> float:
        """Return what corresponds to a width for a gap of 1e-3; its square is what smoothing costs."""
        return width * min(1.0, sqrt(self._certificate.tol / 1e-3))

    def _smooth_gradient(self, point: SmoothedPoint, gradient: Vector) -> Vector:
        return smooth_gradient(self._certificate.objective, point, gradient)

    def _narrowed(self, point: SmoothedPoint, exact: Point) -> SmoothedPoint:
        """Return the point of the first width, from the present one down, at which smoothing costs little."""
        certificate = self._certificate
        most = max(_PART_OF_TOL * certificate.tol * certificate.value, _PART_OF_SLACK * certificate.slack)
        cost = exact.risk - point.plane_value
        while cost > most and self._width > 0.1 * self._in_units(_NARROWEST):
            self._width *= min(max(sqrt(0.9 * most / cost), 0.1), 0.9)
            smoothed = certificate.objective.smoothed(self._width)
            if smoothed is None:
                return point
            self._smoothed, point = smoothed, smoothed.smoothed_at(exact)
            cost = exact.risk - point.plane_value
        return point


def smoothed_descent(certificate: Certificate, inverse: InverseHessian) -> SmoothedDescent | None:
    """Return a descent from a certificate's best point, or None where smoothing would not help."""
    smoothed = certificate.objective.smoothed(_WIDTH)
    if smoothed is None:
        return None
    descent = SmoothedDescent(certificate, inverse, smoothed)
    return descent if descent.is_promising else None
