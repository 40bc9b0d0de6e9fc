"""A bar on a terminal while a model trains."""

from __future__ import annotations

from math import log
from types import TracebackType

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from marginrank.cli.output import console
from marginrank.solvers import Progress as State


class TrainingBar:
    """A callback that fills a bar as the certified gap falls from 1 to the tolerance, on a log scale.

    Shows nothing where standard error is no terminal.
    """

    def __init__(self, tol: float) -> None:
        self._tol = tol
        terminal = console(stderr=True)
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(),
            TextColumn("gap {task.fields[gap]}  pass {task.fields[passes]}"),
            TimeElapsedColumn(),
            console=terminal,
            disable=not terminal.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("training", total=1.0, gap="-", passes="0")

    def __call__(self, state: State) -> None:
        """Show one state."""
        done = 1.0 if state.gap <= self._tol else log(min(state.gap, 1.0)) / log(min(self._tol, 0.5))
        self._bar.update(self._task, completed=done, gap=f"{state.gap:.1e}", passes=f"{state.passes:.0f}")

    def __enter__(self) -> TrainingBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
