"""Least squares by conjugate gradients, as a way to fit: one run serves every alpha of a grid.

One alpha alone is solved in the units of a diagonal, which takes fewer iterations, and checked against X: its
gap is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from marginrank.cached import cached_property
from marginrank.designs import Design
from marginrank.solvers import (
    Callback,
    ConjugateGradients,
    PreconditionedCG,
    Progress,
    ShiftedCG,
    SolverResult,
)
from marginrank.solvers.certificate import relative_gap
from marginrank.solvers.normal_equations import NormalEquations
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.fitting import Cost, Place, Solution
from marginrank.training.least_squares_certificate import ABOVE_ROUNDING, Claim, Model, check_models
from marginrank.training.problems import Problem
from marginrank.training.recorder import Recorder
from marginrank.training.system_diagonal import system_diagonal
from marginrank.training.validation_table import ValidationTable
from marginrank.types import Array, Vector

# Passes of a fit beside its iterations: the right side, and the check of the model.
_BESIDES = 1.5
# In searches over so few rows or columns systems are solved to this part of tol. There rows in memory are
# fitted exactly, and those on disk or with workers shall choose the same alpha: of 72 searches over made
# data of 400 x 30 six chose another one without it, two with 0.1 and none with this, for half as many passes
# again.
_FEW, _CLOSELY = 1000, 0.01
# Recurrences go on to a little less than tol, for what rounding takes of the certificate.
_MARGIN = 0.99
# Where that is more, they go on to what it leaves, if that is this part of tol at least; so often at most.
_LEAST_ROOM, _MOST_CHECKS = 0.05, 4


class _Carrying:
    """Normal equations, and the scores of further rows that go along with every vector."""

    def __init__(self, equations: NormalEquations, rows: Design) -> None:
        self.right_side, self.constant = equations.right_side, equations.constant
        self.product = equations.product
        self.n_carried = rows.shape[0]
        self.carried = rows.scores_block


@dataclass
class _Run:
    """Conjugate gradients under way: the iterates, and what is measured of them."""

    cg: ConjugateGradients
    table: ValidationTable | None
    recorder: Recorder | None
    history: list[Progress]
    best_w: Array | None = None
    status: str = "interrupted"


class LeastSquaresTrainer:
    """Fits by conjugate gradients, to convergence or until validation figures get worse.

    Parameters
    ----------
    problem : Problem
        What to fit, in columns of X.
    tol : float
        The certified gap at which a fit ends; at alpha = 0, where there is none, the residual as a part of
        the right side.
    max_iter : int
        Largest number of iterations.
    patience : int or None
        Iterations without improvement after which an alpha is left alone; None where all shall converge.

    Attributes
    ----------
    passes : float
        Passes over X so far.
    """

    per_decade = 2
    decades_above = 2
    is_limited = True
    shares_reads = False
    iterates_all = True

    def __init__(self, problem: Problem, tol: float, max_iter: int, patience: int | None) -> None:
        self.problem = problem
        self.passes = 0.0
        self.trained: dict[float, SolverResult] = {}
        self._costs: dict[float, Cost] = {}
        self.iterations = self.starts = 0
        self.patience = patience
        self._tol = tol
        self._max_iter = max_iter
        self._run: _Run | None = None
        self._solves = False

    @cached_property
    def _equations(self) -> NormalEquations:
        return NormalEquations(self.problem.design, self.problem.loss, self.problem.target_rows)

    def of_part(self, problem: Problem) -> LeastSquaresTrainer:
        """Return the same for a part of the problem."""
        return LeastSquaresTrainer(problem, self._tol, self._max_iter, self.patience)

    def balance(self) -> float:
        """Return the mean curvature along the right side."""
        balance = self._equations.balance()
        self._count_passes()
        return balance

    def solve(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None = None
    ) -> SolverResult:
        """Iterate at one alpha to a certified gap; with patience the model is that of the best figure."""
        self._solves = True
        if self.patience is None and place.alpha > 0.0:
            return self._solve_certified(place, callbacks, recorder)
        run = self._begin(np.array([place.alpha]), place.n_iter, recorder=recorder)
        self._iterate(run, callbacks)
        if run.status == "interrupted":
            raise KeyboardInterrupt
        if place.n_iter is not None and run.status == "max_iter":
            run.status = "converged"
        return self._result(run, 0)

    def _solve_certified(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None
    ) -> SolverResult:
        """Iterate; where X does not confirm the gap, go on: for what rounding takes, then without drift."""
        diagonal, tol = system_diagonal(self.problem, place.alpha), _MARGIN * self._tol
        cg = PreconditionedCG(self._equations, place.alpha, diagonal, tol=tol, max_iter=self._max_iter)
        run = self._run = _Run(cg, None, recorder, [])
        best: SolverResult | None = None
        restarted, tightened = False, 0
        while True:
            self._iterate(run, callbacks)
            if run.status == "interrupted":
                raise KeyboardInterrupt
            result = self._result(run, 0)
            if run.status != "converged" or result.gap <= self._tol:
                return result
            best = result if best is None else min(best, result, key=lambda one: one.gap)
            cg.correct(result.value)
            room = self._tol - max(result.gap - cg.open_gap, 0.0)
            if room > _LEAST_ROOM * self._tol and tightened < _MOST_CHECKS:
                tightened += 1
                cg.aim_at(0.9 * room)
            elif restarted:
                return self._stalled(place.alpha, replace(best, n_iter=cg.iteration))
            else:
                restarted, tightened = True, 0
                cg.restart()

    def _stalled(self, alpha: float, result: SolverResult) -> SolverResult:
        """Return a model whose gap is above tol by rounding, with what a larger alpha proves of it."""
        larger, tol = ABOVE_ROUNDING * self.balance(), _MARGIN * self._tol
        if alpha < larger:
            cg = PreconditionedCG(self._equations, larger, tol=tol, max_iter=self._max_iter)
            if cg.run(lambda _: None) == "interrupted":
                raise KeyboardInterrupt
            w = np.atleast_2d(result.w)
            claim = check_models(self, Model(alpha, w, np.array(cg.w[0])))[0]
            self._count_passes()
            if claim.gap < result.gap:
                result = replace(result, value=claim.value, bound=claim.bound, gap=claim.gap)
        status = "converged" if result.gap <= self._tol else "stalled"
        return replace(result, status=status, rounding=result.gap)

    def descend(self, descent: Descent, grid: Vector, callbacks: Sequence[Callback], rows: EvalRows) -> None:
        """Solve the whole grid in one run; callbacks get the progress of the smallest alpha."""
        self.set_out(grid, rows)
        run = self._run
        assert run is not None
        self._iterate(run, callbacks)
        descent.interrupted = run.status == "interrupted"
        if not descent.interrupted:
            self._note(run, descent)

    def steps(self, grid: Vector) -> Vector:
        """Return all of them: they come at the price of one."""
        return grid

    def set_out(self, grid: Vector, rows: EvalRows) -> None:
        """Begin one run for all alphas."""
        self._solves = False
        table = ValidationTable(rows.measure, rows.higher_is_better, self.patience)
        self._begin(grid, None, held_out=rows.design, table=table)

    def reach(
        self, descent: Descent, alpha: float, callbacks: Sequence[Callback], rows: EvalRows, limit: Cost
    ) -> bool:
        """Iterate until the system of this alpha is solved; the others move along."""
        del rows
        run = self._run
        assert run is not None
        cg, index = run.cg, len(descent.alphas)
        if alpha in descent.alphas:
            return True
        if run.status != "stopped":  # by a callback: then all stay where they are
            self._iterate(run, callbacks, upto=index, last=cg.iteration + min(limit))
        descent.interrupted = run.status == "interrupted"
        if descent.interrupted:
            raise KeyboardInterrupt
        if run.status == "limit":
            return False
        model = self._of_targets(self.problem.transform.raw(cg.w[index]))
        descent.add(alpha, model, float(cg.values[index]), float(cg.bounds[index]))
        assert run.table is not None
        descent.table = run.table.table
        return True

    def cost(self, alpha: float, callbacks: Sequence[Callback]) -> Cost:
        """Return what this alpha takes alone; in the run of all alphas as many iterations, and the check."""
        if self._run is not None and not self._solves:
            cg = self._run.cg
            index = cg.alphas.tolist().index(alpha)
            iterations = cg.iteration if cg.active[index] else int(cg.iterations[index])
            return Cost(iterations + _BESIDES, iterations + 1)
        if alpha not in self._costs:
            before = self.passes
            result = self.solve(Place(alpha), callbacks)
            self._costs[alpha] = Cost(self.passes - before, result.n_iter + 1)
            self.trained[alpha] = result
        return self._costs[alpha]

    def forget(self) -> None:
        """The run is needed to continue."""

    def collect(self, descent: Descent) -> None:
        """Add the iterates of the run that is under way; before its first iteration there are none."""
        if self._run is not None and self._run.cg.iteration > 0:
            self._count_passes()
            self._note(self._run, descent)

    def _note(self, run: _Run, descent: Descent) -> None:
        assert run.table is not None
        run.table.catch_up(run.cg)
        models = run.cg.w if self.patience is None else run.table.best_w
        cg = run.cg
        descent.note_all(
            cg.alphas,
            self._of_targets(self.problem.transform.raw(models)),
            cg.values.tolist(),
            cg.bounds.tolist(),
        )
        descent.table = run.table.table
        descent.best_iterations = None if self.patience is None else run.table.best_iteration

    def measured(self, descent: Descent, grid: Vector, rows: EvalRows) -> Array:
        """Return what was measured on the way."""
        del descent, rows
        assert self._run is not None
        table = self._run.table
        assert table is not None
        taken = np.isin(self._run.cg.alphas, grid)
        return (table.last_parts if self.patience is None else table.best_parts)[taken]

    def delivered(self, descent: Descent, alpha: float) -> SolverResult | None:
        """Return the model at an alpha of the grid; None where the run left a larger gap than tol."""
        if alpha in descent.solved:
            return descent.solved[alpha]
        run, index = self._run, descent.alphas.index(alpha)
        assert run is not None
        cg = run.cg
        # What early stopping, a callback or the number of iterations ended is taken as it is.
        is_final = self.patience is not None or run.status in ("stopped", "interrupted") or cg.active[index]
        if not is_final and relative_gap(float(cg.values[index]), float(cg.bounds[index])) > self._tol:
            return None
        result = self._result(run, index)
        return result if is_final or result.gap <= self._tol else None

    def evaluated(self, place: Place) -> SolverResult:
        """Return the start as a model."""
        assert place.start is not None
        w = np.atleast_2d(self.problem.transform.transformed(place.start))
        claim = check_models(self, Model(place.alpha, w))[0]
        progress = Progress(0, *claim, claim.gap, self.passes, 0.0, place.figure, place.alpha)
        return SolverResult(self._of_targets(w), *claim, claim.gap, 0, "interrupted", [progress])

    @property
    def latest(self) -> Solution | None:
        """The model of the fit that is under way; before its first iteration it is w = 0, and none."""
        run = self._run
        if run is None or not self._solves or run.cg.iteration == 0:
            return None
        if run.recorder is not None and run.recorder.iteration < run.cg.iteration:
            self._record(run, self._progress(run.cg, 0.0))
        return Solution(float(run.cg.alphas[0]), self._result(run, 0))

    def before_choice(self, grid_of: Callable[[float], Vector]) -> None:
        """There is nothing."""
        del grid_of

    def _begin(
        self,
        alphas: Vector,
        max_iter: int | None,
        *,
        held_out: Design | None = None,
        table: ValidationTable | None = None,
        recorder: Recorder | None = None,
    ) -> _Run:
        equations = self._equations
        system = equations if held_out is None else _Carrying(equations, self.problem.in_units(held_out))
        self._run = None
        limit = self._max_iter if max_iter is None else max_iter
        tol = _MARGIN * self._tol
        if table is not None and self.patience is None and min(self.problem.design.shape) <= _FEW:
            tol *= _CLOSELY
        cg = ShiftedCG(system, alphas, tol=tol, max_iter=limit)
        self._run = _Run(cg, table, recorder, [])
        self.starts += 1
        return self._run

    def _iterate(
        self, run: _Run, callbacks: Sequence[Callback], upto: int | None = None, last: float = np.inf
    ) -> None:
        """Iterate to the end, or until one system is solved; after each iteration measure and report."""
        started = perf_counter()
        before = run.cg.iteration

        def observe(cg: ConjugateGradients) -> bool:
            stops = False
            progress = self._progress(cg, perf_counter() - started)
            if run.table is not None:
                run.table.watch(cg)
                progress = replace(progress, validation=run.table.best)
            if run.recorder is not None:
                stops = self._record(run, progress)
                progress = replace(progress, validation=run.recorder.best_score)
            run.history.append(progress)
            wanted = [bool(callback(progress)) for callback in callbacks]
            return any(wanted) or stops

        run.status = run.cg.run(observe, upto=upto, last=last)
        self.iterations += run.cg.iteration - before
        self._count_passes()

    def _progress(self, cg: ConjugateGradients, seconds: float) -> Progress:
        """Return how far the smallest alpha is, which takes longest."""
        slowest = int(np.argmin(cg.alphas))
        value, bound = float(cg.values[slowest]), float(cg.bounds[slowest])
        passes = self.passes + self._equations.passes
        gap, alpha = relative_gap(value, bound), float(cg.alphas[slowest])
        return Progress(cg.iteration, value, bound, gap, passes, seconds, alpha=alpha)

    def _record(self, run: _Run, progress: Progress) -> bool:
        """Measure validation sets, and keep the best iterate."""
        assert run.recorder is not None
        w = run.cg.w[0]
        stops = run.recorder(replace(progress, w=self.problem.transform.raw(w)))
        if run.recorder.best_iteration == progress.iteration:
            run.best_w = w.copy()
        return stops

    def _result(self, run: _Run, index: int) -> SolverResult:
        """Return the model of one alpha, held to what is known of it in exact arithmetic."""
        self._count_passes()
        cg, w = run.cg, run.cg.w[index]
        if self.patience is not None and run.table is not None:
            w = run.table.best_w[index]
        elif self.patience is not None and run.recorder is not None and run.best_w is not None:
            w = w if run.recorder.best_iteration == cg.iteration else run.best_w
        w = np.array(w, order="C")  # apart from the scores that went along with it
        slowest = int(np.argmin(cg.alphas))
        followed = Model(float(cg.alphas[slowest]), np.array(cg.w[slowest], order="C"), cg.low[slowest])
        models = [Model(float(cg.alphas[index]), w, cg.low[index]), *([] if slowest == index else [followed])]
        claim, *others = check_models(self, *models)
        history = _held_to(run.history, others[0] if others else claim)
        status = run.status
        if status in ("max_iter", "limit") and (not cg.active[index] or claim.gap <= self._tol):
            status = "converged"
        return SolverResult(self._of_targets(w), *claim, claim.gap, cg.iteration, status, history)

    def _of_targets(self, models: Array) -> Array:
        """Return coefficients without the axis of the targets, where there is one target."""
        return models if self.problem.targets is not None else models[..., 0, :]

    def _count_passes(self) -> None:
        self.passes += self._equations.passes
        self._equations.passes = 0.0


def _held_to(history: list[Progress], claim: Claim) -> list[Progress]:
    """Return a history without bounds that rounding has made better than what was checked in the end."""
    kept = [replace(progress, bound=min(progress.bound, claim.bound)) for progress in history]
    return [replace(progress, gap=relative_gap(progress.value, progress.bound)) for progress in kept]
