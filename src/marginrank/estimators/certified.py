"""Rankers whose solver drives a loss to a certificate: one alpha, or the best of many along a path."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank.estimators.linear import LinearRanker
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_positive
from marginrank.paths.drawing import draw_selection
from marginrank.solvers import Callback, Solver, SolverResult
from marginrank.solvers.callbacks import check_callbacks
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.alpha_searches import Found, OneAlpha, Row, Run, SearchByFolds, SearchOnSet
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.fitting import Training
from marginrank.training.problems import Part, Problem
from marginrank.training.progress import ProgressLine
from marginrank.training.selection import Search, Selection
from marginrank.training.spaces import RawColumns, Space
from marginrank.training.whole_fits import BestSoFar
from marginrank.types import Matrix

_REMEDY = (
    "Raise max_iter or tol, use a larger alpha, try another solver, or scale the features "
    "(scale='standard') if they differ much in size."
)
_ROUNDED = (
    "Of it {:.1e} is what rounding in double precision may have done to the certificate, so more iterations "
    "do not help. Raise tol or alpha, or scale the features (scale='standard') if they differ much in size."
)


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
        self, problem: Problem, solver: Solver, sets: list[EvaluationSet], callbacks: Any, best: BestSoFar
    ) -> None:
        """Minimise over the problem, and set what was learnt."""
        search = self._search()
        with one_blas_thread(), self._finite_training(problem), ProgressLine() as line:
            listeners = check_callbacks(callbacks)
            if self.verbose:
                listeners.insert(0, line)
            whole = problem.whole()
            self.n_queries_ = problem.n_queries
            self._count_pairs(whole.loss)
            trainings = [Training(space, whole, solver) for space in self._spaces(problem.data.X, whole)]
            run = self._run(problem, trainings, search, sets, listeners)
            best.is_set_by(lambda: self._set_so_far(run, search))
            found = run.run()
            result = found.result
            coef = found.training.raw(result.w)
            self._check_results(problem, coef, result.value, result.bound, result.gap)
            self._set(found, search)
        best.is_set = True
        self._warn(found.result)

    def _run(
        self,
        problem: Problem,
        trainings: Sequence[Training],
        search: Search | None,
        sets: list[EvaluationSet],
        listeners: list[Callback],
    ) -> Run:
        tol = float(self.tol)
        if search is None:
            start = getattr(self, "coef_", None) if self.warm_start else None
            return OneAlpha(trainings[0], float(self.alpha), start, sets, listeners)
        if sets:
            return SearchOnSet(trainings, search, tol, listeners, sets[-1])
        return SearchByFolds(trainings, search, tol, listeners, problem.folds(search, self.n_jobs))

    def _spaces(self, X: Matrix, whole: Part) -> Sequence[Space]:
        """Return the spaces of features to choose from; more than one only where there is a search."""
        return [RawColumns(X, whole, self.scale, resolve_threads(self.n_jobs))]

    def _set_so_far(self, run: Run, search: Search | None) -> bool:
        found = run.so_far()
        if found is not None:
            self._set(found, search)
        return found is not None

    def _set(self, found: Found, search: Search | None) -> None:
        """Set all that was learnt, and nothing of an earlier fit."""
        self._forget_search()
        self.alpha_ = found.alpha
        if search is not None and found.selection is not None:
            self._remember(found.rows, found.selection)
            self._searched_by = str(search.parsed)
        if found.recorder is not None:
            self.evals_result_ = found.recorder.record.result
            self.best_iteration_ = found.recorder.best_iteration
            self.best_score_ = found.recorder.best_score
        self._keep(found)

    def _remember(self, rows: Sequence[Row], best: Selection) -> None:
        """Set what was searched, a row for each space, and what was chosen."""
        del rows
        self.alphas_ = best.alphas
        self.validation_curve_ = best.curve
        self.validation_std_ = best.std
        self.best_score_ = float(best.curve[best.index])

    def _keep(self, found: Found) -> None:
        """Set the coefficients, in raw units, and their certificate."""
        result, training = found.result, found.training
        self.coef_ = training.raw(result.w)
        self.column_scale_ = training.transform.scale
        self.objective_ = result.value
        self.lower_bound_ = result.bound
        self.gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.n_passes_ = found.passes
        self.history_ = list(result.history)

    def _warn(self, result: SolverResult) -> None:
        """Say what stopped a training that did not converge."""
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
