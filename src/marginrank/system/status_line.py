"""A line that shows how far something is: kept up to date on a terminal, else written anew each time."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self, TextIO


class StatusLine:
    """Base of the callbacks that show progress; use it in a ``with`` block, which ends the line.

    Parameters
    ----------
    stream : text stream, optional
        By default the standard error stream.

    Examples
    --------
    >>> with StatusLine(sys.stdout) as line:
    ...     line.show("  done", "   10%")
    ...     line.show("  done", "   20%")
      done
       10%
       20%
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._in_place = self._stream.isatty()
        self._shown = False

    def show(self, header: str, line: str) -> None:
        """Show a state, below a header that is written once."""
        if not self._shown:
            self._stream.write(header + "\n")
            self._shown = True
        self._stream.write("\r" + line if self._in_place else line + "\n")
        self._stream.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._in_place:
            self._stream.write("\n")
