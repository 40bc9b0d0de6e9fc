"""Column scales: what ``scale=`` divides the features by.

Only the divisor matters for ranking, because a constant added to a column moves all scores of a query alike.
So sparse data stay sparse, and the scale is folded into the coefficients, which stay in raw units.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from marginrank.data.column_statistics import ColumnStatistics
from marginrank.exceptions import MarginRankError
from marginrank.types import Vector

Scale = Literal["standard", "minmax"]

_STEADY_BITS = 26


def divisors(scale: Scale, statistics: ColumnStatistics) -> Vector:
    """Return a positive divisor per column: standard deviation, or range; 1 for constant columns."""
    low, high = statistics.low, statistics.high
    with np.errstate(over="ignore"):
        divisor = high - low if scale == "minmax" else statistics.deviation
    if not np.isfinite(divisor).all():
        column = int(np.argmin(np.isfinite(divisor)))
        raise MarginRankError(
            f"Column {column} of X goes from {low[column]:.3g} to {high[column]:.3g}, which "
            f"scale={scale!r} cannot measure in float64; multiply or divide it by a power of ten."
        )
    return np.where((high > low) & (divisor > 0.0), divisor, 1.0)


def steady(scale: Vector) -> Vector:
    """Return a scale rounded to 26 bits, for rows that are drawn by their content after the division.

    The last bits of a sum depend on the order of its terms. They would change every entry of the rows, and so
    which of them are drawn.

    Examples
    --------
    >>> bool(steady(np.array([0.1 + 0.2])) == steady(np.array([0.3])))
    True
    """
    fraction, exponent = np.frexp(scale)
    return np.asarray(np.ldexp(np.round(np.ldexp(fraction, _STEADY_BITS)), exponent - _STEADY_BITS))
