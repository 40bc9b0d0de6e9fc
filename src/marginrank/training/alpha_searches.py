"""Searches over alphas: on a validation set or by folds, whatever fits the models.

In a search the best model so far is one at the alpha that does best as far as it was measured; it is
evaluated once, on all rows, so that its certificate is as true as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.metrics.evaluator import weighted_means
from marginrank.solvers import Callback
from marginrank.solvers.knot_spacing import mixed
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.fitting import Found, Row, Trainer, as_interrupted, uninterrupted
from marginrank.training.fold_blocks import Fold, FoldsInStep, folds_at_once, folds_trained
from marginrank.training.going_down import Each, GoingDown
from marginrank.training.paired_parts import PairedParts, pooled
from marginrank.training.problems import HeldOut, Problem
from marginrank.training.progress import along_grid, of_search, on_the_way
from marginrank.training.search_ends import SearchEnd
from marginrank.training.selection import (
    Search,
    Selection,
    default_alphas,
    default_ladder,
    select_within,
)
from marginrank.training.validation_table import choose_by_folds
from marginrank.types import Array, Vector

# The folds' models are averaged at about this many alphas of a default grid; between those their mean is a
# mixture.
_MEANS = 16
# How far down searches go on most data.
_USUAL_DECADES = 5


class _FoldFigures(NamedTuple):
    """Figures of a fold, (n_alphas, n_iterations + 1), and what those of its last models are means of."""

    table: Array
    parts: Array
    weight: Vector | None


class AlphaSearch:
    """What a search along a grid of alphas, in one space or several, shares.

    Parameters
    ----------
    trainers : sequence of Trainer
        One for each space.
    search : Search
        The grid, and what selects.
    callbacks : sequence of callables
        They get the progress of every solution.
    grid : ndarray, optional
        In place of that of the search.
    """

    def __init__(
        self,
        trainers: Sequence[Trainer],
        search: Search,
        callbacks: Sequence[Callback],
        grid: Vector | None = None,
    ) -> None:
        self._trainers = trainers
        self._search = search
        self._callbacks = of_search(callbacks, lambda: (len(self._rows), len(self._trainers)))
        self._given = search.alphas if grid is None else grid
        self._rows: list[Row] = []
        self._grid: Vector | None = None
        self._balance = 0.0
        self._found: Found | None = None
        self._begin()

    def run(self) -> Found:
        """Search every space, and return the model at the best place."""
        while (trainer := self._current) is not None:
            self._grid = None
            self._begin()
            if self._given is None:
                self._balance = trainer.balance()
            self._grid = self._grid_at(self._balance, trainer) if self._given is None else self._given
            self._rows.append(self._row(trainer, self._grid))
            if len(self._trainers) > 1:
                trainer.problem.release()
        best = self._best_of(self._rows)
        result = best.result
        if result is None:
            result = uninterrupted(best.trainer.solve(best.place, self._callbacks))
        self._found = Found(best.trainer, best.place.alpha, result, self._rows, best)
        return self._found

    def so_far(self) -> Found | None:
        """Return the best of what was measured so far."""
        if self._found is not None:
            return as_interrupted(self._found)
        rows = list(self._rows)
        trainer = self._current
        if trainer is not None and self._grid is not None:
            unfinished = self._unfinished_row(trainer, self._grid)
            rows += [] if unfinished is None else [unfinished]
        if not rows:
            return None if trainer is None else self._before_choice(trainer)
        best = self._best_of(rows)
        latest, result = best.trainer.latest, best.result
        if result is None and latest is not None and latest.alpha == best.place.alpha:
            result = latest.result
        if result is None:
            result = best.trainer.evaluated(best.place)
        return as_interrupted(Found(best.trainer, best.place.alpha, result, rows, best))

    def _before_choice(self, trainer: Trainer) -> Found | None:
        solution = trainer.before_choice(
            lambda balance: self._grid_at(balance, trainer) if self._given is None else self._given
        )
        return None if solution is None else as_interrupted(Found(trainer, *solution))

    def _grid_at(self, balance: float, trainer: Trainer) -> Vector:
        if not self._goes_down(trainer):
            return default_alphas(balance)
        return self._ladder(balance, trainer)

    def _goes_down(self, trainer: Trainer) -> bool:
        """Whether to go down a default grid only as far as it pays; iterations that stop early end soon."""
        return self._given is None and trainer.patience is None

    def _ladder(self, balance: float, trainer: Trainer) -> Vector:
        """Return all alphas that a search may come to, descending."""
        return default_ladder(balance, trainer.per_decade, above=trainer.decades_above)

    def _going_down(self, trainer: Trainer) -> list[Callback]:
        """Return callbacks that know how much of the way down is done, as far as searches mostly go."""
        return along_grid(self._callbacks, self._usual_grid(trainer))

    def _usual_grid(self, trainer: Trainer) -> Vector:
        return self._ladder(self._balance, trainer)[: _USUAL_DECADES * trainer.per_decade]

    def _go_down(
        self, trainer: Trainer, folds: Sequence[Fold], each: Each
    ) -> tuple[GoingDown, Vector, SearchEnd]:
        """Go down a default grid; return the part of it that was reached, and why no further."""
        grid = self._ladder(self._balance, trainer)
        called = self._callbacks, partial(on_the_way, self._callbacks, self._usual_grid(trainer))
        down = GoingDown(trainer, folds, each, self._search, called, self._balance)
        end = down.run(trainer.steps(grid))
        reached = grid[grid >= down.alphas[-1]]
        return down, reached, end

    @property
    def _current(self) -> Trainer | None:
        """The trainer of the space that is being searched; None where all were."""
        return self._trainers[len(self._rows)] if len(self._rows) < len(self._trainers) else None

    def _descend(
        self, trainer: Trainer, descent: Descent, held_out: EvalRows, callbacks: Sequence[Callback]
    ) -> None:
        assert self._grid is not None
        trainer.descend(descent, self._grid, along_grid(callbacks, self._grid), held_out)
        if descent.interrupted:
            raise KeyboardInterrupt

    def _best_of(self, rows: Sequence[Row]) -> Row:
        return rows[self._search.best_of([row.selection for row in rows])]

    def _begin(self) -> None:
        """Forget what is known of the space before."""
        raise NotImplementedError

    def _row(self, trainer: Trainer, grid: Vector) -> Row:
        """Search one space."""
        raise NotImplementedError

    def _unfinished_row(self, trainer: Trainer, grid: Vector) -> Row | None:
        """Return what the space that is being searched has so far, if it is worth choosing from."""
        raise NotImplementedError


class SearchByFolds(AlphaSearch):
    """Train every fold along the grid in every space, then everything at the best place.

    As long as there is no model of all rows, the best one so far is the mean of the folds' models: of the
    folds that went down the whole grid, or, where none has, of those that went down a part of it.
    """

    def __init__(
        self,
        trainers: Sequence[Trainer],
        search: Search,
        callbacks: Sequence[Callback],
        folds: Iterable[tuple[Problem, HeldOut]],
        grid: Vector | None = None,
    ) -> None:
        super().__init__(trainers, search, callbacks, grid)
        # A splitter need not give the same ones twice.
        self._folds = list(folds) if len(trainers) > 1 else folds

    def _begin(self) -> None:
        self._begun: list[Fold] = []
        self._allowed: NDArray[np.bool_] | None = None  # which alphas of a default grid may be chosen
        # The figures of each fold, and the sum of the folds' models at some alphas of the grid.
        self._measured: tuple[list[_FoldFigures], Array | float] = ([], 0.0)

    def _row(self, trainer: Trainer, grid: Vector) -> Row:
        if self._goes_down(trainer):
            return self._row_going_down(trainer)
        some = self._averaged(grid)

        def go_down(fold: Fold, callbacks: Sequence[Callback]) -> None:
            self._descend(fold.trainer, fold.descent, fold.held_out, callbacks)

        for fold in folds_trained(
            self._folds,
            trainer,
            go_down,
            self._callbacks,
            higher_is_better=self._search.parsed.higher_is_better,
            at_once=self._at_once(trainer),
            begun=self._begun,
        ):
            figures, sums = self._measured
            self._measured = [*figures, _figures_of(fold, grid)], sums + fold.descent.models_at(some)
        self._count_passes(trainer)
        return self._chosen_row(trainer, grid, self._measured[0], self._select)

    def _row_going_down(self, trainer: Trainer) -> Row:
        """Take all folds down a default grid together."""
        steps = FoldsInStep(
            self._folds,
            trainer,
            self._going_down(trainer),
            higher_is_better=self._search.parsed.higher_is_better,
            at_once=self._at_once(trainer),
            begun=self._begun,
        )
        down, grid, end = self._go_down(trainer, steps.folds, steps.each)
        some = self._averaged(grid)
        figures = [_figures_of(fold, grid) for fold in steps.folds]
        self._grid = grid
        self._measured = figures, np.sum([fold.descent.models_at(some) for fold in steps.folds], axis=0)

        def chosen(allowed: NDArray[np.bool_]) -> Row:
            self._allowed = allowed
            return self._chosen_row(trainer, grid, figures, self._select)

        row = down.settle(grid, chosen)
        self._count_passes(trainer)
        end = "passes" if row.selection.is_restricted else end
        return replace(row, end=end, result=trainer.trained.get(row.place.alpha))

    @staticmethod
    def _at_once(trainer: Trainer) -> int:
        return folds_at_once(trainer.problem) if trainer.shares_reads else 1

    def _select(self, alphas: Vector, values: Array, paired: PairedParts | None) -> Selection:
        def select(some: NDArray[np.bool_]) -> Selection:
            part = None if paired is None else paired._replace(values=paired.values[:, some])
            return self._search.select(alphas[some], values[:, some], paired=part)

        everything = np.ones(len(alphas), dtype=bool)
        return select_within(select, everything if self._allowed is None else self._allowed)

    def _averaged(self, grid: Vector) -> Vector:
        step = max(1, len(grid) // _MEANS) if self._given is None else 1
        return np.union1d(grid[::step], grid[-1:])[::-1]

    def _count_passes(self, trainer: Trainer) -> None:
        trainer.passes += sum(fold.trainer.passes for fold in self._begun)
        trainer.iterations += sum(fold.trainer.iterations for fold in self._begun)

    def _chosen_row(
        self,
        trainer: Trainer,
        grid: Vector,
        figures: Sequence[_FoldFigures],
        select: Callable[[Vector, Array, PairedParts | None], Selection],
        start: Callable[[float], Array] | None = None,
    ) -> Row:
        choice = choose_by_folds(
            select,
            grid,
            [fold.table for fold in figures],
            pooled([fold.parts for fold in figures], [fold.weight for fold in figures]),
            higher_is_better=self._search.parsed.higher_is_better,
            stopping=trainer.patience is not None,
        )
        alpha = choice.selection.alpha
        model = self._mean_model(grid, alpha) if start is None else start(alpha)
        table = choice.table if trainer.iterates_all else None
        return Row(trainer, choice.selection, None, model, table, choice.n_iter)

    def _mean_model(self, grid: Vector, alpha: float) -> Array:
        # The folds' models are close to that of all rows: their mean saves about half of its passes.
        figures, sums = self._measured
        mean = np.asarray(sums) / len(figures)
        return np.asarray(mixed(self._averaged(grid), mean, np.array([alpha]))[0])

    def _unfinished_row(self, trainer: Trainer, grid: Vector) -> Row | None:
        if self._rows:  # figures of all folds and of some do not compare
            return None
        self._count_passes(trainer)
        select = self._search.select_so_far
        if self._measured[0]:
            return self._chosen_row(trainer, grid, self._measured[0], select)
        folds = [fold for fold in self._begun if _has_models(fold)]
        if not folds:
            return None
        grid = min((fold.descent.reached(grid) for fold in folds), key=len)

        def mean(alpha: float) -> Array:
            models = [fold.descent.models_at(np.array([alpha]))[0] for fold in folds]
            return np.asarray(np.mean(models, axis=0))

        return self._chosen_row(trainer, grid, [_figures_of(fold, grid) for fold in folds], select, mean)


def _figures_of(fold: Fold, grid: Vector) -> _FoldFigures:
    """Return the figures of a fold, a column for each iteration or one of its last models alone."""
    parts, weight = fold.trainer.measured(fold.descent, grid, fold.held_out), fold.held_out.weight
    table = weighted_means(parts, weight)[:, None]
    if fold.descent.table is not None:
        table = fold.descent.table[: len(grid)]
    return _FoldFigures(table, parts, weight)


def _has_models(fold: Fold) -> bool:
    """Whether a fold that was interrupted has models to choose from."""
    if not fold.descent.any_finished and fold.trainer.iterates_all:
        fold.trainer.collect(fold.descent)
    return fold.descent.any_finished
