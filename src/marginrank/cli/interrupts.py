"""Ctrl-C: one sentence and exit code 130, at whatever moment it comes.

An exception would do while our own code runs. But imports swallow it or wrap it, and while Python ends it
becomes a traceback; so Ctrl-C leaves the process at once, except where something must be tidied up first.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

INTERRUPTED = 130
_NOTHING_WRITTEN = "Interrupted; nothing was written."
_WRITTEN = "Interrupted; what was written before stays."
_ALL_DONE = "Interrupted while ending; the work was done."
_FAILED = "Interrupted while ending."

_state = SimpleNamespace(sentence=_NOTHING_WRITTEN, interrupted=False, writes=False)


def watch() -> None:
    """Make Ctrl-C end the process at once, from here on."""
    if _settable():
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _unraisable


def ending(code: int) -> None:
    """Say that the work is over; from here on Ctrl-C only cuts short the end of Python."""
    _state.sentence = _FAILED if code else _ALL_DONE


@contextmanager
def orderly(*, writes: bool) -> Iterator[None]:
    """Make Ctrl-C an exception while a file is written or a model is trained, so that all is tidied up."""
    if not _settable():
        yield
        return
    before, _state.writes = signal.signal(signal.SIGINT, _raise), writes
    try:
        yield
        if writes:
            _state.sentence = _WRITTEN
    finally:
        signal.signal(signal.SIGINT, before)


def say(sentence: str) -> None:
    """Set what to say of an interrupt from here on."""
    _state.sentence = sentence


def sentence() -> str:
    """Return what to say of an interrupt that came as an exception."""
    return str(_state.sentence)


def happened() -> bool:
    """Whether Ctrl-C came in an orderly block, even if something turned the exception into another."""
    return bool(_state.interrupted)


def _leave(number: int, frame: Any) -> None:
    # Not print: this may come in the middle of one. A terminal shows ^C, after which a new line reads better.
    os.write(2, f"{os.linesep if os.isatty(2) else ''}{_state.sentence}\n".encode())
    os._exit(INTERRUPTED)


def _raise(number: int, frame: Any) -> None:
    _state.interrupted = True
    if not _state.writes and _imports(frame):
        _leave(number, frame)
    raise KeyboardInterrupt


def _imports(frame: Any) -> bool:
    """Whether a module is being imported, where an exception would be lost or become another one."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _unraisable(unraisable: Any) -> None:
    """End the process where Python cannot pass on the exception of Ctrl-C, and would print and forget it."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _leave(signal.SIGINT, None)
    sys.__unraisablehook__(unraisable)


def _settable() -> bool:
    """Whether this is the main thread, the only one that may say what signals do, and nobody ignores them."""
    try:
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))
    except (TypeError, ValueError):
        return False
    return not ignored
