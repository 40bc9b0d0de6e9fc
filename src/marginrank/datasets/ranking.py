"""Ranking problems of any size with known coefficients."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.parameters import (
    as_list,
    check_count,
    check_flag,
    check_number,
    check_seed,
    whole_number,
)
from marginrank.system.memory import physical_memory
from marginrank.types import Array, Rows, Vector

_MOST_QUERIES = 100_000_000
_MOST_FEATURES = 10_000_000
# Each level is this share of those below and itself: most judged rows are not relevant.
_SHARE_OF_LEVEL = 0.5
_INFORMATIVE = 5


class _Columns(NamedTuple):
    informative: int
    redundant: int
    query: int
    noise: int


def make_ranking(
    n_queries: int = 100,
    rows_per_query: int | tuple[int, int] = (5, 30),
    n_features: int = 20,
    *,
    n_informative: int | None = None,
    n_redundant: int = 0,
    n_query_features: int = 0,
    n_levels: int | None = 5,
    noise: float = 0.5,
    raw_scales: bool = False,
    return_coef: bool = False,
    random_state: Any = 0,
) -> tuple[Any, ...]:
    """Make rows, labels and query ids of a ranking problem that is linear up to noise.

    The utility of a row is ``x @ coef + noise * e`` with standard normal ``x`` and ``e``, and coefficients of
    norm 1. Labels are the utilities, or levels of them: half of all rows have level 0, half of the others
    level 1, and so on.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    rows_per_query : int or (int, int), default=(5, 30)
        Rows of each query, or the least and the largest number of them, drawn uniformly.
    n_features : int, default=20
        Number of columns: first the informative, then the redundant and the query-level ones; the others are
        noise.
    n_informative : int, optional
        Columns that utilities depend on; by default 5, or what the others leave of fewer.
    n_redundant : int, default=0
        Columns that are linear combinations of the informative ones.
    n_query_features : int, default=0
        Columns that are constant within each query. Their sum is added to the utilities of the query, which
        changes no order in it.
    n_levels : int or None, default=5
        Labels are the integers 0 to ``n_levels - 1``; None for the utilities themselves.
    noise : float, default=0.5
        Standard deviation of what the features do not explain of utilities, which have 1 otherwise.
    raw_scales : bool, default=False
        Whether columns are in units of their own, from 1e-3 to 1e4, and have offsets, as raw features do.
    return_coef : bool, default=False
        Whether to return the coefficients as well: the best linear ranker, in the units of X.
    random_state : int, numpy Generator or None, default=0
        Seed. The same seed gives the same data; None gives others each time.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Labels, higher is better.
    qid : ndarray of int64, shape (n_rows,)
        Query ids 0, 1, ..., the rows of a query next to each other.
    coef : ndarray of shape (n_features,)
        Only with ``return_coef=True``.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> from marginrank.datasets import make_ranking
    >>> X, y, qid = make_ranking(n_queries=30, rows_per_query=10, random_state=1)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 20), [0.0, 1.0, 2.0, 3.0, 4.0])
    >>> RankSVM().fit(X, y, qid=qid).score(X, y, qid=qid) > 0.8
    True
    """
    n_queries = check_count(n_queries, "n_queries", most=_MOST_QUERIES)
    low, high = _check_sizes(rows_per_query)
    if n_informative is None:
        n_informative = _informative_by_default(n_features, n_redundant, n_query_features)
    columns = _check_columns(n_features, n_informative, n_redundant, n_query_features)
    if n_levels is not None:
        n_levels = check_count(n_levels, "n_levels", least=2, most=1000)
    noise = check_number(noise, "noise", least=0.0)
    raw_scales, return_coef = check_flag(raw_scales, "raw_scales"), check_flag(return_coef, "return_coef")
    rng = np.random.default_rng(check_seed(random_state, np.random.Generator))
    _check_size(n_queries * high, sum(columns))
    sizes = rng.integers(low, high, n_queries, endpoint=True)
    qid = np.repeat(np.arange(n_queries), sizes)
    X, coef = _features(rng, columns, qid)
    utilities = _weighted_sum(X, coef) + noise * rng.normal(size=len(qid))
    query_columns = slice(columns.informative + columns.redundant, -columns.noise or None)
    utilities += X[:, query_columns].sum(axis=1)
    if not np.isfinite(utilities).all():
        raise ParameterError("noise", "so small that utilities are finite", noise)
    if raw_scales:
        X, coef = _in_raw_units(rng, X, coef)
    y = utilities if n_levels is None else _levels(utilities, n_levels)
    return (X, y, qid, coef) if return_coef else (X, y, qid)


def _informative_by_default(n_features: Any, *others: Any) -> int:
    """Return how many columns inform where nobody says: at least one, and what is wrong is said later."""
    if not all(isinstance(count, Integral) for count in (n_features, *others)):
        return _INFORMATIVE
    return int(min(_INFORMATIVE, max(1, n_features - sum(others))))


def _features(rng: np.random.Generator, columns: _Columns, qid: Rows) -> tuple[Array, Vector]:
    """Return the columns in their order, and coefficients of norm 1 on the informative ones."""
    n_rows = len(qid)
    X = np.empty((n_rows, sum(columns)))
    first, second = columns.informative, columns.informative + columns.redundant
    third = second + columns.query
    X[:, :first] = rng.normal(size=(n_rows, columns.informative))
    for column in range(first, second):
        mixture = rng.normal(size=columns.informative)
        X[:, column] = _weighted_sum(X[:, :first], mixture / np.sqrt(np.sum(mixture**2)))
    X[:, second:third] = rng.normal(size=(int(qid[-1]) + 1, columns.query))[qid]
    X[:, third:] = rng.normal(size=(n_rows, columns.noise))
    coef = np.zeros(sum(columns))
    # Away from 0, so that every informative column informs.
    sizes = rng.uniform(0.5, 1.5, columns.informative) * rng.choice([-1.0, 1.0], columns.informative)
    coef[:first] = sizes / np.sqrt(np.sum(sizes**2))
    return X, coef


def _weighted_sum(X: Array, coef: Vector) -> Vector:
    """Return ``X @ coef``, summed column by column: BLAS rounds by processor, and labels would differ."""
    total = np.zeros(len(X))
    for column in np.flatnonzero(coef):
        total += coef[column] * X[:, column]
    return total


def _in_raw_units(rng: np.random.Generator, X: Array, coef: Vector) -> tuple[Array, Vector]:
    units = 10.0 ** rng.uniform(-3.0, 4.0, X.shape[1])
    return (X + rng.uniform(-10.0, 10.0, X.shape[1])) * units, coef / units


def _levels(utilities: Vector, n_levels: int) -> Vector:
    """Return levels by ranks among all rows: each has half of the rows that are left, the last all."""
    ranks = np.empty(len(utilities))
    ranks[np.argsort(utilities, kind="stable")] = np.arange(len(utilities)) + 0.5
    borders = 1.0 - _SHARE_OF_LEVEL ** np.arange(1, n_levels)
    found: NDArray[np.int64] = np.searchsorted(borders * len(utilities), ranks)
    return found.astype(np.float64)


def _check_sizes(rows_per_query: Any) -> tuple[int, int]:
    listed = as_list(rows_per_query)
    found = [whole_number(one) for one in ([rows_per_query] * 2 if listed is None else listed)]
    numbers = [one for one in found if one is not None]
    if len(numbers) == len(found) == 2 and 1 <= numbers[0] <= numbers[1] <= _MOST_QUERIES:
        return numbers[0], numbers[1]
    raise ParameterError(
        "rows_per_query", "a positive integer or two of them, the least and the largest", rows_per_query
    )


def _check_columns(n_features: Any, n_informative: Any, n_redundant: Any, n_query_features: Any) -> _Columns:
    n_features = check_count(n_features, "n_features", most=_MOST_FEATURES)
    informative = check_count(n_informative, "n_informative")
    redundant = check_count(n_redundant, "n_redundant", least=0)
    query = check_count(n_query_features, "n_query_features", least=0)
    if informative + redundant + query > n_features:
        raise MarginRankError.saying(
            "{n_features=} must be at least {n_informative=} + {n_redundant=} + {n_query_features=}.",
            n_features=n_features,
            n_informative=informative,
            n_redundant=redundant,
            n_query_features=query,
        )
    return _Columns(informative, redundant, query, n_features - informative - redundant - query)


def _check_size(n_rows: int, n_features: int) -> None:
    least, memory = 8 * n_rows * n_features, physical_memory()
    if least > memory:
        raise MarginRankError.saying(
            "{n_queries} of {rows_per_query} rows with {n_features=} take up to {least:.1f} GB; there are "
            "{memory:.1f} GB of memory.",
            n_features=n_features,
            least=least / 1e9,
            memory=memory / 1e9,
        )
