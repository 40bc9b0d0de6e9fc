"""Evaluation of scores: metrics per query and their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.exceptions import MarginRankError
from marginrank.figures import counted
from marginrank.markup import named, table
from marginrank.metrics.bootstrap import check_level, mean_interval
from marginrank.metrics.evaluator import Evaluator, weighted_mean
from marginrank.metrics.metric import Metric
from marginrank.metrics.names import check_flavor, parse_metric, parse_metrics, spell_metric
from marginrank.parameters import refuses
from marginrank.types import Vector


class Evaluation(Mapping[str, float]):
    """Means of metrics over queries, with the values of each query; made by :func:`evaluate`.

    A mapping from metric name to mean. Any spelling of a name finds its metric.

    Attributes
    ----------
    metrics : dict of str to Metric
        The metrics with all their conventions.
    per_query : dict of str to ndarray of shape (n_queries,)
        Values of each query, in order of first appearance; NaN for queries that do not count
        (``empty="skip"``).
    query_ids : ndarray of shape (n_queries,) or None
        Distinct ids in the same order; None where there is one ranking of all rows.
    n_queries : int
        Number of queries.
    n_empty : int
        Queries in which at least one of the metrics has nothing to find.
    empty_counts : dict of str to int
        The same for each metric.
    n_tied : int
        Queries in which two rows with different labels have the same score, so that their order is a matter
        of convention (``ties``).
    flavor : str
        Whose conventions hold where a name leaves them open.
    query_weight : ndarray of shape (n_queries,) or None
        Weights of the queries as they were given.
    mean_weights : dict of str to (ndarray of shape (n_queries,) or None)
        What the queries count in the mean of each metric: their weights, which ``pairwise_error`` multiplies
        by their numbers of pairs; None where they count alike.
    level : float or None
        Of the intervals, such as 0.95; None where none were asked for.
    intervals : dict of str to (float, float)
        Ends of the interval of each mean, by bootstrap over queries; NaN where fewer than two queries count.

    Examples
    --------
    >>> from marginrank.metrics import evaluate
    >>> result = evaluate([1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], group=[2, 2], metrics=["RR"])
    >>> result["mrr"], result.n_empty, result.per_query["mrr"].tolist()
    (0.25, 1, [0.5, 0.0])
    """

    def __init__(
        self,
        metrics: dict[str, Metric],
        per_query: dict[str, Vector],
        *,
        query_ids: NDArray[Any] | None,
        query_weight: Vector | None,
        mean_weights: dict[str, Vector | None],
        empty: NDArray[np.bool_],
        tied: NDArray[np.bool_],
        flavor: str,
        level: float | None = None,
    ) -> None:
        self.metrics = metrics
        self.per_query = per_query
        self.query_ids = query_ids
        self.query_weight = query_weight
        self.mean_weights = mean_weights
        self.n_queries = len(tied)
        self.n_empty = int(empty.any(axis=0).sum())
        self.empty_counts = {name: int(row.sum()) for name, row in zip(metrics, empty, strict=True)}
        self.n_tied = int(tied.sum())
        self.flavor = flavor
        self.level = level
        self.intervals: dict[str, tuple[float, float]] = {}
        if level is not None:
            self.intervals = {
                name: mean_interval(values, mean_weights[name], level) for name, values in per_query.items()
            }
        self._means = {name: weighted_mean(values, mean_weights[name]) for name, values in per_query.items()}

    def __getitem__(self, name: str | Metric) -> float:
        if isinstance(name, str) and name in self._means:
            return self._means[name]
        try:
            return self._means[spell_metric(parse_metric(name, flavor=self.flavor), self.flavor)]
        except (MarginRankError, KeyError):
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._means)

    def __len__(self) -> int:
        return len(self._means)

    def __repr__(self) -> str:
        width = max(map(len, [*self, "queries"]))
        lines = [f"{name:<{width}}  {_round(value)}{self._ends(name)}" for name, value in self.items()]
        counts = f"{self.n_queries:,} ({self.n_empty:,} empty, {self.n_tied:,} tied)"
        flavor = "" if self.flavor == "standard" else f", flavor {self.flavor!r}"
        return "\n".join([*lines, f"{'queries':<{width}}  {counts}{flavor}"])

    def _repr_html_(self) -> str:
        level = [] if self.level is None else [f"{self.level:.4g} interval"]
        rows = []
        for name, value in self.items():
            ends = [self._ends(name).strip(" ()")] if level else []
            rows.append([named(name), _round(value), *ends, f"{self.empty_counts[name]:,}"])
        flavor = "" if self.flavor == "standard" else f"; flavor {self.flavor}"
        note = f"{counted(self.n_queries, 'query')}, {self.n_tied:,} with ties{flavor}"
        return table(["metric", "mean", *level, "empty queries"], rows, caption=note)

    def _ends(self, name: str) -> str:
        if self.level is None:
            return ""
        low, high = self.intervals[name]
        return f"  ({_round(low)} to {_round(high)})"

    def _plain_intervals(self) -> dict[str, Any]:
        if self.level is None:
            return {}
        ends = {name: None if np.isnan(ends[0]) else list(ends) for name, ends in self.intervals.items()}
        return {"level": self.level, "intervals": ends}

    def to_dict(self) -> dict[str, Any]:
        """Return means and counts as plain Python values, for JSON; a mean over no query is None.

        Examples
        --------
        >>> from marginrank.metrics import evaluate
        >>> evaluate([0, 1], [0.2, 0.1], metrics=["mrr"]).to_dict()["metrics"]
        {'mrr': 0.5}
        """
        return {
            "metrics": {name: None if np.isnan(value) else value for name, value in self.items()},
            **self._plain_intervals(),
            "flavor": self.flavor,
            "n_queries": self.n_queries,
            "n_empty": self.n_empty,
            "n_tied": self.n_tied,
            "empty_counts": dict(self.empty_counts),
        }


@refuses(
    "sample_weight",
    "Metrics of whole rankings take no {sample_weight}, because a row stands once in a ranking.",
    "Weigh whole queries with {query_weight}; metrics.pairwise_error takes weights of rows.",
)
def evaluate(
    y: Any,
    scores: Any,
    *,
    qid: Any = None,
    group: Any = None,
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    flavor: str = "standard",
    query_weight: Any = None,
    docid: Any = None,
    intervals: float | None = None,
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate scores: each metric for every query, then the mean over queries.

    Queries count alike in the mean, or by ``query_weight``; in ``pairwise_error`` they count with the number
    of their pairs as well, so that it is the share of all pairs. ``pairwise_error(weighting=queries)`` is the
    mean of the queries' shares.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels; higher is better. Metrics with gains (NDCG, DCG, ERR) need labels of at least 0.
    scores : array-like of shape (n_rows,)
        Predicted scores; higher is better.
    qid, group, query_weight : optional
        As in :class:`marginrank.RankingData`; without ``qid`` and ``group`` there is one ranking of all rows.
    metrics : sequence of str or Metric, default=("ndcg@10",)
        What :func:`parse_metric` understands.
    flavor : {"standard", "letor", "lightgbm", "xgboost", "catboost", "sklearn", "trec"}, default="standard"
        The tool whose conventions hold where a name leaves them open.
    docid : array-like of shape (n_rows,), optional
        Document ids; needed by ``ties=docid`` (the flavor ``trec``) and compared as text.
    intervals : float, optional
        Such as 0.95: also give intervals of the means, by bootstrap over queries (2,000 draws, fixed seed).
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Returns
    -------
    Evaluation
        A mapping from metric name to mean.

    Notes
    -----
    Each query is sorted once for all metrics: O(m log m) for m rows. Averaging ERR over ties takes the square
    of the number of tied rows within the cutoff.

    Examples
    --------
    >>> from marginrank.metrics import evaluate
    >>> y, scores, qid = [2, 0, 1, 0, 1], [0.9, 0.3, 0.5, 0.7, 0.7], ["a", "a", "a", "b", "b"]
    >>> result = evaluate(y, scores, qid=qid, metrics=["ndcg@10", "map", "P@1"])
    >>> result
    ndcg@10      0.8155
    map          0.7500
    precision@1  0.5000
    queries      2 (0 empty, 1 tied)
    >>> result.per_query["map"]
    array([1. , 0.5])
    >>> evaluate(y, scores, qid=qid, metrics=["AP(ties=average)"])["map(ties=average)"]
    0.875
    """
    parsed = parse_metrics(metrics, check_flavor(flavor))
    y = gate.check_only_labels(y)
    values = gate.check_scores(scores, len(y))
    queries = LabelledQueries.of(y, qid=qid, group=group, query_weight=query_weight)
    evaluator = Evaluator(queries, parsed, docid=docid, n_jobs=n_jobs)
    found = evaluator.measure(values)
    return Evaluation(
        parsed,
        dict(zip(parsed, found.values[0], strict=True)),
        query_ids=queries.query_ids,
        query_weight=queries.query_weight,
        mean_weights=dict(zip(parsed, evaluator.weights, strict=True)),
        empty=found.empty[0],
        tied=found.tied[0],
        flavor=flavor,
        level=None if intervals is None else check_level(intervals, "intervals"),
    )


def _round(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "-"
