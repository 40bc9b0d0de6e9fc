"""NDCG with graded gains, ranks assigned to rows: DORM."""

from __future__ import annotations

import numpy as np

from marginrank._kernels import StructuredDorm
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.gains import gains_of
from marginrank.losses.native import Kernel
from marginrank.losses.structured.base import SingleTarget, TargetOptions, query_factor
from marginrank.losses.structured.discounts import discount_table, weight_at_stake
from marginrank.losses.structured.good_bad import checked_cutoff
from marginrank.types import Vector

#: Rows of the longest query with many grades: there the time of one evaluation grows with the cube.
LARGEST_ASSIGNMENT = 1_000
# 2**label - 1 must stay exact.
_LARGEST_LABEL = 50.0


class DormLoss(SingleTarget):
    """One minus NDCG with graded gains, under rows weighted by a function of their rank.

    Of the ideal rankings, which differ in the order of equal labels, the mean is taken: then the risk is
    convex and does not depend on the order of the rows. So rows of equal label cost something while their
    scores differ.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    options : TargetOptions
        ``gain``, ``discount``, ``cutoff`` and ``rank_weight`` are read.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation sorts each grade and merges the lists by a dynamic programme, O(prod (n_g + 1)) for n_g rows
    of grade g; where that is too much it assigns ranks, O(n^3) at worst for n rows. With
    ``rank_weight="discount"`` and no cut-off it is a sort. The cells of the programme and the rows to which
    ranks are assigned are bounded, whatever the size of a query.
    """

    name = "ndcg"
    feature_map = "dorm"

    def __init__(self, view: TrainingView, options: TargetOptions, *, n_threads: int) -> None:
        if options.gain == "exponential":
            _check_labels(view.y)
        gain = gains_of(view.y, options.gain)
        longest = int(np.diff(view.query_ptr).max())
        discount = discount_table(options.discount, longest)
        weight = _weight_table(options, discount)
        cutoff = checked_cutoff(options)
        if cutoff > 0:
            discount[cutoff:] = 0.0
        starts = view.query_ptr[:-1]
        counted = np.minimum.reduceat(gain, starts) < np.maximum.reduceat(gain, starts)
        if not counted.any():
            raise nothing_to_rank(len(counted))
        super().__init__(view._replace(y=gain), query_factor(view, counted), n_threads)
        self._discount = discount
        self._rank_weight = weight
        _check_size(self.compiled.longest_assignment)

    def _compiled(self) -> Kernel:
        return StructuredDorm(self.y, self.query_ptr, self.factor, self._discount, self._rank_weight)

    @cached_property
    def pull(self) -> float:
        """What the 1-norm of a gradient is at most: weights of a ranking against those of the ideal one."""
        return 2.0 * float(self.factor @ np.cumsum(self._rank_weight)[np.diff(self.query_ptr) - 1])

    @cached_property
    def total(self) -> float:
        """Weight of the queries in which a ranking can lose."""
        return weight_at_stake(self.factor, self._discount, self.query_ptr)

    def _row_curvature(self) -> Vector:
        last = self._rank_weight[np.diff(self.query_ptr) - 1]
        return self._by_row(2.0 * self.factor * (self._rank_weight[0] - last))


def _check_labels(y: Vector) -> None:
    if y.min() < 0.0 or y.max() > _LARGEST_LABEL:
        raise MarginRankError.saying(
            "{feature_map='dorm'} has the gain 2**label - 1 and needs labels from 0 to {most:g}; got labels "
            "from {low:g} to {high:g}.",
            "Shift or scale them, or use {feature_map='po'}.",
            most=_LARGEST_LABEL,
            low=y.min(),
            high=y.max(),
        )


def _check_size(longest: int) -> None:
    if longest > LARGEST_ASSIGNMENT:
        raise MarginRankError.saying(
            "{feature_map='dorm'} assigns ranks to up to {most:d} rows of a query with many grades, in time "
            "that grows with the cube of their number; the longest one has {longest:d}.",
            "Use {feature_map='po'} or fewer grades.",
            "{rank_weight='discount'} without a cut-off takes a sort only.",
            most=LARGEST_ASSIGNMENT,
            longest=longest,
        )


def _weight_table(options: TargetOptions, discount: Vector) -> Vector:
    if options.rank_weight == "discount":
        return discount.copy()
    if options.rank_weight == "fourth_root":
        weight: Vector = np.arange(1.0, len(discount) + 1.0) ** -0.25
        return weight
    raise ParameterError("rank_weight", "'fourth_root' or 'discount'", options.rank_weight)
