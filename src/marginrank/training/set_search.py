"""The search for alpha on a validation set: what is chosen is trained to tol and measured itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from marginrank.designs import Design
from marginrank.solvers import Callback, SolverResult
from marginrank.training.alpha_searches import AlphaSearch
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.fitting import Row, Trainer, uninterrupted
from marginrank.training.fold_blocks import Fold
from marginrank.training.going_down import GoingDown
from marginrank.training.search_ends import SearchEnd
from marginrank.training.selection import Search, select_within
from marginrank.types import Array, Vector


class SearchOnSet(AlphaSearch):
    """Train along the grid in every space, and keep what does best on a validation set."""

    def __init__(
        self,
        trainers: Sequence[Trainer],
        search: Search,
        callbacks: Sequence[Callback],
        chosen: EvaluationSet,
    ) -> None:
        self._chosen = chosen
        super().__init__(trainers, replace(search, metric=chosen.metric), callbacks)

    def _begin(self) -> None:
        self._descent = Descent()
        self._parts: Array | None = None
        self._end: SearchEnd = "grid"

    def _row(self, trainer: Trainer, grid: Vector) -> Row:
        held_out = self._eval_rows(trainer)
        down: GoingDown | None = None
        if self._goes_down(trainer):
            fold, called = Fold(trainer, self._descent, held_out), self._going_down(trainer)
            down, grid, self._end = self._go_down(trainer, [fold], lambda do: [do(fold, called)])
            self._grid = grid
        else:
            self._descend(trainer, self._descent, held_out, self._callbacks)
        self._parts = trainer.measured(self._descent, grid, held_out)
        if down is None or not trainer.is_limited:
            return self._trained_choice(trainer, grid, held_out)
        choose = partial(self._choose, trainer, grid, self._parts)
        row = down.settle(grid, choose, partial(self._note_trained, trainer, grid, held_out))
        return replace(row, end="passes") if row.selection.is_restricted else row

    def _eval_rows(self, trainer: Trainer) -> EvalRows:
        chosen = self._chosen
        design = partial(trainer.problem.space.further, chosen.data.X)
        return EvalRows(design, chosen.measure, chosen.metric.higher_is_better, chosen.targets.weight)

    def _trained_choice(self, trainer: Trainer, grid: Vector, held_out: EvalRows) -> Row:
        """Train the chosen model to tol.

        It then measures a little better or worse than before, so the choice may move on; it ends at a model
        that was measured itself, because every round trains another alpha. That is one round on most data.
        """
        assert self._parts is not None
        while True:
            row = self._choose(trainer, grid, self._parts)
            if row.result is not None:
                return row
            result = uninterrupted(trainer.solve(row.place, self._callbacks))
            self._note(trainer, grid, row.place.alpha, result, held_out)

    def _note_trained(self, trainer: Trainer, grid: Vector, held_out: EvalRows) -> None:
        """Take in models that were trained on the way."""
        for alpha, result in trainer.trained.items():
            if self._descent.solved.get(alpha) is not result:
                self._note(trainer, grid, alpha, result, held_out)

    def _note(
        self, trainer: Trainer, grid: Vector, alpha: float, result: SolverResult, held_out: EvalRows
    ) -> None:
        """Take a model that is trained to tol in place of what was there at its alpha."""
        assert self._parts is not None
        scores = _as_predicted(held_out.design, trainer.problem.raw(result.w))
        self._parts[int(np.flatnonzero(grid == alpha)[0])] = held_out.parts(scores[None])[0]
        self._descent.solved[alpha] = result

    def _choose(
        self, trainer: Trainer, grid: Vector, parts: Array, allowed: NDArray[np.bool_] | None = None
    ) -> Row:
        descent = self._descent
        everything = np.ones(len(grid), dtype=bool)
        selection = select_within(
            lambda some: self._chosen.select(self._search, grid[some], parts[some]),
            everything if allowed is None else allowed,
        )
        result = trainer.delivered(descent, selection.alpha)
        start = None if result is not None else descent.models_at(np.array([selection.alpha]))[0]
        best = descent.best_iterations
        n_iter = None if best is None else int(best[selection.index])
        table = None if descent.table is None else descent.table[: len(grid)]
        return Row(trainer, selection, result, start, table, n_iter, self._end)

    def _unfinished_row(self, trainer: Trainer, grid: Vector) -> Row | None:
        descent, parts = self._descent, self._parts
        if parts is None:
            if not descent.any_finished:
                if self._rows:  # what was interrupted counts only where there is nothing else
                    return None
                trainer.collect(descent)
            grid = descent.reached(grid)
            if not len(grid):
                return None
            parts = trainer.measured(descent, grid, self._eval_rows(trainer))
        return replace(self._choose(trainer, grid, parts), end="interrupted")


def _as_predicted(design: Design, coef: Array) -> Array:
    """Return scores of shape (n_targets, n_rows) as ``predict`` makes them."""
    return design.scores(coef)[None] if coef.ndim == 1 else design.scores_block(coef)
