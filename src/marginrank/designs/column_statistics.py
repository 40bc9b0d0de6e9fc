"""What is known of the columns of training rows: range, mean, deviation, zeros."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.types import Rows, Vector


@dataclass(frozen=True, eq=False, repr=False)
class ColumnStatistics:
    """Range, mean, deviation and zeros of each column over the rows that a ranker was trained on.

    A weight of a row counts as so many repetitions of it. What a sparse matrix does not store is 0, and
    counts. Rankers keep it as ``column_statistics_``, and their models hold it.

    Parameters
    ----------
    low, high : ndarray of shape (n_features,)
        Least and largest value.
    mean, deviation : ndarray of shape (n_features,)
        Mean, and standard deviation of the population about it.
    within_deviation : ndarray of shape (n_features,)
        The same about the mean of each row's query: what a ranking within queries can see of a column. With
        one ranking of all rows, and for explicit pairs, it is the deviation.
    zeros : ndarray of shape (n_features,)
        Share of the values that are 0, from 0 to 1.
    n_rows : int
        Number of rows.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> X = [[1.0, 5.0, 0.0], [3.0, 5.0, 0.0], [2.0, 9.0, 0.0], [6.0, 9.0, 1.0]]
    >>> statistics = RankSVM().fit(X, [0, 1, 0, 1], qid=[1, 1, 2, 2]).column_statistics_
    >>> statistics
    ColumnStatistics(n_features=3, n_rows=4)
    >>> statistics.mean.tolist(), statistics.high.tolist()
    ([3.0, 7.0, 0.25], [6.0, 9.0, 1.0])
    >>> statistics.deviation[1], statistics.within_deviation[1]  # it differs between queries only
    (np.float64(2.0), np.float64(0.0))
    >>> print(statistics)
    4 rows
    column         low        high        mean   deviation      within   zeros
         0           1           6           3     1.87083     1.58114    0.0%
         1           5           9           7           2           0    0.0%
         2           0           1        0.25    0.433013    0.353553   75.0%
    """

    low: Vector
    high: Vector
    mean: Vector
    deviation: Vector
    within_deviation: Vector
    zeros: Vector
    n_rows: int

    def __post_init__(self) -> None:
        width = np.size(self.low)
        for name in self.names():
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != (width,) or width == 0:
                raise MarginRankError(
                    f"Column statistics need one number per column; {name} has shape {values.shape}."
                )
            if not np.isfinite(values).all():
                raise MarginRankError(f"Column statistics must be finite; {name} is not.")
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        if not (np.all(self.low <= self.high) and self.n_rows >= 0):
            raise MarginRankError("Column statistics are not sound: low is above high, or n_rows negative.")

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of what is known of each column."""
        return tuple(one.name for one in fields(ColumnStatistics) if one.name != "n_rows")

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.low)

    def widened(self, columns: Rows, n_features: int) -> ColumnStatistics:
        """Return the statistics of so many columns: these have the numbers given, and the others are 0.

        Examples
        --------
        >>> one = ColumnStatistics([1.0], [3.0], [2.0], [1.0], [1.0], [0.0], 2)
        >>> wide = one.widened(np.array([1]), 3)
        >>> wide.high.tolist(), wide.zeros.tolist()
        ([0.0, 3.0, 0.0], [1.0, 0.0, 1.0])
        """
        wide = {name: np.zeros(n_features) for name in self.names()}
        wide["zeros"] += 1.0
        for name, values in wide.items():
            values[columns] = getattr(self, name)
        return ColumnStatistics(**wide, n_rows=self.n_rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ColumnStatistics):
            return NotImplemented
        return self.n_rows == other.n_rows and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in self.names()
        )

    def __hash__(self) -> int:
        return hash((self.n_rows, *(getattr(self, name).tobytes() for name in self.names())))

    def __repr__(self) -> str:
        return f"ColumnStatistics(n_features={self.n_features}, n_rows={self.n_rows})"

    def __str__(self) -> str:
        lines = [
            f"{self.n_rows} rows",
            _line("column", "low", "high", "mean", "deviation", "within", "zeros"),
        ]
        shown = range(self.n_features) if self.n_features <= _SHOWN else range(_SHOWN - 1)
        for j in shown:
            numbers = (f"{getattr(self, name)[j]:.6g}" for name in self.names()[:-1])
            lines.append(_line(str(j), *numbers, f"{100 * self.zeros[j]:.1f}%"))
        if len(shown) < self.n_features:
            lines.append(f"and {self.n_features - len(shown)} more columns")
        return "\n".join(lines)


# Columns of a printed table.
_SHOWN = 60


def _line(column: str, *cells: str) -> str:
    return f"{column:>6}" + "".join(f"{cell:>12}" for cell in cells[:-1]) + f"{cells[-1]:>8}"
