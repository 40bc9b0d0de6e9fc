"""What each column contributes to the difference of two scores of a model."""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.typing import NDArray

from marginrank.explanation.path_integrals import map_contributions
from marginrank.export.base import ExportedModel
from marginrank.types import Vector

#: How contributions come about, by whether the model is linear in its columns.
METHODS = {True: "linear", False: "integrated gradients"}


def contributions(model: ExportedModel, a: Vector, b: Vector) -> Vector:
    """Return one number a column; they add up to the score of ``a`` less that of ``b``.

    Rows are as the model weighs or maps them, after a normalisation within queries.

    Examples
    --------
    >>> from marginrank import RankingModel
    >>> contributions(RankingModel([2.0, -1.0]), np.array([3.0, 1.0]), np.array([1.0, 0.0])).tolist()
    [4.0, -1.0]
    """
    mapping = model.mapping
    if mapping is None:
        return np.asarray(model.coef * (a - b) + 0.0)  # no -0
    start, end = b, a
    if mapping.multiplier is not None:
        # A straight line stays one, so the integrals are the same.
        start, end = start * mapping.multiplier, end * mapping.multiplier
        if mapping.offset is not None:
            start, end = start + mapping.offset, end + mapping.offset
    found = map_contributions(mapping.feature_map, model.coef, start, end)
    return found if mapping.linear_coef is None else np.asarray(found + mapping.linear_coef * (a - b))


def exact_sums(values: NDArray[np.float64]) -> Vector:
    """Return the sum of each row, rounded once.

    Examples
    --------
    >>> exact_sums(np.array([[1e16, 1.0, -1e16]]))
    array([1.])
    """
    return np.array([fsum(row) for row in values.tolist()])


def names_of(model: ExportedModel) -> tuple[str, ...]:
    """Return the names of the columns, or f1, f2, ... as files number them."""
    return model.feature_names or tuple(f"f{j + 1}" for j in range(model.n_features))
