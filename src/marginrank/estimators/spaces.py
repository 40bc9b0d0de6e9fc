"""What coefficients are weights of: the columns of X as they are, or features made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from marginrank.designs import Design, MappedRows, ScaledRows, matrix_design, scale_rows
from marginrank.designs.blocks import BlockMap
from marginrank.designs.mapped import Store
from marginrank.feature_maps import FeatureMap
from marginrank.model_selection import Rows
from marginrank.validation import Matrix, Vector

#: From X, row numbers and their weights to a design and the column scale that it divides by.
MakeDesign = Callable[[Matrix, Rows | None, Vector | None], tuple[Design, Vector | None]]


class Space(Protocol):
    """Makes designs over training rows and over further ones, for the same coefficients."""

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, Vector | None]:
        """Return the design of training rows and the column scale that it divides by."""

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
    make_design : callable
        Makes designs for training.
    n_threads : int
        Threads to use.
    """

    X: Matrix
    make_design: MakeDesign
    n_threads: int

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, Vector | None]:
        """Return the design of training rows and the column scale that it divides by."""
        return self.make_design(self.X, rows, weight)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return matrix_design(self.X, rows, n_threads=self.n_threads)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return matrix_design(X, n_threads=self.n_threads)

    def release(self) -> None:
        """Nothing is held beside X."""


def rows_to_map(X: Matrix, rows: Rows | None, column_scale: Vector | None) -> Matrix:
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
        X: Matrix,
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

    def training_design(self, rows: Rows | None, weight: Vector | None) -> tuple[Design, None]:
        """Return the design of training rows; features have no scale of their own."""
        del weight
        return self._features.design(rows), None

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._features.design(rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows, kept as those of training are."""
        return self._mapped(X).design()

    @property
    def recomputes(self) -> bool:
        """Whether every pass makes the features again."""
        return not self._features.stored

    def release(self) -> None:
        """Let go of the features; the map stays."""
        self.__dict__.pop("_features", None)
