"""What coefficients are weights of: the columns of X as they are, or features made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from marginrank.data import TrainingView
from marginrank.data.matrices import in_memory
from marginrank.designs import (
    ColumnTransform,
    ComparedRows,
    Design,
    MappedRows,
    ScaledRows,
    column_transform,
    matrix_design,
    scale_rows,
)
from marginrank.designs.blocks import BlockMap
from marginrank.designs.columns import IDENTITY
from marginrank.designs.mapped import Store
from marginrank.designs.scaling import Scale
from marginrank.designs.shared_chunks import ChunksTogether
from marginrank.designs.shared_reads import ProductsTogether
from marginrank.feature_maps import FeatureMap
from marginrank.system.memory import check_columns
from marginrank.training.problems import Part
from marginrank.types import Matrix, MemoryMatrix, Rows, Vector

# Vectors that one read of X serves; features that are made again serve any number, but these take memory.
MOST_AT_ONCE = 8
_MAPPED_PER_READ = 64


class Space(Protocol):
    """Makes designs over training rows and over further ones, for the same coefficients."""

    @property
    def reads_cost_most(self) -> bool:
        """Whether a read of X costs so much more than all else that folds had better share it."""

    def together(self, rows: list[Rows | None]) -> ProductsTogether | ChunksTogether:
        """Return what makes the products of folds with these training rows, in reads that all share."""

    def transform(self, part: Part) -> ColumnTransform:
        """Return what is done to the columns of training rows."""

    def training_design(self, part: Part) -> tuple[Design, ColumnTransform]:
        """Return the design of training rows, with their transform."""

    def shared(self, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but the shift that all of them have."""

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design, in raw units, of training rows that a fold leaves out."""

    def further(self, X: Matrix) -> Design:
        """Return the design, in raw units, of other rows, which will be scored more than once."""

    def release(self) -> None:
        """Let go of memory that can be had again by work."""


@dataclass(frozen=True)
class RawColumns:
    """The columns of X.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The training rows.
    whole : Part
        All rows to train on. Folds take over the shift of their columns, so that they can share a read of X.
    scale : {None, "standard", "minmax"}
        What columns are divided by.
    n_threads : int
        Threads to use.
    """

    X: Matrix
    whole: Part
    scale: Scale | None
    n_threads: int

    def __post_init__(self) -> None:
        check_columns(self.X.shape[1])

    @cached_property
    def _whole(self) -> ColumnTransform:
        return self._found(self.whole.rows, self.whole.compared, self.whole.weight, None)

    def _found(
        self,
        rows: Rows | None,
        compared: ComparedRows,
        weight: Vector | None,
        whole: ColumnTransform | None,
    ) -> ColumnTransform:
        return column_transform(
            self.X, rows, compared, scale=self.scale, weight=weight, whole=whole, n_threads=self.n_threads
        )

    def transform(self, part: Part) -> ColumnTransform:
        """Return what is done to the columns of training rows."""
        if part is self.whole:
            return self._whole
        return self._found(part.rows, part.compared, part.weight, self._whole)

    def transform_of_view(self, view: TrainingView) -> ColumnTransform:
        """Return the same of some of the training rows, for which there is no loss."""
        compared = ComparedRows(query_ptr=view.query_ptr)
        return self._found(view.rows, compared, view.sample_weight, self._whole)

    def training_design(self, part: Part) -> tuple[Design, ColumnTransform]:
        """Return the design of training rows, with their transform."""
        transform = self.transform(part)
        return matrix_design(self.X, part.rows, transform, n_threads=self.n_threads), transform

    def shared(self, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but their shift."""
        return matrix_design(self.X, rows, self.shift, n_threads=self.n_threads)

    @property
    def shift(self) -> ColumnTransform:
        """The shift of all training rows, and nothing else."""
        return self._whole.within_products

    @property
    def reads_cost_most(self) -> bool:
        """Whether X lies on disk; on workers, reads are theirs."""
        return not in_memory(self.X) and not self.X.is_remote

    def together(self, rows: list[Rows | None]) -> ProductsTogether | ChunksTogether:
        """Return what makes the products of folds."""
        if in_memory(self.X):
            return _together(self, rows, MOST_AT_ONCE)
        return ChunksTogether(self.X, rows, self.shift, n_threads=self.n_threads)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return matrix_design(self.X, rows, n_threads=self.n_threads)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return matrix_design(X, n_threads=self.n_threads)

    def followed(self, X: Matrix, transform: ColumnTransform) -> Design:
        """Return the design of other rows, in the units of a transform."""
        return matrix_design(X, None, transform.without_shift, n_threads=self.n_threads)

    def release(self) -> None:
        """Nothing is held beside X."""


def rows_to_map(X: MemoryMatrix, rows: Rows | None, column_scale: Vector | None) -> MemoryMatrix:
    """Return the rows that a map is fitted on, their columns divided by a scale."""
    X = X if rows is None else X[rows]
    return X if column_scale is None else scale_rows(X, 1.0 / column_scale)


def scaled_map(feature_map: FeatureMap, column_scale: Vector | None) -> BlockMap:
    """Return a map of columns that are divided by a scale first."""
    inner = feature_map.block_map()
    return inner if column_scale is None else ScaledRows(inner, 1.0 / column_scale)


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
    ) -> None:
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

    def transform(self, part: Part) -> ColumnTransform:
        """Return the identity: features have no scale of their own."""
        del part
        return IDENTITY

    def training_design(self, part: Part) -> tuple[Design, ColumnTransform]:
        """Return the design of training rows."""
        return self._features.design(part.rows), IDENTITY

    def shared(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._features.design(rows)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._features.design(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows, kept as those of training are."""
        return self._mapped(X).design()

    @property
    def reads_cost_most(self) -> bool:
        """Whether every pass makes the features again."""
        return not self._features.stored

    def together(self, rows: list[Rows | None]) -> ProductsTogether | ChunksTogether:
        """Return what makes the products of folds."""
        return _together(self, rows, _MAPPED_PER_READ)

    def release(self) -> None:
        """Let go of the features; the map stays."""
        self.__dict__.pop("_features", None)


def _together(space: Space, rows: list[Rows | None], per_read: int) -> ProductsTogether:
    """Return what makes the products of folds, by a design of all rows that any of them has."""
    taken = [one for one in rows if one is not None]
    if len(taken) < len(rows):
        return ProductsTogether(space.shared(None), rows, per_read)
    together = np.unique(np.concatenate(taken))
    positions: list[Rows | None] = [np.searchsorted(together, one) for one in taken]
    return ProductsTogether(space.shared(together), positions, per_read)
