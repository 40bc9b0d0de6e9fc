"""Rankers whose solver drives a loss to a certificate: one alpha, or the best of many by warm starts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank import validation as gate
from marginrank.designs import MatrixDesign
from marginrank.estimators.evaluation_sets import EvaluationSet, Record, better
from marginrank.estimators.linear import LinearRanker
from marginrank.estimators.problems import Part, Problem
from marginrank.estimators.progress import ProgressLine
from marginrank.estimators.training import Training, check_callbacks
from marginrank.model_selection import Search, Selection, default_alphas
from marginrank.solvers import Callback, Progress, Solver, SolverResult
from marginrank.threads import one_blas_thread, resolve_threads
from marginrank.validation import Matrix, Vector

_REMEDY = (
    "Raise max_iter or tol, use a larger alpha, try another solver, or scale the features "
    "(scale='standard') if they differ much in size."
)


class CertifiedRanker(LinearRanker):
    """Base of the rankers that minimise a risk with a certified gap."""

    tol: float
    warm_start: bool

    def _search(self) -> Search | None:
        """Return what ``alpha="auto"`` asks for; None where alpha is a number. Checks both."""
        search = Search(self.alphas, self.metric, self.cv, self.rule)
        if isinstance(self.alpha, str) and self.alpha == "auto":
            return search
        gate.check_positive(self.alpha, "alpha", "a positive, finite number or 'auto'")
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
            self.n_pairs_, self.n_queries_ = whole.loss.n_pairs, problem.n_queries
            training = self._training(problem, whole, solver)
            if search is None:
                result = self._solve_one(training, sets, listeners)
            elif sets:
                result = self._search_on_set(training, search, sets[-1], listeners)
            else:
                result = self._search_by_folds(problem, training, search, listeners)
        self._keep(result, training)
        self._finish(result)
        return result

    def _training(self, problem: Problem, part: Part, solver: Solver) -> Training:
        design, scale = self._design(problem.data.X, part.rows, part.weight)
        return Training(design, scale, part.loss, solver)

    def _solve_one(
        self, training: Training, sets: list[EvaluationSet], listeners: list[Callback]
    ) -> SolverResult:
        self._forget_search()
        self.alpha_ = float(self.alpha)
        start = None
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (training.design.shape[1],):
            start = self.coef_
        if sets:
            recorder = _Recorder(sets, self._held_scores)
            listeners = [recorder, *listeners]
        result = training.solve(self.alpha_, start, listeners)
        if sets:
            self.evals_result_ = recorder.record.result
            self.best_iteration_, self.best_score_ = recorder.best_iteration, recorder.best_score
        return result

    def _grid(self, training: Training, search: Search) -> Vector:
        return default_alphas(training.balance()) if search.alphas is None else search.alphas

    def _search_on_set(
        self, training: Training, search: Search, chosen: EvaluationSet, listeners: list[Callback]
    ) -> SolverResult:
        """Train at every alpha from the largest down, each from the one before, and keep the best."""
        grid, values = self._grid(training, search), []
        results: list[SolverResult] = []
        for alpha in grid:
            start = training.raw(results[-1].w) if results else None
            result = training.solve(float(alpha), start, listeners)
            if result.status == "interrupted" and results:
                break
            scores = self._held_scores(chosen.data.X, training.raw(result.w)[None])
            values.append(chosen.per_query(scores[:, None])[1][0])
            results.append(result)
            if result.status == "interrupted":
                break
        selection = chosen.select(search, grid[: len(results)], np.array(values))
        self._remember(selection)
        best = results[selection.index]
        return replace(best, status="interrupted") if result.status == "interrupted" else best

    def _search_by_folds(
        self, problem: Problem, training: Training, search: Search, listeners: list[Callback]
    ) -> SolverResult:
        """Train every fold along the grid, then everything at the chosen alpha."""
        grid = self._grid(training, search)
        table, sums = [], np.zeros((len(grid), training.design.shape[1]))
        for part, held in problem.folds(search, self.n_jobs):
            fold = self._training(problem, part, training.solver)
            w, row = None, []
            for k, alpha in enumerate(grid):
                result = fold.solve(float(alpha), w, listeners)
                if result.status == "interrupted":
                    raise KeyboardInterrupt
                w = fold.raw(result.w)
                sums[k] += w
                row.append(held.measure(self._held_scores(held.X, w[None])[:, None])[0])
            table.append(row)
            training.passes += fold.passes
        self._remember(search.select(grid, np.array(table)))
        # The folds' models are close to that of all rows: their mean saves about half of its passes.
        start = sums[int(np.flatnonzero(grid == self.alpha_)[0])] / len(table)
        return training.solve(self.alpha_, start, listeners)

    def _held_scores(self, X: Matrix, coefficients: Any) -> Any:
        """Return the scores of further rows, for each row of coefficients."""
        return MatrixDesign(X, n_threads=resolve_threads(self.n_jobs)).scores_block(coefficients)

    def _remember(self, selection: Selection) -> None:
        self._forget_search()
        self.alpha_ = selection.alpha
        self.alphas_ = selection.alphas
        self.validation_curve_ = selection.curve
        self.validation_std_ = selection.std
        self.best_score_ = float(selection.curve[selection.index])

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
            warnings.warn(
                f"{type(self).__name__} {how} at a certified gap of {result.gap:.1e}, above "
                f"tol={self.tol:g}. {_REMEDY}",
                ConvergenceWarning,
                stacklevel=4,
            )


class _Recorder:
    """A callback that measures the best coefficients so far on every validation set."""

    def __init__(self, sets: Sequence[EvaluationSet], scores: Callable[[Matrix, Any], Any]) -> None:
        self._sets = sets
        self._scores = scores
        self.record = Record(list(sets))
        self.best_iteration: int = 0
        self.best_score: float = float("nan")

    def __call__(self, progress: Progress) -> None:
        if progress.w is None:
            return
        figures = [one.means(self._scores(one.data.X, progress.w[None])[:, None])[0] for one in self._sets]
        value = self.record.add(figures)
        if better(self._sets[-1].metric, value, None if np.isnan(self.best_score) else self.best_score):
            self.best_iteration, self.best_score = progress.iteration, value
