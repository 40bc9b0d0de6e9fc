"""Which columns matter: weights in comparable units, and what is lost when a column is shuffled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import as_dense, require_memory
from marginrank.data.query_normalization import minmax_by_query
from marginrank.exceptions import MarginRankError
from marginrank.explanation.margins import names_of
from marginrank.explanation.results import bars, largest, text_table
from marginrank.export.base import ExportedModel
from marginrank.metrics.evaluator import Evaluator
from marginrank.metrics.names import parse_metric, spell_metric
from marginrank.parameters import check_count, check_seed
from marginrank.types import Matrix, MemoryMatrix, Rows, Vector

_SHOWN = 12


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """Weights of a linear model; made by :meth:`marginrank.RankingModel.feature_weights`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    weights : ndarray of shape (n_features,)
        Weights of raw values.
    deviations : ndarray of shape (n_features,)
        Deviation of each column within queries, in training.
    effects : ndarray of shape (n_features,)
        Their product: how far a score moves when a column moves by what is usual within a query.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> X = [[100.0, 0.1], [300.0, 0.2], [200.0, 0.4]]
    >>> found = RankSVM(alpha=0.1, scale="standard").fit(X, [0, 1, 2]).to_model().feature_weights()
    >>> bool((found.effects == found.weights * found.deviations).all())
    True
    """

    names: tuple[str, ...]
    weights: Vector
    deviations: Vector
    effects: Vector

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: the largest effect first."""
        return {
            "weights": [
                {
                    "feature": self.names[j],
                    "weight": float(self.weights[j]),
                    "deviation": float(self.deviations[j]),
                    "effect": float(self.effects[j]),
                }
                for j in np.argsort(-np.abs(self.effects), kind="stable").tolist()
            ]
        }

    def __str__(self) -> str:
        return self.table()

    def table(self, n: int = _SHOWN) -> str:
        """Return the columns of the largest effects, in lines."""
        rows = [
            (self.names[j], f"{self.weights[j]:.4g}", f"{self.deviations[j]:.4g}", f"{self.effects[j]:+.4g}")
            for j in largest(self.effects, check_count(n, "n"))
        ]
        return text_table(("column", "weight", "deviation", "effect"), rows)

    def plot(self, n: int = _SHOWN) -> Any:
        """Draw the largest effects.

        Parameters
        ----------
        n : int, default=12
            How many columns.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        chosen = largest(self.effects, check_count(n, "n"))
        title = "weight times deviation within queries"
        return bars([self.names[j] for j in chosen], self.effects[chosen], title)


@dataclass(frozen=True, eq=False)
class PermutationImportance:
    """What a metric loses when a column is shuffled within queries.

    Made by :meth:`marginrank.RankingModel.permutation_importance`.

    Parameters
    ----------
    names : tuple of str
        The columns.
    metric : str
        What is measured.
    baseline : float
        Its value on the rows as they are.
    losses : ndarray of shape (n_features, n_repeats)
        How much worse it is with the column shuffled; below 0 where it is better.

    Examples
    --------
    >>> import numpy as np
    >>> found = PermutationImportance(("a", "b"), "map", 0.8, np.array([[0.3, 0.1], [0.0, 0.0]]))
    >>> found.mean.tolist()
    [0.2, 0.0]
    """

    names: tuple[str, ...]
    metric: str
    baseline: float
    losses: NDArray[np.float64]

    @property
    def mean(self) -> Vector:
        """Mean loss of each column."""
        return np.asarray(self.losses.mean(axis=1))

    @property
    def std(self) -> Vector:
        """Deviation of the losses over the shuffles."""
        return np.asarray(self.losses.std(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON: the largest loss first."""
        mean, std = self.mean, self.std
        order = np.argsort(-mean, kind="stable").tolist()
        return {
            "metric": self.metric,
            "baseline": self.baseline,
            "losses": [
                {"feature": self.names[j], "mean": float(mean[j]), "std": float(std[j])} for j in order
            ],
        }

    def __str__(self) -> str:
        return self.table()

    def table(self, n: int = _SHOWN) -> str:
        """Return the columns of the largest losses, in lines."""
        mean, std = self.mean, self.std
        chosen = largest(mean, check_count(n, "n"))
        rows = [(self.names[j], f"{mean[j]:+.4f}", f"{std[j]:.4f}") for j in chosen]
        return f"{self.metric} {self.baseline:.4f}\n" + text_table(("column", "loss", "std"), rows)

    def plot(self, n: int = _SHOWN) -> Any:
        """Draw the largest losses.

        Parameters
        ----------
        n : int, default=12
            How many columns.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).
        """
        chosen = largest(self.mean, check_count(n, "n"))
        title = f"loss of {self.metric} when shuffled within queries"
        return bars([self.names[j] for j in chosen], self.mean[chosen], title)


