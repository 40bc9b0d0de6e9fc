"""A bar on a terminal while a model trains, a path is computed or a data set is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from marginrank.solvers import Progress as State
from marginrank.system.progress_bar import ProgressBar
from marginrank.training import progress as training


class TrainingBar(training.TrainingBar):
    """The bar of a training; nothing where standard error is no terminal.

    Parameters
    ----------
    ranker : estimator
        What is trained.
    metric : str
        What is measured on validation rows.
    """

    def __init__(self, ranker: Any, metric: str) -> None:
        tol = None if hasattr(ranker, "regularization") else ranker.tol
        super().__init__(tol, metric, lines=False, transient=True)


class CandidateBar(ProgressBar):
    """A callback that says which of several candidates is under way, and how far it is."""

    def __init__(self) -> None:
        super().__init__("choosing", lines=False, transient=True)
        self._said, self._number, self._total = "", 1, 1

    def begin_candidate(self, name: str, number: int, total: int) -> None:
        """Show that another candidate begins."""
        self._said, self._number, self._total = f"{name}, {number} of {total}", number, total
        self.show((number - 1) / total, self._said)

    def __call__(self, state: State) -> None:
        """Show one state of a candidate."""
        done = (self._number - 1 + (state.done or 0.0)) / self._total
        self.show(done, f"{self._said}  {training.figures_of(state)}")


class PathBar(ProgressBar):
    """A callback that fills a bar as a path goes down, in the logarithm of alpha."""

    def __init__(self) -> None:
        super().__init__("path", lines=False, transient=True)

    def __call__(self, state: Any) -> None:
        """Show one state."""
        self.show(state.done, f"alpha {state.alpha:.1e}")


class WritingBar(ProgressBar):
    """A callback that fills a bar as a data set is written to disk, and then brought into its order."""

    def __init__(self) -> None:
        super().__init__("writing", lines=False, transient=True)

    def __call__(self, state: Any) -> None:
        """Show one state."""
        what = "rewritten" if state.rewriting else "written"
        self.show(state.share, f"{state.n_rows:,} rows, {state.n_chunks:,} chunks {what}")


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
