"""Training on the columns that have entries, where most have none.

A solver keeps dozens of vectors with one entry a column, so a single large feature number, perhaps a typing
error, would cost gigabytes. The weight of a column without entries is 0 at the optimum of every linear
method: training without it gives the same model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import RankingData
from marginrank.data.matrices import is_sparse
from marginrank.data.ranking_data import rebuilt
from marginrank.model import RankingModel

# Below, the vectors are small whatever is in the columns.
_MANY_COLUMNS = 100_000


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

    def number(self, column: int) -> int:
        """Return the number that a column has among all."""
        return column if self.columns is None else int(self.columns[column])

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
            statistics = statistics.widened(self.columns, self.n_features)
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
