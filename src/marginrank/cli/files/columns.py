"""The columns of files and those of a model: which are trained on, which are unknown, and scores by them.

A solver keeps dozens of vectors with one entry a column, so a single large feature number, perhaps a typing
error, would cost gigabytes. The weight of a column without entries is 0 at the optimum of every linear
method: training without it gives the same model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.cli.files.missing import warn_of_empty, warn_of_missing
from marginrank.data import RankingData
from marginrank.data.matrices import column_extremes, in_memory, is_sparse, map_blocks
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError
from marginrank.export.base import ExportedModel
from marginrank.model import RankingModel, align_width, model_matrix, unknown_columns
from marginrank.model.ranges import far_columns, warn_of_far_columns
from marginrank.types import Vector

# Below, the vectors are small whatever is in the columns.
_MANY_COLUMNS = 100_000
# Above it a model of few used columns has no statistics: those of all would take six times the memory of its
# coefficients.
_MOST_COLUMNS = 1_000_000


@dataclass(frozen=True)
class UsedColumns:
    """The columns to train on.

    Parameters
    ----------
    columns : ndarray of int or None
        Their numbers, ascending; None for all.
    n_features : int
        How many there are in all.
    """

    columns: NDArray[np.int64] | None
    n_features: int

    def of(self, data: RankingData) -> RankingData:
        """Return data with these columns only."""
        if self.columns is None:
            return data
        return rebuilt(data, qid=data.qid, X=_columns_of(data.X, self.columns), feature_names=None)

    def numbers(self) -> list[int]:
        """Return the numbers that these columns have among all."""
        return list(range(self.n_features)) if self.columns is None else self.columns.tolist()

    def widened(self, model: RankingModel) -> RankingModel:
        """Return a model of these columns as one of all of them."""
        if self.columns is None:
            return model
        coef, scale = np.zeros(self.n_features), None
        coef[self.columns] = model.coef
        if model.column_scale is not None:
            scale = np.ones(self.n_features)
            scale[self.columns] = model.column_scale
        statistics = model.column_statistics
        if statistics is not None:
            few = self.n_features <= _MOST_COLUMNS
            statistics = statistics.widened(self.columns, self.n_features) if few else None
        return RankingModel(
            coef,
            intercept=model.intercept,
            query_normalization=model.query_normalization,
            column_scale=scale,
            column_statistics=statistics,
            metadata=model.metadata,
        )


def _columns_of(X: Any, columns: NDArray[np.int64]) -> Any:
    """Return some columns of a matrix, at a cost that does not depend on how many it has if it is sparse."""
    if not is_sparse(X):
        return X[:, columns]
    place = np.searchsorted(columns, X.indices)
    place[place == len(columns)] = 0
    kept = columns[place] == X.indices
    before = np.append(0, np.cumsum(kept))
    parts = (X.data[kept], place[kept], before[X.indptr])
    return sparse.csr_matrix(parts, shape=(X.shape[0], len(columns)))


def used_columns(data: RankingData) -> UsedColumns:
    """Return the columns of data in memory that have entries, where they are few; else all.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_matrix(([1.0, 2.0], [3, 999_999], [0, 1, 2]), shape=(2, 1_000_000))
    >>> used_columns(RankingData(X, [0, 1])).columns.tolist()
    [3, 999999]
    """
    n_features = data.n_features
    if n_features < _MANY_COLUMNS or not is_sparse(data.X) or data.feature_names is not None:
        return UsedColumns(None, n_features)
    columns = np.unique(data.X.indices[: data.X.indptr[-1]]).astype(np.int64)
    few = 0 < len(columns) <= n_features // 2
    return UsedColumns(columns if few else None, n_features)


def refuse_unknown(X: Any, n_features: int, first: int) -> None:
    """Refuse values in columns beyond those of a model; features are counted from ``first``."""
    if X.shape[1] <= n_features:
        return
    look = partial(_unknown, n_features=n_features)
    parts = (part for _, _, part in map_blocks(X, look))
    unknown = sorted(set().union(*(part.tolist() for part in parts)))
    if unknown:
        shown = ", ".join(str(column + first) for column in unknown[:8])
        raise MarginRankError(
            f"The data have features that the model does not know (it has {n_features}): "
            f"{shown}{', ...' if len(unknown) > 8 else ''}. Use --ignore-unknown to leave them out."
        )


def _unknown(X: Any, along: None, *, n_features: int) -> Any:
    del along
    return unknown_columns(X, n_features)


def scores_of(
    model: RankingModel, data: RankingData, ignore_unknown: bool, n_jobs: int | None, first: int = 1
) -> list[float]:
    """Return the scores of data that may be narrower or wider than the model; features from ``first`` on."""
    if not in_memory(data.X):
        return _scores_by_chunk(model, data, data.X.n_chunks, ignore_unknown, n_jobs, first)
    if model.feature_names is not None and data.feature_names is not None:
        named: list[float] = model.predict(data, n_jobs=n_jobs).tolist()
        return named
    warn_of_missing(data, model, first)
    X = _as_wide_as(model.n_features, data, ignore_unknown, first)
    scores: list[float] = model.predict(X, data.qid, n_jobs=n_jobs).tolist()
    return scores


def _scores_by_chunk(
    model: RankingModel,
    data: RankingData,
    n_chunks: int,
    ignore_unknown: bool,
    n_jobs: int | None,
    first: int,
) -> list[float]:
    if model.query_normalization is not None and data.query_ids is None and n_chunks > 1:
        raise MarginRankError(
            "The model normalises within queries, and these data are one ranking in several chunks; convert "
            "them with a larger --chunk, so that there is one."
        )
    chunks = (scores_of(model, chunk, ignore_unknown, n_jobs, first) for chunk in data.chunks())
    return [score for scores in chunks for score in scores]


def aligned(
    data: RankingData, like: RankingData | RankingModel, ignore_unknown: bool, first: int = 1
) -> RankingData:
    """Return data with the columns of the training data or a model; features are counted from ``first``."""
    if _is_aligned(data, like):
        return data
    if like.feature_names is not None and data.feature_names is not None:
        used = like.features_used if isinstance(like, RankingModel) else None
        X = model_matrix(data, like.n_features, like.feature_names, used)
    else:
        warn_of_missing(data, like, first)
        X = _as_wide_as(like.n_features, data, ignore_unknown, first)
    none = {"pairs": None, "pair_weight": None, "pair_margin": None, "allow_nonfinite": False}
    return rebuilt(data, X=X, qid=data.qid, feature_names=like.feature_names, **none)


def _is_aligned(data: RankingData, like: RankingData | RankingModel) -> bool:
    """Whether data are labelled rows with these very columns, validated when they were read."""
    same = data.n_features == like.n_features and data.feature_names == like.feature_names
    return same and data.pairs is None and not data.allow_nonfinite


def looks_at_ranges(model: RankingModel) -> bool:
    """Whether a model knows the ranges of raw columns that it was trained on."""
    return model.column_statistics is not None and model.query_normalization is None


def warn_of_ranges(model: RankingModel, data: RankingData, first: int = 1) -> None:
    """Warn of values far outside of what a model was trained on, and of none; one more look at the data."""
    if not looks_at_ranges(model):
        return
    low, high = np.full(model.n_features, np.inf), np.full(model.n_features, -np.inf)
    width = data.n_features
    for chunk in data.chunks():
        if model.feature_names is not None and chunk.feature_names is not None:
            used, width = model.features_used, model.n_features
            X = model_matrix(chunk, width, model.feature_names, used)
        else:
            X = _as_wide_as(model.n_features, chunk, True, first)
        least, most = column_extremes(X)
        np.minimum(low, least, out=low)
        np.maximum(high, most, out=high)
    warn_of_extremes(model, (low, high), data.n_rows, width)


def warn_of_extremes(model: RankingModel, extremes: tuple[Vector, Vector], n_rows: int, width: int) -> None:
    """Warn of the least and largest values of columns, of rows with ``width`` columns of the model."""
    warn_of_far_columns(far_columns(cast("ExportedModel", model), *extremes))
    warn_of_empty(model, extremes, n_rows, width)


def _as_wide_as(n_features: int, data: RankingData, ignore_unknown: bool, first: int) -> Any:
    X = data.X
    if data.n_features == n_features:
        return X
    if not ignore_unknown:
        refuse_unknown(X, n_features, first)
    if not in_memory(X):
        return X.changed(partial(align_width, n_features=n_features, ignore_unknown=True), n_features)
    return align_width(X, n_features, ignore_unknown=True)
