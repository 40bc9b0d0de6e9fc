"""The callbacks that users pass."""

from __future__ import annotations

from typing import Any

from marginrank.data.finite import as_outside
from marginrank.exceptions import ParameterError


def check_callbacks(callbacks: Any) -> list[Any]:
    """Return what a user passed as ``callbacks`` as a list; each runs with numpy's settings of the user."""
    found = [] if callbacks is None else [callbacks] if callable(callbacks) else callbacks
    if not isinstance(found, list | tuple) or not all(callable(callback) for callback in found):
        raise ParameterError("callbacks", "a callable or a list of them", callbacks)
    return [as_outside(callback) for callback in found]
