"""Least squares within queries, or over explicit pairs with magnitudes: the losses of RankRLS.

Within a query the squared differences of all pairs, tied ones included, divided by the number of rows are the
squared errors ``e = p - y`` centred within the query: O(m) for m rows, and no pair is formed.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import LeastSquares, LeastSquaresPairs, PairLabels
from marginrank.cached import cached_property
from marginrank.data import TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.losses.native import Kernel, NativeLoss
from marginrank.losses.preferences import SquaredPreferences
from marginrank.rounding import UNIT, LossRounding
from marginrank.types import Vector


class LeastSquaresLoss(NativeLoss):
    """Weighted mean over all rows of ``(e_i - mean_q e)^2`` with ``e = p - y``.

    A row weighs its sample weight times the weight of its query, and the mean of a query is that by sample
    weight.

    Parameters
    ----------
    view : TrainingView
        Labels, weights and query offsets, in the order of the scores.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    y, weight : ndarray or None
        Label and sample weight of each row.
    query_weight, factor : ndarray
        Weight of each query, and the same as a part of the weight of all rows.
    total_weight : float
        Weight of all rows, those included that are alone in their query.
    n_pairs : int
        Pairs of rows of a query that differ in their labels.

    Notes
    -----
    The Hessian does not depend on the scores. An evaluation costs O(m) for m rows, in memory O(m).

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.data import RankingData
    >>> data = RankingData([[0.0], [1.0], [5.0]], y=[0, 2, 1], qid=[1, 1, 2])
    >>> loss = LeastSquaresLoss(data.training_view(), n_threads=1)
    >>> point = loss.at(np.zeros(3))
    >>> round(point.value, 3), loss.total_weight, loss.n_pairs
    (0.667, 3.0, 1)
    >>> np.round(point.gradient, 3).tolist()
    [0.667, -0.667, 0.0]
    """

    name = "least_squares"
    smooth = True
    quadratic = True
    cost = "linear"
    by_row = ("y", "weight")
    by_query = ("query_weight", "factor")

    def __init__(self, view: TrainingView, *, n_threads: int) -> None:
        super().__init__(view.query_ptr, n_threads)
        self.y = np.asarray(view.y)
        self.weight = view.sample_weight
        labels = self._labels()
        if not labels.pair_weight.any():
            raise nothing_to_rank(len(view.query_ptr) - 1)
        self.n_pairs = int(labels.n_pairs.sum())
        n_queries = len(view.query_ptr) - 1
        self.query_weight = np.ones(n_queries) if view.query_weight is None else view.query_weight
        self.total_weight = float(self._row_weight().sum())
        self.factor = self.query_weight / self.total_weight

    def _labels(self) -> PairLabels:
        return PairLabels(self.y, self.query_ptr, self.weight, self.n_threads)

    @cached_property
    def n_pairs(self) -> int:
        """Pairs of rows of a query that differ in their labels."""
        return int(self._labels().n_pairs.sum())

    def _compiled(self) -> Kernel:
        return LeastSquares(self.y, self.query_ptr, self.weight, self.factor)

    def _row_weight(self) -> Vector:
        by_row = self._by_row(self.query_weight)
        return by_row if self.weight is None else by_row * self.weight

    @cached_property
    def _label_reach(self) -> float:
        return float(np.ptp(self.y))

    @cached_property
    def _relative(self) -> float:
        """Sums are right to this part of the terms that make them up."""
        return UNIT * (2 * self.longest_query + len(self.factor) + 256)

    @cached_property
    def _outlier(self) -> float:
        """How many times the root of the risk an error is at most.

        Errors are relative to that of the first row of their query; so is the error of their mean.
        """
        starts = self.query_ptr[:-1]
        weight = np.ones(self.n_rows) if self.weight is None else self.weight
        mass, first = np.add.reduceat(weight, starts), weight[starts]
        ratio = np.divide(mass, first, out=np.full(len(first), np.inf), where=first > 0.0)
        return 1.0 + sqrt(float((self.factor * mass) @ ratio))

    def with_labels(self, y: Vector) -> LeastSquaresLoss:
        """Return the loss of the same rows, queries and weights with other labels, even if all are equal."""
        return self._with(y=y)

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        Differences of scores and of labels to those of the first row round as if the scores were a little
        other ones. The mean error of a query is right to a part of the errors, so it moves the value by terms
        of second order only, and the gradient by as much in every row.
        """
        del scores
        spread = reach + self._label_reach
        largest = min(self._outlier * sqrt(value), 2.0 * spread) if value > 0.0 else 0.0
        slope = self._relative * (length + 2.0 * largest)
        missed = self._relative * largest
        error = self._relative * value + missed * missed  # a power would raise where this is infinite
        return LossRounding(error, slope, 4.0 * UNIT * spread)

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: its root is a norm of the errors."""
        root = sqrt(value) + shift
        return root * root

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: twice the mean error, at most its root mean square."""
        return 2.0 * sqrt(value)

    def curvature(self) -> tuple[Vector, NDArray[np.int64]]:
        """Return row weights and query offsets; they give the diagonal of the Hessian exactly."""
        return (2.0 / self.total_weight) * self._row_weight(), self.query_ptr


class LeastSquaresPreferences(SquaredPreferences):
    """Weighted mean of ``(t - (p_win - p_lose))^2`` over explicit pairs, ``t`` the margin of each or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.data import TrainingPairs
    >>> training = TrainingPairs(np.array([[0, 1], [2, 1]]), None, np.array([1.0, 3.0]))
    >>> LeastSquaresPreferences(training, 3, n_threads=1).at(np.array([5.0, 1.0, 4.0])).value
    4.5
    """

    name = "least_squares"
    smooth = True
    quadratic = True
    pairs_kernel = LeastSquaresPairs
