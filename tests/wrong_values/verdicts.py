"""What may come of a call with a wrong value: a sane result, or one sentence that names the parameter."""

from __future__ import annotations

import os
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError, shown_path

# An operating system has its own words for a file that is not there; Python gives them with the path.
FILES = {"source", "path", "destination", "file"}
# What a caller's own function raises is theirs to see.
FUNCTIONS = {"callbacks", "progress", "kernel"}
# The name of a metric is called so in sentences, whatever parameter of a parser it is.
_ALSO_CALLED = {"text": "metric"}
_LONGEST_SENTENCE = 500
_ATTRIBUTES = ("coef_", "objective_", "gap_", "alpha_", "X", "y", "coef", "alphas", "lower_bound_")
_HANG_SECONDS = 120
_ROOM = 6 << 30


class Hang(BaseException):
    """The call did not return."""


@contextmanager
def limits() -> Iterator[None]:
    """Let a huge allocation fail instead of filling the machine, and a hang end."""

    def give_up(*_: Any) -> None:
        raise Hang

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_HANG_SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + _ROOM, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def complaint(function: Callable[..., Any], arguments: dict[str, Any], parameter: str) -> str | None:
    """Return what is wrong with what came of a call, or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Sentences for users; numpy's own complaints about numbers are RuntimeWarnings.
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = function(**arguments)
        except MarginRankError as error:
            return _sentence_complaint(str(error), parameter, arguments[parameter])
        except OSError as error:
            return None if parameter in FILES and error.filename is not None else f"raised {error!r}"
        except Hang:
            return "did not return"
        except Exception as error:
            if parameter in FUNCTIONS and callable(arguments[parameter]):
                return None
            return f"raised {type(error).__name__}: {str(error)[:120]}"
    return _result_complaint(result)


def _sentence_complaint(sentence: str, parameter: str, value: Any) -> str | None:
    if parameter in FILES and isinstance(value, str | os.PathLike | bytes):
        # A sentence about what is in a file names the file.
        text = "<bytes>" if isinstance(value, bytes) else os.fspath(value)
        named = text in sentence or shown_path(text) in sentence
        return None if named else _naming_complaint(sentence, parameter)
    return _naming_complaint(sentence, parameter)


def _naming_complaint(sentence: str, parameter: str) -> str | None:
    named = "|".join(map(re.escape, {parameter, _ALSO_CALLED.get(parameter, parameter)}))
    if not re.search(rf"(?<![\w.])({named})(?!\w)", sentence):
        return f"does not name {parameter}: {sentence[:200]}"
    if "\n" in sentence or len(sentence) > _LONGEST_SENTENCE or not sentence.endswith((".", "?")):
        return f"is not one sentence of a line: {sentence[:200]!r}"
    return None


def _result_complaint(result: Any) -> str | None:
    """Complain of NaN and infinity in what a call gives."""
    parts = [
        result,
        *(
            getattr(result, name, None)
            for name in _ATTRIBUTES
            if name in dir(type(result)) or name in getattr(result, "__dict__", {})
        ),
    ]
    for part in parts:
        numbers = np.asarray(part) if isinstance(part, float | np.ndarray) else np.empty(0)
        if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
            return "gave a result with NaN or infinity"
    return None
