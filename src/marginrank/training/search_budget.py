"""What a search over alphas may take: ten fits at the alpha that it chooses, for each fold; kept by counting.

Let S be the passes of a search so far, c(a) those of a fit at alpha a from zero, and N ten times the number
of folds. The search must end with S <= N c(a) at the chosen a. What a fit takes is known only when it is
made, so every alpha that may be chosen is fitted from zero, which counts, and gives its model. An alpha that
was fitted *keeps the limit* if S <= N c(a), and is *safe* if S <= (N - 1) c(a). While a safe one, f, is
there, any other alpha p may be fitted: afterwards p keeps the limit, or f still does. For if
c(p) >= S / (N - 1), then S + c(p) <= N c(p); and if not, S + c(p) < S N / (N - 1) <= N c(f). So a search that
goes on only while something that it has fitted is safe ends within its limit, whatever fits turn out to take.

How far a search goes is planned in evaluations, in the same way but with something to spare: rows on disk
and with workers take as many of them as rows in memory, but not always as many passes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers import Callback
from marginrank.training.fitting import Cost, Trainer
from marginrank.training.fold_blocks import Fold
from marginrank.types import Vector

#: What a search may take, in fits at the alpha that it chooses, for each fold.
MOST_FITS = 10
# Passes of an iteration, or more: steps end only after the one that is too many.
_LAST_ITERATION = 2.0


class SearchBudget:
    """The passes of a search, and those of fits from zero.

    Parameters
    ----------
    trainer : Trainer
        That of all rows.
    folds : sequence of Fold
        What is trained and measured; where there is a validation set, one that has the trainer of all rows.
    """

    def __init__(self, trainer: Trainer, folds: Sequence[Fold]) -> None:
        self._trainer = trainer
        self._folds = folds
        self._most = MOST_FITS * len(folds)
        self._fitted: list[float] = []

    @property
    def evaluations(self) -> int:
        """Evaluations of all that was trained so far."""
        return sum(trainer.iterations + trainer.starts for trainer in self._trainers)

    @property
    def _passes(self) -> float:
        return sum(trainer.passes for trainer in self._trainers)

    @property
    def _trainers(self) -> list[Trainer]:
        others = [fold.trainer for fold in self._folds if fold.trainer is not self._trainer]
        return [*others, self._trainer]

    def fit(self, alpha: float, callbacks: Sequence[Callback]) -> None:
        """Fit all rows from zero, unless that is known; callbacks get the progress."""
        self._trainer.cost(alpha, callbacks)
        if alpha not in self._fitted:
            self._fitted.append(alpha)

    def is_fitted(self, alpha: float) -> bool:
        """Whether it is known what a fit at this alpha takes."""
        return alpha in self._fitted

    @property
    def has_model(self) -> bool:
        """Whether a fit has left features in; where none is left, it takes hardly a pass."""
        trained = self._trainer.trained
        return any(alpha not in trained or trained[alpha].w.any() for alpha in self._fitted)

    def room(self, alpha: float, share: float) -> Cost:
        """Return what each fold may take where this alpha is to be chosen, of a share of what is safe.

        Evaluations are those that are expected to be safe; passes those that are, wherever it ends.
        """
        expected = share * (self._most - 1) * float(self._expected(np.array([alpha]))[0])
        known = (self._most - 1) * max(self._cost(fitted) for fitted in self._fitted)
        n_folds = len(self._folds)
        passes = (known - self._passes) / n_folds - _LAST_ITERATION
        return Cost(passes, (expected - self.evaluations) / n_folds)

    def safe(self, grid: Vector) -> NDArray[np.bool_]:
        """Return which alphas keep the limit even after one more fit, wherever that is."""
        return np.isin(grid, [alpha for alpha in self._fitted if self._is_safe(alpha)])

    def _is_safe(self, alpha: float) -> bool:
        if self.room(alpha, 1.0).evaluations < 0.0:
            return False
        return self._passes <= (self._most - 1) * self._cost(alpha)

    def keeping(self, grid: Vector) -> NDArray[np.bool_]:
        """Return which alphas that were fitted keep the limit; the dearest of them, if none does."""
        keep = [alpha for alpha in self._fitted if self._keeps_limit(alpha)]
        return np.isin(grid, keep or [max(self._fitted, key=self._cost)])

    def hopeful(self, grid: Vector) -> NDArray[np.bool_]:
        """Return which alphas keep the limit, or would keep it if fits take what is expected."""
        enough = self.evaluations <= (self._most - 1) * self._expected(grid)
        return np.asarray(np.where(np.isin(grid, self._fitted), self.keeping(grid), enough))

    def _keeps_limit(self, alpha: float) -> bool:
        to_come = 0 if alpha in self._trainer.trained else 1
        return self._passes <= (self._most - to_come) * self._cost(alpha)

    def _cost(self, alpha: float) -> float:
        return self._trainer.cost(alpha, ()).passes

    def _expected(self, alphas: Vector) -> Vector:
        """Return the evaluations of fits: those that were made, and in between by interpolation."""
        known = np.sort(self._fitted)
        logs = np.log([self._trainer.cost(float(alpha), ()).evaluations for alpha in known])
        return np.asarray(np.exp(np.interp(np.log(alphas), np.log(known), logs)))
