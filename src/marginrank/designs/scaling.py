"""Column scales: what ``scale=`` divides the features by.

Only the divisor matters for ranking, because a constant added to a column moves all scores of a query alike.
So sparse data stay sparse, and the scale is folded into the coefficients, which stay in raw units.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.exceptions import MarginRankError
from marginrank.types import Mask, Vector

Scale = Literal["standard", "minmax"]
#: What ``scale=`` may be, beside None.
ScaleSetting = Literal["auto", "standard", "minmax"]
#: All that ``scale=`` may be.
SCALES = (None, *get_args(ScaleSetting))

#: "auto" divides by deviations where the largest range of a column exceeds so many times the smallest.
RANGE_RATIO = 100.0
#: The smallest range is that of columns other than 0 in at least this share of the rows, ...
RARE_SHARE = 1e-3
#: ... of which one in so many may be smaller still.
ODD_COLUMNS = 100
_STEADY_BITS = 26


def resolve_scale(
    scale: ScaleSetting | None, statistics: ColumnStatistics, constant: Mask | None = None
) -> Scale | None:
    """Return what a setting means for the columns of training rows: "auto" becomes None or "standard".

    Ranges decide, not deviations: a column that is rarely other than 0 has a small deviation, whatever its
    unit, and to divide by it makes a few rows count for most. A range is the same for sparse and dense rows,
    in any order and wherever they lie, so the answer is the same, too. The smallest is sought among columns
    that are not rare: a word of one long text has a tiny range, which slows nothing down, and dividing all
    columns because of it costs more than it gains. A word of every text, whose inverse document frequency is
    about 0, has one, too: of a hundred columns one may have a smaller range. A column of a huge range does
    slow training down, be it rare or the only one.

    Parameters
    ----------
    scale : {None, "auto", "standard", "minmax"}
        The setting.
    statistics : ColumnStatistics
        Those of the columns over all training rows.
    constant : ndarray of bool, optional
        Columns that are constant wherever rows are compared; columns of one value always are.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 500.0]])
    >>> low, high, mean = X.min(axis=0), X.max(axis=0), X.mean(axis=0)
    >>> found = ColumnStatistics(low, high, mean, X.std(axis=0), X.std(axis=0), np.zeros(2), 2)
    >>> resolve_scale("auto", found), resolve_scale("minmax", found)
    ('standard', 'minmax')
    >>> resolve_scale("auto", found, constant=np.array([True, False])) is None
    True
    """
    if scale != "auto":
        return scale
    counts = statistics.low < statistics.high
    if constant is not None:
        counts &= ~constant
    if not counts.any():
        return None
    common = counts & (1.0 - statistics.zeros >= RARE_SHARE)
    common = common if common.any() else counts
    with np.errstate(over="ignore"):
        ranges = np.sort((statistics.high - statistics.low)[common])
    smallest = ranges[len(ranges) // ODD_COLUMNS]
    # Half of the largest, which float64 holds even where the range itself is beyond it.
    half_of_largest = (0.5 * statistics.high - 0.5 * statistics.low)[counts].max()
    return "standard" if half_of_largest > 0.5 * RANGE_RATIO * smallest else None


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
