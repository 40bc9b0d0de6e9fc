"""Quasi-Newton on the raw objective, with a cutting-plane certificate."""

from __future__ import annotations

from dataclasses import dataclass

from marginrank.solvers.base import Objective, Point
from marginrank.solvers.bundle import cut_to_the_end
from marginrank.solvers.certificate import Certificate, CertifiedSolver
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.line_search import Trial, search
from marginrank.types import Vector

# When the last few steps together gained less than this part of the slack, what is missing is the bound.
# Planes close to the optimum do not raise it much, those of a bundle do: on LETOR data the switch saves
# 40 % of the passes. Where features differ by orders of magnitude the bundle is slow, and the bound of
# quasi-Newton comes late but all at once. So it does at tiny alpha, where values settle within a few steps
# of the whole Hessian: with a window of 5 the squared hinge at 1e-9 took ten times the passes.
_WINDOW = 7
_PATIENT_WINDOW = 30
_GAIN = 0.02
_UNEVEN = 1e6


@dataclass(frozen=True)
class QuasiNewton(CertifiedSolver):
    """Minimise by L-BFGS; every gradient is also a cutting plane.

    The risk may be nonsmooth, as the hinge is: with many rows it behaves like a smooth function until far
    below the usual gaps. Where steps no longer lead anywhere, or the value has settled and only the bound is
    missing, the run continues as a :class:`Bundle` from the same planes.

    Parameters
    ----------
    tol, max_iter
        As for every solver.
    memory : int, default=20
        Number of steps from which curvature is remembered.

    Notes
    -----
    One pass over X per iteration.
    """

    memory: int = 20

    def _run(self, certificate: Certificate, start: Point, memories: list[InverseHessian]) -> str:
        return self._descend(certificate, start, memories) or cut_to_the_end(certificate, self.max_iter)

    def _descend(self, certificate: Certificate, point: Point, memories: list[InverseHessian]) -> str | None:
        """Iterate until the run is over, or return None when a bundle would do better."""
        objective = certificate.objective
        modulus = objective.penalty.modulus(objective.alpha)
        if memories:
            inverse = memories[-1].at(modulus)
        else:
            inverse = InverseHessian(objective.curvature(), modulus, self.memory)
        memories[:] = [inverse]
        gradient = certificate.subgradient(point)
        inverse.visit(point.w, _smooth_gradient(objective, point, gradient))
        window = _PATIENT_WINDOW if inverse.unevenness > _UNEVEN else _WINDOW
        while certificate.iteration < self.max_iter:
            trial = _step(certificate, point, gradient, inverse)
            if trial is None:
                if not len(inverse):
                    return None
                inverse.forget()
                continue
            point, gradient = trial.point, certificate.cut(trial.point)
            inverse.visit(point.w, _smooth_gradient(objective, point, gradient))
            status = certificate.report()
            if status:
                return status
            if certificate.settled(window, _GAIN):
                return None
        return "max_iter"


def _smooth_gradient(objective: Objective, point: Point, gradient: Vector) -> Vector:
    """Return the gradient that curvature is learnt from: without the kinks of the penalty."""
    if objective.penalty.smooth:
        return gradient
    return point.risk_gradient + objective.penalty.modulus(objective.alpha) * point.w


def _step(certificate: Certificate, point: Point, gradient: Vector, inverse: InverseHessian) -> Trial | None:
    objective = certificate.objective
    penalty, alpha = objective.penalty, objective.alpha
    # What a kink or a bound holds has the subgradient 0: it stays, and others move as if it were not there.
    free = None if penalty.smooth else gradient != 0.0
    direction = penalty.allowed_step(point.w, -inverse.apply(gradient, free), gradient)
    if penalty.smooth:
        slope = float(gradient @ direction)
    else:
        slope = float(point.risk_gradient @ direction) + penalty.slope(point.w, direction, alpha)
    if not slope < 0.0:
        return None
    if len(inverse):
        return search(point.along(direction), point, slope, flatness=0.9, max_trials=3)
    # Without curvature the length is unknown. Were the objective linear down to the bound, this step would
    # reach it; from the origin it is within a factor of two of the best one.
    direction *= certificate.slack / -slope
    return search(point.along(direction), point, -certificate.slack, flatness=0.1, max_trials=6)
