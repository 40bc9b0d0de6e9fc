"""Pairwise hinge and squared hinge within queries, or over one global ranking.

With ``i`` the lower and ``j`` the higher row of a comparable pair, the risks are weighted means of
``max(0, 1 - (p_j - p_i))`` and of its square. Pairs are counted, never formed: see
``native/include/marginrank/pair_sweep.hpp`` for large queries and ``pair_brute.hpp`` for small ones.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import PairLabels, PairLoss
from marginrank._kernels import SmoothedHinge as CompiledSmoothedHinge
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.exceptions import MarginRankError
from marginrank.losses.elsewhere import WeightsElsewhere, counted_elsewhere, parts_elsewhere
from marginrank.losses.native import Kernel, NativeLoss
from marginrank.losses.written_pairs import WrittenPairs, write_pairs
from marginrank.rounding import UNIT, LossRounding
from marginrank.storage.chunk_vectors import ChunkVector
from marginrank.types import Vector

Weighting = Literal["pairs", "queries"]

# Up to so many rows (kBruteRows of pair_labels.hpp) pairs are added one by one, and no sum cancels.
_ONE_BY_ONE = 320
# What the rounding of sums over a large query may add to the risk, which is 1 at w = 0.
_LARGEST_ERROR = 1e-6
# Rows whose terms are added one after the other; the sums of such blocks meet in a tree.
_BLOCK_ROWS = 32768
# Rows of the longest query with which looking at every pair costs less than it saves in passes over X.
_LONGEST_SMOOTHED = 1024


class PairwiseLoss(NativeLoss):
    """Base of the losses over the comparable pairs of queries.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    weighting : {"pairs", "queries"}
        Mean over all pairs, or mean over queries of each query's mean.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    y, weight : ndarray or None
        Label and weight of each row.
    factor : ndarray
        What the sum over the pairs of each query is multiplied with, so that the whole is a mean.
    n_pairs : int
        Comparable pairs.
    """

    by_row = ("y", "weight")
    by_query = ("factor",)
    #: Second derivative of the loss of a pair where both scores are equal.
    pair_curvature: ClassVar[float] = 2.0

    def __init__(self, view: TrainingView, *, weighting: Weighting, n_threads: int) -> None:
        super().__init__(view.query_ptr, n_threads)
        self.y = view.y
        self.weight = view.sample_weight
        self.factor = np.empty(0)  # before the pairs are counted
        pair_weight = self._pair_weight()
        if not pair_weight.any():
            raise nothing_to_rank(len(pair_weight))
        self.factor = _query_factor(pair_weight, view.query_weight, weighting)

    @cached_property
    def _labels(self) -> PairLabels:
        """The labels of each query, sorted and counted."""
        return PairLabels(np.asarray(self.y), self.query_ptr, self.weight, self.n_threads)

    def _pair_weight(self) -> Vector:
        """Return what the pairs of each query weigh, counted where the labels lie."""
        y: Any = self.y
        parts = parts_elsewhere(self, y) if isinstance(y, ChunkVector) else None
        if parts is None:
            return self._labels.pair_weight
        pair_weight, n_pairs = counted_elsewhere(y, parts)
        vars(self)["n_pairs"] = n_pairs
        return pair_weight

    @cached_property
    def n_pairs(self) -> int:
        """Comparable pairs."""
        return int(self._labels.n_pairs.sum())

    def with_labels(self, y: Vector) -> Self:
        """Return the loss of the same queries and factors with these labels."""
        return self._with(y=y)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets for the diagonal of the Hessian at equal scores."""
        y: Any = self.y
        parts = parts_elsewhere(self, y) if isinstance(y, ChunkVector) else None
        if parts is not None:
            weights: Any = WeightsElsewhere(y, parts)
            return weights, self.query_ptr
        return self._by_row(self.pair_curvature * self.factor) * self._labels.partner_weight(), self.query_ptr


