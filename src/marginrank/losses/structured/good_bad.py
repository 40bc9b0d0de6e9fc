"""Targets of good and bad rows: average precision, NDCG and reciprocal rank."""

from __future__ import annotations

import numpy as np

from marginrank._kernels import StructuredMap, StructuredMrr, StructuredMrrFirst, StructuredNdcg
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.losses.native import Kernel
from marginrank.losses.structured.base import SingleTarget, TargetOptions, query_factor
from marginrank.losses.structured.discounts import discount_table, weight_at_stake
from marginrank.types import Vector


class GoodBadLoss(SingleTarget):
    """Base of the losses of good and bad rows.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``relevance`` is read.
    n_threads : int
        Threads to use; the result does not depend on it.
    """

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        super().__init__(view, _factor(view, options.relevance), n_threads)
        self._relevance = options.relevance

    def _counts(self) -> tuple[Vector, Vector]:
        """Return the number of good and of bad rows of its query for each row."""
        good = (self.y >= self._relevance).astype(np.float64)
        n_good = self._by_row(np.add.reduceat(good, self.query_ptr[:-1]))
        return n_good, self._by_row(np.diff(self.query_ptr).astype(np.float64)) - n_good

    def _row_curvature(self) -> Vector:
        """Curvature of the squared hinge over the pairs of good and bad rows, at twice the scores."""
        n_good, n_bad = self._counts()
        partners = np.where(self.y >= self._relevance, n_bad, n_good)
        curvature: Vector = 8.0 * self._by_row(self.factor) * partners / (n_good * n_bad).clip(1.0)
        return curvature


class MapLoss(GoodBadLoss):
    """One minus average precision, under averaged differences of good and bad rows.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``relevance`` is read; there must be no cut-off.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows.
    """

    name = "map"
    feature_map = "po"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        without_cutoff(self.name, options)
        super().__init__(view, options, n_threads=n_threads)

    def _compiled(self) -> Kernel:
        return StructuredMap(self.y, self.query_ptr, self.factor, self._relevance)


class NdcgLoss(GoodBadLoss):
    """One minus NDCG of good and bad rows, under their averaged differences.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``relevance``, ``discount`` and ``cutoff`` are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows, and with the cut-off k up to O(k^2) for each query.
    """

    name = "ndcg"
    feature_map = "po"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        super().__init__(view, options, n_threads=n_threads)
        self._discount = discount_table(options.discount, self.longest_query)
        self._cutoff = checked_cutoff(options)

    def _compiled(self) -> Kernel:
        return StructuredNdcg(
            self.y, self.query_ptr, self.factor, self._relevance, self._discount, self._cutoff
        )

    @cached_property
    def total(self) -> float:
        """Weight of the queries in which a ranking can lose."""
        counted = self._discount.copy()
        if self._cutoff:
            counted[self._cutoff :] = 0.0
        return weight_at_stake(self.factor, counted, self.query_ptr)


class MrrLoss(GoodBadLoss):
    """One minus the reciprocal rank of the first good row, under averaged differences.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``relevance`` and ``cutoff`` are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows.
    """

    name = "mrr"
    feature_map = "po"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        super().__init__(view, options, n_threads=n_threads)
        self._cutoff = checked_cutoff(options)

    def _compiled(self) -> Kernel:
        return StructuredMrr(self.y, self.query_ptr, self.factor, self._relevance, self._cutoff)


class MrrFirstLoss(GoodBadLoss):
    """One minus the reciprocal rank, where only the first good row meets the bad ones above it.

    The differences are summed and not averaged, so ``alpha`` has another scale than for the other targets.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``relevance`` and ``cutoff`` are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs O(m log m) for m rows.
    """

    name = "mrr"
    feature_map = "mrr"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        super().__init__(view, options, n_threads=n_threads)
        self._cutoff = checked_cutoff(options)

    def _compiled(self) -> Kernel:
        return StructuredMrrFirst(self.y, self.query_ptr, self.factor, self._relevance, self._cutoff)

    @cached_property
    def pull(self) -> float:
        """What the 1-norm of a gradient is at most: the first good row meets every bad one at most."""
        return 2.0 * float(self.factor @ np.diff(self.query_ptr))

    def _row_curvature(self) -> Vector:
        n_good, _ = self._counts()
        return 0.25 * n_good.clip(1.0) * super()._row_curvature()


def without_cutoff(name: str, options: TargetOptions) -> None:
    """Refuse a cut-off for targets that have no truncated form."""
    if options.cutoff is not None:
        raise MarginRankError(
            f"{name} is trained on the whole ranking and has no cut-off; got {options.cutoff}. "
            "Leave it out: it can still be used to evaluate."
        )


def checked_cutoff(options: TargetOptions) -> int:
    """Return the cut-off as kernels take it: 0 for none."""
    if options.cutoff is None:
        return 0
    if options.cutoff < 1:
        raise MarginRankError(f"The cut-off must be an integer of at least 1; got {options.cutoff}.")
    return int(options.cutoff)


def _factor(view: TrainingView, relevance: float) -> Vector:
    good = view.y >= relevance
    starts = view.query_ptr[:-1]
    counted = np.logical_or.reduceat(good, starts) & ~np.logical_and.reduceat(good, starts)
    if not counted.any():
        raise NothingToRankError(
            f"No query has both good and bad rows (checked {len(counted)} queries; good is a label of at "
            f"least {relevance:g}), so there is nothing to rank. Is relevance right for these labels, or qid "
            "unique per row?"
        )
    return query_factor(view, counted)
