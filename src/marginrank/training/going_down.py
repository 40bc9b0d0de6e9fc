"""A search down a default grid: half a decade at a time, as long as validation says that it may pay.

All folds take each step before any takes the next one, and their queries decide together whether there is a
next one. The passes are limited, too: by what a fit at the best alpha takes by itself, which is measured when
the search comes near to the limit, and by what the search has taken since that alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers import Callback
from marginrank.training.fitting import Trainer
from marginrank.training.fold_blocks import Fold
from marginrank.training.paired_parts import PairedParts, mean_and_error, pooled
from marginrank.training.search_ends import SearchEnd, best_so_far, validation_ends
from marginrank.training.selection import Rule, Search, Selection, no_figure
from marginrank.types import Array, Vector

#: What a search may take, in fits at the alpha that it chooses, for each fold.
MOST_FITS = 10.0
# Of that, what going down may take, and what this and the training of what may be chosen may take. A fit at
# a smaller alpha may take a little less than one at a larger alpha, which is the one that is measured.
_FOR_DESCENT, _FOR_ALL = 0.85, 0.9
# Fits that are left to train what may be chosen: the first may measure worse than it did on the way.
_FOR_CHOICE = 2.0
# Passes of each fold since the best alpha after which a search ends, or as many as it took to get there.
_SINCE_BEST = 40.0
# Fits that are made to know whether a larger alpha may be chosen, and the share of the limit that it must
# keep. Passes depend a little on how sums are rounded; of alphas that count as equal they shall not decide
# for rows on disk otherwise than in memory, unless the limit happens to be just there.
_TRIES: dict[Rule, tuple[int, float]] = {"best": (1, 0.75), "one_se": (3, 1.0)}
# Where no feature is left at a large alpha, a fit takes hardly a pass; nobody chooses such a model.
_LEAST_FIT = 1.5

#: Has every fold do something.
Each = Callable[[Callable[[Fold, Sequence[Callback]], bool]], list[bool]]


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
    callbacks : sequence of callables
        They get the progress of fits of all rows.
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
        callbacks: Sequence[Callback],
        balance: float,
    ) -> None:
        self._trainer = trainer
        self._folds = folds
        self._each = each
        self._search = search
        self._callbacks = callbacks
        self._balance = balance
        self._spent_at: dict[float, float] = {}
        # Passes of a fit: at the best alpha, as far as is known; at the first alpha; where it was measured.
        self._fit = self._first = 0.0
        self._costs: dict[float, float] = {}
        self._parts: dict[float, list[Array]] = {}
        # Larger alphas that were fitted to know their cost, and the smallest one that costs too little.
        self._tries = 0
        self._too_cheap = np.inf
        self.alphas: list[float] = []

    @property
    def spent(self) -> float:
        """Passes of all that was trained so far."""
        own = [fold.trainer.passes for fold in self._folds if fold.trainer is not self._trainer]
        return float(sum(own) + self._trainer.passes)

    def allows_fit(self) -> bool:
        """Whether one more fit keeps the search below its limit; a fit at the best alpha may have to tell."""
        if not self._trainer.is_limited or self._has_room_for_fit():
            return True
        self._fit = max(self._fit, self._cost_of_best())
        return self._has_room_for_fit()

    def _has_room_for_fit(self) -> bool:
        return self.spent + self._fit <= _FOR_ALL * self._limit(self._fit)

    def affordable(self, grid: Vector, trained: Collection[float] = ()) -> NDArray[np.bool_]:
        """Return which alphas may be chosen after so many passes; the larger, the fewer a fit takes.

        Those that are not trained yet are fitted first, which counts, too.
        """
        if not self._trainer.is_limited or self._fit == 0.0:
            return np.ones(len(grid), dtype=bool)
        least = np.array([self._least_cost(alpha) for alpha in grid])
        to_come = np.where(np.isin(grid, list(trained)), 0.0, least)
        found: NDArray[np.bool_] = self.spent + to_come <= MOST_FITS * len(self._folds) * least
        return found if found.any() else least == least.max()

    def _least_cost(self, alpha: float) -> float:
        """Return what a fit takes at least, by those that were measured at this alpha and at larger ones."""
        known = {self.alphas[0]: self._first, **self._costs}
        return max([known[a] for a in known if a >= alpha] or [0.0])

    def tries_larger(self, selection: Selection) -> bool:
        """Whether a larger alpha, which the rule prefers to the chosen one, was fitted to know its cost.

        The largest comes first, then the middle one of those that are left: the larger an alpha, the fewer
        passes its fit takes. None is fitted where the chosen one could then not be chosen any more.
        """
        left = selection.preferred[selection.preferred < self._too_cheap]
        tries, share = _TRIES[self._search.rule]
        if not selection.is_restricted or self._trainer.iterates_all or not len(left):
            return False
        if self._tries == tries or not self._has_room_for_try(selection.alpha):
            return False
        alpha = float(left[len(left) // 2 if self._tries else 0])
        self._tries += 1
        cost = self._trainer.cost(alpha, self._callbacks)
        if self.spent <= share * self._limit(cost):
            self._costs[alpha] = cost
        else:
            self._too_cheap = alpha
        return True

    def _has_room_for_try(self, chosen: float) -> bool:
        least = self._least_cost(chosen)
        to_come = least if chosen in self._trainer.trained else 2.0 * least
        return self.spent + to_come <= self._limit(least) and self.allows_fit()

    def _limit(self, fit: float) -> float:
        """Return the passes that a search may take, given those of a fit at the alpha that it chooses."""
        return MOST_FITS * len(self._folds) * fit

    def run(self, steps: Vector) -> SearchEnd:
        """Go down a grid, and return why no further."""
        self._each(partial(_set_out, steps))
        end: SearchEnd = "smallest"
        for alpha in steps:
            if not self._step(float(alpha)):
                end = "passes"
                break
            why = validation_ends(self._search, self._balance, np.array(self.alphas), self._paired())
            if why is not None:
                end = why
                break
        if self._trainer.iterates_all and self._fit > 0.0:  # known for all alphas; all rows may take fewer
            self._costs = {a: _FOR_ALL * self._cost_in_folds(a) for a in self.alphas} | self._costs
        return end

    def _step(self, alpha: float) -> bool:
        """Fit every fold at an alpha; False where there are no passes left for it."""
        taken = np.zeros(len(self._folds))
        while True:
            limit = self._room() / len(self._folds)
            before = np.array([fold.trainer.passes for fold in self._folds])
            reached = limit > 0.0 and all(self._each(partial(_reach, alpha, limit)))
            taken += [fold.trainer.passes for fold in self._folds] - before
            if reached:
                break
            if not self._find_room():
                return False
        for fold in self._folds:
            self._parts.setdefault(alpha, []).append(_parts_at(fold, alpha))
        self._spent_at[alpha] = self.spent
        self.alphas = sorted([*self.alphas, alpha], reverse=True)
        if self._fit == 0.0 and any(fold.descent.models[-1].any() for fold in self._folds):
            self._first = float(taken.min())
            self._fit = max(self._first, _LEAST_FIT)
        return True

    def _room(self) -> float:
        """Return how many passes the next step of all folds may take."""
        if not self._trainer.is_limited or self._fit == 0.0:
            return np.inf
        if self._trainer.iterates_all:  # what fits take is known, and smaller alphas come along
            self._fit = self._cost_of_best()
            return self._room_below_limit()
        return min(self._room_below_limit(), self._room_since_best())

    def _room_below_limit(self) -> float:
        limit = self._limit(self._fit)
        return min(_FOR_DESCENT * limit, limit - _FOR_CHOICE * self._fit) - self.spent

    def _room_since_best(self) -> float:
        up_to_best = self._spent_at[self._best()]
        return max(_SINCE_BEST * len(self._folds), up_to_best) - (self.spent - up_to_best)

    def _find_room(self) -> bool:
        """Whether more passes are allowed than was known: a fit at the best alpha tells."""
        if self._trainer.iterates_all or self._room_since_best() <= 0.0:
            return False
        self._fit = max(self._fit, self._cost_of_best())
        return self._room() > 0.0

    def _cost_of_best(self) -> float:
        best = self._best()
        if self._trainer.iterates_all:
            self._costs[best] = self._cost_in_folds(best)
        else:
            self._costs[best] = self._trainer.cost(best, self._callbacks)
        return self._costs[best]

    def _cost_in_folds(self, alpha: float) -> float:
        return float(np.mean([fold.trainer.cost(alpha, ()) for fold in self._folds]))

    def _best(self) -> float:
        return self.alphas[best_so_far(self._search, self._curve())]

    def _curve(self) -> Vector:
        curve = mean_and_error(self._paired())[0]
        if not np.isfinite(curve).all():
            raise no_figure(self._search.parsed)
        return curve

    def _paired(self) -> PairedParts:
        tables = [np.array([self._parts[a][k] for a in self.alphas]) for k in range(len(self._folds))]
        return pooled(tables, [fold.held.weight for fold in self._folds])


def _set_out(steps: Vector, fold: Fold, callbacks: Sequence[Callback]) -> bool:
    del callbacks
    fold.trainer.set_out(steps, fold.held)
    return True


def _reach(alpha: float, limit: float, fold: Fold, callbacks: Sequence[Callback]) -> bool:
    return fold.trainer.reach(fold.descent, alpha, callbacks, fold.held, limit)


def _parts_at(fold: Fold, alpha: float) -> Array:
    """Return what the figure of the model at an alpha is the mean of."""
    parts: Array = fold.trainer.measured(fold.descent, np.array([alpha]), fold.held)[0]
    return parts
