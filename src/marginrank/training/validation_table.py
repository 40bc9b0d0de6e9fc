"""The validation figures of every alpha at every iteration, of one run or of folds; the best iterates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers import ConjugateGradients
from marginrank.training.descents import Measure
from marginrank.training.paired_parts import PairedParts
from marginrank.training.selection import Selection
from marginrank.types import Array, Vector


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

    def watch(self, cg: ConjugateGradients) -> None:
        """Take note of an iteration."""
        if not self._columns:
            self._start(cg)
            return
        moved = np.flatnonzero(cg.active)
        figures, parts = self._measure(cg.carried[moved])
        column = self._columns[-1].copy()
        column[moved] = figures
        self._last_parts[moved] = parts
        improved = moved[self._sign * figures < self._best[moved]]
        self.best_w[improved] = cg.w[improved]
        self.best_iteration[improved] = cg.iteration
        self.best_parts[improved] = self._last_parts[improved]
        # Last, in this order: what an interrupt leaves without them is found to have improved once more.
        self._best[improved] = self._sign * column[improved]
        self._columns.append(column)
        if self._patience is not None:
            cg.freeze(cg.iteration - self.best_iteration >= self._patience)

    def catch_up(self, cg: ConjugateGradients) -> None:
        """Take note of an iteration that an interrupt kept from being noted."""
        if len(self._columns) <= cg.iteration:
            self.watch(cg)

    def _start(self, cg: ConjugateGradients) -> None:
        figures, parts = self._measure(cg.carried)
        # A figure that is no number cannot be improved on; every other is better.
        self._best = np.where(np.isnan(figures), np.inf, self._sign * figures)
        self._last_parts, self.best_parts = np.array(parts), np.array(parts)
        self.best_iteration = np.zeros(len(cg.alphas), dtype=np.int64)
        self.best_w = cg.w.copy()
        self._columns.append(np.array(figures))


class FoldChoice(NamedTuple):
    """What folds choose: an alpha, maybe a number of iterations; and the mean of their tables."""

    selection: Selection
    n_iter: int | None
    table: Array


def choose_by_folds(
    select: Callable[[Vector, Array, PairedParts | None], Selection],
    alphas: Vector,
    tables: list[Array],
    paired: PairedParts,
    *,
    higher_is_better: bool,
    stopping: bool,
) -> FoldChoice:
    """Choose by the figures of folds.

    Parameters
    ----------
    select : callable
        From the grid, figures of shape (n_folds, n_alphas) and what alphas are compared on to what is chosen.
    alphas : ndarray of shape (n_alphas,)
        The grid.
    tables : list of ndarray of shape (n_alphas, n_iterations + 1)
        The figures of each fold; its last models are in the last column.
    paired : PairedParts
        What the figures of these last models are means of; iterations before are compared by fold.
    higher_is_better : bool
        Which way they are read.
    stopping : bool
        Whether the number of iterations is chosen, too.
    """
    mean, stack = _mean_table(tables)
    iterations = np.full(len(alphas), mean.shape[1] - 1)
    if stopping:
        iterations = _best_columns(mean, higher_is_better)
    figures = stack[:, np.arange(len(alphas)), iterations]
    selection = select(alphas, figures, None if stopping else paired)
    return FoldChoice(selection, int(iterations[selection.index]) if stopping else None, mean)


def as_table(rows: Sequence[Vector]) -> Array:
    """Return rows as a table; one that an interrupt cut short ends in NaN.

    Examples
    --------
    >>> as_table([np.array([1.0, 2.0]), np.array([3.0])])
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    table = np.full((len(rows), max(map(len, rows))), np.nan)
    for k, row in enumerate(rows):
        table[k, : len(row)] = row
    return table


def _mean_table(tables: list[Array]) -> tuple[Array, Array]:
    """Return the mean of tables of different lengths, and all of them, short ones continued as they end.

    Folds in which no query counts are NaN and have no part in the mean.
    """
    longest = max(table.shape[1] for table in tables)
    stack = np.stack([np.pad(t, ((0, 0), (0, longest - t.shape[1])), mode="edge") for t in tables])
    counted = stack[~np.isnan(stack).any(axis=(1, 2))]
    return (counted if len(counted) else stack).mean(axis=0), stack


def _best_columns(table: Array, higher_is_better: bool) -> NDArray[np.int64]:
    """Return the first best iteration of each alpha."""
    return np.asarray(np.argmin(-table if higher_is_better else table, axis=1))
