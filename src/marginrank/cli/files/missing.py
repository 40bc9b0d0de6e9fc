"""A word on features that a model knows and a file lacks: they count as 0, as in sparse text they may."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory, is_sparse
from marginrank.model import RankingModel
from marginrank.types import Vector

# As rare as this by chance: rows of one kind, and a column that is 0 in all of them.
_RARE = 1e-6
_NAMED = 5


def warn_of_missing(data: RankingData, like: RankingModel | RankingData, first: int) -> None:
    """Warn where data end before columns that were hardly ever 0 in training; features from ``first`` on.

    A file of sparse text ends at its largest feature number, so the last of many rare features may well be
    absent. It is worth a word only if that would be strange: by the share of zeros in training, where it is
    known, else if the file is dense. Columns that a model does not use may always be absent.
    """
    width = data.n_features
    if width >= like.n_features:
        return
    zeros = _zeros(like, width)
    if zeros is None:
        strange = np.arange(0) if is_sparse(data.X) else np.arange(width, like.n_features)
    else:
        with np.errstate(divide="ignore"):
            strange = width + np.flatnonzero(data.n_rows * np.log(zeros) < np.log(_RARE))
    if isinstance(like, RankingModel):
        strange = np.intersect1d(strange, like.features_used)
    if len(strange):
        warnings.warn(_sentence(width, like.n_features, strange, first), stacklevel=2)


def warn_of_empty(model: RankingModel, extremes: tuple[Vector, Vector], n_rows: int, width: int) -> None:
    """Warn of columns in use that are 0 in all of the rows, which by their share of zeros in training is odd.

    Columns from ``width`` on are left to :func:`warn_of_missing`. A share of zeros among n rows is taken for
    ``(zeros + 1) / (n + 1)``: one row that is 0 where none was is no wonder.
    """
    statistics = model.column_statistics
    if statistics is None:
        return
    low, high = extremes
    empty = (low == 0.0) & (high == 0.0)
    empty[width:] = False
    empty &= np.isin(np.arange(model.n_features), model.features_used)
    believed = (statistics.zeros * statistics.n_rows + 1.0) / (statistics.n_rows + 1.0)
    strange = np.flatnonzero(empty & (n_rows * np.log(believed) < np.log(_RARE)))
    if len(strange):
        names = model.feature_names or [f"f{column + 1}" for column in range(model.n_features)]
        named = ", ".join(repr(names[column]) for column in strange[:_NAMED])
        more = f" and {len(strange) - _NAMED} more" if len(strange) > _NAMED else ""
        warnings.warn(
            f"The data have nothing but 0 in {named}{more}, which was not so in training. Are these the "
            "right data for the model?",
            stacklevel=2,
        )


def _zeros(like: RankingModel | RankingData, width: int) -> Vector | None:
    """Return the share of zeros of each further column in training; None where nobody knows."""
    if isinstance(like, RankingModel):
        return None if like.column_statistics is None else like.column_statistics.zeros[width:]
    if not in_memory(like.X):
        return None
    X: Any = like.X[:, width:]
    filled = np.asarray((X != 0).sum(axis=0), dtype=np.float64).reshape(-1)
    return np.asarray(1.0 - filled / like.n_rows)


def _sentence(width: int, n_features: int, strange: NDArray[np.int64], first: int) -> str:
    named = ", ".join(str(column + first) for column in strange[:_NAMED])
    more = f" and {len(strange) - _NAMED} more" if len(strange) > _NAMED else ""
    ends = f"The data end at feature {width - 1 + first}" if width else "The data have no features"
    return (
        f"{ends}, and the model knows {n_features}: {named}{more} count as 0 in every row, which they were "
        "not in training. Are these the right data for the model?"
    )