class MarginLoss(PairwiseLoss):
    """Base of the losses of pairs within the margin of 1, which are counted and never formed.

    Notes
    -----
    An evaluation costs O(m log m) for m rows, in memory O(m).
    """

    cost = "n log n"
    squared: ClassVar[bool]

    def __init__(self, view: TrainingView, *, weighting: Weighting, n_threads: int) -> None:
        super().__init__(view, weighting=weighting, n_threads=n_threads)
        _check_sums(view, self.factor)

    def _compiled(self) -> Kernel:
        return PairLoss(self._labels, self.factor, self.squared)

    @cached_property
    def _relative(self) -> float:
        """Sums of terms of one sign, and the factors of queries, are right to this part of themselves."""
        rows = min(self.longest_query, _BLOCK_ROWS) if self.weight is None else 4 * self.longest_query
        return UNIT * (rows + 2 * len(self.factor) + 256)

    @cached_property
    def _sorted(self) -> _SortedQueries:
        return _SortedQueries(self.query_ptr, self.weight, self.factor)

    def active_partners(self, scores: Vector) -> tuple[Vector, Vector]:
        """Return for each row the weight of its active partners with a higher and with a lower label.

        Without weights these are the counts ``c`` and ``d`` of the TreeRSVM paper, exact integers.
        """
        above, below = np.empty(self.n_rows), np.empty(self.n_rows)
        self.compiled.active_partners(scores, above, below, self.n_threads)
        return above, below

    def mean_error(self, ranks: Vector) -> float:
        """Return the mean share of wrongly ordered pairs, ties half, for whole-numbered ranks as scores."""
        # With whole numbers, "within the margin of 1" means "not above": of N pairs, the counts below are
        # those in wrong order or tied (A) and those in right order or tied (B); wrong + ties/2 is
        # (N + A - B) / 2.
        wrong_or_tied, _ = self.active_partners(ranks)
        right_or_tied, _ = self.active_partners(-ranks)
        surplus = wrong_or_tied - right_or_tied
        if self.weight is not None:
            surplus *= self.weight
        by_query = np.add.reduceat(surplus, self.query_ptr[:-1])
        return 0.5 + 0.5 * float(self.factor @ by_query)


class HingeLoss(MarginLoss):
    """Mean of ``max(0, 1 - (p_j - p_i))``."""

    name = "hinge"
    smooth = False
    squared = False

    def written_pairs(self) -> WrittenPairs:
        """Return the pairs one by one: for small problems, because it takes a table of all rows with all."""
        return write_pairs(np.asarray(self.y), self.query_ptr, self.weight, self.factor, self._relative)

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        The value is a sum of ``g_i z_i`` and of the weights of active pairs, which are at most the risk plus
        ``||g|| max |z|``. A pair taken for inactive because its difference rounds to 1 has a loss of u at
        most; the plane of the others holds whichever they are.
        """
        del scores
        active = min(value + length * reach, 1.0)
        error = self._relative * (length * reach + active)
        slope = self._relative * length
        if self.weight is not None:
            error += 5.0 * self._sorted.relative * self._sorted.mass * (1.0 + 2.0 * reach)
            slope += 2.0 * self._relative * active + 10.0 * self._sorted.relative * self._sorted.mass
        return LossRounding(error + UNIT if reach > 0.0 else error, slope)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: a difference of two scores moves twice as far."""
        return value + 2.0 * shift

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: every pair pulls at two rows."""
        del value
        return 2.0

    def smoothed(self, width: float) -> SmoothedHinge | None:
        """Return the hinge that is quadratic for margins within half a width of 1.

        None with longer queries: every pair is looked at, and with so many pairs the hinge behaves like a
        smooth function anyway.
        """
        return None if self.longest_query > _LONGEST_SMOOTHED else SmoothedHinge(self, width)


class SmoothedHinge(PairwiseLoss):
    """The hinge with a quadratic piece in place of its kink, and planes below the hinge itself.

    Each pair has a slope ``-mu``, mu from 0 to 1, and ``mu (1 - (p_j - p_i))`` is below its hinge wherever
    the scores are. So ``mean(mu) + g.p`` is below the hinge for the gradient g of this loss, whatever
    rounding made of each mu.

    Parameters
    ----------
    hinge : HingeLoss
        What is smoothed.
    width : float
        Margins within half of this of 1 belong to the quadratic piece.
    """

    name = "smoothed hinge"
    smooth = True
    cost = "quadratic"

    def __init__(self, hinge: HingeLoss, width: float) -> None:
        NativeLoss.__init__(self, hinge.query_ptr, hinge.n_threads)
        self.y, self.weight, self.factor, self.width = hinge.y, hinge.weight, hinge.factor, width
        if "_labels" in vars(hinge):  # sorted and counted once for all widths
            vars(self)["_labels"] = hinge._labels

    def _compiled(self) -> Kernel:
        return CompiledSmoothedHinge(self._labels, self.factor, self.width)

    @cached_property
    def _relative(self) -> float:
        """Sums over the pairs of rows and queries are right to this part of themselves."""
        return UNIT * (4 * self.longest_query + 2 * len(self.factor) + 256)

    def level(self, scores: Vector) -> tuple[float, LossRounding]:
        """Return the mean of all mu; each of them pulls at two rows, whose sums are as right as this one."""
        level = float(self.compiled.level(scores, self.n_threads))
        error = 2.0 * self._relative * level
        return level, LossRounding(error, 2.0 * error)

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off: a slack is right to ``u (2 + 2 reach)``."""
        del length, scores
        slack = UNIT * (4.0 + 4.0 * reach)
        return LossRounding(
            2.0 * self._relative * value + slack, 4.0 * self._relative + 2.0 * slack / self.width
        )

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: a difference of two scores moves twice as far."""
        return value + 2.0 * shift

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: every pair pulls at two rows."""
        del value
        return 2.0


