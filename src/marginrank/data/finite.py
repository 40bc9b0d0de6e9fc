"""A result is finite, or there is an error: where arithmetic that left float64 becomes a sentence.

Training runs inside :func:`finite_arithmetic`, so an overflow stops it at once instead of going on with
infinity and NaN. Compiled kernels raise nothing, so what they return is looked at where it would be believed:
:func:`check_finite_results` stands before every model, path and vector of scores that leaves the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np

from marginrank.data.matrices import in_memory, is_sparse
from marginrank.exceptions import MarginRankError

_settings_outside: ContextVar[Any] = ContextVar("settings_outside")
# What lies between is not named as the cause.
_LARGE, _SMALL = 1e12, 1e-12


class _UsersError(Exception):
    """What a user's function raised, on its way through arithmetic of ours."""

    def __init__(self, raised: Exception) -> None:
        super().__init__(raised)
        self.raised = raised


@contextmanager
def finite_arithmetic(sentence: Callable[[], str]) -> Iterator[None]:
    """Stop at the first overflow, division by zero or matrix that cannot be factored, with one sentence.

    Parameters
    ----------
    sentence : callable
        Returns what to tell the user; called only where it is needed, so it may look at the data.

    Examples
    --------
    >>> with finite_arithmetic(lambda: "The features are too large."):
    ...     np.square(1e200)
    Traceback (most recent call last):
        ...
    marginrank.exceptions.MarginRankError: The features are too large.
    """
    is_outermost = _settings_outside.get(None) is None
    token = _settings_outside.set(np.geterr() if is_outermost else _settings_outside.get())
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            yield
    except _UsersError as error:
        raise (error.raised if is_outermost else error) from None
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise MarginRankError(sentence()) from error
    finally:
        _settings_outside.reset(token)


def as_outside(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a user's function that runs with the user's own settings; what it raises is not explained."""

    @wraps(function, updated=())
    def call(*arguments: Any, **named: Any) -> Any:
        settings = _settings_outside.get(None)
        if settings is None:
            return function(*arguments, **named)
        try:
            with np.errstate(**settings):
                return function(*arguments, **named)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise _UsersError(error) from None

    return call


def check_finite_results(sentence: Callable[[], str], *results: Any) -> None:
    """Raise the sentence unless all numbers are finite.

    Examples
    --------
    >>> check_finite_results(lambda: "Too large.", 1.0, np.array([0.0, np.nan]))
    Traceback (most recent call last):
        ...
    marginrank.exceptions.MarginRankError: Too large.
    """
    if not all(np.isfinite(result).all() for result in results):
        raise MarginRankError(sentence())


def finite_scores(who: str, X: Any, compute: Callable[[], Any]) -> Any:
    """Return scores that were computed for the rows of X, or say why they are not finite."""

    def sentence() -> str:
        largest, column = _largest_feature(X)
        where = f" X reaches {largest:.3g} (column {column})." if largest > 1.0 else ""
        return (
            f"{who} gives scores beyond the range of float64.{where} Look for an outlier, or for a column in "
            "other units than in training."
        )

    with finite_arithmetic(sentence):
        scores = compute()
    check_finite_results(sentence, scores)
    return scores


def extremes(X: Any = None, *, can_scale: bool = True, **values: Any) -> str:
    """Say which of the inputs is of extreme size, for a sentence about arithmetic that failed.

    Parameters
    ----------
    X : ndarray, CSR matrix or any, optional
        The features; what is neither dense nor CSR is not looked at.
    can_scale : bool, default=True
        Whether ``scale='standard'`` is a remedy.
    **values : float, ndarray or None
        Further inputs, by the names that users know.

    Examples
    --------
    >>> print(extremes(np.array([[1.0, -3e200]]), alpha=1e-4))
    X reaches 3e+200 (column 1); divide the features by a power of ten, or use scale='standard'.
    >>> extremes(np.ones((1, 1)), alpha=1e-200)
    'alpha is 1e-200; take a value nearer to 1.'
    """
    sizes = {name: _size(value) for name, value in values.items()}
    sizes["X"], column = _largest_feature(X)
    name = max(sizes, key=lambda key: abs(np.log(sizes[key])))
    size = f"{sizes[name]:.3g}"
    if _SMALL <= sizes[name] <= _LARGE:
        return (
            "No input alone is of extreme size, so their combination is: divide features and labels by a "
            "power of ten, use scale='standard', or take a larger alpha."
        )
    if name == "X":
        what = f"reaches {size} (column {column})" if sizes["X"] > 1.0 else f"is nowhere above {size}"
        remedy = ", or use scale='standard'" if can_scale else ""
        return f"X {what}; divide the features by a power of ten{remedy}."
    if np.ndim(values[name]):
        what = "reaches" if sizes[name] > 1.0 else "is nowhere above"
        return f"{name} {what} {size}; divide it by a power of ten."
    return f"{name} is {size}; take a value nearer to 1."


def _size(value: Any) -> float:
    """Return the largest absolute value, or 1 where there is nothing to measure."""
    if value is None or isinstance(value, str) or np.size(value) == 0:
        return 1.0
    size = float(np.abs(np.asarray(value, dtype=np.float64)).max())
    return size if 0.0 < size < np.inf else 1.0


def _largest_feature(X: Any) -> tuple[float, int]:
    if X is None or not in_memory(X):
        return 1.0, 0
    if not is_sparse(X) and X.ndim == 2 and X.size:
        by_column = np.maximum(X.max(axis=0).astype(np.float64), -X.min(axis=0).astype(np.float64))
        return _size(by_column), int(np.argmax(by_column))
    if is_sparse(X) and X.indptr[-1]:
        k = int(np.argmax(np.abs(X.data[: X.indptr[-1]])))
        return _size(X.data[k]), int(X.indices[k])
    return 1.0, 0
