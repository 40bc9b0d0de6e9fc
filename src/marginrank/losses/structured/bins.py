"""Bins of labels, where these are too many for a threshold each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marginrank.data import TrainingView
from marginrank.losses.structured.thresholds import (
    MOST_GRADES,
    GradedQueries,
    equal_shares,
    graded_queries,
    ideal_sums,
    ndcg_shares,
)
from marginrank.types import Vector


@dataclass(frozen=True)
class Bins:
    """Labels that count as one grade: those from one threshold to below the next.

    Parameters
    ----------
    thresholds : tuple of float
        The lowest label of each bin but the first.
    gains : tuple of float
        The gain of each bin, one more than there are thresholds.

    Examples
    --------
    >>> bins = Bins((1.0, 2.5), (0.2, 1.5, 6.0))
    >>> bins.grades(np.array([0.9, 1.0, 2.6])).tolist(), bins.gains_of(np.array([0.9, 2.6])).tolist()
    ([0.0, 1.0, 2.0], [0.2, 6.0])
    """

    thresholds: tuple[float, ...]
    gains: tuple[float, ...]

    def grades(self, y: Vector) -> Vector:
        """Return the number of the bin of each label."""
        return self._bin(y).astype(np.float64)

    def gains_of(self, y: Vector) -> Vector:
        """Return the gain of the bin of each label."""
        return np.asarray(np.array(self.gains)[self._bin(y)])

    def _bin(self, y: Vector) -> NDArray[np.int64]:
        return np.searchsorted(np.array(self.thresholds), y, side="right")


def choose_bins(
    view: TrainingView, gain: Vector, discount: Vector, *, ndcg: float, map: float, most: int = MOST_GRADES
) -> Bins:
    """Bin labels so that every threshold counts about the same in the sum over all of them.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets.
    gain : ndarray of shape (n_rows,)
        The gain of each label; the gain of a bin is the mean of its rows', by what they count in NDCG.
    discount : ndarray
        Of each rank of the longest query.
    ndcg, map : float
        What each of the two targets weighs.
    most : int, default=32
        Number of bins.

    Notes
    -----
    For the gains ``G'`` of bins in the place of ``G``, one minus NDCG of any ranking of a query is off by at
    most ``(|Z - Z'| + E) / max(Z, Z')``, with ``Z`` and ``Z'`` the ideal sums and ``E`` the sum over ranks of
    the discount times ``|G - G'|``, the largest first; see :func:`binning_bound`.
    """
    levels, level = np.unique(view.y, return_inverse=True)
    weight = np.ones(len(view.query_ptr) - 1) if view.query_weight is None else view.query_weight
    by_row = np.repeat(weight, np.diff(view.query_ptr))
    queries = graded_queries(view.y, view.query_ptr)
    by_gain = GradedQueries(queries.order, queries.rank, gain[queries.order])
    counted = np.zeros(len(levels))
    for share, shares in (
        (ndcg, ndcg_shares(by_gain, discount, view.query_ptr)),
        (map, equal_shares(queries, view.query_ptr)),
    ):
        # The threshold just above a sorted row is the label of the row before it.
        of_threshold = np.bincount(level[queries.order][:-1], (by_row * shares)[1:], len(levels))
        total = of_threshold.sum()
        counted += share * of_threshold / total if total > 0.0 else 0.0
    thresholds = levels[_kept(counted, most - 1)]
    bins = np.searchsorted(thresholds, view.y, side="right")
    highest, total = ideal_sums(by_gain, discount, view.query_ptr)
    per_query = np.repeat(weight / np.where(total > 0.0, total, 1.0) / highest, np.diff(view.query_ptr))
    worth = np.empty(len(view.y))
    worth[queries.order] = per_query * discount[queries.rank]
    return Bins(tuple(thresholds.tolist()), _means(gain, worth, bins, len(thresholds) + 1))


def _kept(counted: Vector, most: int) -> NDArray[np.int64]:
    """Return the levels whose thresholds are kept: the middle one of each of ``most`` equal parts."""
    after = np.cumsum(counted)
    middle = (after - 0.5 * counted) / after[-1]
    wanted = (np.arange(most) + 0.5) / most
    kept = np.searchsorted(middle, wanted)
    return np.unique(kept.clip(1, len(counted) - 1))


def _means(gain: Vector, worth: Vector, bins: NDArray[np.int64], count: int) -> tuple[float, ...]:
    # Gains of extreme size may leave a bin without any worth: there all rows count the same.
    worth = np.where((np.bincount(bins, worth, count) > 0.0)[bins], worth, 1.0)
    means = np.bincount(bins, worth * gain, count) / np.bincount(bins, worth, count)
    return tuple(np.maximum.accumulate(means).tolist())


def binning_bound(view: TrainingView, gain: Vector, binned: Vector, discount: Vector) -> float:
    """Return by how much the mean of one minus NDCG may be off, at most, for any ranking of the queries.

    Parameters
    ----------
    view : TrainingView
        Weights and query offsets.
    gain, binned : ndarray of shape (n_rows,)
        The gain of each row, and that of its bin.
    discount : ndarray
        Of each rank of the longest query.

    Examples
    --------
    >>> from marginrank.data.labels import LabelledQueries
    >>> view = LabelledQueries.of([0, 1, 2]).training_view()
    >>> bound = binning_bound(view, view.y, np.array([0.0, 1.5, 1.5]), np.array([1.0, 0.63, 0.5]))
    >>> round(bound, 3)
    0.38
    """
    ptr, largest_gain = view.query_ptr, float(gain.max()) or 1.0
    sums = []
    for values in (gain, binned, np.abs(gain - binned)):
        highest, total = ideal_sums(graded_queries(values / largest_gain, ptr), discount, ptr)
        sums.append(highest * total)
    ideal, other, off = sums
    largest = np.maximum(ideal, other)
    bound = np.where(
        largest > 0.0, (np.abs(ideal - other) + off) / np.where(largest > 0.0, largest, 1.0), 0.0
    )
    starts = ptr[:-1]
    counted = np.minimum.reduceat(binned, starts) < np.maximum.reduceat(binned, starts)
    weight = np.where(counted, 1.0 if view.query_weight is None else view.query_weight, 0.0)
    return float((weight * bound.clip(max=1.0)).sum() / weight.sum()) if counted.any() else 0.0