class SquaredHingeLoss(MarginLoss):
    """Mean of ``max(0, 1 - (p_j - p_i))^2``."""

    name = "squared_hinge"
    smooth = True
    squared = True

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        A slack t is right to ``u (1 + 2 t)``, and any t that is not negative gives a plane that holds. Sorted
        queries have no slacks but differences of sums, whose error does not shrink with the risk.
        """
        del length
        root = sqrt(value)
        error = self._relative * value + UNIT * (2.0 * root + 4.0 * value + UNIT)
        by_value, by_slope = self._sorted.rounding(reach, scores)
        return LossRounding(error + by_value, 4.0 * self._relative * root + by_slope)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: its root is a norm of the slacks."""
        root = sqrt(value) + 2.0 * shift
        return root * root

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: four times the mean slack, which is at most the root."""
        return 4.0 * sqrt(value)


class _SortedQueries:
    """The queries whose scores are sorted and summed, and what the rounding of these sums is measured in.

    Sums over the partners of a row are differences of sums over all rows. In a query of n rows and weight W
    with scores z about their median, a sum of weights is right to ``5 n u W`` then, and exact without
    weights; one of scores is right to ``5 n u A`` with ``A = sum_i w_i |z_i|``.
    """

    def __init__(self, query_ptr: NDArray[np.int64], weight: Vector | None, factor: Vector) -> None:
        starts, sizes = query_ptr[:-1], np.diff(query_ptr)
        self._mass = sizes.astype(np.float64) if weight is None else np.add.reduceat(weight, starts)
        self._factor = np.where(sizes > _ONE_BY_ONE, factor, 0.0)
        self._starts, self._sizes, self._weight = starts, sizes, weight
        self.mass = float(self._factor @ np.square(self._mass))
        self.relative = UNIT * (int(sizes.max()) + 64)

    def rounding(self, reach: float, scores: Vector | None) -> tuple[float, float]:
        """Return the error of the squared hinge and that of its gradient, in the 1-norm."""
        if self.mass == 0.0:
            return 0.0, 0.0
        by_query = self._mass * reach if scores is None else self._deviations(scores)
        spread = float((self._factor * self._mass) @ by_query)
        squares = float(self._factor @ np.square(by_query))
        # Terms c (1 + z), sums of partners and z h, each by its errors; then their sum over the rows.
        value = self.mass + 6.0 * spread + 2.0 * spread * reach + 7.0 * squares
        slope = 11.0 * spread + 0.25 * self.mass
        if self._weight is not None:
            value += 10.0 * (self.mass + spread) * (1.0 + reach)
            slope += 20.0 * (self.mass + spread)
        return self.relative * value, self.relative * slope

    def _deviations(self, scores: Vector) -> Vector:
        """Return the sum of ``w |z|`` of each query, at least.

        Without weights that about the mean is not below that about the median. With weights it may be, by the
        distance of the two, which is at most the mean distance from the mean.
        """
        means = np.add.reduceat(scores, self._starts) / self._sizes
        distance = np.abs(scores - np.repeat(means, self._sizes))
        found: Vector = np.add.reduceat(distance, self._starts)
        if self._weight is not None:
            weighted = np.add.reduceat(distance * self._weight, self._starts)
            found = weighted + found / self._sizes * self._mass
        return found * (1.0 + 1e-9)


def _check_sums(view: TrainingView, factor: Vector) -> None:
    """Refuse weights whose pairs would be lost in the rounding of sums over a whole query."""
    if view.sample_weight is None:
        return
    large = np.diff(view.query_ptr) > _ONE_BY_ONE
    total = np.add.reduceat(view.sample_weight, view.query_ptr[:-1])[large]
    if float(factor[large] @ np.square(total)) * np.finfo(np.float64).eps > _LARGEST_ERROR:
        raise MarginRankError.saying(
            "{sample_weight} puts nearly all weight of a query on rows of one label, so the weights of its "
            "pairs are lost in the rounding of their sums; make the largest weights smaller, or leave out "
            "rows that weigh next to nothing (weight 0)."
        )


def _query_factor(pair_weight: Vector, query_weight: Vector | None, weighting: Weighting) -> Vector:
    """Return the factor of each query's sum over pairs that makes the whole a mean."""
    has_pairs = pair_weight > 0.0
    weight = np.ones(len(pair_weight)) if query_weight is None else query_weight
    factor: Vector
    if weighting == "pairs":
        factor = weight / float(weight @ pair_weight)
    else:
        factor = weight / (np.where(has_pairs, pair_weight, 1.0) * weight[has_pairs].sum())
    return np.where(has_pairs, factor, 0.0)
