"""Errors and warnings of the library, and how their messages show what came.

Each error is a ``ValueError`` underneath, so code that already catches those keeps working.
"""

from __future__ import annotations

import reprlib
from typing import Any

_LONGEST = 80


class MarginRankError(ValueError):
    """Base of the library's own errors: the input or the configuration cannot be used as it is."""


class WrongTypeError(MarginRankError, TypeError):
    """An array holds something else than numbers; scikit-learn promises a ``TypeError`` for that."""


class NothingToRankError(MarginRankError):
    """The data hold no comparable pair, so there is nothing to learn from."""


class IncompatibleSolverError(MarginRankError):
    """The chosen solver needs something that the chosen loss does not offer."""


class ModelFileError(MarginRankError):
    """A model cannot be written to a file, or read from it: missing, damaged, or not a model at all."""


class ClusterError(MarginRankError):
    """The workers of a cluster failed too often, or its scheduler is gone."""


class ZeroModelWarning(UserWarning):
    """No model is better than the one whose scores are all zero; the message says why, and what to do."""


def shown(value: Any) -> str:
    """Return a value as a message shows it: on one line and not long, whatever its own ``repr`` does.

    Examples
    --------
    >>> shown("hinge"), shown([1, 2]), shown(10**400)
    ("'hinge'", '[1, 2]', 'an integer of about 401 digits')
    >>> import numpy as np
    >>> shown(np.eye(2))
    'an array of shape (2, 2)'
    """
    text = _short.repr(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and ("\n" in text or "..." in text):
        kind = "array" if type(value).__name__ == "ndarray" else type(value).__name__
        return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind} of shape {shape}"
    text = " ".join(text.split())
    return text if len(text) <= 2 * _LONGEST else f"{text[: 2 * _LONGEST - 4]} ..."


def shown_path(path: str) -> str:
    """Return a path as a message shows it: as it is written, unless it would break the line."""
    return path if path.isprintable() and len(path) <= 4 * _LONGEST else shown(path)


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 256:  # Python itself refuses to write out very long ones
            return f"an integer of about {int(x.bit_length() * 0.30103) + 1} digits"
        return repr(x)


_short = _Short()
_short.maxstring = _short.maxother = _LONGEST
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = 8
