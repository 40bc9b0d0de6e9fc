"""Rows against the ranges that a model was trained on: what lies far outside was perhaps in other units."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marginrank.exceptions import Sentence, warn
from marginrank.explanation.margins import names_of
from marginrank.export.base import ExportedModel
from marginrank.types import Vector

# How many times the range of training a value may lie beyond it.
_FAR = 1.0
_NAMED_AT_MOST = 3


class RangeWarning(UserWarning):
    """Values lie far outside of what the model was trained on."""


class FarColumn(NamedTuple):
    """A column with values far outside of its range in training.

    Parameters
    ----------
    name : str
        The column; f1, f2, ... as files number them where the model has no names.
    trained_on : (float, float)
        Least and largest value in training.
    found : (float, float)
        Least and largest value of the rows.
    distance : float
        How far they lie beyond the range, in units of its width; infinity where it was constant.
    """

    name: str
    trained_on: tuple[float, float]
    found: tuple[float, float]
    distance: float


def far_columns(model: ExportedModel, low: Vector, high: Vector) -> list[FarColumn]:
    """Return the columns in use whose extremes lie beyond the range of training by more than its width.

    The farthest come first.
    """
    statistics = model.column_statistics
    if statistics is None or model.query_normalization is not None:
        return []
    used = np.isin(np.arange(model.n_features), model.features_used)
    names = names_of(model)
    width = statistics.high - statistics.low
    beyond = np.maximum(np.maximum(statistics.low - low, high - statistics.high), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(beyond > 0.0, beyond / width, 0.0)
    far = np.flatnonzero(used & (distance > _FAR))
    return [
        FarColumn(
            names[j],
            (float(statistics.low[j]), float(statistics.high[j])),
            (float(low[j]), float(high[j])),
            float(distance[j]),
        )
        for j in far[np.argsort(-distance[far], kind="stable")].tolist()
    ]


def warn_of_far_columns(found: Sequence[FarColumn]) -> None:
    """Warn of columns that lie far outside of their ranges, the farthest first."""
    if not found:
        return
    shown = [
        f"{one.name!r} ({one.found[0]:.4g} to {one.found[1]:.4g}, in training {one.trained_on[0]:.4g} to "
        f"{one.trained_on[1]:.4g})"
        for one in found[:_NAMED_AT_MOST]
    ]
    more = len(found) - len(shown)
    warn(
        Sentence(
            "Values lie far outside of what the model was trained on: {columns!s}. Are the columns and their "
            "units the same?",
            columns=", ".join(shown) + (f" and {more:,} more" if more else ""),
        ),
        RangeWarning,
    )
