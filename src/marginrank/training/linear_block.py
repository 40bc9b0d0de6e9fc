"""Features that a map makes of the columns, and beside them the columns: a kernel that can stay linear.

What is nearly linear is not left to the kernel, which would have to find it out of kernel values; measured on
ranking data, a kernel alone loses to the columns alone, and both together lose to neither. The two blocks are
divided so that their squares within queries have the same sum: then one alpha regularises them alike,
whatever the units of the columns, the kernel and the number of landmarks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.cached import cached_property
from marginrank.designs import ColumnTransform, Design, JoinedDesign, TransformedDesign, column_transform
from marginrank.designs.blocks import n_features_out
from marginrank.designs.column_sums import measure_columns
from marginrank.designs.columns import IDENTITY
from marginrank.designs.compared import connected_rows, plain_design
from marginrank.training.mapped_columns import MappedColumns
from marginrank.training.problems import Problem
from marginrank.types import Matrix, Rows, Vector


class MappedBesideColumns(MappedColumns):
    """The features of a map, and behind them the columns of X, each block divided by one number.

    Parameters
    ----------
    problem : Problem
        All training rows; folds share the transform of these, as they share the map.
    *mapping
        As of :class:`MappedColumns`.
    **known
        Likewise; the statistics of the columns are needed.
    """

    def __init__(self, problem: Problem, *mapping: Any, **known: Any) -> None:
        super().__init__(*mapping, **known)
        self._problem = problem

    @cached_property
    def block_scale(self) -> tuple[float, float]:
        """What the features of the map and the columns, scaled, are divided by.

        It is the root of the block's trace: the sum, over its features, of their variances within queries.
        """
        problem = self._problem
        rows, query_ptr = problem.rows, problem.compared.query_ptr
        assert self._transform.statistics is not None
        within = self._transform.statistics.within_deviation
        if problem.compared.pairs is not None:  # rows that pairs connect take the place of a query
            rows, query_ptr = connected_rows(problem.compared.pairs, self._X.shape[0])
            design = plain_design(self._X, rows, n_threads=self._n_threads)
            within = measure_columns(design, query_ptr)[1].within_deviation
        assert query_ptr is not None
        weight = np.ones(int(query_ptr[-1])) if problem.weight is None else problem.weight
        squares = self._features.design(rows).centred_squares(weight, query_ptr)
        within = within if self.column_scale is None else within / self.column_scale
        return _root(np.sqrt(squares / weight.sum())), _root(within)

    @cached_property
    def _columns(self) -> ColumnTransform:
        """The shift of the columns, and those that are constant wherever rows are compared."""
        problem = self._problem
        return column_transform(
            self._X, problem.rows, problem.compared, weight=problem.weight, n_threads=self._n_threads
        )

    @cached_property
    def _joint(self) -> ColumnTransform:
        n_columns = self._X.shape[1]
        mapped, linear = self.block_scale
        n_mapped = n_features_out(self.feature_map.block_map())
        by_column = np.ones(n_columns) if self.column_scale is None else self.column_scale
        constant = self._columns.constant
        return ColumnTransform(
            scale=np.concatenate([np.full(n_mapped, mapped), linear * by_column]),
            constant=None if constant is None else np.concatenate([np.zeros(n_mapped, bool), constant]),
            statistics=self._transform.statistics,
            scaled_by=self._transform.scaled_by,
        )

    def transform(self, problem: Problem) -> ColumnTransform:
        """Return what features and columns are divided by, the same for all parts of the rows."""
        del problem
        return self._joint

    def training_design(self, problem: Problem) -> Design:
        """Return the design of a problem's rows."""
        return TransformedDesign(self.shared(problem, problem.rows), problem.transform)

    def shared(self, problem: Problem, rows: Rows | None) -> Design:
        """Return the design of training rows with nothing but the shift of the columns."""
        del problem
        return self._beside(self._features.design(rows), self._X, rows, self._columns.within_products)

    def held_out(self, rows: Rows | None) -> Design:
        """Return the design of training rows."""
        return self._beside(self._features.design(rows), self._X, rows)

    def further(self, X: Matrix) -> Design:
        """Return the design of other rows."""
        return self._beside(self._mapped(X).design(), X, None)

    def _beside(
        self, features: Any, X: Matrix, rows: Rows | None, transform: ColumnTransform = IDENTITY
    ) -> Design:
        columns = plain_design(X, rows, transform, n_threads=self._n_threads)
        return JoinedDesign(features, columns, n_threads=self._n_threads)


def _root(sizes: Vector) -> float:
    """Return the root of the sum of squares, and 1 where there is nothing to divide.

    Examples
    --------
    >>> _root(np.array([3e200, 4e200])) / 1e200, _root(np.zeros(2))
    (5.0, 1.0)
    """
    largest = float(sizes.max(initial=0.0))
    if largest == 0.0:
        return 1.0
    return largest * float(np.sqrt(np.square(sizes / largest).sum()))
