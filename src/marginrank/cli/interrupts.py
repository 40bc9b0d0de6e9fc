"""Ctrl-C and SIGTERM: one sentence and exit code 130 or 143, at whatever moment they come.

An exception would do while our own code runs. But imports swallow it or wrap it, and while Python ends it
becomes a traceback; so Ctrl-C leaves the process at once, except where something must be tidied up first.
SIGTERM, by which schedulers of clusters and containers announce that they will kill a process, does the same.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import SimpleNamespace
from typing import Any

INTERRUPTED = 130
_NOTHING_WRITTEN = "Interrupted; nothing was written."
_WRITTEN = "Interrupted; what was written before stays."
_ALL_DONE = "Interrupted while ending; the work was done."
_FAILED = "Interrupted while ending."

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# An interrupt that waits for the end of an import comes again after so many seconds, so often at most.
_AGAIN, _MOST_TIMES = 0.02, 500
_state = SimpleNamespace(
    sentence=_NOTHING_WRITTEN,
    interrupted=False,
    writes=False,
    waits=False,
    times=0,
    number=int(signal.SIGINT),
)


def watch() -> None:
    """Make Ctrl-C and SIGTERM end the process at once, from here on."""
    for number in _settable():
        signal.signal(number, _leave)
        sys.unraisablehook = _unraisable


def code() -> int:
    """Return the exit code of an interrupted process: 128 and the number of the signal."""
    return 128 + int(_state.number)


def ending(code: int) -> None:
    """Say that the work is over; from here on Ctrl-C only cuts short the end of Python."""
    _state.sentence = _FAILED if code else _ALL_DONE


@contextmanager
def orderly(*, writes: bool, waits: bool = False) -> Iterator[None]:
    """Make interrupts exceptions while a file is written or a model is trained, so that all is tidied up.

    Where nothing is written, one that comes during an import ends the process at once, or waits for the end
    of the import if there are processes to be ended, too.
    """
    numbers = _settable()
    if not numbers:
        yield
        return
    before, _state.writes = {number: signal.signal(number, _raise) for number in numbers}, writes
    _state.waits, _state.times = waits, 0
    try:
        yield
        if writes:
            _state.sentence = _WRITTEN
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    os._exit(128 + number)


def _raise(number: int, frame: Any) -> None:
    _state.number = number
    if not _state.writes and _imports(frame):
        if not _state.waits or _state.times == _MOST_TIMES:
            _leave(number, frame)
        _state.times += 1
        Timer(_AGAIN, os.kill, (os.getpid(), number)).start()
        return
    _state.interrupted = True
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
        _leave(_state.number, None)
    sys.__unraisablehook__(unraisable)


def _settable() -> list[signal.Signals]:
    """Return the signals that may be handled: in the main thread, those that nobody ignores.

    Only the main thread may say what signals do. A shell lets commands in the background ignore Ctrl-C.
    """
    try:
        found = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        for number in found:
            signal.signal(number, signal.getsignal(number))
    except (TypeError, ValueError):
        return []
    return found
