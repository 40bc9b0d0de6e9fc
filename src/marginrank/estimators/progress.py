"""What ``verbose`` shows while a model trains."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

from marginrank.solvers import Progress

_HEADER = "  iter   objective   lower bound       gap   passes   seconds"
_VALIDATION = "   validation"


class ProgressLine:
    """A callback that shows how far training is: one line kept up to date on a terminal, else a line each.

    Examples
    --------
    >>> import sys
    >>> with ProgressLine(sys.stdout) as show:
    ...     show(Progress(1, value=0.5, bound=0.4, gap=0.2, passes=2.0, seconds=0.01, validation=0.3))
      iter   objective   lower bound       gap   passes   seconds   validation
         1    0.500000      0.400000   2.0e-01      2.0      0.01       0.3000
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._in_place = self._stream.isatty()
        self._shown = False

    def __call__(self, progress: Progress) -> None:
        """Show one state."""
        if not self._shown:
            self._stream.write(_HEADER + ("" if progress.validation is None else _VALIDATION) + "\n")
            self._shown = True
        line = (
            f"{progress.iteration:6d}  {progress.value:10.6f}  {progress.bound:12.6f}  "
            f"{progress.gap:8.1e}  {progress.passes:7.1f}  {progress.seconds:8.2f}"
        )
        if progress.validation is not None:
            line += f"  {progress.validation:11.4f}"
        self._stream.write("\r" + line if self._in_place else line + "\n")
        self._stream.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._in_place:
            self._stream.write("\n")
