"""The certified path of a linear machine: a model for every alpha, within eps of its optimum.

Between *knots*, at which the problem was solved, ``alpha * w`` is linear in alpha, as on the exact path of a
kernel machine between its breakpoints. Cutting planes do not depend on alpha, so those of all solutions
together bound every alpha from below; ``lower_lines`` says what is proved between two alphas. Where that is
not enough, in this order: a new mixture of the planes (no look at the data), the value of the path there
(the scores are a combination of those of the knots: no look at X), a plane there (half a pass), a solution.
The planes that are needed first wait for the next start, whose gradient comes in the same read of X.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from marginrank.designs.base import Design
from marginrank.losses.base import Loss
from marginrank.rounding import upward
from marginrank.solvers.base import Callback, Solver, SolverResult
from marginrank.solvers.combinations import combination
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.knot_spacing import knots_between, steps_between
from marginrank.solvers.lower_lines import LowerLines, Node, middle, on_chord
from marginrank.solvers.objective import Objective, Point, find_gradients
from marginrank.solvers.planes import CuttingPlanes
from marginrank.solvers.quasi_newton import QuasiNewton
from marginrank.solvers.starting_points import Knot, between, combined_start, knot_of, nearest_start
from marginrank.types import Vector

_FEW_FEATURES = 1000  # up to here knots lie evenly, as ``knot_spacing`` says
# Parts of eps: what a solution goes down to, and what every node must reach, so that lines from there go
# somewhere: a node that only just reaches eps proves nothing around it.
_SOLVED, _PROVED = 0.8, 0.95
_QP_PRECISION = 0.02
# What rounding adds to a value when the path is done must fit into what is left of eps.
_FOR_ROUNDING = 1e-4
# Scores made of those of other models carry the errors of all of them, which grow from knot to knot, about
# threefold on film reviews. Above this part of eps the scores of the last knots are computed again.
_FOR_START = 1e-2
_NARROWEST = 1e-9  # a hole that stays open down to here is one of rounding
# Planes that come with the one that is needed, in the same read of X: where models between knots are to be
# proved, as parts of the hole; where a solution starts, as parts of the way there from the last knot, as many
# as fit into one read. Those beyond the start save a twentieth of the passes on OHSUMED, on one part a fifth.
_WITH_CUT = (0.15, 0.35, 0.65, 0.85)
_WITH_START = (0.33, 0.67, 1.33, 1.67)
_IN_ONE_READ = 8  # vectors that designs multiply with
_SPAN = 5  # models whose combinations are tried as a start; ten are no better


class PathTracer:
    """Goes down from the largest alpha; what it has is a certified path at any time.

    Parameters
    ----------
    design, loss
        The two sides of the objective; any convex loss that is never negative.
    eps : float
        Relative gap that every model shall have at most.
    solver : Solver, optional
        What solves at the knots; its tolerance follows from ``eps``. Quasi-Newton by default.
    planes : CuttingPlanes, optional
        Those of the same risk that are known already; the path adds its own to them.
    memories : list of InverseHessian, optional
        As in :class:`QuasiNewton`; the path leaves its last one there.
    combine : bool, default=True
        Start each solution at the best combination of the last models, and take more planes than are
        needed: fewer passes, more evaluations of the loss.
    callback : callable, optional
        Receives the ``Progress`` of every solution; returning True ends the path there.
    step_limit : float, default=inf
        Passes of one step; the path ends where one takes more.

    Attributes
    ----------
    alphas : list of float
        The knots, descending.
    models : list of ndarray
        The model at each.
    values : list of float
        What the objective at each is at most.
    error : float
        By how much rounding may raise the objective of a model between two of them.
    unproved : SolverResult or None
        The solution that ended the path before its time, because its gap stayed above eps.
    nodes : list of Node
        Values of the path, descending in alpha: between two of them it is at most their chord.
    lines : LowerLines
        What the optimum is at least.
    passes : float
        Passes over X.
    n_solutions, n_cuts : int
        Problems solved, and further planes taken.
    iterations : int
        Iterations of these solutions.
    """

    def __init__(
        self,
        design: Design,
        loss: Loss,
        eps: float,
        *,
        solver: Solver | None = None,
        planes: CuttingPlanes | None = None,
        memories: list[InverseHessian] | None = None,
        combine: bool = True,
        callback: Callback | None = None,
        step_limit: float = np.inf,
    ) -> None:
        self._step_limit = step_limit
        self._eps = (1.0 - _FOR_ROUNDING) * eps
        self._solver = at_tolerance(QuasiNewton() if solver is None else solver, _SOLVED * eps)
        self.lines = LowerLines()
        self._objective = Objective(design, loss, 1.0)
        self._planes = CuttingPlanes(1.0, design.shape[1]) if planes is None else planes
        self._planes.columns = self._objective.columns
        self._memories: list[InverseHessian] = [] if memories is None else memories
        self._combine = combine
        self._find_start = combined_start if combine else nearest_start
        self._with_cut: tuple[float, ...] = _WITH_CUT if combine else ()
        self._with_start: tuple[float, ...] = _WITH_START if combine else ()
        self._callback = callback
        self._recent: list[Knot] = []
        self._segment: tuple[Knot, Knot] | None = None
        self.alphas: list[float] = []
        self.models: list[Vector] = []
        self.values: list[float] = []
        self.error = 0.0
        self.unproved: SolverResult | None = None
        self.nodes: list[Node] = []
        self.passes = 0.0
        self.n_solutions = 0
        self.n_cuts = 0
        self.iterations = 0

    def run(self, alpha_max: float, alpha_min: float, report: Callable[[], bool]) -> str:
        """Trace the path from ``alpha_max`` down to ``alpha_min``.

        Parameters
        ----------
        alpha_max, alpha_min : float
            The interval.
        report : callable
            Called after each step; returning True ends the path there.

        Returns
        -------
        str
            "finished", "stopped", "interrupted" (Ctrl-C) or "stalled" (eps is out of reach).
        """
        try:
            status = self._descend(alpha_max, alpha_min, report)
        except KeyboardInterrupt:
            status = "interrupted"
        if status == "stalled" and self.unproved is not None and self.unproved.status == "stopped":
            status = "stopped"
        self._end_at_last_node()
        return status

    def _descend(self, alpha_max: float, alpha_min: float, report: Callable[[], bool]) -> str:
        steps = steps_between(alpha_max, alpha_min, self._eps, with_planes=self._combine)
        upper = self._solve(alpha_max, None)
        if upper is None:
            return "stalled"
        self._keep(upper)
        self.nodes.append(self._node(upper))
        last: tuple[Knot, Knot] | None = None
        dear = np.inf
        even = not self._combine or self._objective.n_features <= _FEW_FEATURES
        for alpha in knots_between(alpha_max, alpha_min, steps, even=even)[1:]:
            start = self._start(float(alpha))
            self._look(start, last)
            ended = self._end_step(last, dear) or ("stopped" if report() else None)
            if ended:
                return ended
            dear = self.passes + self._step_limit
            lower = self._solve(float(alpha), start)
            if lower is None:
                return "stopped" if self.passes > dear else "stalled"
            last, upper = (lower, upper), lower
            if self.passes > dear:
                break
        ended = self._end_step(last, dear)
        if ended:
            return ended
        report()
        return "finished"

    def _end_step(self, step: tuple[Knot, Knot] | None, dear: float) -> str | None:
        """Prove the models of a step, and say why the path ends there, if it does."""
        joined = step is None or self._join(*step, dear)
        if self.passes > dear:
            return "stopped"
        return None if joined else "stalled"

    def _look(self, start: Point, last: tuple[Knot, Knot] | None) -> None:
        """Take the gradient where a solution starts; planes that other models need come in the same read."""
        open_points = [] if last is None else self._open_points(*last)
        room = _IN_ONE_READ - 1 - len(open_points)
        self._cut([*self._on_the_way(start, self._with_start[:room]), *open_points], start)
        for point in open_points:
            self._bound(point.objective.alpha, point.value)

    def _start(self, alpha: float) -> Point:
        """Return where to start at an alpha: a combination of the last knots, right to what eps asks for."""
        objective = self._objective.with_alpha(alpha)
        start = self._find_start(objective, self._recent)
        if start.value_error <= _FOR_START * self._eps * start.value:
            return start
        # All of them in one read of X: a start computed alone would be combined with the others next.
        found = objective.design.scores_block(np.stack([knot.w for knot in self._recent]))
        self.passes += 0.5
        self._recent = [
            knot._replace(scores=scores.copy(), score_error=objective.score_error(knot.w))
            for knot, scores in zip(self._recent, found, strict=True)
        ]
        return self._find_start(objective, self._recent)

    def _solve(self, alpha: float, start: Point | None) -> Knot | None:
        """Solve at one alpha; None if the gap stayed above eps."""
        objective = self._objective.with_alpha(alpha, known=start)
        w0 = None if start is None else start.w
        try:
            result = self._solver.minimize(objective, w0, self._callback, self._planes, self._memories)
        finally:
            self.passes += objective.passes
        self.unproved = result
        self.iterations += result.n_iter
        if result.status == "interrupted":
            raise KeyboardInterrupt
        self.n_solutions += 1
        knot = knot_of(result.point)
        self._bound(knot.alpha, knot.value)
        if not self.lines.prove(self._node(knot), _PROVED * self._eps):
            return None
        self.unproved = None
        self._recent = sorted([*self._recent, knot], key=lambda knot: -knot.alpha)[-_SPAN:]
        return knot

    def _bound(self, alpha: float, value: float) -> None:
        """Add the line of the best mixture of the planes at one alpha."""
        planes = self._planes
        planes.alpha = alpha
        planes.bound(_QP_PRECISION * self._eps * value)
        self.lines.add(alpha, planes.level, planes.length, int(np.count_nonzero(planes.theta)))

    def _join(self, lower: Knot, upper: Knot, dear: float) -> bool:
        """Prove the models between two knots, from the upper one down, with further knots where needed.

        What it takes more passes to prove than ``dear`` stays unproved.
        """
        todo = [(lower, upper, self._node(lower, upper), self._node(upper, lower))]
        while todo:
            lower, upper, below, above = todo.pop()
            hole = self.lines.hole(below, above, self._eps)
            if hole is None:
                self._prolong(lower, upper, below)
                continue
            if hole[1] <= hole[0] * (1.0 + _NARROWEST) or self.passes > dear:
                return False
            alpha = middle(hole)
            self._bound(alpha, above.product / above.alpha)
            if self.lines.prove(on_chord(alpha, below, above), self._eps):
                todo.append((lower, upper, below, above))
                continue
            point = between(self._objective.with_alpha(alpha), lower, upper)
            node = self._node(knot_of(point), lower, upper)
            if self._prove_by_planes(point, node, lower, upper, hole):
                todo += [(lower, upper, below, node), (lower, upper, node, above)]
                continue
            knot = self._solve(alpha, point)
            if knot is None:
                return False
            todo = [part for part in todo if part[1] is not upper]
            upper = self._knot_at(above, lower, upper)
            todo += [
                (lower, knot, self._node(lower, knot), self._node(knot, lower)),
                (knot, upper, self._node(knot, upper), above),
            ]
        return True

    def _prove_by_planes(
        self, point: Point, node: Node, lower: Knot, upper: Knot, hole: tuple[float, float]
    ) -> bool:
        """Whether the value at a node is within eps, if need be with planes from there and around it."""
        if self.lines.prove(node, _PROVED * self._eps):
            return True
        points = [*self._around(lower, upper, hole), point]
        self._cut(points)
        self.n_cuts += 1
        for near in points:
            self._bound(near.objective.alpha, near.value)
        return self.lines.prove(node, _PROVED * self._eps)

    def _around(self, lower: Knot, upper: Knot, hole: tuple[float, float]) -> list[Point]:
        alphas = [hole[0] * (hole[1] / hole[0]) ** part for part in self._with_cut]
        return [between(self._objective.with_alpha(alpha), lower, upper) for alpha in alphas]

    def _open_points(self, lower: Knot, upper: Knot) -> list[Point]:
        """Return the points whose planes the proof between two knots will ask for first, if for any."""
        below, above = self._node(lower, upper), self._node(upper, lower)
        hole = self.lines.hole(below, above, self._eps)
        if hole is None:
            return []
        alpha = middle(hole)
        self._bound(alpha, above.product / above.alpha)
        hole = self.lines.hole(below, above, self._eps)
        if hole is None:
            return []
        point = between(self._objective.with_alpha(middle(hole)), lower, upper)
        return [*self._around(lower, upper, hole), point]

    def _cut(self, points: Sequence[Point], start: Point | None = None) -> None:
        """Add the planes of some points; the gradient at a start comes in the same read of X."""
        objective = self._objective.with_alpha(1.0)
        find_gradients(objective, points if start is None else [*points, start])
        self.passes += objective.passes
        for point in points:
            slope = point.risk_gradient
            self._planes.add(slope, point.risk - float(slope @ point.w), point.plane_rounding)

    def _on_the_way(self, start: Point, parts: Sequence[float]) -> list[Point]:
        """Return points on the line from the last knot to where a solution starts, and beyond."""
        last = self._recent[-1]
        return [combination(start.objective, [1.0 - part, part], [last, start]) for part in parts]

    def _prolong(self, lower: Knot, upper: Knot, node: Node) -> None:
        """Add what was proved between two knots, down to a node."""
        self.nodes.append(node)
        self._segment = (lower, upper)
        if node.alpha == lower.alpha:
            self._keep(lower)

    def _knot_at(self, node: Node, lower: Knot, upper: Knot) -> Knot:
        """Return the model of the path at a node as a knot; the path does not change by it."""
        if node.alpha == upper.alpha:
            return upper
        knot = knot_of(between(self._objective.with_alpha(node.alpha), lower, upper))
        self._keep(knot)
        return knot

    def _node(self, knot: Knot, *mixed_with: Knot) -> Node:
        """Return the value of a knot for the models that mix it with others, which rounds again."""
        error = max(self.error, knot.error, *(other.error for other in mixed_with))
        return Node(knot.alpha, upward(knot.alpha * upward(knot.value + error)))

    def _keep(self, knot: Knot) -> None:
        self.alphas.append(knot.alpha)
        self.models.append(knot.w)
        self.error = max(self.error, knot.error)
        self.values.append(knot.value)

    def _end_at_last_node(self) -> None:
        """Make the end of the proved part a knot, where it lies between two."""
        if self._segment is not None and self.nodes[-1].alpha < self.alphas[-1]:
            self._knot_at(self.nodes[-1], *self._segment)


def at_tolerance(solver: Solver, tol: float) -> Solver:
    """Return the same solver for another gap."""
    changed: Solver = replace(cast(Any, solver), tol=tol)
    return changed
