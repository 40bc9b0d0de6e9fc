"""A bar on a terminal while a model trains, a path is computed or a data set is written."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from types import TracebackType
from typing import Any, Self

import click
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from marginrank.cli.output.printing import console
from marginrank.solvers import Progress as State


class _Bar:
    """A bar in a ``with`` block; nothing at all where standard error is no terminal."""

    def __init__(self, what: str) -> None:
        terminal = console(stderr=True)
        self._bar = Progress(
            TextColumn(what),
            BarColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            console=terminal,
            disable=not terminal.is_terminal,
            transient=True,
        )

    def __enter__(self) -> Self:
        if not self._bar.disable:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._bar.disable:  # or it would end a line that it never wrote
            self._bar.stop()


class TrainingBar(_Bar):
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
        super().__init__("training")
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


class CandidateBar(_Bar):
    """A callback that says which of several candidates is under way, and how far it is."""

    def __init__(self) -> None:
        super().__init__("choosing")
        self._task = self._bar.add_task("choosing", total=1.0, figures="")
        self._said = ""

    def begin_candidate(self, name: str, number: int, total: int) -> None:
        """Show that another candidate begins."""
        self._said = f"{name}, {number} of {total}"
        self._bar.update(self._task, completed=(number - 1) / total, figures=self._said)

    def __call__(self, state: State) -> None:
        """Show one state of a candidate."""
        alpha = f"  alpha {state.alpha:.1e}" if state.alpha else ""
        self._bar.update(self._task, figures=f"{self._said}  pass {state.passes:.0f}{alpha}")


class PathBar(_Bar):
    """A callback that fills a bar as a path goes down, in the logarithm of alpha."""

    def __init__(self) -> None:
        super().__init__("path")
        self._task = self._bar.add_task("path", total=1.0, figures="")

    def __call__(self, state: Any) -> None:
        """Show one state."""
        self._bar.update(self._task, completed=state.done, figures=f"alpha {state.alpha:.1e}")


class WritingBar(_Bar):
    """A callback that fills a bar as a data set is written to disk, and then brought into its order."""

    def __init__(self) -> None:
        super().__init__("writing")
        self._task = self._bar.add_task("writing", total=None, figures="")

    def __call__(self, state: Any) -> None:
        """Show one state."""
        what = "rewritten" if state.rewriting else "written"
        figures = f"{state.n_rows:,} rows, {state.n_chunks:,} chunks {what}"
        total = None if state.share is None else 1.0
        self._bar.update(self._task, total=total, completed=state.share or 0.0, figures=figures)


def train_with_bar(ranker: Any, metric: str, fit: Callable[[TrainingBar], Any], keep_partial: bool) -> bool:
    """Train; return whether the user interrupted and wants the model so far."""
    try:
        with TrainingBar(ranker, metric) as bar:
            fit(bar)
    except KeyboardInterrupt:
        if not (keep_partial and hasattr(ranker, "coef_")):
            raise
        click.echo("Interrupted; the best model so far is kept.", err=True)
        return True
    return False
