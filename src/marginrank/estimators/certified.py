"""Rankers whose solver drives a loss to a certificate: one alpha, or the best of many along a path."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from marginrank.designs import Design
from marginrank.estimators.descents import Descent, descend
from marginrank.estimators.evaluation_sets import EvaluationSet, Record, better
from marginrank.estimators.fold_blocks import folds_at_once, folds_trained
from marginrank.estimators.linear import LinearRanker
from marginrank.estimators.problems import Held, Part, Problem
from marginrank.estimators.progress import ProgressLine
from marginrank.estimators.spaces import RawColumns, Space
from marginrank.estimators.training import Training
from marginrank.exceptions import MarginRankError
from marginrank.model_selection import Search, Selection, default_alphas
from marginrank.parameters import check_positive
from marginrank.paths.drawing import draw_selection
from marginrank.paths.tracing import mixed
from marginrank.solvers import Callback, Progress, Solver, SolverResult
from marginrank.solvers.callbacks import check_callbacks
from marginrank.threads import one_blas_thread, resolve_threads
from marginrank.validation import Matrix, Vector

_REMEDY = (
    "Raise max_iter or tol, use a larger alpha, try another solver, or scale the features "
    "(scale='standard') if they differ much in size."
)
_ROUNDED = (
    "Of it {:.1e} is what rounding in double precision may have done to the certificate, so more iterations "
    "do not help. Raise tol or alpha, or scale the features (scale='standard') if they differ much in size."
)


# Points of the default curve: 16 in each decade. Most of them are read off a path and cost no product.
_N_ALPHAS = 129
# The folds' models are averaged at every eighth alpha of a curve; between those their mean is a mixture.
_MEANS = 8


class Row(NamedTuple):
    """A grid of alphas tried in one space: what to take from it, and the model there or a start for it."""

    training: Training
    selection: Selection
    result: SolverResult | None
    start: Vector | None


class CertifiedRanker(LinearRanker):
    """Base of the rankers that minimise a risk with a certified gap."""

    tol: float
    warm_start: bool

    def plot_search(self) -> Any:
        """Draw the validation curve of ``alpha="auto"``, its standard error, and the chosen alpha.

        Where gamma was searched, too, the curve is that of the chosen gamma.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        if not hasattr(self, "alphas_"):
            raise MarginRankError(
                "There is no search to draw; fit with alpha='auto' first."
                if hasattr(self, "coef_")
                else f"This {type(self).__name__} is not fitted yet; call fit with alpha='auto' first."
            )
        alphas, curves, stds = map(
            np.atleast_2d, (self.alphas_, self.validation_curve_, self.validation_std_)
        )
        row, index = np.argwhere((alphas == self.alpha_) & (curves == self.best_score_))[0]
        there = np.isfinite(curves[row])  # an interrupt leaves the end of a table empty
        chosen = Selection(int(index), *(table[row][there] for table in (alphas, curves, stds)))
        return draw_selection(chosen, self._searched_by)

    def _search(self) -> Search | None:
        """Return what ``alpha="auto"`` asks for; None where alpha is a number. Checks both."""
        search = Search(self.alphas, self._metrics()[0], self.cv, self.rule)
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return search
        check_positive(self.alpha, "alpha", "a positive, finite number or 'auto'")
        return None

    def _train(
        self, problem: Problem, solver: Solver, sets: list[EvaluationSet], callbacks: Any
    ) -> SolverResult:
        """Minimise over the problem, and set what was learnt."""
        search = self._search()
        with one_blas_thread(), ProgressLine() as line:
            listeners = check_callbacks(callbacks)
            if self.verbose:
                listeners.insert(0, line)
            whole = problem.whole()
            self.n_queries_ = problem.n_queries
            self._count_pairs(whole.loss)
            trainings = [Training(space, whole, solver) for space in self._spaces(problem.data.X, whole)]
            if search is None:
                training = trainings[0]
                result = self._solve_one(training, sets, listeners)
            elif sets:
                training, result = self._search_on_set(trainings, search, sets[-1], listeners)
            else:
                training, result = self._search_by_folds(problem, trainings, search, listeners)
        self._keep(result, training)
        self._finish(result)
        return result

    def _spaces(self, X: Matrix, whole: Part) -> Sequence[Space]:
        """Return the spaces of features to choose from; more than one only where there is a search."""
        del whole
        return [RawColumns(X, self._design, resolve_threads(self.n_jobs))]

    def _solve_one(
        self, training: Training, sets: list[EvaluationSet], listeners: list[Callback]
    ) -> SolverResult:
        self._forget_search()
        self.alpha_ = float(self.alpha)
        start = None
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (training.design.shape[1],):
            start = self.coef_
        if sets:
            recorder = _Recorder(sets, training.space)
            listeners = [recorder, *listeners]
        result = training.solve(self.alpha_, start, listeners)
        if sets:
            self.evals_result_ = recorder.record.result
            self.best_iteration_, self.best_score_ = recorder.best_iteration, recorder.best_score
        return result

    def _grid(self, training: Training, search: Search) -> Vector:
        if search.alphas is None:
            return default_alphas(training.balance(), n_alphas=_N_ALPHAS)
        grid: Vector = search.alphas
        return grid

    def _descend(
        self, training: Training, grid: Vector, search: Search, listeners: Sequence[Callback]
    ) -> Descent:
        return descend(training, grid, float(self.tol), listeners, default=search.alphas is None)

    def _search_on_set(
        self,
        trainings: Sequence[Training],
        search: Search,
        chosen: EvaluationSet,
        listeners: list[Callback],
    ) -> tuple[Training, SolverResult]:
        """Train along the grid in every space, and keep the best."""
        search = replace(search, metric=chosen.metric)
        rows: list[Row] = []
        interrupted = False
        for number, training in enumerate(trainings):
            row, interrupted = self._row_on_set(training, search, chosen, listeners, first=not rows)
            rows += [] if row is None else [row]
            if interrupted:
                break
            if number < len(trainings) - 1:
                training.release()
        best = self._choose(rows, search)
        assert best.result is not None
        result = replace(best.result, status="interrupted") if interrupted else best.result
        return best.training, result

    def _row_on_set(
        self,
        training: Training,
        search: Search,
        chosen: EvaluationSet,
        listeners: list[Callback],
        *,
        first: bool,
    ) -> tuple[Row | None, bool]:
        """Train from the largest alpha down, choose, and tell of an interruption.

        What was interrupted counts only where there is nothing else.
        """
        grid = self._grid(training, search)
        descent = self._descend(training, grid, search, listeners)
        held = training.space.further(chosen.data.X)
        if descent.interrupted and not first and not descent.any_finished:
            return None, True
        grid = descent.reached(grid)
        table = descent.measured(held, grid, lambda scores: chosen.per_query(scores)[1])
        if descent.interrupted:
            selection = chosen.select(search, grid, table)
            result = descent.result_at(training, selection.alpha)
            return Row(training, selection, result, None), True
        return self._trained_choice(training, descent, grid, table, search, chosen, held, listeners)

    def _trained_choice(
        self,
        training: Training,
        descent: Descent,
        grid: Vector,
        table: NDArray[np.float64],
        search: Search,
        chosen: EvaluationSet,
        held: Design,
        listeners: list[Callback],
    ) -> tuple[Row, bool]:
        """Train the chosen model to tol, and tell of an interruption.

        It then measures a little better or worse than the one on the path, so the choice may move on; it ends
        at a model that was measured itself, because every round trains another alpha. That is one round on
        most data. No limit on rounds: the chosen model would not be the best of the curve then.
        """
        while True:
            selection = chosen.select(search, grid, table)
            if selection.alpha in descent.solved:
                return Row(training, selection, descent.solved[selection.alpha], None), False
            start = descent.models_at(np.array([selection.alpha]))[0]
            result = training.solve(selection.alpha, start, listeners)
            if result.status == "interrupted":
                return Row(training, selection, result, None), True
            descent.solved[selection.alpha] = result
            scores = held.scores(training.raw(result.w))  # as predict makes them
            table[selection.index] = chosen.per_query(scores[None, None])[1][0]

    def _search_by_folds(
        self,
        problem: Problem,
        trainings: Sequence[Training],
        search: Search,
        listeners: list[Callback],
    ) -> tuple[Training, SolverResult]:
        """Train every fold along the grid in every space, then everything at the best place."""
        folds: Iterable[tuple[Part, Held]] = problem.folds(search, self.n_jobs)
        if len(trainings) > 1:
            folds = list(folds)  # a splitter need not give the same ones twice
        rows = []
        for training in trainings:
            rows.append(self._row_by_folds(folds, training, search, listeners))
            if len(trainings) > 1:
                training.release()
        best = self._choose(rows, search)
        return best.training, best.training.solve(self.alpha_, best.start, listeners)

    def _row_by_folds(
        self,
        folds: Iterable[tuple[Part, Held]],
        training: Training,
        search: Search,
        listeners: list[Callback],
    ) -> Row:
        grid = self._grid(training, search)
        some = np.union1d(grid[::_MEANS], grid[-1:])[::-1] if search.alphas is None else grid
        table, sums = [], np.zeros((len(some), training.design.shape[1]))

        def go_down(fold: Training, heard: Sequence[Callback]) -> Descent:
            descent = self._descend(fold, grid, search, heard)
            if descent.interrupted:
                raise KeyboardInterrupt
            return descent

        for fold in folds_trained(folds, training, go_down, listeners, at_once=folds_at_once(training)):
            sums += fold.descent.models_at(some)
            held = training.space.held_out(fold.held_rows)
            table.append(fold.descent.measured(held, grid, fold.measure))
            training.passes += fold.training.passes
        selection = search.select(grid, np.array(table))
        # The folds' models are close to that of all rows: their mean saves about half of its passes.
        start = mixed(some, sums / len(table), np.array([selection.alpha]))[0]
        return Row(training, selection, None, start)

    def _choose(self, rows: Sequence[Row], search: Search) -> Row:
        """Remember the search, and return the row with the best figure."""
        best = rows[search.best_of([row.selection for row in rows])]
        self._forget_search()
        self._remember(rows, best.selection)
        self._searched_by = str(search.parsed)
        best.training.passes = sum(row.training.passes for row in rows)
        return best

    def _remember(self, rows: Sequence[Row], best: Selection) -> None:
        """Set what was searched, a row for each space, and what was chosen."""
        del rows
        self.alpha_ = best.alpha
        self.alphas_ = best.alphas
        self.validation_curve_ = best.curve
        self.validation_std_ = best.std
        self.best_score_ = float(best.curve[best.index])

    def _keep(self, result: SolverResult, training: Training) -> None:
        """Set the coefficients, in raw units, and their certificate."""
        self.coef_ = training.raw(result.w)
        self.column_scale_ = training.scale
        self.objective_ = result.value
        self.lower_bound_ = result.bound
        self.gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.n_passes_ = training.passes
        self.history_ = list(result.history)

    def _finish(self, result: SolverResult) -> None:
        """Say what stopped a training that did not converge."""
        if result.status == "interrupted":
            raise KeyboardInterrupt
        if result.status in ("max_iter", "stalled"):
            count = "1 iteration" if result.n_iter == 1 else f"{result.n_iter} iterations"
            how = f"stopped after {count}" if result.status == "max_iter" else f"stalled after {count}"
            remedy = _ROUNDED.format(result.rounding) if result.rounding >= self.tol else _REMEDY
            warnings.warn(
                f"{type(self).__name__} {how} at a certified gap of {result.gap:.1e}, above "
                f"tol={self.tol:g}. {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )


class _Recorder:
    """A callback that measures the best coefficients so far on every validation set."""

    def __init__(self, sets: Sequence[EvaluationSet], space: Space) -> None:
        self._sets = sets
        self._designs: list[Design] = [space.further(one.data.X) for one in sets]
        self.record = Record(list(sets))
        self.best_iteration: int = 0
        self.best_score: float = float("nan")

    def __call__(self, progress: Progress) -> None:
        if progress.w is None:
            return
        figures = [
            one.means(design.scores_block(progress.w[None])[:, None])[0]
            for one, design in zip(self._sets, self._designs, strict=True)
        ]
        value = self.record.add(figures)
        if better(self._sets[-1].metric, value, None if np.isnan(self.best_score) else self.best_score):
            self.best_iteration, self.best_score = progress.iteration, value
