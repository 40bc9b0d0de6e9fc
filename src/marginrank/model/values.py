"""Values that a model is made of: numbers nobody can change, and what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.validation import Vector


def frozen_vector(values: Any, name: str) -> Vector:
    """Return a copy that nobody can change: finite float64 numbers, at least one."""
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MarginRankError(f"{name} must hold numbers; got {values!r}.") from None
    if vector.ndim != 1 or len(vector) == 0:
        raise MarginRankError(f"{name} must be 1-D and not empty; got shape {vector.shape}.")
    if not np.isfinite(vector).all():
        k = int(np.argmax(~np.isfinite(vector)))
        raise MarginRankError(f"{name} must be finite; got {vector[k]} at position {k}.")
    vector.flags.writeable = False
    return vector


def json_value(value: Any, name: str) -> Any:
    """Return the value in JSON's types: numpy's numbers as Python's, what is not finite as None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): json_value(entry, f"{name}[{key!r}]") for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(entry, name) for entry in value]
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise MarginRankError(f"{name} must be a JSON value; got {type(value).__name__}.")
