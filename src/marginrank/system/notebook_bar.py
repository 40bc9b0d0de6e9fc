"""A bar in a notebook: HTML that is replaced as the work goes on, so that no widget needs to be installed."""

from __future__ import annotations

import sys
from threading import RLock
from time import perf_counter
from typing import Any

from marginrank.markup import tag

# Seconds between pictures: a notebook is a browser, perhaps far away.
_BETWEEN = 0.1


def notebook_bar(transient: bool) -> NotebookBar | None:
    """Return a bar where this process is the kernel of a notebook, else None.

    Examples
    --------
    >>> notebook_bar(False) is None
    True
    """
    # Not imported here: a process without IPython is no notebook, and IPython loads slowly.
    found = sys.modules.get("IPython")
    shell = None if found is None else found.get_ipython()
    if not hasattr(shell, "kernel"):  # a terminal has none
        return None
    from IPython.display import display

    return NotebookBar(display, transient)


class NotebookBar:
    """A bar that is shown by ``display`` and replaced in its place.

    Parameters
    ----------
    display : callable
        That of IPython.
    transient : bool
        Whether nothing of the bar is left in the end.
    """

    def __init__(self, display: Any, transient: bool) -> None:
        self._display = display
        self._transient = transient
        self._handle: Any = None
        self._began = perf_counter()
        self._drawn = -_BETWEEN
        self._state: tuple[str, float | None, str] | None = None
        # Stages are told of by several threads.
        self._lock = RLock()

    def update(self, what: str, done: float | None, figures: str) -> None:
        """Show a state, unless one was shown a moment ago; the last one is shown by ``stop``."""
        with self._lock:
            self._state = (what, done, figures)
            now = perf_counter() - self._began
            if now - self._drawn >= _BETWEEN:
                self._drawn = now
                self._show(_face(*self._state, now))

    def stop(self) -> None:
        """Show the last state, or nothing where nothing is to be left."""
        with self._lock:
            if self._state is not None:
                end = {"text/html": "", "text/plain": ""}
                self._show(end if self._transient else _face(*self._state, perf_counter() - self._began))

    def _show(self, face: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(face, raw=True, display_id=True)
        else:
            self._handle.update(face, raw=True)


def _face(what: str, done: float | None, figures: str, seconds: float) -> dict[str, str]:
    """Return a state as HTML, and as text for what shows no HTML."""
    time = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    share = None if done is None else f"{min(max(done, 0.0), 1.0):.4f}"
    bar = tag("progress", max="1", value=share, aria_label=what)
    percent = "" if done is None else f" {done:.0%}"
    html = tag("div", f"{what} ", bar, f"{percent}  {figures}  {time}", role="group", aria_label=what)
    return {"text/html": html, "text/plain": f"{what}{percent}  {figures}  {time}"}
