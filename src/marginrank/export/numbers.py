"""Numbers and sums as targets write them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.types import Rows, Vector

# Parsers of databases and engines refuse expressions that are nested about 1,000 deep, and a sum of n terms
# is nested n deep.
_MOST_TERMS = 100
_NAMED_AT_MOST = 3


def listed_columns(columns: Rows, names: Sequence[str]) -> str:
    """Return the names of columns for a sentence, the first three of many.

    Examples
    --------
    >>> listed_columns(np.arange(5), "abcde")
    "'a', 'b', 'c' and 2 more"
    """
    named = ", ".join(repr(names[j]) for j in columns[:_NAMED_AT_MOST])
    more = len(columns) - _NAMED_AT_MOST
    return f"{named} and {more:,} more" if more > 0 else named


def literal(value: float) -> str:
    """Return a number as all targets read it: shortest digits, with an exponent.

    Without an exponent DuckDB takes it for a decimal, whose product with an integer column may overflow.

    Examples
    --------
    >>> literal(0.1), literal(-250.0), literal(1e-300), literal(0.0)
    ('1e-1', '-2.5e2', '1e-300', '0e0')
    """
    digits, _, exponent = np.format_float_scientific(value, trim="-", exp_digits=1).partition("e")
    return f"{digits}e{int(exponent)}"


def nested_sum(terms: Sequence[str], indent: str) -> str:
    """Return a sum whose parentheses keep it flat enough for parsers, in lines.

    Examples
    --------
    >>> print(nested_sum(["a", "b"], "  "))
    a
      + b
    """
    terms = list(terms)
    while len(terms) > _MOST_TERMS:
        groups = [terms[k : k + _MOST_TERMS] for k in range(0, len(terms), _MOST_TERMS)]
        terms = [f"({_joined(group, indent + '  ')})" for group in groups]
    return _joined(terms, indent)


def _joined(terms: Sequence[str], indent: str) -> str:
    return f"\n{indent}+ ".join(terms)


def float32_dot(X: NDArray[np.float32], weights: NDArray[np.float32]) -> Vector:
    """Return the float32 sum of float32 products, in the order of the columns, as a loop in Java makes it.

    Examples
    --------
    >>> float32_dot(np.array([[2.0**24, 1.0, 1.0]], dtype=np.float32), np.ones(3, dtype=np.float32))
    array([16777216.])
    """
    scores = np.zeros(len(X), dtype=np.float32)
    with np.errstate(over="ignore", invalid="ignore"):  # as there: what is too large is infinite
        for column, weight in zip(X.T, weights, strict=True):
            scores += column * weight
    return scores.astype(np.float64)


def roundings_in_order(n_terms: int) -> Vector:
    """Return how often :func:`float32_dot` rounds each term: value, weight, product, and sums from there on.

    Examples
    --------
    >>> roundings_in_order(4).tolist()
    [6.0, 6.0, 5.0, 4.0]
    """
    return 3.0 + n_terms - np.maximum(np.arange(n_terms), 1)


def as_float32(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the nearest float32 numbers; what is too large is infinite."""
    with np.errstate(over="ignore"):
        return values.astype(np.float32)


def check_float32(values: NDArray[np.float64], names: Sequence[str], title: str) -> None:
    """Refuse weights that float32 cannot hold."""
    large = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)
    if len(large):
        raise MarginRankError.saying(
            "The weight {weight:.3g} of {column!r} is beyond the largest float32 number, which is what "
            "{title!s} computes with.",
            "Give the column another unit, or leave it out of training.",
            weight=float(values[large[0]]),
            column=names[large[0]],
            title=title,
        )
