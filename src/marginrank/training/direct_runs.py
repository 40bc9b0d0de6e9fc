"""RankRLS without iterations: one Gram matrix and its eigendecomposition serve every alpha."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import require_memory
from marginrank.data.queries import Groups
from marginrank.designs import ColumnTransform
from marginrank.designs.centred import CentredRows
from marginrank.designs.gram import centred_gram
from marginrank.designs.gram_sums import GramSums, PartialGram
from marginrank.metrics.evaluator import mean_over_targets
from marginrank.solvers import Progress
from marginrank.solvers.leave_query_out import leave_query_out_scores
from marginrank.solvers.spectral import SpectralPath
from marginrank.training.evaluation_sets import EvaluationSet, Record
from marginrank.training.least_squares_certificate import Claim, LeastSquaresCertificate, Model
from marginrank.training.least_squares_runs import Outcome
from marginrank.training.problems import QueryProblem
from marginrank.training.selection import Search, Selection, default_alphas
from marginrank.training.spaces import RawColumns
from marginrank.types import Array, Matrix, Rows, Vector


@dataclass
class DirectRuns:
    """Exact models of one problem at any alpha.

    Parameters
    ----------
    problem : QueryProblem
        What to train on.
    space : RawColumns
        Transforms columns, and makes designs of further rows.
    n_threads, n_jobs
        Threads.
    """

    problem: QueryProblem
    space: RawColumns
    n_threads: int
    n_jobs: int | None
    passes: float = 0.0

    def __post_init__(self) -> None:
        self._started = perf_counter()
        self._sums: GramSums | None = None
        self._whole: tuple[SpectralPath, ColumnTransform] | None = None
        # The alphas to solve for, given the Gram matrix.
        self._grid: Callable[[PartialGram], Vector] = lambda gram: np.array([])
        # What the figures so far select; None where there are none.
        self._select: Callable[[], Selection | None] = lambda: None

    def so_far(self) -> Outcome | None:
        """Return the exact model at the alpha that is best as far as it was measured.

        Where nothing was measured yet, that is the largest alpha. Before there is a decomposition, it is the
        exact model of the rows, or columns, that are in the Gram matrix; None where there are none.
        """
        gram = self._gram_so_far()
        if gram is None:
            return None
        selection = self._select()
        alpha = float(np.max(self._grid(gram))) if selection is None else selection.alpha
        if self._whole is None:
            transform = self.space.transform(self.space.whole)
            w = gram.coefficients(alpha)
        else:
            path, transform = self._whole
            w = path.coefficients([alpha])[0]
        found = (
            self._outcome(transform, alpha, w)
            if selection is None
            else self._selected(transform, selection, w)
        )
        return replace(found, status="interrupted")

    def _gram_so_far(self) -> PartialGram | None:
        return None if self._sums is None else self._sums.so_far()

    def plain(self, alpha: float, sets: list[EvaluationSet]) -> Outcome:
        """Solve at one alpha."""
        self._grid = lambda gram: np.array([alpha])
        path, transform, _ = self._solve()
        w = path.coefficients([alpha])[0]
        if not sets:
            return self._outcome(transform, alpha, w)
        record = Record(sets)
        score = record.add([one.means(self._scores(one.data.X, transform, w[None]))[0] for one in sets])
        return self._outcome(transform, alpha, w, best_score=score, evals_result=record.result)

    def on_set(self, search: Search, chosen: EvaluationSet) -> Outcome:
        """Solve the whole grid, and take the alpha that does best on the validation set."""
        self._grid = partial(_grid, search)
        path, transform, grid = self._solve()
        coefficients = path.coefficients(grid)
        values = chosen.per_query(self._scores(chosen.data.X, transform, coefficients))[1]
        selection = chosen.select(search, grid, values)
        return self._selected(transform, selection, coefficients[selection.index])

    def leave_query_out(self, search: Search) -> Outcome:
        """Take the alpha whose models, each fitted without a query, do best on that query."""
        self._grid = partial(_grid, search)
        path, transform, grid = self._solve()
        view = self.problem.data.training_view()
        labels = LabelledQueries(Groups(None, view.query_ptr, None), view.y, query_weight=view.query_weight)
        scores = leave_query_out_scores(path, grid)
        self.passes += 1.0
        targets = [view.y] if self.problem.targets is None else _in_order(self.problem.targets, view.rows)
        evaluators = [search.evaluator(labels, y, self.n_jobs) for y in targets]
        by_alpha: list[Vector] = []

        def select() -> Selection:
            return search.select(grid[: len(by_alpha)], np.array(by_alpha).T, labels.query_weight)

        self._select = lambda: select() if by_alpha else None
        for of_alpha in scores:
            # One alpha at a time: all of them at once would take as much memory as the scores again.
            values = [
                evaluator.measure(one).values[0, 0]
                for evaluator, one in zip(evaluators, of_alpha, strict=True)
            ]
            by_alpha.append(mean_over_targets(values))
        selection = select()
        return self._selected(transform, selection, path.coefficients([selection.alpha])[0])

    def by_folds(self, search: Search) -> Outcome:
        """Choose alpha by folds, then solve for all rows."""
        self._grid = partial(_grid, search)
        path, transform, grid = self._solve()
        table: list[Vector] = []

        self._select = lambda: search.select_so_far(grid, np.array(table)) if table else None
        folds = search.query_folds(self.problem.data)
        search = replace(search, cv=folds)  # a splitter may draw others when it is asked again
        for (train, _), (_, held) in zip(folds, self.problem.folds(search, self.n_jobs), strict=True):
            fold, fold_transform = self._path(train)
            table.append(held.measure(self._scores(held.X, fold_transform, fold.coefficients(grid))))
        selection = search.select(grid, np.array(table))
        return self._selected(transform, selection, path.coefficients([selection.alpha])[0])

    def _solve(self) -> tuple[SpectralPath, ColumnTransform, Vector]:
        """Return the decomposition of all rows, and the alphas to take from it."""
        path, transform = self._whole = self._path(None)
        gram = self._gram_so_far()
        assert gram is not None
        return path, transform, self._grid(gram)

    def _path(self, part: Rows | None) -> tuple[SpectralPath, ColumnTransform]:
        view = self.problem.data.training_view(part)
        if part is None:
            transform = self.space.transform(self.space.whole)
        else:
            transform = self.space.transform_of_view(view)
        rows = CentredRows(
            require_memory(self.problem.data.X),
            view.query_ptr,
            rows=view.rows,
            sample_weight=view.sample_weight,
            query_weight=view.query_weight,
            transform=transform,
            n_threads=self.n_threads,
        )
        targets = view.y if self.problem.targets is None else _in_order(self.problem.targets, view.rows).T
        self.passes += 1.0
        sums = GramSums(rows)
        if part is None:
            self._sums = sums
        return SpectralPath(centred_gram(rows, targets, sums=sums)), transform

    def _scores(self, X: Matrix, transform: ColumnTransform, coefficients: Array) -> Array:
        """Return scores of shape (n_alphas, n_targets, n_rows)."""
        flat = np.ascontiguousarray(coefficients.reshape(-1, coefficients.shape[-1]))
        scores = self.space.followed(X, transform).scores_block(flat)
        return scores.reshape(*coefficients.shape[:2], -1)

    def _selected(self, transform: ColumnTransform, selection: Selection, w: Array) -> Outcome:
        return self._outcome(
            transform,
            selection.alpha,
            w,
            selection=selection,
            table=selection.curve[:, None],
            best_score=float(selection.curve[selection.index]),
        )

    def _outcome(self, transform: ColumnTransform, alpha: float, w: Array, **more: Any) -> Outcome:
        claim = self._checked(alpha, w)
        outcome = Outcome(
            w=w,
            alpha=alpha,
            value=claim.value,
            bound=claim.bound,
            n_iter=0,
            status="converged",
            passes=self.passes,
            transform=transform,
            history=[],
            **more,
        )
        seconds = perf_counter() - self._started
        outcome.history.append(
            Progress(0, *claim, outcome.gap, self.passes, seconds, outcome.best_score, alpha)
        )
        return outcome

    def _checked(self, alpha: float, w: Array) -> Claim:
        """Return what X itself says about a model, so that errors of the decomposition show."""
        whole, targets = self.space.whole, self.problem.targets
        design, _ = self.space.training_design(whole)
        if targets is not None:
            targets = _in_order(targets, whole.rows)
        certificate = LeastSquaresCertificate(design, whole.loss, targets)
        claim = certificate.check(Model(alpha, w))[0]
        self.passes += certificate.passes
        return claim


def _grid(search: Search, gram: PartialGram) -> Vector:
    return default_alphas(gram.balance()) if search.alphas is None else np.asarray(search.alphas)


def _in_order(targets: Array, rows: Rows | None) -> Array:
    return targets if rows is None else np.ascontiguousarray(targets[:, rows])
