"""What a path reports while it is computed, and what ``verbose`` shows of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

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
    """

    n_events: int
    alpha: float
    done: float
    n_active: int
    seconds: float


PathCallback = Callable[[PathProgress], bool | None]


class PathLine:
    """A callback that shows the progress: one line kept up to date on a terminal, else a line each.

    Examples
    --------
    >>> import sys
    >>> with PathLine(sys.stdout) as show:
    ...     show(PathProgress(n_events=1000, alpha=0.01, done=0.25, n_active=7, seconds=0.5))
        events        alpha   done   active   seconds
          1000    1.000e-02    25%        7      0.50
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._in_place = self._stream.isatty()
        self._shown = False

    def __call__(self, progress: PathProgress) -> None:
        """Show one state."""
        if not self._shown:
            self._stream.write(_HEADER + "\n")
            self._shown = True
        line = (
            f"{progress.n_events:10d}  {progress.alpha:11.3e}  {progress.done:5.0%}  "
            f"{progress.n_active:7d}  {progress.seconds:8.2f}"
        )
        self._stream.write("\r" + line if self._in_place else line + "\n")
        self._stream.flush()

    def __enter__(self) -> PathLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._in_place:
            self._stream.write("\n")
