"""How far something is: a bar on a terminal (through rich) or in a notebook, else plain lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from threading import Lock
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TextIO

from marginrank.system.notebook_bar import notebook_bar

# Seconds before it is said how much longer something takes, and between lines about a stage.
_SOON = 1.0
_BETWEEN_LINES = 5.0


class ProgressBar:
    """Base of the callbacks that show progress; use it in a ``with`` block, which takes the bar away.

    Parameters
    ----------
    what : str
        What is done, in a word.
    stream : text stream, optional
        By default the standard error stream.
    lines : bool, default=True
        Whether lines are written where there is neither a terminal nor a notebook.
    transient : bool, default=False
        Whether nothing of the bar is left in the end.

    Examples
    --------
    >>> with ProgressBar("counting", sys.stdout) as bar:
    ...     bar.show(0.1, "one of ten", header="  done", line="   10%")
    ...     bar.show(0.2, "two of ten", header="  done", line="   20%")
      done
       10%
       20%
    """

    def __init__(
        self, what: str, stream: TextIO | None = None, *, lines: bool = True, transient: bool = False
    ) -> None:
        self._what = what
        self._stream = sys.stderr if stream is None else stream
        self._lines = lines
        self._transient = transient
        self._bar: Any = None
        self._headed = False
        self._began = perf_counter()
        self._next_line = self._began + _BETWEEN_LINES
        self._token: Token[ProgressBar | None] | None = None

    def show(self, done: float | None, figures: str, *, header: str = "", line: str = "") -> None:
        """Show a state.

        Parameters
        ----------
        done : float or None
            The share that is done, from 0 to 1; None where nobody knows.
        figures : str
            What stands behind the bar.
        header, line : str
            What is written where there is no bar; the header once.
        """
        if self._is_live:
            left = time_left(done, perf_counter() - self._began)
            self._bar.update(self._what, done, "  ".join(part for part in (figures, left) if part))
        elif self._lines and line:
            self._stream.write(line + "\n" if self._headed or not header else f"{header}\n{line}\n")
            self._headed = True
            self._stream.flush()

    def stage(self, what: str, total: int) -> Callable[[], None]:
        """Return what is called, in any thread, whenever one of so many parts of a stage is done."""
        lock, done = Lock(), [0]

        def one_more() -> None:
            with lock:
                done[0] += 1
                share = done[0] / total
                if self._is_live:
                    self._bar.update(what, share, "")
                elif self._lines and perf_counter() >= self._next_line:
                    self._next_line = perf_counter() + _BETWEEN_LINES
                    self._stream.write(f"{what} {share:.0%}\n")
                    self._stream.flush()

        return one_more

    @property
    def _is_live(self) -> bool:
        """Whether there is a bar; it is made when it is first needed."""
        if self._bar is None:
            self._bar = _live_bar(self._stream, self._transient) or False
        return bool(self._bar)

    def __enter__(self) -> Self:
        self._token = _SHOWN.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._token is not None:
            _SHOWN.reset(self._token)
        if self._bar:
            self._bar.stop()


_SHOWN: ContextVar[ProgressBar | None] = ContextVar("shown", default=None)


def stage(what: str, total: int) -> Callable[[], None]:
    """Return what is called whenever one of so many parts is done; a bar that is shown tells.

    Examples
    --------
    >>> part_done = stage("kernel map", 2)
    >>> part_done()  # nobody looks
    """
    bar = _SHOWN.get()
    return _nobody_looks if bar is None else bar.stage(what, total)


def time_left(done: float | None, seconds: float) -> str:
    """Return about how much longer something takes of which a share is done after so many seconds.

    Examples
    --------
    >>> time_left(0.25, 10.0), time_left(0.5, 600.0), time_left(0.5, 0.1), time_left(None, 9.0)
    ('about 30 s left', 'about 10 min left', '', '')
    """
    if done is None or seconds < _SOON or not 0.01 <= done < 1.0:
        return ""
    left = seconds * (1.0 - done) / done
    return f"about {left:.0f} s left" if left < 120.0 else f"about {left / 60.0:.0f} min left"


def _nobody_looks() -> None:
    """Do nothing."""


def _live_bar(stream: TextIO, transient: bool) -> Any:
    """Return a bar, or None where a stream is neither a terminal nor that of a notebook."""
    found = notebook_bar(transient) if stream is sys.stderr else None
    if found is not None:
        return found
    from rich.console import Console  # not above: most trainings show nothing

    # In notebooks rich needs widgets that few have, and says so in a warning instead of showing a bar.
    console = Console(file=stream, highlight=False, markup=False, force_jupyter=False)
    return _TerminalBar(console, transient) if console.is_terminal else None


class _TerminalBar:
    """A bar of rich."""

    def __init__(self, console: Any, transient: bool) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[figures]}"),
            TimeElapsedColumn(),
            console=console,
            transient=transient,
        )
        self._task = self._progress.add_task("", total=None, figures="")
        self._progress.start()

    def update(self, what: str, done: float | None, figures: str) -> None:
        """Show a state."""
        total, completed = (None, 0.0) if done is None else (1.0, done)
        self._progress.update(self._task, description=what, total=total, completed=completed, figures=figures)

    def stop(self) -> None:
        """Leave the last state, or nothing where nothing is to be left."""
        self._progress.stop()
