"""A search down a default grid: half a decade at a time, as long as validation says that it may pay.

All folds take each step before any takes the next one, and their queries decide together whether there is a
next one. What it takes is limited, too: by what a fit at the best alpha takes (``search_budget.py``), which
is measured when the search comes near to its limit, and by what the search has taken since that alpha, unless
the queries cannot tell whether it became worse.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers import Callback
from marginrank.training.fitting import Cost, Row, Trainer
from marginrank.training.fold_blocks import Fold
from marginrank.training.paired_parts import PairedParts, mean_and_error, pooled
from marginrank.training.search_budget import SearchBudget
from marginrank.training.search_ends import SearchEnd, best_so_far, told_worse, validation_ends
from marginrank.training.selection import Search, no_figure
from marginrank.types import Array, Vector

# Of what is safe, what going down may take; the rest is for fits of what may be chosen. Searches of
# benchmarks/alpha_auto.py find about as much with anything from 0.75 to 0.9.
_FOR_DESCENT = 0.8
# Evaluations of each fold since the best alpha after which a search ends, or as many as it took to get there.
_SINCE_BEST = 40.0

#: Has every fold do something.
Each = Callable[[Callable[[Fold, Sequence[Callback]], Any]], list[Any]]
#: Chooses from the alphas of a mask.
Choose = Callable[[NDArray[np.bool_]], Row]


class GoingDown:
    """Takes folds, or the one training on a validation set, down a grid.

    Parameters
    ----------
    trainer : Trainer
        That of all rows.
    folds : sequence of Fold
        What is trained and measured.
    each : callable
        Has every one of them do something.
    search : Search
        What is measured.
    callbacks : tuple of a sequence of callables and a callable
        The former get the progress of fits of all rows in the end; the latter returns, for the alpha that the
        search has come down to, those that get it on the way.
    balance : float
        The alpha at which regularisation and risk balance.

    Attributes
    ----------
    alphas : list of float
        Those that all folds have reached, descending.
    """

    def __init__(
        self,
        trainer: Trainer,
        folds: Sequence[Fold],
        each: Each,
        search: Search,
        callbacks: tuple[Sequence[Callback], Callable[[float], Sequence[Callback]]],
        balance: float,
    ) -> None:
        self._trainer = trainer
        self._folds = folds
        self._each = each
        self._search = search
        self._balance = balance
        self._callbacks = callbacks
        self._budget = SearchBudget(trainer, folds)
        # Whether fits of all rows are those that are measured, and known from the run that serves all alphas.
        self._on_all_rows = folds[0].trainer is trainer
        self._in_one_run = self._on_all_rows and trainer.iterates_all
        self._spent_at: dict[float, int] = {}
        self._parts: dict[float, list[Array]] = {}
        self.alphas: list[float] = []

    def run(self, steps: Vector) -> SearchEnd:
        """Go down a grid, and return why no further."""
        self._each(partial(_set_out, steps))
        for alpha in steps:
            if not self._step(float(alpha)):
                return "passes"
            why = validation_ends(self._search, self._balance, np.array(self.alphas), self._paired())
            if why is not None:
                return why
        return "smallest"

    def settle(self, grid: Vector, choose: Choose, note: Callable[[], None] = lambda: None) -> Row:
        """Choose an alpha that is fitted, and keeps the limit.

        What is chosen is fitted from zero. That is one round on most data; others follow where the fit took
        too few passes, or its model measures worse than expected. No further alpha is fitted where that could
        cost the best one so far its place, and nothing as good is safe. Mixtures of models may promise more
        than fits keep: after a fit that measures worse than a step did, the best of the steps is fitted.

        Parameters
        ----------
        grid : ndarray of shape (n_alphas,)
            The part of a default grid that was reached, descending.
        choose : callable
            Chooses from the alphas of a mask.
        note : callable
            Called before each choice, to take in fits that were made.
        """
        if not self._trainer.is_limited:
            return choose(np.ones(len(grid), dtype=bool))
        fitted: float | None = None
        while True:
            note()
            row = choose(self._budget.hopeful(grid))
            if self._budget.is_fitted(row.selection.alpha):
                return row
            so_far = choose(self._budget.keeping(grid))
            safe = self._budget.safe(grid)
            if not safe.any() or self._is_worse(choose(safe), so_far):
                return so_far
            step = None if fitted is None else self._better_step(grid, fitted, choose)
            fitted = row.selection.alpha if step is None else step
            self._budget.fit(fitted, self._callbacks[0])

    def _better_step(self, grid: Vector, fitted: float, choose: Choose) -> float | None:
        """Return the best of the steps, if it measured better than a fit since and may be fitted itself."""
        if not self.alphas or self._budget.is_fitted(step := self._best()):
            return None
        may = (grid == step) & self._budget.hopeful(grid)
        return step if may.any() and self._is_worse(choose(grid == fitted), choose(may)) else None

    def _is_worse(self, row: Row, other: Row) -> bool:
        """Whether the figure of one choice is behind that of another by more than what counts as equal."""
        sign = -1.0 if self._search.parsed.higher_is_better else 1.0
        figure, wanted = (float(one.selection.curve[one.selection.index]) for one in (row, other))
        return sign * (figure - wanted) > self._search.resolution * abs(wanted)

    def _step(self, alpha: float) -> bool:
        """Fit every fold at an alpha; False where there are no passes left for it."""
        if self._trainer.is_limited and not self._in_one_run and not self._budget.has_model:
            self._fit(alpha)
        while not self._is_measured(alpha):
            limit = self._room()
            if min(limit) > 0.0 and all(self._each(partial(_reach, alpha, limit))):
                break
            if not self._find_room():
                return False
        if self._in_one_run:
            self._budget.fit(alpha, ())
        self._parts[alpha] = self._each(partial(_parts_at, alpha))
        self._spent_at[alpha] = self._budget.evaluations
        self.alphas = sorted([*self.alphas, alpha], reverse=True)
        return True

    def _is_measured(self, alpha: float) -> bool:
        """Whether a fit of all rows is what is measured, and was made: it needs no more passes."""
        return self._on_all_rows and alpha in self._folds[0].descent.alphas

    def _room(self) -> Cost:
        """Return what the next step of each fold may take."""
        if not self._trainer.is_limited or not self.alphas or not self._budget.has_model:
            return Cost(np.inf, np.inf)
        room = self._budget.room(self._best(), _FOR_DESCENT)
        if self._trainer.iterates_all:  # smaller alphas come along
            return room
        return Cost(room.passes, min(room.evaluations, self._room_since_best()))

    def _room_since_best(self) -> float:
        """Return the evaluations of each fold that are left since the best alpha.

        Where queries could tell, and the last alpha is not worse by more than they differ, there is no limit
        but that of the whole search: with a dozen of them the best one lies anywhere. One ranking tells
        nothing of that kind, and on text smaller alphas take hundreds of passes.
        """
        parts, best = self._paired(), self._best()
        if parts.n_counted > 1 and not told_worse(self._search, parts, self.alphas.index(best))[-1]:
            return np.inf
        up_to_best = self._spent_at[best]
        since, n_folds = self._budget.evaluations - up_to_best, len(self._folds)
        return max(_SINCE_BEST, up_to_best / n_folds) - since / n_folds

    def _find_room(self) -> bool:
        """Whether more is allowed than was known: a fit at the best alpha tells."""
        best = self._best()
        is_long_ago = not self._trainer.iterates_all and self._room_since_best() <= 0.0
        if self._budget.is_fitted(best) or is_long_ago:
            return False
        self._fit(best)
        return min(self._room()) > 0.0

    def _fit(self, alpha: float) -> None:
        """Fit all rows from zero; where that is what is measured, it takes the place of what was there."""
        self._budget.fit(alpha, self._callbacks[1](self.alphas[-1] if self.alphas else alpha))
        if self._on_all_rows:
            (fold,) = self._folds
            fold.descent.put(self._trainer.problem, alpha, self._trainer.trained[alpha])
            if alpha in self._parts:
                self._parts[alpha] = [_parts_at(alpha, fold, ())]

    def _best(self) -> float:
        return self.alphas[best_so_far(self._search, self._curve())]

    def _curve(self) -> Vector:
        curve = mean_and_error(self._paired())[0]
        if not np.isfinite(curve).all():
            raise no_figure(self._search.parsed)
        return curve

    def _paired(self) -> PairedParts:
        tables = [np.array([self._parts[a][k] for a in self.alphas]) for k in range(len(self._folds))]
        return pooled(tables, [fold.held_out.weight for fold in self._folds])


def _set_out(steps: Vector, fold: Fold, callbacks: Sequence[Callback]) -> bool:
    del callbacks
    fold.trainer.set_out(steps, fold.held_out)
    return True


def _reach(alpha: float, limit: Cost, fold: Fold, callbacks: Sequence[Callback]) -> bool:
    return fold.trainer.reach(fold.descent, alpha, callbacks, fold.held_out, limit)


def _parts_at(alpha: float, fold: Fold, callbacks: Sequence[Callback]) -> Array:
    """Return what the figure of the model at an alpha is the mean of."""
    del callbacks
    parts: Array = fold.trainer.measured(fold.descent, np.array([alpha]), fold.held_out)[0]
    return parts
