"""Values that callers pass by mistake, made anew for every call: some are consumed, some are changed.

Each is wrong for most parameters and right for a few. A parameter has to take a value or to refuse it in a
sentence that names the parameter; which of the two is for the parameter to decide.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse


class Unprintable:
    """Every question raises: what it looks like, whether it is true, whether it equals something."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no equality")

    __hash__ = None  # type: ignore[assignment]


WRONG_VALUES: dict[str, Callable[[], Any]] = {
    # nothing, and truth values
    "None": lambda: None,
    "True": lambda: True,
    "False": lambda: False,
    "Ellipsis": lambda: ...,
    # words
    "empty string": lambda: "",
    "abc": lambda: "abc",
    "auto": lambda: "auto",
    "string of a number": lambda: "1",
    "string with a line end": lambda: "a\nb",
    "string with NUL": lambda: "a\0b",
    "lone surrogate": lambda: "\udcff",
    "long string": lambda: "x" * 5000,
    "bytes": lambda: b"x",
    "path": lambda: pathlib.PurePosixPath("no/such"),
    # numbers at the edges
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "0.0": lambda: 0.0,
    "-0.0": lambda: -0.0,
    "0.5": lambda: 0.5,
    "denormal": lambda: 5e-324,
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "nan": lambda: float("nan"),
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "complex": lambda: 1 + 2j,
    "Decimal": lambda: decimal.Decimal("0.5"),
    "Decimal nan": lambda: decimal.Decimal("sNaN"),
    "Fraction": lambda: fractions.Fraction(1, 2),
    "huge Fraction": lambda: fractions.Fraction(10**400),
    "date": lambda: datetime.datetime(2020, 1, 1),
    # numbers of numpy
    "np.float32": lambda: np.float32(0.5),
    "np.int8": lambda: np.int8(3),
    "np.bool": lambda: np.bool_(True),
    "np.datetime64": lambda: np.datetime64("2020-01-01"),
    "np.str": lambda: np.str_("abc"),
    # containers
    "empty list": list,
    "list": lambda: [1],
    "list of words": lambda: ["a", "b"],
    "list of None": lambda: [None],
    "list of huge integers": lambda: [10**400] * 12,
    "ragged list": lambda: [[1, 2], [3]],
    "list within itself": lambda: _within_itself(),
    "empty tuple": tuple,
    "empty dict": dict,
    "dict": lambda: {"a": 1},
    "empty set": set,
    "set": lambda: {1.5},
    "range": lambda: range(3),
    "generator": lambda: (k for k in range(3)),
    # arrays
    "0-d array": lambda: np.array(1.5),
    "0-d array of a word": lambda: np.array("abc"),
    "empty array": lambda: np.empty(0),
    "array": lambda: np.arange(3.0),
    "array of 12": lambda: np.arange(12.0),
    "array of 12 nan": lambda: np.full(12, np.nan),
    "matrix": lambda: np.eye(2),
    "cube": lambda: np.zeros((2, 2, 2)),
    "array of words": lambda: np.array(["a", "b"]),
    "array of objects": lambda: np.array([None, "x", object()], dtype=object),
    "array of 12 complex": lambda: np.zeros(12, dtype=complex),
    "array of 12 dates": lambda: np.zeros(12, dtype="datetime64[s]"),
    "structured array": lambda: np.zeros(2, dtype=[("a", float), ("b", int)]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False]),
    "sparse matrix": lambda: sparse.csr_array(np.eye(3)),
    "Series": lambda: pd.Series([1.0, 2.0]),
    "DataFrame": lambda: pd.DataFrame({"a": [1.0, 2.0]}),
    "frame of words": lambda: pd.DataFrame({"a": ["x", "y"]}),
    "Categorical": lambda: pd.Categorical(["x", "y"]),
    # anything else
    "function": lambda: lambda *_: None,
    "class": lambda: int,
    "instance": object,
    "module": lambda: np,
    "unprintable": Unprintable,
}


def _within_itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found
