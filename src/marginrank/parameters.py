"""The gate for settings that users pass: numbers, choices, switches, seeds and grids.

Each check returns the clean value, or raises one sentence that names the parameter as the caller wrote it.
Data pass through ``validation.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError, ParameterError

_Taken = ParamSpec("_Taken")
_Result = TypeVar("_Result")

# Below it float64 loses digits, and 1 / x overflows.
_SMALLEST = float(np.finfo(np.float64).tiny)


def finite_number(value: Any) -> float | None:
    """Return a real number as float64; None for anything else, and for what float64 cannot hold.

    Examples
    --------
    >>> finite_number(3), finite_number("3"), finite_number(10**400), finite_number(True)
    (3.0, None, None, None)
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if np.isfinite(number) else None


def whole_number(value: Any) -> int | None:
    """Return an integer of Python or numpy; None for anything else, True and False included."""
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def as_list(values: Any) -> list[Any] | None:
    """Return what is listed in a fixed order: a list, a tuple, a range, a 1-D array or a series; else None.

    Examples
    --------
    >>> as_list((1, 2)), as_list("ab"), as_list({1, 2})
    ([1, 2], None, None)
    """
    if not isinstance(values, Collection) or isinstance(values, str | bytes | Mapping | Set):
        return None
    return list(values) if getattr(values, "ndim", 1) == 1 else None


def check_number(value: Any, name: str, *, least: float | None = None) -> float:
    """Return a finite number, of at least ``least``."""
    number = finite_number(value)
    if number is None or (least is not None and number < least):
        limit = "" if least is None else f" of at least {least:g}"
        raise ParameterError(name, f"a finite number{limit}", value)
    return number


def check_positive(value: Any, name: str, wanted: str = "a positive, finite number") -> float:
    """Return a positive, finite number, such as alpha or tol.

    Examples
    --------
    >>> check_positive(1, "alpha")
    1.0
    """
    number = finite_number(value)
    if number is None or number <= 0.0:
        raise ParameterError(name, wanted, value)
    if number < _SMALLEST:
        raise ParameterError(name, f"at least {_SMALLEST:.3g}", value)
    return number


def check_missing(missing: Any) -> float | None:
    """Return what to read a missing value as: a number, NaN and infinity included, or None."""
    if missing is None or (isinstance(missing, float) and not np.isfinite(missing)):
        return None if missing is None else float(missing)
    number = finite_number(missing)
    if number is None:
        raise ParameterError("missing", "a number, such as 0.0 or NaN, or None", missing)
    return number


def check_count(value: Any, name: str, *, least: int = 1, most: int | None = None) -> int:
    """Return an integer of at least ``least``, such as max_iter, and of at most ``most``.

    Examples
    --------
    >>> check_count(0, "retries", least=0)
    0
    """
    number = whole_number(value)
    if number is None or number < least or (most is not None and number > most):
        wanted = "a positive integer" if least == 1 else f"an integer of at least {least}"
        if most is not None:
            wanted = f"an integer from {least} to {most}"
        raise ParameterError(name, wanted, value)
    return number


def check_choice(name: str, value: Any, choices: Iterable[Any]) -> None:
    """Refuse a value that is not one of the choices."""
    choices = list(choices)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(name, f"one of {allowed}", value)


def check_flag(value: Any, name: str) -> bool:
    """Return True or False; a word or an array that happens to be true is a mistake."""
    if not isinstance(value, bool | np.bool_):
        raise ParameterError(name, "True or False", value)
    return bool(value)


def check_verbose(value: Any) -> int:
    """Return how much to show: 0, False, or more."""
    if isinstance(value, bool | np.bool_):
        return int(value)
    return check_count(value, "verbose", least=0)


def check_seed(random_state: Any, *generators: type) -> Any:
    """Return a seed: None, an integer, or one of the kinds of generators.

    Examples
    --------
    >>> check_seed(7), check_seed(None)
    (7, None)
    """
    seed = whole_number(random_state)
    if random_state is None or isinstance(random_state, generators):
        return random_state
    if seed is None or not 0 <= seed < 2**32:
        kinds = "".join(f", a numpy {kind.__name__}" for kind in generators)
        expected = f"None{kinds} or an integer from 0 to 2**32 - 1"
        raise ParameterError("random_state", expected, random_state)
    return seed


def check_path(path: Any, name: str) -> str:
    """Return a path as text.

    Examples
    --------
    >>> check_path("train.txt", "source")
    'train.txt'
    """
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ParameterError(name, "a path", path)
    return text


def check_float_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64, from its name, its type or its dtype."""
    found = None
    if isinstance(dtype, str | type | np.dtype):
        try:
            found = np.dtype(dtype)
        except (TypeError, ValueError):
            found = None
    if found is not None and found in (np.dtype(np.float32), np.dtype(np.float64)):
        return found
    raise ParameterError("dtype", "'float32' or 'float64'", dtype)


def check_grid(values: Any, name: str) -> NDArray[np.float64]:
    """Return a list of positive, finite numbers as an array, such as a grid of alphas.

    Examples
    --------
    >>> check_grid([1, 0.5], "alphas")
    array([1. , 0.5])
    """
    numbers = [finite_number(value) for value in as_list(values) or []]
    if not numbers or None in numbers or min(number for number in numbers if number is not None) <= 0.0:
        raise ParameterError(name, "a list of positive, finite numbers", values)
    return np.array(numbers, dtype=np.float64)


def refuses(
    name: str, sentence: str, *remedies: str
) -> Callable[[Callable[_Taken, _Result]], Callable[_Taken, _Result]]:
    """Let a function refuse an argument in a sentence that others like it take; its signature is the same.

    To have the argument in the signature would tell scikit-learn that it is taken.

    Examples
    --------
    >>> @refuses("weight", "Lengths take no {weight}.", "Use {size}.")
    ... def length(text, size=1):
    ...     return size * len(text)
    >>> length("abc", weight=None)
    3
    >>> length("abc", weight=2)
    Traceback (most recent call last):
    marginrank.exceptions.MarginRankError: Lengths take no weight. Use size.
    """

    def decorate(function: Callable[_Taken, _Result]) -> Callable[_Taken, _Result]:
        @wraps(function)
        def call(*given: _Taken.args, **named: _Taken.kwargs) -> _Result:
            if named.pop(name, None) is not None:
                raise MarginRankError.saying(sentence, *remedies)
            return function(*given, **named)

        return call

    return decorate
