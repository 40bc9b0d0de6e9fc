"""The validation figures of every alpha at every iteration of one run, and the best iterate of each alpha."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers import ShiftedCG

Array = NDArray[np.float64]
#: From scores (k, n_targets, n_rows) to figures (k,) and what they are means of (k, n_parts).
Measure = Callable[[Array], tuple[Array, Array]]


class ValidationTable:
    """Watches conjugate gradients: measures the iterates that moved, and stops alphas that get worse.

    Parameters
    ----------
    measure : callable
        Measures the scores that go along with the iterates.
    higher_is_better : bool
        Which way the figures are read.
    patience : int or None
        An alpha is left alone after this many iterations without improvement; None lets all converge.

    Attributes
    ----------
    best_iteration : ndarray of int, shape (n_alphas,)
        Where each alpha was best.
    best_w : ndarray of shape (n_alphas, n_targets, n_features)
        Its iterate there.
    best_parts : ndarray of shape (n_alphas, n_parts)
        What its figure there was the mean of.
    """

    def __init__(self, measure: Measure, higher_is_better: bool, patience: int | None) -> None:
        self._measure = measure
        self._sign = -1.0 if higher_is_better else 1.0
        self._patience = patience
        self._columns: list[Array] = []
        self._best: Array = np.empty(0)
        self._last_parts: Array = np.empty((0, 0))
        self.best_iteration: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.best_w: Array = np.empty((0, 0, 0))
        self.best_parts: Array = np.empty((0, 0))

    @property
    def table(self) -> Array:
        """The figures, of shape (n_alphas, n_iterations + 1)."""
        return np.stack(self._columns, axis=1)

    @property
    def last_parts(self) -> Array:
        """What the figures of the last iterates are means of."""
        return self._last_parts

    @property
    def best(self) -> float:
        """The best figure of all; NaN where no query counts."""
        best = float(self._best.min())
        return self._sign * best if np.isfinite(best) else float("nan")

    def watch(self, cg: ShiftedCG) -> None:
        """Take note of an iteration."""
        if not self._columns:
            self._start(cg)
            return
        moved = np.flatnonzero(cg.active)
        figures, parts = self._measure(cg.carried[moved])
        column = self._columns[-1].copy()
        column[moved] = figures
        self._columns.append(column)
        self._last_parts[moved] = parts
        improved = moved[self._sign * figures < self._best[moved]]
        self._best[improved] = self._sign * column[improved]
        self.best_iteration[improved] = cg.iteration
        self.best_w[improved] = cg.w[improved]
        self.best_parts[improved] = self._last_parts[improved]
        if self._patience is not None:
            cg.freeze(cg.iteration - self.best_iteration >= self._patience)

    def _start(self, cg: ShiftedCG) -> None:
        figures, parts = self._measure(cg.carried)
        self._columns.append(np.array(figures))
        # A figure that is no number cannot be improved on; every other is better.
        self._best = np.where(np.isnan(figures), np.inf, self._sign * figures)
        self._last_parts, self.best_parts = np.array(parts), np.array(parts)
        self.best_iteration = np.zeros(len(cg.alphas), dtype=np.int64)
        self.best_w = cg.w.copy()
