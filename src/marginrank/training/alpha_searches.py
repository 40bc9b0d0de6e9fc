"""Trainings of rankers with a solver: at one alpha, or at the best of many, by a validation set or by folds.

Each of them can be asked, at any moment, for the best model so far: what Ctrl-C leaves. In a search that is a
model at the alpha that does best as far as it was measured; solvers evaluate it once, on all rows, so that
its certificate is as true as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from marginrank.designs import Design
from marginrank.solvers import Callback, SolverResult
from marginrank.training.descents import Descent, descend
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.fitting import Training
from marginrank.training.fold_blocks import Fold, folds_at_once, folds_trained
from marginrank.training.problems import Held, Part
from marginrank.training.recorder import Recorder
from marginrank.training.selection import Search, Selection, default_alphas
from marginrank.training.tracing import mixed
from marginrank.types import Array, Vector

# Points of the default curve: 16 in each decade. Most of them are read off a path and cost no product.
_N_ALPHAS = 129
# The folds' models are averaged at every eighth alpha of a curve; between those their mean is a mixture.
_MEANS = 8


@dataclass(frozen=True, eq=False)
class Row:
    """A grid of alphas tried in one space: what to take from it, and the model there or a start for it."""

    training: Training
    selection: Selection
    result: SolverResult | None
    start: Vector | None

    @property
    def alpha(self) -> float:
        """The chosen alpha."""
        return self.selection.alpha


@dataclass(frozen=True, eq=False)
class Found:
    """A model and how it was come by: what a ranker sets.

    ``rows`` are those of a search, in the order of its spaces, ``selection`` is that of the chosen one;
    ``recorder`` is what measured validation sets after each iteration.
    """

    training: Training
    alpha: float
    result: SolverResult
    rows: Sequence[Row] = ()
    selection: Selection | None = None
    recorder: Recorder | None = None

    @property
    def passes(self) -> float:
        """Passes over X, those of the search included."""
        return sum(row.training.passes for row in self.rows) if self.rows else self.training.passes


class Run(Protocol):
    """A training that may be interrupted."""

    def run(self) -> Found:
        """Train to the end; what Ctrl-C stops raises KeyboardInterrupt."""

    def so_far(self) -> Found | None:
        """Return the best model so far, with a certificate; None where there is none."""


class OneAlpha:
    """Train at one alpha.

    Parameters
    ----------
    training : Training
        What to train.
    alpha : float
        Strength of the regularisation.
    start : ndarray or None
        Coefficients to start from, in raw units; those of another number of columns are no start.
    sets : sequence of EvaluationSet
        Measured after each iteration.
    listeners : sequence of callables
        They get the progress.
    """

    def __init__(
        self,
        training: Training,
        alpha: float,
        start: Vector | None,
        sets: Sequence[EvaluationSet],
        listeners: Sequence[Callback],
    ) -> None:
        self._training = training
        self._alpha = alpha
        self._start = start
        self._sets = sets
        self._listeners = listeners
        self._recorder: Recorder | None = None
        self._found: Found | None = None

    def run(self) -> Found:
        """Train."""
        listeners = self._listeners
        if self._sets:
            self._recorder = Recorder(self._sets, self._training.space)
            listeners = [self._recorder, *listeners]
        start = self._start
        if start is not None and start.shape != (self._training.design.shape[1],):
            start = None
        self._found = self._of(uninterrupted(self._training.solve(self._alpha, start, listeners)))
        return self._found

    def so_far(self) -> Found | None:
        """Return the best point of the solver."""
        if self._found is not None:
            return as_interrupted(self._found)
        latest = self._training.latest
        return None if latest is None or not latest.is_model else as_interrupted(self._of(latest.result))

    def _of(self, result: SolverResult) -> Found:
        return Found(self._training, self._alpha, result, recorder=self._recorder)


class AlphaSearch:
    """What a search along a grid of alphas, in one space or several, shares.

    Parameters
    ----------
    trainings : sequence of Training
        One for each space.
    search : Search
        The grid, and what selects.
    tol : float
        Gap of the model that is chosen.
    listeners : sequence of callables
        They get the progress of every solution.
    """

    def __init__(
        self, trainings: Sequence[Training], search: Search, tol: float, listeners: Sequence[Callback]
    ) -> None:
        self._trainings = trainings
        self._search = search
        self._tol = tol
        self._listeners = listeners
        self._rows: list[Row] = []
        self._grid: Vector | None = None
        self._found: Found | None = None

    def run(self) -> Found:
        """Search every space, and return the model at the best place."""
        while (training := self._current) is not None:
            self._begin()
            self._grid = self._grid_of(training)
            self._rows.append(self._row(training, self._grid))
            if len(self._trainings) > 1:
                training.release()
        best = self._best_of(self._rows)
        result = best.result
        if result is None:
            result = uninterrupted(best.training.solve(best.alpha, best.start, self._listeners))
        self._found = Found(best.training, best.alpha, result, self._rows, best.selection)
        return self._found

    def so_far(self) -> Found | None:
        """Return the best of what was measured so far."""
        if self._found is not None:
            return as_interrupted(self._found)
        rows = list(self._rows)
        training = self._current
        if training is not None and self._grid is not None:
            unfinished = self._unfinished_row(training, self._grid)
            rows += [] if unfinished is None else [unfinished]
        if not rows:
            return None
        best = self._best_of(rows)
        latest, result = best.training.latest, best.result
        if result is None and latest is not None and latest.alpha == best.alpha:
            result = latest.result
        if result is None:
            result = best.training.evaluated(best.alpha, best.start)
        return as_interrupted(Found(best.training, best.alpha, result, rows, best.selection))

    @property
    def _current(self) -> Training | None:
        """The training of the space that is being searched; None where all were."""
        return self._trainings[len(self._rows)] if len(self._rows) < len(self._trainings) else None

    def _grid_of(self, training: Training) -> Vector:
        if self._search.alphas is None:
            return default_alphas(training.balance(), n_alphas=_N_ALPHAS)
        grid: Vector = self._search.alphas
        return grid

    def _descend(
        self, training: Training, descent: Descent, grid: Vector, listeners: Sequence[Callback]
    ) -> None:
        descend(training, descent, grid, self._tol, listeners, default=self._search.alphas is None)
        if descent.interrupted:
            raise KeyboardInterrupt

    def _best_of(self, rows: Sequence[Row]) -> Row:
        return rows[self._search.best_of([row.selection for row in rows])]

    def _begin(self) -> None:
        """Forget what is known of the space before."""
        raise NotImplementedError

    def _row(self, training: Training, grid: Vector) -> Row:
        """Search one space."""
        raise NotImplementedError

    def _unfinished_row(self, training: Training, grid: Vector) -> Row | None:
        """Return what the space that is being searched has so far, if it is worth choosing from."""
        raise NotImplementedError


class SearchOnSet(AlphaSearch):
    """Train along the grid in every space, and keep what does best on a validation set."""

    def __init__(
        self,
        trainings: Sequence[Training],
        search: Search,
        tol: float,
        listeners: Sequence[Callback],
        chosen: EvaluationSet,
    ) -> None:
        super().__init__(trainings, replace(search, metric=chosen.metric), tol, listeners)
        self._chosen = chosen
        self._begin()

    def _begin(self) -> None:
        self._grid = None
        self._descent = Descent()
        self._table: Array | None = None

    def _row(self, training: Training, grid: Vector) -> Row:
        self._descend(training, self._descent, grid, self._listeners)
        held = training.space.further(self._chosen.data.X)
        self._table = self._measured(grid, held)
        return self._trained_choice(training, grid, self._table, held)

    def _measured(self, grid: Vector, held: Design) -> Array:
        return self._descent.measured(held, grid, lambda scores: self._chosen.per_query(scores)[1])

    def _trained_choice(self, training: Training, grid: Vector, table: Array, held: Design) -> Row:
        """Train the chosen model to tol.

        It then measures a little better or worse than the one on the path, so the choice may move on; it ends
        at a model that was measured itself, because every round trains another alpha. That is one round on
        most data. No limit on rounds: the chosen model would not be the best of the curve then.
        """
        solved = self._descent.solved
        while True:
            selection = self._select(grid, table)
            if selection.alpha in solved:
                return Row(training, selection, solved[selection.alpha], None)
            start = self._descent.model_at(selection.alpha)
            result = uninterrupted(training.solve(selection.alpha, start, self._listeners))
            scores = held.scores(training.raw(result.w))  # as predict makes them
            table[selection.index] = self._chosen.per_query(scores[None, None])[1][0]
            solved[selection.alpha] = result

    def _select(self, grid: Vector, table: Array) -> Selection:
        return self._chosen.select(self._search, grid, table)

    def _unfinished_row(self, training: Training, grid: Vector) -> Row | None:
        descent, table = self._descent, self._table
        if table is None:
            if not descent.any_finished:
                if self._rows:  # what was interrupted counts only where there is nothing else
                    return None
                descent.note_unfinished(training)
            grid = descent.reached(grid)
            if not len(grid):
                return None
            table = self._measured(grid, training.space.further(self._chosen.data.X))
        selection = self._select(grid, table)
        start = descent.model_at(selection.alpha)
        return Row(training, selection, descent.solved.get(selection.alpha), start)


class SearchByFolds(AlphaSearch):
    """Train every fold along the grid in every space, then everything at the best place.

    As long as there is no model of all rows, the best one so far is the mean of the folds' models: of the
    folds that went down the whole grid, or, where none has, of those that went down a part of it.
    """

    def __init__(
        self,
        trainings: Sequence[Training],
        search: Search,
        tol: float,
        listeners: Sequence[Callback],
        folds: Iterable[tuple[Part, Held]],
    ) -> None:
        super().__init__(trainings, search, tol, listeners)
        # A splitter need not give the same ones twice.
        self._folds = list(folds) if len(trainings) > 1 else folds
        self._begin()

    def _begin(self) -> None:
        self._grid = None
        self._begun: list[Fold] = []
        # The figures of each fold, and the sum of the folds' models at some alphas of the grid.
        self._measured: tuple[list[Array], Array | float] = ([], 0.0)

    def _row(self, training: Training, grid: Vector) -> Row:
        some = self._averaged(grid)

        def go_down(fold: Training, descent: Descent, heard: Sequence[Callback]) -> None:
            self._descend(fold, descent, grid, heard)

        at_once = folds_at_once(training)
        for fold in folds_trained(
            self._folds, training, go_down, self._listeners, at_once=at_once, begun=self._begun
        ):
            figures = self._figures(fold, training, grid)
            tables, sums = self._measured
            self._measured = [*tables, figures], sums + fold.descent.models_at(some)
        self._count_passes(training)
        return self._chosen_row(training, grid, self._search.select)

    def _averaged(self, grid: Vector) -> Vector:
        return grid if self._search.alphas is not None else np.union1d(grid[::_MEANS], grid[-1:])[::-1]

    def _figures(self, fold: Fold, training: Training, grid: Vector) -> Array:
        return fold.descent.measured(training.space.held_out(fold.held_rows), grid, fold.measure)

    def _count_passes(self, training: Training) -> None:
        training.passes += sum(fold.training.passes for fold in self._begun)

    def _chosen_row(
        self, training: Training, grid: Vector, select: Callable[[Vector, Array], Selection]
    ) -> Row:
        tables, sums = self._measured
        selection = select(grid, np.array(tables))
        # The folds' models are close to that of all rows: their mean saves about half of its passes.
        mean = np.asarray(sums) / len(tables)
        start = mixed(self._averaged(grid), mean, np.array([selection.alpha]))[0]
        return Row(training, selection, None, start)

    def _unfinished_row(self, training: Training, grid: Vector) -> Row | None:
        if self._rows:  # figures of all folds and of some do not compare
            return None
        self._count_passes(training)
        select = self._search.select_so_far
        if self._measured[0]:
            return self._chosen_row(training, grid, select)
        folds = [fold for fold in self._begun if fold.descent.any_finished]
        if not folds:
            return None
        grid = min((fold.descent.reached(grid) for fold in folds), key=len)
        selection = select(grid, np.array([self._figures(fold, training, grid) for fold in folds]))
        start = np.mean([fold.descent.model_at(selection.alpha) for fold in folds], axis=0)
        return Row(training, selection, None, start)


def uninterrupted(result: SolverResult) -> SolverResult:
    """Return a result; raise KeyboardInterrupt if that is what ended it."""
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


def as_interrupted(found: Found) -> Found:
    """Return a model as one that Ctrl-C left."""
    return replace(found, result=replace(found.result, status="interrupted"))
