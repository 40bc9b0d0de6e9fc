"""Targets of graded rows: NDCG and average precision as sums over the thresholds between grades."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import StructuredMap, StructuredNdcg
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.losses.native import Kernel
from marginrank.losses.structured.base import SingleTarget, TargetOptions, query_factor
from marginrank.losses.structured.discounts import discount_table, weight_at_stake
from marginrank.losses.structured.good_bad import checked_cutoff, without_cutoff
from marginrank.losses.structured.thresholds import GradedQueries, equal_shares, graded_queries, ndcg_shares
from marginrank.types import Vector


class GradedLoss(SingleTarget):
    """Base of the losses that add up what each threshold between two grades costs.

    The factor of query q at its threshold t is ``v_q omega_qt / sum v``, over the queries of weights ``v``
    with at least two grades. A query is split at its own grades only:
    further thresholds would split it alike.

    Parameters
    ----------
    view : TrainingView
        Weights and query offsets, in the order of the scores.
    grade : ndarray of shape (n_rows,)
        Grade of each row, in the order of the labels.
    n_threads : int
        Threads to use; the result does not depend on it.
    """

    feature_map = "po"

    def __init__(self, view: TrainingView, grade: Vector, n_threads: int) -> None:
        starts = view.query_ptr[:-1]
        counted = np.minimum.reduceat(grade, starts) < np.maximum.reduceat(grade, starts)
        if not counted.any():
            raise nothing_to_rank(len(counted))
        super().__init__(view._replace(y=grade), query_factor(view, counted), n_threads)

    @cached_property
    def _queries(self) -> GradedQueries:
        return graded_queries(self.y, self.query_ptr)

    @cached_property
    def _share(self) -> Vector:
        return self._shares(self._queries)

    @abstractmethod
    def _shares(self, queries: GradedQueries) -> Vector:
        """Return what the threshold just above each row of the sorted queries counts, at most 1 in all."""

    def _split(self) -> dict[str, NDArray[Any]]:
        """Return the rows of each query by grade, and the share of each threshold, as kernels take them."""
        first = np.repeat(self.query_ptr[:-1], np.diff(self.query_ptr))
        return {"rows": (self._queries.order - first).astype(np.int32), "share": self._share}

    def _roundings(self) -> float:
        # Beyond a single threshold: sums over the rows in each share, and over the thresholds.
        return super()._roundings() + 4.0 * self.longest_query + 32.0

    def _row_curvature(self) -> Vector:
        """Sum of the curvatures at the thresholds: a row is good below its own place, and bad above."""
        queries, sizes = self._queries, np.diff(self.query_ptr)
        n_rows = np.repeat(sizes, sizes)
        as_bad = _sums_to(self._share / (n_rows - queries.rank), self.query_ptr)
        in_good = _sums_to(self._share / queries.rank.clip(1), self.query_ptr)
        whole = np.repeat(in_good[self.query_ptr[1:] - 1], sizes)
        curvature = np.empty(self.n_rows)
        curvature[queries.order] = (as_bad + whole - in_good).clip(0.0)
        return 8.0 * self._by_row(self.factor) * curvature


class GradedMapLoss(GradedLoss):
    """One minus the mean of average precision over the thresholds that split the query.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``bins`` is read; there must be no cut-off.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows, times the thresholds; rows are sorted once.
    """

    name = "map"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        without_cutoff(self.name, options)
        super().__init__(view, options.grades(view.y), n_threads)

    def _shares(self, queries: GradedQueries) -> Vector:
        return equal_shares(queries, self.query_ptr)

    def _compiled(self) -> Kernel:
        return StructuredMap(query_ptr=self.query_ptr, scale=self.factor, **self._split())


class GradedNdcgLoss(GradedLoss):
    """One minus NDCG of graded rows, each threshold under the averaged differences of its good and bad rows.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``gain``, ``bins``, ``discount`` and ``cutoff`` are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows, times the thresholds, and with the cut-off k up to O(k^2) for
    each query and threshold; rows are sorted once.
    """

    name = "ndcg"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        super().__init__(view, options.gains(view.y), n_threads)
        self._discount = discount_table(options.discount, self.longest_query)
        self._cutoff = checked_cutoff(options)

    def _counted(self) -> Vector:
        """Return what each rank counts, 0 beyond the cut-off."""
        counted = self._discount.copy()
        if self._cutoff:
            counted[self._cutoff :] = 0.0
        return counted

    def _shares(self, queries: GradedQueries) -> Vector:
        return ndcg_shares(queries, self._counted(), self.query_ptr)

    def _compiled(self) -> Kernel:
        return StructuredNdcg(
            query_ptr=self.query_ptr,
            scale=self.factor,
            discount=self._discount,
            cutoff=self._cutoff,
            **self._split(),
        )

    @cached_property
    def total(self) -> float:
        """Weight of the queries in which a ranking can lose."""
        return weight_at_stake(self.factor, self._counted(), self.query_ptr)


def _sums_to(values: Vector, query_ptr: NDArray[np.int64]) -> Vector:
    """Return the sums within each query up to each row, that row included."""
    sums = np.cumsum(values)
    before = np.concatenate(([0.0], sums))[query_ptr[:-1]]
    return np.asarray(sums - np.repeat(before, np.diff(query_ptr)))
