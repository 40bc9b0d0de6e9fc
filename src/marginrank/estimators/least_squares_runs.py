"""Runs of conjugate gradients for RankRLS: at one alpha, over a grid on a validation set, or over folds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs import Design
from marginrank.estimators.evaluation_sets import EvaluationSet, Record
from marginrank.estimators.problems import Held, Part, Problem
from marginrank.estimators.validation_table import Measure, ValidationTable
from marginrank.model_selection import Search, Selection, default_alphas, no_figure
from marginrank.normal_equations import NormalEquations
from marginrank.solvers import Callback, Progress, ShiftedCG
from marginrank.validation import Matrix, Vector

Array = NDArray[np.float64]
#: From some rows of X, their numbers and weights to a design and the scale of its columns.
MakeDesign = Callable[[Matrix, Any, Any], tuple[Design, Vector | None]]


@dataclass(frozen=True)
class Outcome:
    """A least-squares model and how it came about; ``w`` is in the units of the scaled columns."""

    w: Array
    alpha: float
    value: float
    bound: float
    n_iter: int
    status: str
    passes: float
    scale: Vector | None
    history: list[Progress]
    selection: Selection | None = None
    table: Array | None = None
    best_iteration: int | None = None
    best_score: float | None = None
    evals_result: dict[str, dict[str, list[float]]] | None = None

    @property
    def gap(self) -> float:
        """How far the value is from the bound, relative to it."""
        return (self.value - self.bound) / self.value if self.value > 0.0 else 0.0


@dataclass
class LeastSquaresRuns:
    """Everything that the runs on one problem share.

    Parameters
    ----------
    problem, whole : Problem, Part
        What to train on, and all of it.
    make_design, make_followed : callables
        Designs of training rows, and of further rows divided by a given scale.
    tol, max_iter, patience, n_jobs
        Of the estimator; ``patience`` is None where every alpha shall converge.
    listeners : sequence of callables
        Called with a Progress at each iteration.
    """

    problem: Problem
    whole: Part
    make_design: MakeDesign
    make_followed: Callable[[Matrix, Vector | None], Design]
    tol: float
    max_iter: int
    patience: int | None
    n_jobs: int | None
    listeners: Sequence[Callback]
    passes: float = 0.0
    _history: list[Progress] = field(default_factory=list)

    def plain(self, alpha: float, sets: list[EvaluationSet]) -> Outcome:
        """Solve at one alpha, to convergence or until validation gets worse."""
        equations, scale = self._equations(self.whole, [one.data.X for one in sets])
        if not sets:
            cg, status = self._run(equations, np.array([alpha]), None)
            return self._outcome(equations, scale, cg, 0, cg.w[0], status)
        record = Record(sets)
        table = self._table(_measure_sets(sets, record), sets[-1])
        cg, status = self._run(equations, np.array([alpha]), table)
        if self.patience is not None and np.isnan(table.best):
            raise no_figure(sets[-1].metric)
        w = cg.w[0] if self.patience is None else table.best_w[0]
        return self._outcome(
            equations,
            scale,
            cg,
            0,
            w,
            status,
            table=table.table,
            best_iteration=int(table.best_iteration[0]),
            best_score=table.best,
            evals_result=record.result,
        )

    def on_set(self, search: Search, chosen: EvaluationSet) -> Outcome:
        """Solve the whole grid in one run, and take the alpha that does best on the validation set."""
        equations, scale = self._equations(self.whole, [chosen.data.X])
        grid = self._grid(equations, search)
        table = self._table(_measure_sets([chosen], None), chosen)
        cg, status = self._run(equations, grid, table)
        stopping = self.patience is not None
        parts = table.best_parts if stopping else table.last_parts
        selection = chosen.select(search, grid, parts)
        k = selection.index
        return self._outcome(
            equations,
            scale,
            cg,
            k,
            (table.best_w if stopping else cg.w)[k],
            status,
            selection=selection,
            table=table.table,
            best_iteration=int(table.best_iteration[k]) if stopping else None,
            best_score=float(selection.curve[k]),
        )

    def by_folds(self, search: Search, alphas: Vector | None) -> Outcome:
        """Choose alpha, and where iterations regularise also their number, by folds; then train on all."""
        whole, scale = self._equations(self.whole, [])
        grid = self._grid(whole, search) if alphas is None else alphas
        tables = []
        for part, held in self.problem.folds(search, self.n_jobs):
            equations, _ = self._equations(part, [held.X])
            measure = partial(_measure_fold, held)
            table = ValidationTable(measure, search.parsed.higher_is_better, self.patience)
            _, status = self._run(equations, grid, table)
            if status == "interrupted":
                raise KeyboardInterrupt
            tables.append(table.table)
        mean, stack = _mean_table(tables)
        last = np.full(len(grid), mean.shape[1] - 1)
        iterations = last if self.patience is None else _best_columns(mean, search.parsed.higher_is_better)
        values = stack[:, np.arange(len(grid)), iterations]
        selection = search.select(grid, values)
        k = selection.index
        if self.patience is not None:
            self.max_iter = int(iterations[k])
        cg, status = self._run(whole, grid[k : k + 1], None)
        if self.patience is not None and status == "max_iter":
            status = "converged"
        return self._outcome(
            whole,
            scale,
            cg,
            0,
            cg.w[0],
            status,
            selection=selection,
            table=mean,
            best_iteration=int(iterations[k]) if self.patience is not None else None,
            best_score=float(selection.curve[k]),
        )

    def _equations(self, part: Part, followed: list[Matrix]) -> tuple[NormalEquations, Vector | None]:
        design, scale = self.make_design(self.problem.data.X, part.rows, part.weight)
        targets = self.problem.targets
        if targets is not None and part.rows is not None:
            targets = np.ascontiguousarray(targets[:, part.rows])
        rows = [self.make_followed(X, scale) for X in followed]
        return NormalEquations(design, part.loss, targets, rows), scale

    def _grid(self, equations: NormalEquations, search: Search) -> Vector:
        return default_alphas(equations.balance()) if search.alphas is None else search.alphas

    def _table(self, measure: Measure, chosen: EvaluationSet) -> ValidationTable:
        return ValidationTable(measure, chosen.metric.higher_is_better, self.patience)

    def _run(
        self, equations: NormalEquations, alphas: Vector, table: ValidationTable | None
    ) -> tuple[ShiftedCG, str]:
        """Iterate, telling the listeners about the smallest alpha, which takes longest."""
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
                gap=(value - bound) / value if value > 0.0 else 0.0,
                passes=before + equations.passes,
                seconds=perf_counter() - started,
                validation=None if table is None else table.best,
                alpha=float(alphas[slowest]),
            )
            self._history.append(progress)
            wants_to_stop = [bool(listener(progress)) for listener in self.listeners]
            return any(wants_to_stop)

        cg = ShiftedCG(equations, alphas, tol=self.tol, max_iter=self.max_iter)
        status = cg.run(observe)
        self.passes = before + equations.passes
        equations.passes = 0.0
        return cg, status

    def _outcome(
        self,
        equations: NormalEquations,
        scale: Vector | None,
        cg: ShiftedCG,
        index: int,
        w: Array,
        status: str,
        **more: Any,
    ) -> Outcome:
        alpha = float(cg.alphas[index])
        w = np.array(w, order="C")  # apart from the scores that went along with it
        value = equations.risk(w) + 0.5 * alpha * float(np.einsum("ij,ij->", w, w))
        self.passes += equations.passes
        return Outcome(
            w=w,
            alpha=alpha,
            value=value,
            bound=min(float(cg.bounds[index]), value),
            n_iter=cg.iteration,
            status=status,
            passes=self.passes,
            scale=scale,
            history=self._history,
            **more,
        )


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


def _mean_table(tables: list[Array]) -> tuple[Array, Array]:
    """Return the mean of tables of different lengths, and all of them, short ones continued as they end.

    Folds in which no query counts are NaN and have no part in the mean.
    """
    longest = max(table.shape[1] for table in tables)
    stack = np.stack([np.pad(t, ((0, 0), (0, longest - t.shape[1])), mode="edge") for t in tables])
    counted = stack[~np.isnan(stack).any(axis=(1, 2))]
    return (counted if len(counted) else stack).mean(axis=0), stack


def _best_columns(table: Array, higher_is_better: bool) -> NDArray[np.int64]:
    """Return the first best iteration of each alpha."""
    return np.asarray(np.argmin(-table if higher_is_better else table, axis=1))
