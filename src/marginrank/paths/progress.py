"""What a path reports while it is computed, and what ``verbose`` shows of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from marginrank.system.progress_bar import ProgressBar

_HEADER = "    events        alpha   done   active   seconds"


@dataclass(frozen=True)
class PathProgress:
    """How far a path has come.

    Attributes
    ----------
    n_events : int
        Events so far.
    alpha : float
        Where the path is.
    done : float
        Share of the way from the first breakpoint to the end, in the logarithm of alpha; 1 at the end.
    n_active : int
        Pairs at their margin.
    seconds : float
        Since the start.

    Examples
    --------
    >>> PathProgress(n_events=1000, alpha=0.01, done=0.25, n_active=7, seconds=0.5).n_active
    7
    """

    n_events: int
    alpha: float
    done: float
    n_active: int
    seconds: float


PathCallback = Callable[[PathProgress], bool | None]


class PathLine(ProgressBar):
    """A callback that shows the progress: a bar on a terminal or in a notebook, else a line each.

    Examples
    --------
    >>> import sys
    >>> with PathLine(sys.stdout) as show:
    ...     show(PathProgress(n_events=1000, alpha=0.01, done=0.25, n_active=7, seconds=0.5))
        events        alpha   done   active   seconds
          1000    1.000e-02    25%        7      0.50
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        super().__init__("path", stream)

    def __call__(self, progress: PathProgress) -> None:
        """Show one state."""
        line = (
            f"{progress.n_events:10d}  {progress.alpha:11.3e}  {progress.done:5.0%}  "
            f"{progress.n_active:7d}  {progress.seconds:8.2f}"
        )
        self.show(progress.done, f"alpha {progress.alpha:.1e}", header=_HEADER, line=line)
