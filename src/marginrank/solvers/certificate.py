"""What every solver keeps while it runs: the best point, the lower bound, and the log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from marginrank.rounding import upward
from marginrank.solvers.base import Callback, Objective, Point, Progress, SmoothedPoint, SolverResult
from marginrank.solvers.planes import CuttingPlanes
from marginrank.types import Vector

# The quadratic programme is solved to this part of the gap that is asked for: what it leaves open is not
# worth a pass over the data.
_QP_PRECISION = 0.02
# A gap above tol of which all but this part of tol is rounding stays above it.
_HOPELESS = 0.1
# Gains below this part of the value are chance: sums of a few hundred terms differ by it in their last bits.
_LAST_DIGITS = 2.0**-44


def relative_gap(upper: float, bound: float) -> float:
    """Return how far a value may be from the optimum, relative to it: from 0 to 1, and rounded upward.

    Parameters
    ----------
    upper : float
        What the value is at most.
    bound : float
        What the optimum is at least, and at least 0.

    Examples
    --------
    >>> relative_gap(2.0, 1.0), relative_gap(1.0, 1.0), relative_gap(0.0, 0.0), relative_gap(1.0, 0.0)
    (0.5000000000000004, 0.0, 0.0, 1.0)
    """
    if not upper > bound:
        return 0.0
    gap = upward((upper - bound) / upper)
    return min(gap, 1.0) if np.isfinite(gap) else 1.0


class Certificate:
    """Best value from above, cutting planes from below, and the progress between them.

    Both hold in exact arithmetic: they carry the rounding of all that they are made of.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    tol : float
        Relative gap at which the run is over.
    callback : callable or None
        Receives each :class:`Progress`; returning True stops the run.
    planes : CuttingPlanes or None
        Planes of the same risk that are known already; they do not depend on alpha.

    Attributes
    ----------
    planes : CuttingPlanes
        One plane per gradient that was computed.
    bound : float
        Lower bound of the optimum; it never exceeds the best value.
    history : list of Progress
        One entry per iteration, starting with the first point.
    """

    def __init__(
        self,
        objective: Objective,
        tol: float,
        callback: Callback | None = None,
        planes: CuttingPlanes | None = None,
    ) -> None:
        self.objective = objective
        self.tol = tol
        if planes is None:
            planes = CuttingPlanes(objective.alpha, objective.n_features, objective.penalty)
        self.planes = planes
        # Planes are those of the risk; what they prove is of this penalty and alpha.
        self.planes.penalty = objective.penalty
        self.planes.alpha = objective.alpha
        self.planes.columns = objective.columns
        self.bound = 0.0
        self._unrounded = 0.0
        self._looked_again = False
        self.history: list[Progress] = []
        self._best: Point | None = None
        self._callback = callback
        self._started = perf_counter()

    @property
    def best(self) -> Point:
        """The point with the lowest value so far, rounding included."""
        if self._best is None:
            raise RuntimeError("No point has been observed yet.")
        return self._best

    @property
    def has_point(self) -> bool:
        """Whether any point was observed."""
        return self._best is not None

    @property
    def value(self) -> float:
        """What the objective at the best point is at most."""
        return _upper(self.best)

    @property
    def slack(self) -> float:
        """Best value minus bound."""
        return self.value - self.bound

    @property
    def gap(self) -> float:
        """The slack relative to the best value, from 0 to 1; 0 where that value is 0."""
        return relative_gap(self.value, self.bound)

    @property
    def rounding(self) -> float:
        """The part of the gap that rounding alone makes."""
        best = self.best
        return max(self.gap - relative_gap(best.value, min(self._unrounded, best.value)), 0.0)

    @property
    def iteration(self) -> int:
        """Number of iterations reported so far."""
        return len(self.history) - 1

    def observe(self, point: Point) -> None:
        """Take note of a point's value, which costs nothing."""
        if self._best is None or _upper(point) < _upper(self._best):
            self._best = point

    def cut(self, point: Point) -> Vector:
        """Add the plane of a point and return the smallest subgradient of the whole objective there."""
        self.observe(point)
        self.planes.cut(point)
        return self.subgradient(point)

    def cut_below(self, point: SmoothedPoint) -> None:
        """Add the plane of a point of the smoothed objective, which is a plane of this one's risk."""
        self.planes.cut_below(point)

    def subgradient(self, point: Point) -> Vector:
        """Return the smallest subgradient of the whole objective at a point: its gradient, if it has one."""
        objective = self.objective
        return objective.penalty.smallest_subgradient(point.w, point.risk_gradient, objective.alpha)

    def report(self) -> str | None:
        """Improve the bound, log the iteration, and say why the run is over, if it is."""
        self._improve_bound()
        hopeless = self._is_hopeless()
        if hopeless and not self._looked_again:
            # Scores that were made of others carry the errors of all of them.
            self._looked_again = True
            self.cut(self.objective.at(self.best.w))
            self._improve_bound()
            hopeless = self._is_hopeless()
        progress = Progress(
            iteration=len(self.history),
            value=self.value,
            bound=self.bound,
            gap=self.gap,
            passes=self.objective.passes,
            seconds=perf_counter() - self._started,
            alpha=self.objective.alpha,
        )
        self.history.append(progress)
        stop = self._callback is not None and bool(self._callback(replace(progress, w=self.best.w)))
        if self.gap <= self.tol:
            return "converged"
        return "stopped" if stop else "stalled" if hopeless else None

    def _improve_bound(self) -> None:
        bound = self.planes.bound(_QP_PRECISION * self.tol * self.best.value)
        self._unrounded = max(self._unrounded, self.planes.unrounded)
        self.bound = min(max(self.bound, bound), self.value)

    def _is_hopeless(self) -> bool:
        """Whether the gap is above tol, and so is what rounding makes of it."""
        gap, rounding = self.gap, self.rounding
        left = gap - rounding
        return gap > self.tol and (left <= _HOPELESS * self.tol or (left <= self.tol <= rounding))

    def settled(self, window: int, part: float) -> bool:
        """Whether the best value fell by less than ``part`` of the slack in ``window`` iterations."""
        if len(self.history) <= window:
            return False
        return self.history[-1 - window].value - self.value < part * self.slack

    def stuck(self, window: int, shrink: float) -> bool:
        """Whether the slack of ``window`` iterations ago has not shrunk below ``shrink`` times itself.

        Nor has it where it shrank by a few last digits of the value: chance finds ever better roundings.
        """
        if len(self.history) <= window:
            return False
        past = self.history[-1 - window]
        before = past.value - past.bound
        return self.slack > shrink * before or before - self.slack <= _LAST_DIGITS * self.value

    def result(self, status: str) -> SolverResult:
        """Return the best point with its certificate."""
        best = self.best
        return SolverResult(
            w=best.w,
            value=self.value,
            bound=self.bound,
            gap=self.gap,
            n_iter=max(self.iteration, 0),
            status=status,
            history=tuple(self.history),
            rounding=self.rounding,
            point=best,
        )


