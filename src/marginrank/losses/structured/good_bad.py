"""Targets of good and bad rows: average precision, NDCG and reciprocal rank."""

from __future__ import annotations

import numpy as np

from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.losses.base import Vector
from marginrank.losses.structured.base import StructuredLoss, TargetOptions, by_row, query_scale, recipe_of
from marginrank.losses.structured.discounts import discount_table, weight_at_stake


class MapLoss(StructuredLoss):
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
        scale = _scale(view, options.relevance)
        recipe = recipe_of(view, scale, "StructuredMap", options.relevance)
        super().__init__(recipe, _averaged_curvature(view, options.relevance, scale), view, n_threads)


class NdcgLoss(StructuredLoss):
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
        scale = _scale(view, options.relevance)
        longest = int(np.diff(view.query_ptr).max())
        discount = discount_table(options.discount, longest)
        cutoff = checked_cutoff(options)
        recipe = recipe_of(view, scale, "StructuredNdcg", options.relevance, discount, cutoff)
        counted = discount if cutoff == 0 else np.where(np.arange(longest) < cutoff, discount, 0.0)
        total = weight_at_stake(scale, counted, view.query_ptr)
        curvature = _averaged_curvature(view, options.relevance, scale)
        super().__init__(recipe, curvature, view, n_threads, total=total)


class MrrLoss(StructuredLoss):
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
        scale = _scale(view, options.relevance)
        recipe = recipe_of(view, scale, "StructuredMrr", options.relevance, checked_cutoff(options))
        super().__init__(recipe, _averaged_curvature(view, options.relevance, scale), view, n_threads)


class MrrFirstLoss(StructuredLoss):
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
        scale = _scale(view, options.relevance)
        cutoff = checked_cutoff(options)
        recipe = recipe_of(view, scale, "StructuredMrrFirst", options.relevance, cutoff)
        n_good, _ = _counts(view, options.relevance)
        curvature = 0.25 * n_good.clip(1.0) * _averaged_curvature(view, options.relevance, scale)
        # The first good row meets every bad one at most.
        pull = 2.0 * float(scale @ np.diff(view.query_ptr))
        super().__init__(recipe, curvature, view, n_threads, pull=pull)


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


def _counts(view: TrainingView, relevance: float) -> tuple[Vector, Vector]:
    """Return the number of good and of bad rows of its query for each row."""
    good = (view.y >= relevance).astype(np.float64)
    starts = view.query_ptr[:-1]
    n_good = by_row(view, np.add.reduceat(good, starts))
    return n_good, by_row(view, np.diff(view.query_ptr).astype(np.float64)) - n_good


def _scale(view: TrainingView, relevance: float) -> Vector:
    good = view.y >= relevance
    starts = view.query_ptr[:-1]
    counted = np.logical_or.reduceat(good, starts) & ~np.logical_and.reduceat(good, starts)
    if not counted.any():
        raise NothingToRankError(
            f"No query has both good and bad rows (checked {len(counted)} queries; good is a label of at "
            f"least {relevance:g}), so there is nothing to rank. Is relevance right for these labels, or qid "
            "unique per row?"
        )
    return query_scale(view, counted)


def _averaged_curvature(view: TrainingView, relevance: float, scale: Vector) -> Vector:
    """Curvature of the squared hinge over the pairs of good and bad rows, at twice the scores."""
    n_good, n_bad = _counts(view, relevance)
    partners = np.where(view.y >= relevance, n_bad, n_good)
    curvature: Vector = 8.0 * by_row(view, scale) * partners / (n_good * n_bad).clip(1.0)
    return curvature
