"""Fits by a solver that certifies its gap: at one alpha, down a grid, or along the path of all alphas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marginrank.solvers import Callback, CuttingPlanes, Progress, Solver, SolverResult
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.knot_spacing import steps_between
from marginrank.solvers.tracing import PathTracer
from marginrank.training.descents import Descent, Watched
from marginrank.training.fitting import Place, Solution
from marginrank.training.problems import Problem
from marginrank.training.recorder import Recorder
from marginrank.types import Array, Vector

# With few features a pass costs about as much as one evaluation of the loss, and solvers know the curvature,
# so that ten evaluations for a better start save too little: 2 % of the passes on MQ2008, 16 % on text.
_FEW_FEATURES = 1000
# Passes of one step down a path. Mostly they are 2 to 10; where the hinge can nearly be made zero (text with
# more words than rows) hundreds, for knots and proofs at distances that no choice of alpha needs.
_DEAREST_STEP = 20.0
#: What the models of a curve miss at most; the chosen one is trained on to tol. On validation sets of
# 21 queries (OHSUMED) the search is up to 0.017 behind the best of 21 alphas solved separately with 1e-2, and
# 0.004 with this, for 1.6 times the passes.
SELECTION_EPS = 2e-3
# Where the path ends early, a default grid continues with one of so many alphas.
_COARSE = 8


@dataclass
class CertifiedTrainer:
    """Fits by a solver that certifies its gap.

    Cutting planes do not depend on alpha, and curvature hardly does, so every solution starts with those of
    the ones before it.

    Parameters
    ----------
    problem : Problem
        What to fit.
    solver : Solver
        What minimises.
    tol : float
        Its gap.

    Attributes
    ----------
    passes : float
        Passes over X so far.
    tracer : PathTracer or None
        The last path, as it is up to now.
    """

    problem: Problem
    solver: Solver
    tol: float
    passes: float = 0.0
    tracer: PathTracer | None = None
    n_alphas: int = field(init=False)
    patience: int | None = None
    shares_reads = True
    iterates_all = False
    _solution: Solution | None = None
    _heard: list[Progress] = field(default_factory=list)
    _planes: CuttingPlanes | None = None
    _memories: list[InverseHessian] = field(default_factory=list)

    def __post_init__(self) -> None:
        # 16 in each decade, most of them read off a path at no product; or 4, each of them solved.
        self.n_alphas = 129 if self.problem.settings.is_plain else 33

    @property
    def knows_scores(self) -> bool:
        """Whether scores come with the risk, as paths need them; they do not from rows that lie elsewhere."""
        return self.problem.design.brings_scores(self.problem.loss)

    def balance(self) -> float:
        """Return the balance of the problem."""
        self.passes += 0.5
        return self.problem.balance()

    def of_part(self, problem: Problem) -> CertifiedTrainer:
        """Return the same for a part of the problem."""
        return CertifiedTrainer(problem, self.solver, self.tol)

    def solve(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None = None
    ) -> SolverResult:
        """Minimise at one alpha."""
        callback = self._remembering(callbacks if recorder is None else [recorder, *callbacks])
        objective = self.problem.objective.with_alpha(place.alpha)
        start = None if place.start is None else self.problem.transform.transformed(place.start)
        if self._planes is None:
            self._planes = CuttingPlanes(place.alpha, objective.n_features, objective.penalty)
        result = self.solver.minimize(objective, start, callback, self._planes, self._memories)
        result = replace(result, point=None)
        self._solution = Solution(place.alpha, result)
        self.passes += objective.passes
        return result

    def evaluated(self, place: Place) -> SolverResult:
        """Evaluate the start: the result of a solver that stops there."""
        return self.solve(place, [lambda progress: True])

    @property
    def latest(self) -> Solution | None:
        """The last solution, as it is up to now; w = 0, where solvers start, is none."""
        latest = self._solution
        if latest is None and self._heard:
            last = self._heard[-1]
            assert last.w is not None
            assert last.alpha is not None
            history = tuple(replace(progress, w=None) for progress in self._heard)
            figures = (last.value, last.bound, last.gap, last.iteration)
            latest = Solution(last.alpha, SolverResult(last.w, *figures, "interrupted", history))
        return latest if latest is not None and latest.result.w.any() else None

    def before_choice(self, grid_of: Callable[[float], Vector]) -> None:
        """There is nothing."""
        del grid_of

    def descend(
        self, descent: Descent, grid: Vector, callbacks: Sequence[Callback], held: Watched, *, default: bool
    ) -> None:
        """Go down a grid, along a path or one by one, by what is cheaper."""
        del held
        rest = grid
        if (
            not self.problem.settings.is_plain
        ):  # nothing is proved between two alphas, and mixtures lose zeros
            pass
        elif not self.knows_scores:
            rest = _thinned(grid) if default else grid
        elif path_pays(grid, self.tol):
            self._trace_into(descent, grid, callbacks)
            below = rest < (descent.alphas[-1] * (1.0 - 1e-12) if descent.alphas else np.inf)
            rest = _thinned(rest[below]) if default else rest[below]
        for alpha in rest:
            if descent.interrupted:
                return
            start = descent.models[-1] if descent.models else None
            result = self.solve(Place(float(alpha), start), callbacks)
            descent.interrupted = result.status == "interrupted"
            if not descent.interrupted:
                descent.note(self.problem, float(alpha), result)

    def _trace_into(self, descent: Descent, grid: Vector, callbacks: Sequence[Callback]) -> None:
        try:
            _, status = self.trace(float(grid[0]), float(grid[-1]), _eps(self.tol), callbacks)
            descent.interrupted = status == "interrupted"
        finally:
            if self.tracer is not None and self.tracer.alphas:
                descent.note_path(self.problem, self.tracer)

    def trace(
        self, alpha_max: float, alpha_min: float, eps: float, callbacks: Sequence[Callback]
    ) -> tuple[PathTracer, str]:
        """Trace the certified path, in the units of the design; return it and what ended it.

        It ends where a step costs so many passes that solving a few alphas one by one is cheaper.
        """
        design, callback = self.problem.design, self._remembering(callbacks)
        if self._planes is None:
            self._planes = CuttingPlanes(alpha_max, design.shape[1])
        self.tracer = PathTracer(
            design,
            self.problem.loss,
            eps,
            solver=self.solver,
            planes=self._planes,
            memories=self._memories,
            combine=design.shape[1] > _FEW_FEATURES,
            callback=callback,
            step_limit=_DEAREST_STEP,
        )
        status = self.tracer.run(alpha_max, alpha_min, lambda: False)
        self.passes += self.tracer.passes
        return self.tracer, status

    def collect(self, descent: Descent) -> None:
        """Add what the solution that is under way has, if that is a model."""
        latest = self.latest
        if latest is not None and latest.alpha not in descent.alphas:
            descent.note(self.problem, latest.alpha, latest.result)

    def measured(self, descent: Descent, grid: Vector, held: Watched) -> Array:
        """Measure the models of a descent, and mixtures of them between."""
        return descent.measured(held.design, grid, held.parts)

    def delivered(self, descent: Descent, alpha: float) -> SolverResult | None:
        """Return what was trained to tol at this very alpha."""
        return descent.solved.get(alpha)

    def _remembering(self, callbacks: Sequence[Callback]) -> Callback:
        """Forget the last solution; return a callback that remembers the best point, and calls others."""
        self._solution, self._heard = None, []

        def remember(progress: Progress) -> bool:
            if progress.iteration == 0:
                self._heard = []
            elif self._heard:
                self._heard[-1] = replace(self._heard[-1], w=None)
            self._heard.append(progress)
            if not callbacks:
                return False
            w = None if progress.w is None else self.problem.raw(progress.w)
            shown = replace(progress, w=w)
            stops = [bool(callback(shown)) for callback in callbacks]
            return any(stops)

        return remember


def path_pays(alphas: Vector, tol: float) -> bool:
    """Whether a grid is so dense that tracing the path costs less than solving at each alpha.

    Examples
    --------
    >>> path_pays(np.logspace(0, -4, 21), tol=1e-3), path_pays(np.logspace(0, -4, 5), tol=1e-3)
    (True, False)
    """
    return len(alphas) > steps_between(float(alphas[0]), float(alphas[-1]), _eps(tol)) + 1


def _eps(tol: float) -> float:
    return max(tol, SELECTION_EPS)


def _thinned(alphas: Vector) -> Vector:
    """Return every eighth alpha from the end."""
    return alphas[::-1][::_COARSE][::-1]
