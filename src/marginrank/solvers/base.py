"""The contract between an objective and a solver, on one page.

A solver sees ``J(w) = R(w) + P(w)``, a risk and a penalty, through points. A point is immutable: it was
computed at one ``w`` and answers from what it has, so no order of calls can be wrong. The penalty is a value
that answers for any ``w``; solvers write down no penalty themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.rounding import PlaneRounding
from marginrank.solvers.penalties import Penalty
from marginrank.types import Vector


class Point(Protocol):
    """The objective at one ``w``."""

    @property
    def w(self) -> Vector:
        """Where this point is."""

    @property
    def value(self) -> float:
        """``R(w) + P(w)``."""

    @property
    def risk(self) -> float:
        """``R(w)``."""

    @property
    def risk_gradient(self) -> Vector:
        """A (sub)gradient of ``R`` at ``w``; costs half a pass over X when first asked for."""

    @property
    def value_error(self) -> float:
        """By how much ``J(w)``, in exact arithmetic, may exceed ``value``."""

    @property
    def plane_rounding(self) -> PlaneRounding:
        """How far the plane ``R(v) >= risk + risk_gradient.(v - w)`` may be off."""

    def hvp(self, v: Vector) -> Vector:
        """Product of the Hessian of ``J``, penalty included, with ``v``; one pass over X."""

    def hessian(self) -> NDArray[np.float64]:
        """The whole Hessian of ``R``, in an array of its own; only where the objective has ``hessians``."""

    def along(self, direction: Vector) -> Line:
        """The objective on the line ``w + t * direction``."""


class Line(Protocol):
    """The objective on a line: half a pass over X for the whole line, then only the loss per point."""

    def at(self, t: float) -> Point:
        """Return the point ``w + t * direction``."""

    def slope(self, point: Any) -> float:
        """Derivative in ``t`` of the objective at a point that ``at`` returned, or at the line's start."""


class Objective(Protocol):
    """What solvers minimise."""

    penalty: Penalty
    alpha: float
    n_features: int
    passes: float
    smooth: bool

    @property
    def columns(self) -> Vector | None:
        """In what the errors of gradients are measured, by entry: see :class:`PlaneRounding`; None is 1."""

    def at(self, w: Vector) -> Point:
        """Evaluate at ``w``."""

    def curvature(self) -> NDArray[np.float64]:
        """Estimate the Hessian of ``R`` near ``w = 0`` from a sample of the rows: its diagonal, or all of it.

        A vector or a matrix, whichever pays.
        """

    def smoothed(self, width: float) -> Smoothed | None:
        """Return this objective with a risk that has no kinks, or None where there is no such thing."""

    def find_gradients(self, points: Sequence[Any]) -> None:
        """Compute the gradients of several points that have none yet, in one read of X."""


class Smoothed(Protocol):
    """An objective whose risk lies above that of another one, and is smooth within a width of its kinks."""

    def smoothed_at(self, point: Any) -> SmoothedPoint:
        """Evaluate where a point is, of the other objective or of another width, without a look at X."""

    def original(self, point: Any) -> Point:
        """Return the point of the other objective where a point of this one is, without a look at X."""


class SmoothedPoint(Point, Protocol):
    """A point of a smoothed objective, whose plane is one of the risk that was smoothed."""

    @property
    def plane(self) -> tuple[float, PlaneRounding]:
        """The b of the plane ``R(v) >= risk_gradient.v + b`` of that risk, and how far it may be off."""

    @property
    def plane_value(self) -> float:
        """How high that plane is at ``w``: what is missing to the risk there is what smoothing costs."""


@dataclass(frozen=True)
class Progress:
    """One line of a solver's log; also what callbacks receive.

    ``validation`` is the best validation figure so far, where there is a validation set. ``alpha`` says which
    problem it is in a search over several, ``fold`` which of how many folds, and ``done`` how much of the
    search is done, about, from 0 to 1. ``w`` are the best coefficients so far; callbacks get them, the log
    does not keep them.
    """

    iteration: int
    value: float
    bound: float
    gap: float
    passes: float
    seconds: float
    validation: float | None = None
    alpha: float | None = None
    fold: tuple[int, int] | None = None
    done: float | None = None
    w: Vector | None = field(default=None, repr=False, compare=False)


Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class SolverResult:
    """The best point found and how good it is known to be, rounding included.

    The objective at ``w`` is at most ``value``, the optimum at least ``bound``. ``rounding`` is the part of
    ``gap`` that rounding alone makes, which no further iteration would take away.

    ``point`` is that point itself, with all that was computed there: those who keep many results let it go.
    """

    w: Vector
    value: float
    bound: float
    gap: float
    n_iter: int
    status: str
    history: Sequence[Progress] = field(repr=False)
    rounding: float = 0.0
    point: Any = field(default=None, repr=False, compare=False)


class Solver(Protocol):
    """Drives an objective to a certified gap."""

    def minimize(
        self,
        objective: Objective,
        w0: Vector | None = None,
        callback: Callback | None = None,
        planes: Any = None,
        memories: Any = None,
    ) -> SolverResult:
        """Minimise; never raises for slow convergence, the result's ``status`` says what ended the run.

        ``planes`` and ``memories`` hold what was learnt of the same risk at other alphas; solvers add to what
        they use.
        """