def feature_weights(model: ExportedModel) -> FeatureWeights:
    """Return the weights of a linear model in units of its columns' deviations within queries."""
    if model.mapping is not None:
        raise MarginRankError(
            "The model has a feature map, and no weight of a column says what it does; use explain, or "
            "permutation_importance."
        )
    statistics = model.column_statistics
    if statistics is None:
        raise MarginRankError(
            "The model has no statistics of its training columns, so the units of its weights are not known; "
            "train it again, or use explain on data."
        )
    deviations = statistics.within_deviation
    return FeatureWeights(names_of(model), model.coef, deviations, model.coef * deviations)


def permutation_importance(
    model: ExportedModel,
    X: Matrix,
    queries: LabelledQueries,
    *,
    metric: Any,
    n_repeats: int,
    random_state: Any,
    n_jobs: int | None,
) -> PermutationImportance:
    """Measure what shuffled columns lose; ``RankingModel.permutation_importance`` has the parameters."""
    parsed = parse_metric(metric)
    n_repeats = check_count(n_repeats, "n_repeats", most=10_000)
    seed = check_seed(random_state)
    rows = require_memory(X, "permutation_importance")
    name = spell_metric(parsed, "standard")
    evaluator = Evaluator(queries, {name: parsed}, n_jobs=n_jobs)
    sign = 1.0 if parsed.higher_is_better else -1.0
    scored = _Scored(model, rows, queries, n_jobs)
    baseline = float(evaluator.means(scored.scores)[0, 0])
    losses = np.zeros((model.n_features, n_repeats))
    for j in scored.columns():
        for k, place in enumerate(_shuffles(queries, seed, j, n_repeats)):
            losses[j, k] = sign * (baseline - float(evaluator.means(scored.shuffled(j, place))[0, 0]))
    return PermutationImportance(names_of(model), name, baseline, losses)


def _shuffles(queries: LabelledQueries, seed: Any, column: int, n_repeats: int) -> Iterator[Rows]:
    """Yield permutations of all rows that keep each in its query."""
    rng = np.random.default_rng(None if seed is None else [seed, column])
    ptr = queries.query_ptr
    n_rows = int(ptr[-1])
    order = np.arange(n_rows) if queries.order is None else queries.order
    query = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
    for _ in range(n_repeats):
        place = np.empty(n_rows, dtype=np.int64)
        place[order] = order[np.lexsort((rng.random(n_rows), query))]
        yield place


class _Scored:
    """Rows with their scores, as they are and with a column shuffled."""

    def __init__(
        self, model: ExportedModel, rows: MemoryMatrix, queries: LabelledQueries, n_jobs: int | None
    ) -> None:
        self._model, self._qid, self._n_jobs = model, queries.qid, n_jobs
        if self._qid is None and model.query_normalization is not None:
            self._qid = np.zeros(rows.shape[0], dtype=np.int64)
        self._weighed: Any = rows
        self._dense: Any = None
        if model.mapping is None and model.query_normalization is not None:
            self._weighed = minmax_by_query(rows, queries.query_ptr, queries.order)
        elif model.mapping is not None:
            self._dense = as_dense(rows)
        self.scores = model.predict(rows, self._qid, n_jobs=n_jobs)

    def columns(self) -> list[int]:
        """Return the columns that the scores can depend on."""
        if self._model.mapping is not None:
            return list(range(self._model.n_features))
        return np.flatnonzero(self._model.coef).tolist()

    def shuffled(self, j: int, place: Rows) -> Vector:
        """Return the scores with column j in another order, which leaves its range in each query as it is."""
        if self._model.mapping is None:
            column = np.asarray(as_dense(self._weighed[:, [j]]), dtype=np.float64)[:, 0]
            return np.asarray(self.scores + self._model.coef[j] * (column[place] - column))
        changed = self._dense.copy()
        changed[:, j] = changed[place, j]
        return self._model.predict(changed, self._qid, n_jobs=self._n_jobs)
