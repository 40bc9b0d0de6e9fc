"""Features that a map makes of the columns of X, as what coefficients are weights of."""

from __future__ import annotations

from functools import partial
from typing import Any

from marginrank.cached import cached_property
from marginrank.designs import ColumnTransform, Design, MappedRows, ScaledRows, scale_rows
from marginrank.designs.blocks import BlockMap
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.mapped import Store
from marginrank.designs.scaling import Scale
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import FeatureMap
from marginrank.system.memory import physical_memory
from marginrank.training.problems import Problem, ProductsOfFolds, products_together
from marginrank.types import Matrix, MemoryMatrix, Rows, Vector

# Features that are made again serve any number of vectors, but these take memory.
_VECTORS_PER_READ = 64
# Float64 matrices of landmarks by landmarks at the peak of a fit: kernel values, their symmetric part,
# eigenvectors, the room that LAPACK takes, and the whitening.
_SQUARE_MATRICES = 5


def rows_to_map(X: MemoryMatrix, rows: Rows | None, column_scale: Vector | None) -> MemoryMatrix:
    """Return the rows that a map is fitted on, their columns divided by a scale."""
    X = X if rows is None else X[rows]
    return X if column_scale is None else scale_rows(X, 1.0 / column_scale)


def scaled_map(feature_map: FeatureMap, column_scale: Vector | None, dtype: Any = None) -> BlockMap:
    """Return a map of columns that are divided by a scale first, in a dtype, or in that of the map."""
    inner = feature_map.block_map(dtype)
    return inner if column_scale is None else ScaledRows(inner, 1.0 / column_scale)


def check_kernel_memory(n_landmarks: int, *, exact: bool) -> None:
    """Refuse landmarks, or all rows, whose kernel matrix cannot be taken apart in this machine's memory."""
    need, memory = _SQUARE_MATRICES * 8.0 * n_landmarks**2, physical_memory()
    if need > memory:
        what = f"The exact kernel of {n_landmarks:,} rows" if exact else f"{n_landmarks:,} landmarks"
        way = "approximation='nystroem' or 'fourier'" if exact else "fewer n_components, or 'fourier'"
        raise MarginRankError(
            f"{what} would take about {need / 2**30:,.1f} GB for the kernel matrix and its eigenvectors; "
            f"there are {memory / 2**30:,.1f} GB. Use {way}."
        )


class MappedColumns:
    """Features that a map makes of the columns of X; fitted and made when they are first needed.

    Every fold of a search uses this one map. Landmarks and frequencies know no labels, so nothing about the
    order of the rows that a fold leaves out gets into its model; and in one space the folds' models have a
    mean, which all rows start from, and their features are computed once.

    Parameters
    ----------
    feature_map : FeatureMap
        The map, not fitted.
    X : ndarray or CSR matrix
        The training rows.
    rows : ndarray of int64 or None
        The rows that the map is fitted on; None for all.
    weight : ndarray or None
        Weights of these rows.
    column_scale : ndarray of shape (n_features,) or None
        What columns are divided by before the map.
    store : {"auto", "memory", "recompute"}
        Whether features are kept.
    n_threads : int
        Threads to use.
    statistics : ColumnStatistics, optional
        Those of the columns of X over the training rows.
    scaled_by : {None, "standard", "minmax"}
        What ``column_scale`` holds.
    """

    def __init__(
        self,
        feature_map: FeatureMap,
        X: MemoryMatrix,
        rows: Rows | None,
        weight: Vector | None,
        column_scale: Vector | None,
        store: Store,
        n_threads: int,
        *,
        statistics: ColumnStatistics | None = None,
        scaled_by: Scale | None = None,
    ) -> None:
        self._transform = ColumnTransform(statistics=statistics, scaled_by=scaled_by)
        self._unfitted = feature_map
        self._X = X
        self._rows = rows
        self._weight = weight
        self.column_scale = column_scale
        self._store = store
        self._n_threads = n_threads

    @cached_property
    def feature_map(self) -> FeatureMap:
        """The map, fitted."""
        rows = rows_to_map(self._X, self._rows, self.column_scale)
        fitted: FeatureMap = self._unfitted.fit(rows, sample_weight=self._weight)
        return fitted

    @cached_property
    def _features(self) -> MappedRows:
        return self._mapped(self._X)

    def _mapped(self, X: Matrix) -> MappedRows:
        mapping = scaled_map(self.feature_map, self.column_scale)
        return MappedRows(mapping, X, n_threads=self._n_threads, store=self._store)

    def transform(self, problem: Problem) -> ColumnTransform:
        """Return the identity, for features have no scale of their own; it knows the columns of X."""
        del problem
        return self._transform

    def training_design(self, problem: Problem) -> Design:
        """Return the design of a problem's rows."""
        return self._features.design(problem.rows)

    def shared(self, problem: Problem, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        del problem
        return self._features.design(rows)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._features.design(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows, kept as those of training are."""
        return self._mapped(X).design()

    def reads_cost_most(self) -> bool:
        """Whether every pass makes the features again."""
        return not self._features.stored

    def products_of_folds(self, problem: Problem, rows: list[Rows | None]) -> ProductsOfFolds:
        """Return what makes the products of folds of these rows together."""
        return products_together(partial(self.shared, problem), rows, _VECTORS_PER_READ)

    def release(self) -> None:
        """Let go of the features; the map stays."""
        self.__dict__.pop("_features", None)
