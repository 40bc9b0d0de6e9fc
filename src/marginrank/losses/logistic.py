"""Pairwise logistic loss, within queries or over explicit pairs: smooth, and never quite content with a pair.

With ``i`` the lower and ``j`` the higher row of a comparable pair, the risk is a weighted mean of
``log(1 + exp(-(p_j - p_i)))``: ``log 2`` where all scores are equal, and above 0 everywhere. Every pair is
looked at: see ``native/include/marginrank/logistic.hpp``.
"""

from __future__ import annotations

from abc import abstractmethod

from marginrank._kernels import LogisticLoss as CompiledLogisticLoss
from marginrank._kernels import LogisticPairs
from marginrank.losses.native import Kernel, NativeLoss
from marginrank.losses.pairwise import PairwiseLoss
from marginrank.losses.preferences import PreferenceLoss
from marginrank.rounding import TINY, UNIT, LossRounding
from marginrank.types import Vector


class _LogisticMean(NativeLoss):
    """What is known of a mean of ``l(x) = log(1 + exp(x))`` over slacks x, whatever the pairs are.

    Its slope ``l'(x) = 1 - exp(-l(x))`` is at most 1 and at most ``l(x)``, and ``|x| l'(x)`` is at most
    ``l(x)`` where x is positive, and 0.28 or ``|x| l(x)`` elsewhere.
    """

    smooth = True

    @property
    @abstractmethod
    def _relative(self) -> float:
        """Sums over pairs are right to this part of themselves."""

    @property
    @abstractmethod
    def _largest_margin(self) -> float:
        """The largest absolute value of a margin."""

    def rounding(
        self, value: float, reach: float, length: float, scores: Vector | None = None
    ) -> LossRounding:
        """Return how far value and gradient may be off.

        A slack x of margin m is right to ``u (|m| + 2 |x|)``, which moves its term by ``l'(x)`` times as
        much, and the plane at the computed slack by no more. At that slack the kernel's term and slope are
        right to 16 u of themselves, which ``_relative`` includes; what is too small for a number is TINY.
        """
        del length, scores
        slack = 0.0
        if reach > 0.0:
            margin = self._largest_margin
            slack = min(value, 1.0) * margin + 2.0 * (value + min(0.3, (reach + margin) * value))
        error = self._relative * value + 1.01 * UNIT * slack + TINY
        return LossRounding(error, self._relative * self.steepest(value))

    def risen(self, value: float, shift: float) -> float:
        """Return what the risk is at most after a move: ``l(x + t) <= min(l(x) + t, e^t l(x))``."""
        t = 2.0 * shift
        return min(value + t, value * (1.0 + t + t * t)) if t < 1.0 else value + t

    def steepest(self, value: float) -> float:
        """Return the largest 1-norm of a gradient: twice the mean slope ``1 - e^-l``, concave in l."""
        return 2.0 * min(1.0, value / (1.0 + 0.5 * value))  # not exp, which rounds by the C library


class LogisticLoss(PairwiseLoss, _LogisticMean):
    """Mean of ``log(1 + exp(-(p_j - p_i)))``.

    Notes
    -----
    An evaluation costs O(n^2) for a query of n rows, in memory O(n).

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.data import RankingData
    >>> data = RankingData([[0.0], [1.0], [5.0]], y=[0, 2, 1])
    >>> loss = LogisticLoss(data.training_view(), weighting="pairs", n_threads=1)
    >>> point = loss.at(np.zeros(3))
    >>> round(point.value, 6), point.gradient.round(6).tolist()
    (0.693147, [0.333333, -0.333333, 0.0])
    """

    name = "logistic"
    cost = "quadratic"
    pair_curvature = 0.25

    def _compiled(self) -> Kernel:
        return CompiledLogisticLoss(self._labels, self.factor)

    @property
    def _relative(self) -> float:
        return UNIT * (4 * self.longest_query + 2 * self.n_queries + 256)

    @property
    def _largest_margin(self) -> float:
        return 0.0


class LogisticPreferences(PreferenceLoss, _LogisticMean):
    """Mean of ``log(1 + exp(margin - (p_win - p_lose)))``, with margin 0 where pairs have none of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.data import TrainingPairs
    >>> training = TrainingPairs(np.array([[0, 1], [2, 1]]), None, None)
    >>> round(LogisticPreferences(training, 3, n_threads=1).at(np.array([1.0, 1.0, 1.0])).value, 6)
    0.693147
    """

    name = "logistic"
    pairs_kernel = LogisticPairs
    default_margin = 0.0
    pair_curvature = 0.25
