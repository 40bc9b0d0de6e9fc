"""What the structured losses share: options, the weight of each query, evaluation."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import log2
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError
from marginrank.gains import Gain, gains_of
from marginrank.losses.native import NativeLoss
from marginrank.losses.structured.bins import Bins
from marginrank.parameters import refuses
from marginrank.rounding import UNIT, LossRounding
from marginrank.types import Vector

Discount: TypeAlias = Literal["log2", "letor"]
RankWeight: TypeAlias = Literal["fourth_root", "discount"]


_NO_ROW_WEIGHTS = (
    "Structured targets take no {sample_weight}, because a row stands once in a ranking.",
    "Weigh whole queries with {query_weight}.",
)
#: For functions that train for a structured target.
refuses_row_weights = refuses("sample_weight", *_NO_ROW_WEIGHTS)


@dataclass(frozen=True)
class TargetOptions:
    """Conventions of a target; each loss reads those that concern it.

    Parameters
    ----------
    cutoff : int, optional
        Only the first ranks count (NDCG and MRR). None trains on the whole ranking.
    relevance : float, default=1
        Rows with a label of at least this are good (MRR, and MAP and NDCG that are not graded).
    graded : bool, default=False
        MAP and NDCG as sums over the thresholds between labels, instead of the one at ``relevance``. DORM is
        graded anyway.
    gain : {"exponential", "linear"} or GainTable, default="exponential"
        Of NDCG that is graded.
    bins : Bins, optional
        Labels that count as one grade, where MAP and NDCG are graded; None for a grade of every label.
    discount : {"log2", "letor"}
        Of NDCG: ``1 / log2(1 + rank)``; or 1 for the ranks 1 and 2 and ``1 / log2(rank)`` from there on.
    rank_weight : {"fourth_root", "discount"}
        Of DORM's feature map: ``rank ** -0.25``, which takes an assignment, or the discount itself (without
        the cut-off), which without a cut-off takes a sort only.
    """

    cutoff: int | None = None
    relevance: float = 1.0
    discount: Discount = "log2"
    rank_weight: RankWeight = "fourth_root"
    graded: bool = False
    gain: Gain = "exponential"
    bins: Bins | None = None

    def grades(self, y: Vector) -> Vector:
        """Return the grade of each label."""
        return y if self.bins is None else self.bins.grades(y)

    def gains(self, y: Vector) -> Vector:
        """Return the gain of each label."""
        return gains_of(y, self.gain) if self.bins is None else self.bins.gains_of(y)


class StructuredLoss(NativeLoss):
    """Base of the structured losses.

    Attributes
    ----------
    pull : float
        What the 1-norm of a gradient is at most: 4 for averaged differences, as every pair in wrong order
        counts twice, against it and not for it, and has two ends.
    total : float
        Weight of the queries in which a ranking can lose at all; 0 makes the risk exactly 0 at equal scores.
    size : float
        What the terms of the risk are at most where all scores are equal.
    """

    smooth = False
    cost = "n log n"
    feature_map: ClassVar[str]

    @cached_property
    def pull(self) -> float:
        """What the 1-norm of a gradient is at most."""
        return 4.0

    @cached_property
    def total(self) -> float:
        """Weight of the queries in which a ranking can lose."""
        return 1.0

    @property
    def size(self) -> float:
        """What the terms of the risk are at most where all scores are equal."""
        return 1.0

    @cached_property
    def _relative(self) -> float:
        return UNIT * (self._roundings() + len(self.query_ptr) - 1)

    def _roundings(self) -> float:
        """Return how often the value of a query is rounded, at most."""
        longest = self.longest_query
        return 4.0 * (longest + 16) * (log2(longest) + 2.0)

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        The ranking that is found gives a plane that holds, whether or not it is the worst one. It is worst up
        to the rounding of the sums that are compared: of as many terms as a query has rows, which make up its
        Delta and its differences of scores, for each of the levels of a divided search.
        """
        del length, scores
        error = self._relative * (self.size + self.pull * reach)
        if reach == 0.0 and self.total == 0.0:
            error = abs(value)  # no ranking loses anything, so the risk is 0
        return LossRounding(error, self._relative * self.pull)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: it is piecewise linear."""
        return value + self.pull * shift

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient."""
        del value
        return self.pull

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets for a diagonal that has the scale of the risk's curvature."""
        return self._row_curvature(), self.query_ptr

    @abstractmethod
    def _row_curvature(self) -> Vector:
        """Return row weights that give about the curvature of the risk at equal scores."""


class SingleTarget(StructuredLoss):
    """Base of the losses of one target.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    factor : ndarray of shape (n_queries,)
        The factor of each query, which makes the risk a mean.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    y : ndarray
        Label, or gain, of each row.
    """

    by_row = ("y",)
    by_query = ("factor",)

    def __init__(self, view: TrainingView, factor: Vector, n_threads: int) -> None:
        super().__init__(view.query_ptr, n_threads)
        self.y = view.y
        self.factor = factor


def query_factor(view: TrainingView, counted: NDArray[np.bool_]) -> Vector:
    """Return the factor of each query that makes the risk a mean over the counted ones."""
    if view.sample_weight is not None:
        raise MarginRankError.saying(*_NO_ROW_WEIGHTS)
    weight = np.ones(len(counted)) if view.query_weight is None else view.query_weight
    weight = np.where(counted, weight, 0.0)
    factor: Vector = weight / weight.sum()
    return factor
