"""Intervals by bootstrap over queries: queries are drawn with replacement, each with all of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import ParameterError
from marginrank.parameters import finite_number
from marginrank.types import Vector

_DRAWS = 2000
# Numbers drawn at a time: 16 MB.
_BATCH = 2_000_000


def check_level(level: Any, name: str) -> float:
    """Return a level such as 0.95, strictly between 0 and 1."""
    number = finite_number(level)
    if number is None or isinstance(level, bool) or not 0.0 < number < 1.0:
        raise ParameterError(name, "a number between 0 and 1, such as 0.95", level)
    return number


def draw_counts(n_queries: int, n_draws: int, seed: int) -> NDArray[np.int64]:
    """Return how often each query is drawn, of shape (n_draws, n_queries).

    Examples
    --------
    >>> draw_counts(3, 2, seed=0).sum(axis=1).tolist()
    [3, 3]
    """
    rng = np.random.default_rng(seed)
    return rng.multinomial(n_queries, np.full(n_queries, 1.0 / n_queries), size=n_draws)


def mean_interval(values: Vector, weight: Vector | None, level: float, seed: int = 0) -> tuple[float, float]:
    """Return the interval of a mean over queries that holds a part ``level`` of its bootstrap.

    Queries that do not count, whose value is NaN, are drawn as well, so that their number varies, too. NaN
    where fewer than two count.

    Examples
    --------
    >>> low, high = mean_interval(np.array([0.0, 1.0] * 50), None, 0.95)
    >>> bool(0.38 < low < 0.44 and 0.56 < high < 0.62)
    True
    """
    counted = ~np.isnan(values)
    if np.count_nonzero(counted) < 2:
        return float("nan"), float("nan")
    shares = counted * (np.ones(len(values)) if weight is None else weight / weight.max())
    sums = np.where(counted, values, 0.0) * shares
    means = []
    step = max(1, _BATCH // len(values))
    for first in range(0, _DRAWS, step):
        drawn = draw_counts(len(values), min(step, _DRAWS - first), seed + first)
        total = (drawn * shares).sum(axis=1)
        # A draw of queries that do not count has no mean.
        kept = total > 0.0
        means.append((drawn * sums).sum(axis=1)[kept] / total[kept])
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(means), [tail, 1.0 - tail])
    return float(low), float(high)
