"""How far float32 can move scores at most: the roundings of a target's sum, each taken at its worst.

A term ``w x`` of a sum goes through so many roundings: of its value, its weight and their product, and of
every addition from there on. Each is by at most ``u = 2**-24`` of what it rounds, so the term is off by
``k u / (1 - k u)`` of itself at most, and a score by the sum of that over its terms (Higham, Accuracy and
Stability of Numerical Algorithms, lemma 3.1). A normaliser ``(x - shift) / scale`` rounds the value
before the shift is subtracted, and the difference after that. Below 1e-38 roundings are no part of the
number any more, but at most half of the smallest float32.
"""

from __future__ import annotations

import numpy as np

from marginrank.export.base import ExportedModel, Options, Target
from marginrank.export.checking import CheckedRows
from marginrank.export.normalizers import normalized_weights
from marginrank.types import Vector

_UNIT, _SMALLEST = 2.0**-24, 2.0**-149
# Roundings of the difference, of the scale (two, where it is the difference of two ends), of the quotient.
_OF_NORMALIZERS = 4
_BLOCK_VALUES = 1 << 22


class Float32Bound:
    """Bounds of the error of a linear model's scores in float32, from the sizes of values.

    Parameters
    ----------
    target : Target
        Its ``roundings`` say what a term goes through.
    options : Options
        With them, normalisers.
    model : ExportedModel
        A linear model.

    Examples
    --------
    >>> from marginrank import RankingModel
    >>> from marginrank.export import TARGETS
    >>> bound = Float32Bound(TARGETS["solr"], Options(("a", "b"), "m"), RankingModel([1.0, -1.0]))
    >>> bool(0 < bound.of(np.array([[1.0, 1.0]]), np.array([[1.0, 1.0]]))[0] < 1e-6)
    True
    """

    def __init__(self, target: Target, options: Options, model: ExportedModel) -> None:
        found = normalized_weights(model, options)
        self.columns, self.shift = found.columns, found.shift
        self._sizes = np.abs(model.coef[found.columns])
        n_terms = len(found.columns)
        counts = target.roundings(options, n_terms) + _OF_NORMALIZERS * found.normalized
        self._of_difference = counts * _UNIT / (1.0 - counts * _UNIT)
        # A normaliser rounds the value once, and what that has changed by the others; else it is counted.
        self._of_value = np.where(found.normalized, (1.0 + self._of_difference) * _UNIT, 0.0)
        # The library's own sums are rounded, too, in float64.
        self._of_difference += (n_terms + 2) * 2.0**-52

    def of(self, values: Vector, differences: Vector) -> Vector:
        """Return how far scores are off at most, by the sizes of rows' values and of these less the shift."""
        weighed = values @ (self._of_value * self._sizes) + differences @ (self._of_difference * self._sizes)
        underflow = _SMALLEST * ((1.0 + values + differences) @ (1.0 + self._sizes))
        return np.asarray((weighed + underflow) * (1.0 + 2.0**-30))  # these sums are rounded as well

    def in_ranges(self, low: Vector, high: Vector) -> float:
        """Return the bound for every row whose columns lie within ranges."""
        low, high = low[self.columns], high[self.columns]
        values = np.maximum(np.abs(low), np.abs(high))
        differences = np.maximum(np.abs(low - self.shift), np.abs(high - self.shift))
        return float(self.of(values[None, :], differences[None, :])[0])

    def of_rows(self, rows: CheckedRows) -> float:
        """Return the largest bound of some rows."""
        from marginrank.data.matrices import as_dense

        step = max(1, _BLOCK_VALUES // rows.X.shape[1])
        largest = 0.0
        for first in range(0, rows.X.shape[0], step):
            X = np.asarray(as_dense(rows.X[first : first + step]), dtype=np.float64)[:, self.columns]
            largest = max(largest, float(self.of(np.abs(X), np.abs(X - self.shift)).max()))
        return largest
