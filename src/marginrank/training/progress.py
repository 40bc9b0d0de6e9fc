"""What is shown while a model trains, and where in a search it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import log
from typing import TextIO

from marginrank.solvers import Callback, Progress
from marginrank.system.progress_bar import ProgressBar
from marginrank.training.search_ends import SEARCH_ENDS, SearchEnd
from marginrank.types import Vector

_HEADER = "  iter   objective   lower bound       gap   passes   seconds"
_VALIDATION = "   validation"
# Of a search, before the model of all rows is trained: how much of the work that is, about.
_SEARCHED = 0.9


class TrainingBar(ProgressBar):
    """A callback that shows how far training is: a bar on a terminal or in a notebook, else a line each.

    The bar fills with the search, fold by fold and from the largest alpha down; without a search as the
    certified gap falls from 1 to the tolerance, on a log scale.

    Parameters
    ----------
    tol : float or None
        The gap that training waits for; None where it waits for something else.
    metric : str, default="validation"
        What is measured on validation rows.
    stream : text stream, optional
        By default the standard error stream.
    lines, transient : bool
        As for :class:`~marginrank.system.progress_bar.ProgressBar`.

    Examples
    --------
    >>> import sys
    >>> with TrainingBar(1e-3, stream=sys.stdout) as show:
    ...     state = Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01, fold=(2, 5))
    ...     show(state)
      iter   objective   lower bound       gap   passes   seconds
         1    0.500000      0.400000   2.0e-01      2.0      0.01   fold 2 of 5
    """

    def __init__(
        self,
        tol: float | None,
        metric: str = "validation",
        stream: TextIO | None = None,
        *,
        lines: bool = True,
        transient: bool = False,
    ) -> None:
        super().__init__("training", stream, lines=lines, transient=transient)
        self._tol = tol
        self._metric = metric

    def __call__(self, progress: Progress) -> None:
        """Show one state."""
        header = _HEADER if progress.validation is None else _HEADER + _VALIDATION
        figures = figures_of(progress, self._metric)
        self.show(self._done(progress), figures, header=header, line=_line(progress))

    def _done(self, progress: Progress) -> float | None:
        if progress.done is not None or self._tol is None:
            return progress.done
        return 1.0 if progress.gap <= self._tol else log(min(progress.gap, 1.0)) / log(min(self._tol, 0.5))


def figures_of(progress: Progress, metric: str = "validation") -> str:
    """Return what stands behind a bar: fold, alpha, gap, passes and the best validation figure.

    Examples
    --------
    >>> state = Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01, alpha=0.1, fold=(2, 5))
    >>> figures_of(state)
    'fold 2 of 5  alpha 1.0e-01  gap 2.0e-01  pass 2'
    """
    figures = [_fold(progress)]
    if progress.alpha:
        figures.append(f"alpha {progress.alpha:.1e}")
    figures += [f"gap {progress.gap:.1e}", f"pass {progress.passes:.0f}"]
    if progress.validation is not None:
        figures.append(f"{metric} {progress.validation:.4f}")
    return "  ".join(figure for figure in figures if figure)


def along_grid(callbacks: Sequence[Callback], grid: Vector) -> list[Callback]:
    """Return callbacks that know how far down a grid of alphas training is, in the logarithm of alpha."""
    return _seeing(callbacks, lambda progress: replace(progress, done=_share(grid, progress.alpha)))


def on_the_way(callbacks: Sequence[Callback], grid: Vector, reached: float) -> list[Callback]:
    """Return callbacks of a fit at any alpha, made while training has come down to another one."""
    return _seeing(callbacks, lambda progress: replace(progress, done=_share(grid, reached)))


def _share(grid: Vector, alpha: float | None) -> float:
    """Return how much of a descending grid is done at an alpha; None stands for all alphas at once."""
    first, last = float(grid[0]), float(grid[-1])
    if not alpha or first <= last:
        return 0.0
    return min(max(log(first / alpha) / log(first / last), 0.0), 1.0)


def of_fold(callbacks: Sequence[Callback], number: int, n_folds: int) -> list[Callback]:
    """Return callbacks that know which of several folds it is, counted from 1.

    Examples
    --------
    >>> (tell,) = of_fold([lambda progress: print(progress.fold, progress.done)], 2, 5)
    >>> tell(Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01, done=0.5))
    (2, 5) 0.3
    """

    def share(progress: Progress) -> Progress:
        return replace(progress, fold=(number, n_folds), done=(number - 1 + (progress.done or 0.0)) / n_folds)

    return _seeing(callbacks, share)


def of_fold_in_step(callbacks: Sequence[Callback], number: int, n_folds: int) -> list[Callback]:
    """Return callbacks that know which fold it is, of several that are equally far."""
    return _seeing(callbacks, lambda progress: replace(progress, fold=(number, n_folds)))


def of_search(callbacks: Sequence[Callback], searched: Callable[[], tuple[int, int]]) -> list[Callback]:
    """Return callbacks that know how much of a search over several spaces is done, which never falls.

    Folds that go down a grid step by step go over the same alphas one after the other.

    Parameters
    ----------
    callbacks : sequence of callables
        Those of the user.
    searched : callable
        Returns how many spaces have been searched, and how many there are.
    """
    most = 0.0

    def share(progress: Progress) -> Progress:
        nonlocal most
        before, n_spaces = searched()
        within = 0.0 if before == n_spaces else 1.0 if progress.done is None else progress.done
        most = max(most, _SEARCHED * (before + within) / n_spaces)
        return replace(progress, done=most)

    return _seeing(callbacks, share)


def _seeing(callbacks: Sequence[Callback], share: Callable[[Progress], Progress]) -> list[Callback]:
    return [partial(_heard, callback, share) for callback in callbacks]


def _heard(callback: Callback, share: Callable[[Progress], Progress], progress: Progress) -> bool | None:
    return callback(share(progress))


def _fold(progress: Progress) -> str:
    return "" if progress.fold is None else f"fold {progress.fold[0]} of {progress.fold[1]}"


def _line(progress: Progress) -> str:
    line = (
        f"{progress.iteration:6d}  {progress.value:10.6f}  {progress.bound:12.6f}  "
        f"{progress.gap:8.1e}  {progress.passes:7.1f}  {progress.seconds:8.2f}"
    )
    if progress.validation is not None:
        line += f"  {progress.validation:11.4f}"
    return line if progress.fold is None else f"{line}   {_fold(progress)}"


def say_search_end(alpha: float, end: SearchEnd) -> None:
    """Write to the standard error stream what a search chose, and why it tried no smaller alphas."""
    print(f"alpha {alpha:.3g}; search ended: {SEARCH_ENDS[end]}", file=sys.stderr)
