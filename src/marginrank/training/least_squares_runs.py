"""Runs of conjugate gradients for RankRLS: at one alpha, over a grid on a validation set, or over folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from marginrank.designs import ColumnTransform
from marginrank.normal_equations import NormalEquations
from marginrank.rounding import relative_gap
from marginrank.solvers import Callback, Progress, ShiftedCG
from marginrank.training.evaluation_sets import EvaluationSet, Record
from marginrank.training.least_squares_certificate import Claim, LeastSquaresCertificate, Model
from marginrank.training.problems import Held, Part, Problem
from marginrank.training.selection import Search, Selection, default_alphas, no_figure
from marginrank.training.spaces import RawColumns
from marginrank.training.validation_table import FoldTables, Measure, ValidationTable
from marginrank.types import Array, Matrix, Vector


@dataclass(frozen=True)
class Outcome:
    """A least-squares model and how it came about; ``w`` is in the units of the transformed columns."""

    w: Array
    alpha: float
    value: float
    bound: float
    n_iter: int
    status: str
    passes: float
    transform: ColumnTransform
    history: list[Progress]
    selection: Selection | None = None
    table: Array | None = None
    best_iteration: int | None = None
    best_score: float | None = None
    evals_result: dict[str, dict[str, list[float]]] | None = None

    @property
    def gap(self) -> float:
        """How far the value is from the bound, relative to it, from 0 to 1."""
        return relative_gap(self.value, self.bound)


@dataclass
class LeastSquaresRuns:
    """Everything that the runs on one problem share.

    Parameters
    ----------
    problem, whole : Problem, Part
        What to train on, and all of it.
    space : RawColumns
        Makes designs of training rows.
    tol, max_iter, patience, n_jobs
        Of the estimator; ``patience`` is None where every alpha shall converge.
    listeners : sequence of callables
        Called with a Progress at each iteration.
    """

    problem: Problem
    whole: Part
    space: RawColumns
    tol: float
    max_iter: int
    patience: int | None
    n_jobs: int | None
    listeners: Sequence[Callback]
    passes: float = 0.0
    _history: list[Progress] = field(default_factory=list)
    _cg: ShiftedCG | None = None
    _best: Callable[[], Outcome | None] | None = None

    def so_far(self) -> Outcome | None:
        """Return the best model so far, with a certificate; None where there is none."""
        return None if self._best is None else self._best()

    def plain(self, alpha: float, sets: list[EvaluationSet]) -> Outcome:
        """Solve at one alpha, to convergence or until validation gets worse."""
        equations, transform = self._equations(self.whole, [one.data.X for one in sets])
        record = Record(sets) if sets else None
        table = None if record is None else self._table(_measure_sets(sets, record), sets[-1])

        def outcome(cg: ShiftedCG, status: str) -> Outcome:
            if table is None or record is None:
                return self._outcome(equations, transform, cg, 0, cg.w[0], status)
            return self._outcome(
                equations,
                transform,
                cg,
                0,
                cg.w[0] if self.patience is None else table.best_w[0],
                status,
                table=table.table,
                best_iteration=int(table.best_iteration[0]),
                best_score=table.best,
                evals_result=record.result,
            )

        self._best = lambda: self._of_run_so_far(outcome, table)
        cg, status = self._run(equations, np.array([alpha]), table)
        if table is not None and self.patience is not None and np.isnan(table.best):
            raise no_figure(sets[-1].metric)
        return outcome(cg, status)

    def on_set(self, search: Search, chosen: EvaluationSet) -> Outcome:
        """Solve the whole grid in one run, and take the alpha that does best on the validation set."""
        equations, transform = self._equations(self.whole, [chosen.data.X])
        grid = self._grid(equations, search)
        table = self._table(_measure_sets([chosen], None), chosen)
        stopping = self.patience is not None

        def outcome(cg: ShiftedCG, status: str) -> Outcome:
            selection = chosen.select(search, grid, table.best_parts if stopping else table.last_parts)
            k = selection.index
            return self._outcome(
                equations,
                transform,
                cg,
                k,
                (table.best_w if stopping else cg.w)[k],
                status,
                selection=selection,
                table=table.table,
                best_iteration=int(table.best_iteration[k]) if stopping else None,
                best_score=float(selection.curve[k]),
            )

        self._best = lambda: self._of_run_so_far(outcome, table)
        return outcome(*self._run(equations, grid, table))

    def by_folds(self, search: Search, alphas: Vector | None) -> Outcome:
        """Choose alpha, and where iterations regularise also their number, by folds; then train on all."""
        whole, transform = self._equations(self.whole, [])
        grid = self._grid(whole, search) if alphas is None else alphas
        stopping = self.patience is not None
        folds = FoldTables(search, grid, stopping=stopping)
        self._best = lambda: self._mean_of_folds(folds, whole, transform)
        for part, held in self.problem.folds(search, self.n_jobs):
            equations, fold_transform = self._equations(part, [held.X])
            measure = partial(_measure_fold, held)
            table = ValidationTable(measure, search.parsed.higher_is_better, self.patience)
            folds.begin(table, fold_transform)
            cg, _ = self._run(equations, grid, table)
            folds.end(cg)
        choice = folds.choice()
        if choice.iteration is not None:
            self.max_iter = choice.iteration

        def outcome(cg: ShiftedCG, status: str) -> Outcome:
            ended = "converged" if stopping and status == "max_iter" else status
            return self._outcome(whole, transform, cg, 0, cg.w[0], ended, **choice.figures)

        self._cg = None
        self._best = lambda: (
            self._of_run_so_far(outcome, None) or self._mean_of_folds(folds, whole, transform)
        )
        return outcome(*self._run(whole, np.array([choice.selection.alpha]), None))

    def _of_run_so_far(
        self, outcome: Callable[[ShiftedCG, str], Outcome], table: ValidationTable | None
    ) -> Outcome | None:
        """Return the model of the run that is under way; before its first iteration it is w = 0, and none."""
        cg = self._cg
        if cg is None or cg.iteration == 0:
            return None
        if table is not None:
            table.catch_up(cg)
        return outcome(cg, "interrupted")

    def _mean_of_folds(
        self, folds: FoldTables, whole: NormalEquations, transform: ColumnTransform
    ) -> Outcome | None:
        """Return the mean of the folds' models at the best alpha so far, evaluated on all rows."""
        if not folds.catch_up(self._cg):
            return None
        choice = folds.choice(so_far=True)
        w = folds.mean_model(choice.selection.index)
        w = transform.transformed(w)
        alpha = choice.selection.alpha
        claim = self._checked(whole, Model(alpha, w))[0]
        outcome = Outcome(w, alpha, *claim, 0, "interrupted", self.passes, transform, [], **choice.figures)
        outcome.history.append(Progress(0, *claim, outcome.gap, self.passes, 0.0, outcome.best_score, alpha))
        return outcome

    def _checked(self, equations: NormalEquations, *models: Model) -> list[Claim]:
        """Return what is known of some models in exact arithmetic."""
        certificate = LeastSquaresCertificate(equations.design, equations.loss, equations.targets)
        claims = certificate.check(*models)
        self.passes += certificate.passes
        return claims

    def _equations(self, part: Part, followed: list[Matrix]) -> tuple[NormalEquations, ColumnTransform]:
        design, transform = self.space.training_design(part)
        targets = self.problem.targets
        if targets is not None and part.rows is not None:
            targets = np.ascontiguousarray(targets[:, part.rows])
        rows = [self.space.followed(X, transform) for X in followed]
        return NormalEquations(design, part.loss, targets, rows), transform

    def _grid(self, equations: NormalEquations, search: Search) -> Vector:
        return default_alphas(equations.balance()) if search.alphas is None else search.alphas

    def _table(self, measure: Measure, chosen: EvaluationSet) -> ValidationTable:
        return ValidationTable(measure, chosen.metric.higher_is_better, self.patience)

    def _run(
        self, equations: NormalEquations, alphas: Vector, table: ValidationTable | None
    ) -> tuple[ShiftedCG, str]:
        """Iterate, telling the listeners about the smallest alpha, which takes longest.

        What Ctrl-C stops raises KeyboardInterrupt.
        """
        started, before = perf_counter(), self.passes
        slowest = int(np.argmin(alphas))
        self._history = []

        def observe(cg: ShiftedCG) -> bool:
            if table is not None:
                table.watch(cg)
            value, bound = float(cg.values[slowest]), float(cg.bounds[slowest])
            progress = Progress(
                iteration=cg.iteration,
                value=value,
                bound=bound,
                gap=relative_gap(value, bound),
                passes=before + equations.passes,
                seconds=perf_counter() - started,
                validation=None if table is None else table.best,
                alpha=float(alphas[slowest]),
            )
            self._history.append(progress)
            wants_to_stop = [bool(listener(progress)) for listener in self.listeners]
            return any(wants_to_stop)

        cg = ShiftedCG(equations, alphas, tol=self.tol, max_iter=self.max_iter)
        self._cg = cg
        status = cg.run(observe)
        self.passes = before + equations.passes
        equations.passes = 0.0
        if status == "interrupted":
            raise KeyboardInterrupt
        return cg, status

    def _outcome(
        self,
        equations: NormalEquations,
        transform: ColumnTransform,
        cg: ShiftedCG,
        index: int,
        w: Array,
        status: str,
        **more: Any,
    ) -> Outcome:
        alpha = float(cg.alphas[index])
        w = np.array(w, order="C")  # apart from the scores that went along with it
        slowest = int(np.argmin(cg.alphas))
        followed = Model(float(cg.alphas[slowest]), np.array(cg.w[slowest], order="C"), cg.low[slowest])
        models = [Model(alpha, w, cg.low[index]), *([] if slowest == index else [followed])]
        claim, *others = self._checked(equations, *models)
        self._history = _held_to(self._history, others[0] if others else claim)
        return Outcome(
            w=w,
            alpha=alpha,
            value=claim.value,
            bound=claim.bound,
            n_iter=cg.iteration,
            status=status,
            passes=self.passes,
            transform=transform,
            history=self._history,
            **more,
        )


def _held_to(history: list[Progress], claim: Claim) -> list[Progress]:
    """Return a history without bounds that rounding has made better than what was checked in the end."""
    held = [replace(progress, bound=min(progress.bound, claim.bound)) for progress in history]
    return [replace(progress, gap=relative_gap(progress.value, progress.bound)) for progress in held]


def _measure_sets(sets: list[EvaluationSet], record: Record | None) -> Measure:
    """Return what measures scores of the rows of all sets: the last one selects, the record keeps all."""
    ends = np.cumsum([one.data.n_rows for one in sets])

    def measure(scores: Array) -> tuple[Array, Array]:
        parts = np.split(scores, ends[:-1], axis=2)
        found = [one.per_query(part) for one, part in zip(sets, parts, strict=True)]
        if record is not None:
            record.add([means[0].mean(axis=0) for means, _ in found])
        means, by_query = found[-1]
        return means[:, :, 0].mean(axis=1), by_query

    return measure


def _measure_fold(held: Held, scores: Array) -> tuple[Array, Array]:
    values = held.measure(scores)
    return values, values[:, None]
