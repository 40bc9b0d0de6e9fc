"""Scales of columns, folded into the weights or left to the normalisers of a target."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel, Options, Target, used_columns
from marginrank.export.numbers import as_float32, roundings_in_order
from marginrank.types import Mask, Rows, Vector


class SearchPlugin(Target):
    """Base of the plugins of search engines, which normalise features and add them in float32, in order."""

    takes: ClassVar[frozenset[str]] = frozenset({"feature_set", "normalizers"})

    def float32(self, options: Options) -> bool:
        """Scores are float32 there."""
        return True

    def roundings(self, options: Options, n_terms: int) -> Vector:
        """Value, weight and product; then the sums from this term on."""
        return roundings_in_order(n_terms)


class Normalized(NamedTuple):
    """Weights of some columns, and what is done to a column before: ``(x - shift) / scale``.

    ``columns`` are those of the model that are used, and the others are as long: ``weights`` of the
    normalised values, ``shift`` and ``scale``, and whether the column is normalised at all.
    """

    columns: Rows
    weights: Vector
    shift: Vector
    scale: Vector
    normalized: Mask


def normalized_weights(model: ExportedModel, options: Options) -> Normalized:
    """Return the weights of the columns that are used, for raw values or for normalised ones.

    A column that was constant in training has no deviation or range, and is taken as it is.
    """
    columns = used_columns(model.coef)
    weights = model.coef[columns]
    shift, scale = np.zeros(len(columns)), np.ones(len(columns))
    if options.normalizers in (None, "fold"):
        return Normalized(columns, weights, shift, scale, np.zeros(len(columns), dtype=bool))
    statistics = model.column_statistics
    if statistics is None:
        raise MarginRankError.saying(
            "Normalisers are made of the statistics of the training columns, and this model has none.",
            "Use {normalizers='fold'}, which needs none, or train the model again.",
        )
    if options.normalizers == "minmax":
        # Of the ends as the target rounds them: a range that is small beside them changes with that.
        low, high = _rounded(statistics.low[columns]), _rounded(statistics.high[columns])
        with np.errstate(invalid="ignore"):
            spread = _rounded(high - low)
    else:
        low, spread = _rounded(statistics.mean[columns]), _rounded(statistics.deviation[columns])
    sound = np.isfinite(low) & np.isfinite(spread) & (spread > 0)
    shift[sound], scale[sound] = low[sound], spread[sound]
    return Normalized(columns, weights * scale, shift, scale, sound)


def _rounded(values: Vector) -> Vector:
    """Return the nearest float32 numbers, which are what the targets read."""
    return as_float32(values).astype(np.float64)
