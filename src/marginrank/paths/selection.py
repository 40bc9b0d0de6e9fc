"""The validation curve along a path, and the model that it picks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from marginrank.data import RankingData
from marginrank.metrics import Metric
from marginrank.model import RankingModel
from marginrank.training.selection import Rule, Search, Selection
from marginrank.types import Array, Matrix, Vector

# Metrics of this many scores at a time: labels are repeated for each vector.
_SCORES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class PathSelection:
    """A model chosen from a path.

    Parameters
    ----------
    selection : Selection
        The curve and the choice.
    metric : str
        What was measured.
    coef : ndarray of shape (n_features,) or (n_rows,)
        The chosen model: of the columns, or of the training rows where there is a kernel.
    path : RankPath
        What it was chosen from.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import rank_path
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> path = rank_path(X, X[:, 0], alpha_max=1.0, alpha_min=0.01)
    >>> found = path.select(X[::3], X[::3, 0])
    >>> bool(0.01 <= found.alpha <= 1.0), found.coef.shape
    (True, (2,))
    """

    selection: Selection
    metric: str
    coef: Vector
    path: Any

    def __repr__(self) -> str:
        return f"PathSelection(alpha={self.alpha:.4g}, {self.metric}={self.score:.4f})"

    @property
    def alpha(self) -> float:
        """The chosen alpha."""
        return self.selection.alpha

    @property
    def score(self) -> float:
        """The metric at the chosen alpha."""
        return float(self.curve[self.selection.index])

    @property
    def alphas(self) -> Vector:
        """The alphas of the curve, descending."""
        return self.selection.alphas

    @property
    def curve(self) -> Vector:
        """The mean of the metric at each of them."""
        return self.selection.curve

    @property
    def std(self) -> Vector:
        """Its standard error over the queries; NaN where there is one query only."""
        return self.selection.std

    def to_model(self, *, query_normalization: Literal["minmax"] | None = None) -> RankingModel:
        """Return the chosen model, to score, save and export.

        Parameters
        ----------
        query_normalization : {None, "minmax"}, default=None
            Say "minmax" if the training data were normalised by ``RankingData.normalized_by_query()``: the
            model then does the same to the data it scores.

        Returns
        -------
        RankingModel
            With the feature names of the training data.
        """
        figures = {"metric": self.metric, "validation": self.score}
        model: RankingModel = self.path.to_model(
            self.alpha, query_normalization=query_normalization, metadata=figures
        )
        return model


def select_on_rows(
    data: RankingData,
    alphas: Vector,
    scores: Callable[[Matrix, Vector], Array],
    predict: Callable[[RankingData, float], Vector],
    metric: str | Metric,
    rule: Rule,
    n_jobs: int | None,
) -> Selection:
    """Measure models along a path on validation rows and choose one.

    The scores of many alphas are rounded differently from those of one model, and a metric may tell the two
    apart where rows are nearly tied. So the choice ends at a model whose own scores were measured: the figure
    there is that of the model that is delivered, to the last bit.

    Parameters
    ----------
    data : RankingData
        Validation rows with labels.
    alphas : ndarray of shape (n_alphas,)
        Where to measure.
    scores : callable
        From features and alphas to scores of shape (n_alphas, n_rows).
    predict : callable
        From rows and one alpha to the scores of the model that is delivered there.
    metric, rule
        As in :class:`marginrank.training.selection.Search`.
    n_jobs : int or None
        Threads of the metrics.
    """
    search = Search(metric=metric, rule=rule)
    evaluator = search.evaluator(data, n_jobs=n_jobs)
    table = scores(data.X, alphas)
    step = max(1, _SCORES_AT_ONCE // data.n_rows)
    blocks = [evaluator.measure(table[k : k + step]).values[:, 0] for k in range(0, len(table), step)]
    values = np.concatenate(blocks)
    delivered = set[int]()
    while True:  # one round, or two; every round measures another model
        selection = search.select(alphas, values.T, evaluator.weights[0])
        if selection.index in delivered:
            return selection
        values[selection.index] = evaluator.measure(predict(data, selection.alpha)).values[0, 0]
        delivered.add(selection.index)
