"""Optimised cutting planes: a bundle method for any convex risk."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.solvers.base import Point
from marginrank.solvers.certificate import Certificate, CertifiedSolver
from marginrank.solvers.line_search import search
from marginrank.types import Vector

# The new plane is taken this part of the way from the best point on the line to the minimiser of the model
# (Franc and Sonnenburg's OCAS): exactly at the best point it would hardly cut anything off.
_BEYOND = 0.1
_FLATNESS = 0.1
_WINDOW = 200
_SHRINK = 0.999


class Bundle(CertifiedSolver):
    """Minimise a convex objective by cutting planes with a line search.

    Each iteration minimises the model made of all planes, searches the line from the best point to that
    minimiser, and adds a plane a little beyond the best point on it.

    Notes
    -----
    One pass over X per iteration. It needs more passes than :class:`QuasiNewton` at first, but converges for
    every convex risk and every ``alpha``.
    """

    def _run(self, certificate: Certificate, start: Point, memories: list[Any]) -> str:
        del start, memories
        return cut_to_the_end(certificate, self.max_iter)


def cut_to_the_end(certificate: Certificate, max_iter: int) -> str:
    """Continue from a certificate's best point and planes until the run is over; return the status."""
    first = certificate.iteration
    while certificate.iteration < max_iter:
        _cut_once(certificate)
        status = certificate.report()
        if status:
            return status
        if certificate.iteration - first > _WINDOW and certificate.stuck(_WINDOW, _SHRINK):
            return "stalled"
    return "max_iter"


def _cut_once(certificate: Certificate) -> None:
    start = certificate.best
    direction = _next_centre(certificate) - start.w
    line = start.along(direction)
    trial = search(line, start, line.slope(start), flatness=_FLATNESS, max_trials=6)
    step = 0.0 if trial is None else trial.step
    if trial is not None:
        certificate.observe(trial.point)
    certificate.cut(line.at(step + _BEYOND * abs(1.0 - step)))


def _next_centre(certificate: Certificate) -> Vector:
    """Return the minimiser of the planes, no farther from the origin than the optimum can be.

    The penalty is at most the best value there, and at the minimiser, too, but for rounding. Without the
    limit, points that lie far away give planes that are worth nothing but lead still farther.
    """
    objective, w = certificate.objective, certificate.planes.minimizer()
    length = float(np.linalg.norm(w))
    farthest = objective.penalty.farthest(certificate.best.value, objective.alpha)
    return w if length <= farthest else objective.penalty.nearest(w * (farthest / length))
