"""Fits by a solver that certifies its gap: at one alpha, down a grid, or along the path of all alphas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marginrank.solvers import Callback, CuttingPlanes, Progress, Solver, SolverResult
from marginrank.solvers.certificate import CertifiedSolver
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.solvers.knot_spacing import steps_between
from marginrank.solvers.tracing import PathTracer, at_tolerance
from marginrank.training import row_space
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.fitting import Cost, Place, Solution, uninterrupted
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
# What the models of a default grid miss at most, where a search goes down by half decades; the chosen one is
# trained on to tol, and others that may be better are, too, while there are passes for them. With few
# features the smaller one costs hardly more passes, and on validation sets of 21 queries (OHSUMED) searches
# by NDCG@10 are up to 0.010 behind the best of 21 alphas with the larger one, and 0.005 with this. With many
# features (text) it would take half as many passes again.
_COARSE_TOL, _COARSE_TOL_WIDE = 3e-3, 1e-2


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
    alone : Solver, optional
        What a fit at one alpha from zero uses, where that is another one.

    Attributes
    ----------
    passes : float
        Passes over X so far.
    iterations, starts : int
        Iterations of the solver so far, and how often it was started.
    tracer : PathTracer or None
        The last path, as it is up to now.
    trained : dict from float to SolverResult
        What was trained to tol to know its cost, by alpha.
    """

    problem: Problem
    solver: Solver
    tol: float
    passes: float = 0.0
    iterations: int = 0
    starts: int = 0
    tracer: PathTracer | None = None
    trained: dict[float, SolverResult] = field(default_factory=dict)
    per_decade: int = field(init=False)
    decades_above = 1
    is_limited = True
    patience: int | None = None
    shares_reads = True
    iterates_all = False
    alone: Solver | None = None
    _costs: dict[float, Cost] = field(default_factory=dict)
    _unreached: tuple[float, Array] | None = None
    _solution: Solution | None = None
    _heard: list[Progress] = field(default_factory=list)
    _planes: CuttingPlanes | None = None
    _memories: list[InverseHessian] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Two of 16 are solved, the others are mixtures and cost no product; or all of 4 are.
        self.per_decade = 16 if self.problem.settings.is_plain else 4

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
        return CertifiedTrainer(problem, self.solver, self.tol, alone=self.alone)

    def solve(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None = None
    ) -> SolverResult:
        """Minimise at one alpha."""
        return self._minimize(self.solver, place, callbacks if recorder is None else [recorder, *callbacks])

    def _minimize(self, solver: Solver, place: Place, callbacks: Sequence[Callback]) -> SolverResult:
        callback = self._remembering(callbacks)
        start = None if place.start is None else self.problem.transform.transformed(place.start)
        space = self._row_space(solver, place) if start is None else None
        objective = self.problem.objective.with_alpha(place.alpha)
        if self._planes is None:
            self._planes = CuttingPlanes(place.alpha, objective.n_features, objective.penalty)
        if space is None:
            result = solver.minimize(objective, start, callback, self._planes, self._memories)
        else:
            assert isinstance(solver, CertifiedSolver)
            called = callback if callbacks else None
            result = space.minimize(solver, objective, called, self._planes, self._memories)
        result = replace(result, point=None)
        self._solution = Solution(place.alpha, result)
        self.passes += objective.passes
        self.iterations += result.n_iter
        self.starts += 1
        return result

    def _row_space(self, solver: Solver, place: Place) -> row_space.RowSpace | None:
        """Return the space of the rows, if X is wide and a fit from zero is cheaper there."""
        n_rows, n_columns = self.problem.loss.n_rows, self.problem.data.X.shape[1]
        if not place.alone or n_columns < row_space.COLUMNS_A_ROW * n_rows:
            return None
        return row_space.row_space(self.problem, solver, place.alpha)

    def cost(self, alpha: float, callbacks: Sequence[Callback]) -> Cost:
        """Return what a fit from zero takes, which is then known to be trained."""
        if alpha not in self._costs:
            known, self._planes, self._memories = (self._planes, self._memories), None, []
            before = self.passes
            result = uninterrupted(self._minimize(self.alone or self.solver, Place(alpha), callbacks))
            self._costs[alpha] = Cost(self.passes - before, result.n_iter + 1)
            self.trained[alpha] = result
            if known[0] is not None:
                self._planes, self._memories = known
        return self._costs[alpha]

    def forget(self) -> None:
        """Let go of planes and curvature."""
        self._planes, self._memories = None, []

    def steps(self, grid: Vector) -> Vector:
        """Return two alphas of each decade, but one of the first; with least squares one of each.

        Mixtures of models a whole decade apart do not tell what the models between them measure: by NDCG@10
        of 13 queries they were 0.008 off. But fits of least squares cost no more at smaller alphas, which
        lets a search go on elsewhere, so that ten of them are soon spent.
        """
        if not self.problem.settings.is_plain:
            return grid
        if self.problem.loss.quadratic:
            return grid[:: self.per_decade]
        return np.delete(grid[:: self.per_decade // 2], 1)

    def set_out(self, grid: Vector, rows: EvalRows) -> None:
        """There is nothing to prepare."""

    def reach(
        self, descent: Descent, alpha: float, callbacks: Sequence[Callback], rows: EvalRows, limit: Cost
    ) -> bool:
        """Solve at one alpha, from the model of the nearest one."""
        if alpha in descent.alphas:
            return True
        start = None
        if self._unreached is not None and self._unreached[0] == alpha:
            start = self._unreached[1]
        elif descent.models:
            start = descent.models[max(sum(other > alpha for other in descent.alphas) - 1, 0)]
        cut: list[int] = []

        def watch(progress: Progress) -> bool:
            is_beyond = progress.iteration >= limit.evaluations or progress.passes >= limit.passes
            if is_beyond and progress.gap > tol:
                cut.append(progress.iteration)
            return bool(cut)

        few = self.problem.design.shape[1] <= _FEW_FEATURES
        tol = max(self.tol, _COARSE_TOL if few else _COARSE_TOL_WIDE)
        result = self._minimize(at_tolerance(self.solver, tol), Place(alpha, start), [watch, *callbacks])
        descent.interrupted = result.status == "interrupted"
        if descent.interrupted:
            raise KeyboardInterrupt
        if cut:
            self._unreached = alpha, self.problem.raw(result.w)
            return False
        self._unreached = None
        descent.note(self.problem, alpha, result, trained=tol <= self.tol)
        return True

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

    def descend(self, descent: Descent, grid: Vector, callbacks: Sequence[Callback], rows: EvalRows) -> None:
        """Go down a grid, along a path or one by one, by what is cheaper."""
        del rows
        rest = grid
        # With other penalties nothing is proved between two alphas, and mixtures lose zeros.
        if self.problem.settings.is_plain and self.knows_scores and path_pays(grid, self.tol):
            self._trace_into(descent, grid, callbacks)
            rest = rest[rest < (descent.alphas[-1] * (1.0 - 1e-12) if descent.alphas else np.inf)]
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
        self.iterations += self.tracer.iterations
        return self.tracer, status

    def collect(self, descent: Descent) -> None:
        """Add what the solution that is under way has, if that is a model."""
        latest = self.latest
        if latest is not None and latest.alpha not in descent.alphas:
            descent.note(self.problem, latest.alpha, latest.result)

    def measured(self, descent: Descent, grid: Vector, rows: EvalRows) -> Array:
        """Measure the models of a descent, and mixtures of them between."""
        return descent.measured(rows.design, grid, rows.parts)

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
