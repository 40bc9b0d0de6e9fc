"""A bar on a terminal while a model trains or a path is computed."""

from __future__ import annotations

from math import log
from types import TracebackType
from typing import Any

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from marginrank.cli.output import console
from marginrank.solvers import Progress as State


class TrainingBar:
    """A callback that fills a bar as the certified gap falls from 1 to the tolerance, on a log scale.

    Where the gap is not what training waits for, the bar only moves; where there is a validation set, the
    best figure on it stands beside. Shows nothing where standard error is no terminal.

    Parameters
    ----------
    ranker : estimator
        What is trained.
    metric : str
        What is measured on validation rows.
    """

    def __init__(self, ranker: Any, metric: str) -> None:
        self._tol = ranker.tol
        self._metric = metric
        self._fills = not hasattr(ranker, "regularization")
        self._bar = _bar("training")
        self._task = self._bar.add_task("training", total=1.0 if self._fills else None, figures="")

    def __call__(self, state: State) -> None:
        """Show one state."""
        done = 1.0 if state.gap <= self._tol else log(min(state.gap, 1.0)) / log(min(self._tol, 0.5))
        figures = [f"pass {state.passes:.0f}"]
        if self._fills:
            figures.insert(0, f"gap {state.gap:.1e}")
        if state.alpha:
            figures.append(f"alpha {state.alpha:.1e}")
        if state.validation is not None:
            figures.append(f"{self._metric} {state.validation:.4f}")
        self._bar.update(self._task, completed=done if self._fills else None, figures="  ".join(figures))

    def __enter__(self) -> TrainingBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class PathBar:
    """A callback that fills a bar as a path goes down, in the logarithm of alpha."""

    def __init__(self) -> None:
        self._bar = _bar("path")
        self._task = self._bar.add_task("path", total=1.0, figures="")

    def __call__(self, state: Any) -> None:
        """Show one state."""
        self._bar.update(self._task, completed=state.done, figures=f"alpha {state.alpha:.1e}")

    def __enter__(self) -> PathBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def _bar(what: str) -> Progress:
    terminal = console(stderr=True)
    return Progress(
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[figures]}"),
        TimeElapsedColumn(),
        console=terminal,
        disable=not terminal.is_terminal,
        transient=True,
    )
