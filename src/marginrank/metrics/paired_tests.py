"""Paired tests over queries, through scipy, for differences that may be all zero, constant or few.

The mean of the differences may be a weighted one, ``D = sum(w d) / sum(w)``, as that of a metric over all
pairs, in which queries count with their pairs. Weights do not depend on the models, so the tests stay paired
ones over queries, each in its own way: Student's takes the influence values ``D + w (d - D) / mean(w)``,
whose mean is D and whose standard error is that of a ratio of sums (the delta method); the randomisation
tosses the signs of ``w d / mean(w)``; the bootstrap draws queries with their weights, and both sums are made
of the draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats

from marginrank.types import Vector

TESTS = ("t", "randomization", "bootstrap")

#: Differences below this, relative to the values, are rounding errors of equal values.
ROUNDING = 1e-12
# Numbers drawn at a time by the resampling tests: 64 MB.
_BATCH = 8_000_000


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected by Holm's step-down method; NaN stay NaN and do not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [float("nan")] * len(p_values)
    known = sorted((p, k) for k, p in enumerate(p_values) if not math.isnan(p))
    largest = 0.0
    for done, (p, k) in enumerate(known):
        largest = max(largest, min(1.0, p * (len(known) - done)))
        corrected[k] = largest
    return corrected


def run_tests(
    difference: Vector, weight: Vector | None, tests: tuple[str, ...], n_resamples: int, seed: int
) -> tuple[dict[str, float], tuple[float, float]]:
    """Return the p-value of each test and the 95% interval of the mean: the bootstrap's, or Student's.

    A p-value is NaN where a test needs more differences.

    Parameters
    ----------
    difference : ndarray of shape (n_queries,)
        Of the queries that count.
    weight : ndarray of shape (n_queries,) or None
        What they count in the mean, not all zero; None for all the same.
    tests : tuple of str
        Among :data:`TESTS`.
    n_resamples, seed : int
        Of the randomisation and the bootstrap.
    """
    if len(difference) == 0:
        return dict.fromkeys(tests, float("nan")), (float("nan"), float("nan"))
    p_values: dict[str, float] = {}
    share = None if weight is None else weight / weight.mean()
    influence = difference if share is None else _influence(difference, share)
    interval = _t_interval(influence)
    for test in tests:
        if not difference.any():
            p_values[test] = 1.0
        elif test == "t":
            p_values[test] = _t_test(influence)
        elif test == "randomization":
            counted = difference if share is None else share * difference
            p_values[test] = _randomization_test(counted, n_resamples, seed)
        else:
            p_values[test], interval = _bootstrap(difference, share, n_resamples, seed)
    return p_values, interval


def _influence(difference: Vector, share: Vector) -> Vector:
    """Return values whose mean is the weighted one, and whose standard error is that of it."""
    mean = float((share * difference).mean())
    if _is_constant(difference):
        return difference
    return mean + share * (difference - mean)


def _is_constant(difference: Vector) -> bool:
    return bool(np.ptp(difference) <= ROUNDING * np.abs(difference).max())


def _t_interval(difference: Vector) -> tuple[float, float]:
    if len(difference) < 2:
        return float("nan"), float("nan")
    mean = float(difference.mean())
    if not difference.any() or _is_constant(difference):
        return mean, mean
    half = float(stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference))
    return mean - half, mean + half


def _t_test(difference: Vector) -> float:
    if len(difference) < 2:
        return float("nan")
    if _is_constant(difference):  # scipy divides by the zero deviation, and warns
        return 0.0
    return float(stats.ttest_1samp(difference, 0.0).pvalue)


def _randomization_test(difference: Vector, n_resamples: int, seed: int) -> float:
    """Return the p-value of the mean when the sign of every difference is a coin toss."""
    n = len(difference)
    if n < 2:  # scipy refuses one query; both signs of it are equally far from 0
        return 1.0
    if 2**n <= n_resamples:
        exact = stats.permutation_test(
            (difference,), np.mean, permutation_type="samples", n_resamples=n_resamples, vectorized=True
        )
        return float(exact.pvalue)
    rng = np.random.default_rng(seed)

    def toss(size: Any) -> Any:
        bits = rng.integers(256, size=(size[0], (n + 7) // 8), dtype=np.uint8)
        return np.where(np.unpackbits(bits, axis=1, count=n), difference, -difference)

    # Not permutation_test: it draws and sorts a number per query and model, and takes ten times as long.
    drawn = stats.monte_carlo_test(
        difference, toss, np.mean, vectorized=True, n_resamples=n_resamples, batch=max(1, _BATCH // n)
    )
    return float(drawn.pvalue)


def _bootstrap(
    difference: Vector, share: Vector | None, n_resamples: int, seed: int
) -> tuple[float, tuple[float, float]]:
    """Return the p-value and the 95% interval of the percentile bootstrap."""
    if len(difference) < 2:
        return float("nan"), (float("nan"), float("nan"))
    result = stats.bootstrap(
        (difference,) if share is None else (share * difference, share),
        np.mean if share is None else _ratio,
        paired=share is not None,
        method="percentile",
        n_resamples=n_resamples,
        batch=max(1, _BATCH // len(difference)),
        vectorized=True,
        random_state=np.random.default_rng(seed),
    )
    means = result.bootstrap_distribution
    # One more than counted: the sample itself is a draw, so that p is never 0.
    beyond = min(int(np.sum(means <= 0.0)), int(np.sum(means >= 0.0)))
    low, high = result.confidence_interval
    return min(1.0, 2.0 * (beyond + 1) / (n_resamples + 1)), (float(low), float(high))


def _ratio(counted: Any, share: Any, axis: int = -1) -> Any:
    """Return weighted means of draws; 0 for a draw of queries that weigh nothing."""
    total = share.sum(axis=axis)
    return counted.sum(axis=axis) / np.where(total > 0.0, total, 1.0)