def _upper(point: Point) -> float:
    """Return what the objective at a point is at most."""
    return upward(point.value + point.value_error, 1.0) if point.value_error > 0.0 else point.value


@dataclass(frozen=True)
class CertifiedSolver(ABC):
    """Base of the solvers that minimise an objective to a certified gap.

    Parameters
    ----------
    tol : float, default=1e-3
        Relative gap between the best value and the certified lower bound.
    max_iter : int, default=1000
        Largest number of iterations.
    """

    tol: float = 1e-3
    max_iter: int = 1000

    def minimize(
        self,
        objective: Objective,
        w0: Vector | None = None,
        callback: Callback | None = None,
        planes: CuttingPlanes | None = None,
        memories: list[Any] | None = None,
    ) -> SolverResult:
        """Minimise ``objective`` from ``w0``, or from the origin, and return the best point even on Ctrl-C.

        Parameters
        ----------
        objective : Objective
            What to minimise.
        w0 : ndarray of shape (n_features,), optional
            Where to start.
        callback : callable, optional
            Called with a :class:`Progress` after each iteration; returning True stops.
        planes : CuttingPlanes, optional
            Planes of the same risk, from a run at another alpha; this run adds its own to them.
        memories : list of InverseHessian, optional
            Its last entry is the curvature that a run over the same risk has seen. Quasi-Newton continues
            from it and leaves its own in its place; other solvers do not use it.

        Returns
        -------
        SolverResult
            Status "converged", "max_iter", "stopped", "interrupted" or "stalled". An interrupt before the
            first point has a value leaves nothing to return and is raised again.

        Raises
        ------
        IncompatibleSolverError
            If the objective does not offer what the solver needs.
        """
        self._check(objective)
        certificate = Certificate(objective, self.tol, callback, planes)
        try:
            start = objective.at(_start(objective, w0))
            certificate.observe(start)
            if start.value > 0.0:
                certificate.cut(start)
            status = certificate.report() or self._run(
                certificate, start, [] if memories is None else memories
            )
        except KeyboardInterrupt:
            if not certificate.has_point:
                raise
            status = "interrupted"
        return certificate.result(status)

    def _check(self, objective: Objective) -> None:
        """Refuse an objective that does not offer what the solver needs; most need nothing special."""
        del objective

    @abstractmethod
    def _run(self, certificate: Certificate, start: Point, memories: list[Any]) -> str:
        """Continue from the first point, whose plane the certificate has, and return the status."""


def _start(objective: Objective, w0: Vector | None) -> Vector:
    start = np.zeros(objective.n_features) if w0 is None else np.array(w0, dtype=np.float64)
    return objective.penalty.nearest(start)
