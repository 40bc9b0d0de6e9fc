"""What a certified path reports while it is computed, and what ``verbose`` shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO

from marginrank.system.progress_bar import ProgressBar

_HEADER = "      alpha   done   models   passes   seconds"


@dataclass(frozen=True)
class LinearPathProgress:
    """How far a path has come.

    Attributes
    ----------
    alpha : float
        Where the path is.
    done : float
        Share of the way in the logarithm of alpha; 1 at the end.
    n_models : int
        Models stored.
    passes : float
        Passes over X.
    seconds : float
        Since the start.

    Examples
    --------
    >>> LinearPathProgress(alpha=0.01, done=0.25, n_models=7, passes=12.5, seconds=0.5).done
    0.25
    """

    alpha: float
    done: float
    n_models: int
    passes: float
    seconds: float


class LinearPathLine(ProgressBar):
    """A callback that shows the progress: a bar on a terminal or in a notebook, else a line each.

    Examples
    --------
    >>> import sys
    >>> with LinearPathLine(sys.stdout) as show:
    ...     show(LinearPathProgress(alpha=0.01, done=0.25, n_models=7, passes=12.5, seconds=0.5))
          alpha   done   models   passes   seconds
      1.000e-02    25%        7     12.5      0.50
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__("path", stream)

    def __call__(self, progress: LinearPathProgress) -> None:
        """Show one state."""
        line = (
            f"{progress.alpha:11.3e}  {progress.done:5.0%}  {progress.n_models:7d}  {progress.passes:7.1f}  "
            f"{progress.seconds:8.2f}"
        )
        self.show(progress.done, f"alpha {progress.alpha:.1e}", header=_HEADER, line=line)
