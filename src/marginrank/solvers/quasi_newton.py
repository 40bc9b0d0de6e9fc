"""Quasi-Newton on the raw objective, with a cutting-plane certificate."""

from __future__ import annotations

from dataclasses import dataclass

from marginrank.solvers.base import Point
from marginrank.solvers.bundle import cut_to_the_end
from marginrank.solvers.certificate import Certificate, CertifiedSolver
from marginrank.solvers.exact_newton import exact_newton_steps, newton_pays
from marginrank.solvers.interior_point import interior_pays, interior_steps
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.quasi_newton_step import smooth_gradient, step
from marginrank.solvers.smoothed_descent import smoothed_descent

# When the last few steps together gained less than this part of the slack, what is missing is the bound.
# Planes close to the optimum do not raise it much, those of a bundle do: on LETOR data the switch saves
# 40 % of the passes. Where features differ by orders of magnitude the bundle is slow, and the bound of
# quasi-Newton comes late but all at once. So it does at tiny alpha, where values settle within a few steps
# of the whole Hessian: with a window of 5 the squared hinge at 1e-9 took ten times the passes.
_WINDOW = 7
_PATIENT_WINDOW = 30
_GAIN = 0.02
_UNEVEN = 1e6
# A descent on the risk as it is that has not arrived by then is slowed down by kinks, if there are any. On
# LETOR sets most fits end before; where they do not, starting smoothed at once would save five passes.
_SLOW = 8


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
        if newton_pays(certificate.objective, start):
            status = exact_newton_steps(certificate, start, self.max_iter)
            if status:
                return status
            start = certificate.best
        elif interior_pays(certificate.objective, start):
            status = interior_steps(certificate, start, self.max_iter)
            if status:
                return status
            start = certificate.best
        return self._descend(certificate, start, memories) or cut_to_the_end(certificate, self.max_iter)

    def _descend(self, certificate: Certificate, point: Point, memories: list[InverseHessian]) -> str | None:
        """Iterate until the run is over, or return None when a bundle would do better."""
        objective = certificate.objective
        modulus = objective.penalty.modulus(objective.alpha)
        # A run that continues another one starts close to its end. What such runs cost decides how far
        # searches go, which must not depend on where rows lie: smoothed steps of fused passes cost more.
        may_smooth = not memories
        if memories:
            inverse = memories[-1].at(modulus)
        else:
            inverse = InverseHessian(objective.curvature(), modulus, self.memory)
        memories[:] = [inverse]
        gradient = certificate.subgradient(point)
        inverse.visit(point.w, smooth_gradient(objective, point, gradient))
        window = _PATIENT_WINDOW if inverse.unevenness > _UNEVEN else _WINDOW
        while certificate.iteration < self.max_iter:
            trial = step(certificate, point, gradient, inverse)
            if trial is None:
                if not len(inverse):
                    return None
                inverse.forget()
                continue
            point, gradient = trial.point, certificate.cut(trial.point)
            inverse.visit(point.w, smooth_gradient(objective, point, gradient))
            status = certificate.report()
            if status:
                return status
            if may_smooth and certificate.iteration == _SLOW:
                smoothed = smoothed_descent(certificate, inverse)
                if smoothed is not None:
                    status = smoothed.run(self.max_iter)
                    if status:
                        return status
                    point = certificate.best
                    gradient = certificate.cut(point)
                    inverse.move(point.w, smooth_gradient(objective, point, gradient))
            if certificate.settled(window, _GAIN):
                return None
        return "max_iter"
