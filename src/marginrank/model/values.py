"""Values that a model is made of: numbers nobody can change, and what JSON can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from marginrank.data.validation import as_array, objects_to_float
from marginrank.exceptions import MarginRankError, shown
from marginrank.types import Vector


def frozen_vector(values: Any, name: str) -> Vector:
    """Return a copy that nobody can change: finite float64 numbers, at least one."""
    given = as_array(values, name)
    if given.dtype.kind not in "biufO":
        raise MarginRankError(f"{name} must hold numbers; got {shown(values)}.")
    if given.ndim != 1 or len(given) == 0:
        raise MarginRankError(f"{name} must be 1-D and not empty; got shape {given.shape}.")
    vector = np.array(objects_to_float(given, name) if given.dtype.kind == "O" else given, dtype=np.float64)
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
        return {str(key): json_value(entry, f"{name}[{shown(key)}]") for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [json_value(entry, name) for entry in value]
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    raise MarginRankError(f"{name} must be a JSON value; got {type(value).__name__}.")
