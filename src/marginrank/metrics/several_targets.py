"""Figures of models that score several targets of the same rows: means over targets, and their parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from marginrank.data.weights import moderate
from marginrank.metrics.evaluator import Evaluator
from marginrank.types import Array, Vector


class TargetEvaluators:
    """Measures scores of several targets, each against its own labels of the same rows.

    Parameters
    ----------
    evaluators : sequence of Evaluator
        One for each target, with the same metrics.

    Attributes
    ----------
    weight : ndarray of shape (n_queries,) or None
        Weights of the queries in the figure of the first metric; None where they count alike.

    Examples
    --------
    >>> from marginrank.data.labels import LabelledQueries
    >>> from marginrank.metrics import Metric
    >>> error = {"pairwise_error": Metric("pairwise_error")}
    >>> rows = [LabelledQueries.of(y, group=[2, 3]) for y in ([0, 1, 0, 1, 2], [0, 1, 1, 1, 1])]
    >>> both = TargetEvaluators([Evaluator(one, error) for one in rows])
    >>> figures, by_query = both.measure(np.array([[[1.0, 0.0, 0.0, 1.0, 2.0], [1.0, 0.0, 0.0, 0.0, 0.0]]]))
    >>> figures.tolist(), by_query.tolist(), both.weight.tolist()  # 1 of 4 pairs, and 1 of 1
    ([0.625], [[1.0, 0.0]], [1.25, 0.75])
    """

    def __init__(self, evaluators: Sequence[Evaluator]) -> None:
        self._evaluators = list(evaluators)
        first = self._evaluators[0].weights[0]
        self._shares: Array | None = None
        if len(self._evaluators) > 1 and next(iter(self._evaluators[0].metrics.values())).counts_pairs:
            # Pairs are other ones in each target: a query counts with its mean share of them.
            weights = [evaluator.weights[0] for evaluator in self._evaluators]
            self._shares = np.stack([_shares(weight) for weight in weights if weight is not None])
            first = self._shares.sum(axis=0)
        self.weight = first

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return len(self._evaluators)

    def measure(self, scores: Array) -> tuple[Vector, Array]:
        """Return figures by the first metric, of shape (k,), and its values by query, (k, n_queries).

        Scores have shape (k, n_targets, n_rows). The mean of the values, by :attr:`weight`, is the figure;
        where a query counts for some targets only, their figures may lie a little off it.
        """
        means, by_query = self.per_query(scores)
        return mean_over_targets(list(means[:, :, 0].T)), by_query

    def means(self, scores: Array) -> Array:
        """Return the mean of each metric over queries and targets, of shape (k, n_metrics)."""
        return mean_over_targets(list(self.per_query(scores)[0].swapaxes(0, 1)))

    def per_query(self, scores: Array) -> tuple[Array, Array]:
        """Return the means of shape (k, n_targets, n_metrics), and the values of the first metric by query.

        The latter have shape (k, n_queries) and are means over the targets.
        """
        means, values = [], []
        for target, evaluator in enumerate(self._evaluators):
            measured = evaluator.measure(np.ascontiguousarray(scores[:, target])).values
            values.append(measured[:, 0])
            means.append(evaluator.means_of(measured))
        return np.stack(means, axis=1), self._over_targets(values)

    def _over_targets(self, values: Sequence[Array]) -> Array:
        """Return the mean over targets of their values by query, of shape (k, n_queries)."""
        if self._shares is None:
            return mean_over_targets(values)
        total = (self._shares[:, None] * np.nan_to_num(np.stack(values))).sum(axis=0)
        with np.errstate(invalid="ignore"):
            return np.asarray(total / self._shares.sum(axis=0))


def mean_over_targets(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean of the figures of several targets, of those that count (not NaN); NaN where none does.

    Examples
    --------
    >>> mean_over_targets([np.array([1.0, np.nan, np.nan]), np.array([3.0, 2.0, np.nan])]).tolist()
    [2.0, 2.0, nan]
    """
    stack = np.stack(values)
    counts = ~np.isnan(stack)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(counts, stack, 0.0).sum(axis=0) / counts.sum(axis=0))


def _shares(weight: Vector) -> Vector:
    """Return weights that sum to 1, or all zeros."""
    moderated = moderate(weight)
    total = float(moderated.sum())
    return moderated / total if total > 0.0 else moderated
