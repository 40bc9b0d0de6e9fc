"""Evaluation of scores: metrics per query and their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import validation as gate
from marginrank._kernels import MetricSpec, ranking_metrics
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.metrics.metric import CHOICES, FAMILIES, Metric
from marginrank.metrics.names import check_flavor, parse_metric, parse_metrics, spell_metric
from marginrank.threads import resolve_threads
from marginrank.validation import Vector

_CODES = tuple(FAMILIES)


class Evaluation(Mapping[str, float]):
    """Means of metrics over queries, with the values of each query beside; made by :func:`evaluate`.

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
        Weights of the queries in the means.

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
        empty: NDArray[np.bool_],
        tied: NDArray[np.bool_],
        flavor: str,
    ) -> None:
        self.metrics = metrics
        self.per_query = per_query
        self.query_ids = query_ids
        self.query_weight = query_weight
        self.n_queries = len(tied)
        self.n_empty = int(empty.any(axis=0).sum())
        self.empty_counts = {name: int(row.sum()) for name, row in zip(metrics, empty, strict=True)}
        self.n_tied = int(tied.sum())
        self.flavor = flavor
        self._means = {name: weighted_mean(values, query_weight) for name, values in per_query.items()}

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
        lines = [f"{name:<{width}}  {_round(value)}" for name, value in self.items()]
        counts = f"{self.n_queries:,} ({self.n_empty:,} empty, {self.n_tied:,} tied)"
        flavor = "" if self.flavor == "standard" else f", flavor {self.flavor!r}"
        return "\n".join([*lines, f"{'queries':<{width}}  {counts}{flavor}"])

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
            "flavor": self.flavor,
            "n_queries": self.n_queries,
            "n_empty": self.n_empty,
            "n_tied": self.n_tied,
            "empty_counts": dict(self.empty_counts),
        }


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
    n_jobs: int | None = None,
) -> Evaluation:
    """Evaluate scores: each metric for every query, then the mean over queries.

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
    flavor : {"standard", "letor", "lightgbm", "xgboost", "sklearn", "trec"}, default="standard"
        The tool whose conventions hold where a name leaves them open.
    docid : array-like of shape (n_rows,), optional
        Document ids; needed by ``ties=docid`` (the flavor ``trec``) and compared as text.
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
    y = _check_labels(y)
    values = gate.check_scores(scores, len(y))
    _check_gains(y, parsed)
    data = RankingData(values.reshape(-1, 1), y, qid=qid, group=group, query_weight=query_weight)
    raw = np.empty((len(parsed), data.n_queries))
    tied = np.empty(data.n_queries, dtype=bool)
    ids = _docid_ranks(docid, parsed, len(y))
    specs = [_spec(metric, y) for metric in parsed.values()]
    grouped = slice(None) if data.order is None else data.order
    ids = None if ids is None else ids[grouped]
    ranking_metrics(
        y[grouped], values[grouped], ids, data.query_ptr, specs, raw, tied, resolve_threads(n_jobs)
    )
    empty = np.isnan(raw)
    for row, nothing, metric in zip(raw, empty, parsed.values(), strict=True):
        row[nothing] = np.nan if metric.empty == "skip" else metric.empty
    return Evaluation(
        parsed,
        dict(zip(parsed, raw, strict=True)),
        query_ids=data.query_ids,
        query_weight=data.query_weight,
        empty=empty,
        tied=tied,
        flavor=flavor,
    )


def weighted_mean(values: Vector, weight: Vector | None) -> float:
    """Return the mean over queries that count (not NaN); NaN where none does."""
    counts = ~np.isnan(values)
    values = values[counts]
    if weight is None:
        return float(values.mean()) if len(values) else float("nan")
    weight = weight[counts]
    total = float(weight.sum())
    return float(weight @ values) / total if total > 0.0 else float("nan")


def _check_labels(y: Any) -> Vector:
    n_rows = np.shape(gate.as_array(y, "y"))[:1]
    if n_rows == (0,):
        raise MarginRankError("y must have at least one row; got none.")
    return gate.check_labels(y, n_rows[0] if n_rows else 1)


def _check_gains(y: Vector, metrics: dict[str, Metric]) -> None:
    needy = [name for name, metric in metrics.items() if FAMILIES[metric.name].uses_gains]
    if not needy:
        return
    row = int(np.argmin(y))
    if y[row] < 0.0:
        raise MarginRankError(
            f"{needy[0]} needs labels of at least 0, as gains are; got {y[row]:g} at row {row}. Shift the "
            "labels, or use a metric that compares them only: pairwise_error, kendall, or map with rel=."
        )
    exponential = [name for name in needy if metrics[name].gain != "linear"]
    row = int(np.argmax(y))
    if exponential and y[row] > 1000.0:
        raise MarginRankError(
            f"{exponential[0]} has the gain 2**label - 1, which overflows for the label {y[row]:g} "
            f"at row {row}. Use gain=linear, or scale the labels."
        )
    for name, metric in metrics.items():
        if metric.max_label is not None and y[row] > metric.max_label:
            raise MarginRankError(
                f"{name} says that labels go up to {metric.max_label:g}; got {y[row]:g} at row {row}."
            )


def _docid_ranks(docid: Any, metrics: dict[str, Metric], n_rows: int) -> NDArray[np.int64] | None:
    needy = [name for name, metric in metrics.items() if metric.ties == "docid"]
    if not needy:
        return None
    if docid is None:
        raise MarginRankError(
            f"{needy[0]} breaks ties by document id; give docid, one per row, or another rule: ties=input."
        )
    ids = gate.as_array(docid, "docid")
    if ids.ndim != 1:
        raise MarginRankError(f"docid must be 1-D, one id per row; got shape {ids.shape}.")
    gate.check_length(len(ids), "docid", "row", n_rows)
    return np.unique(ids.astype(str), return_inverse=True)[1].astype(np.int64).reshape(-1)


def _spec(metric: Metric, y: Vector) -> MetricSpec:
    def code(option: str) -> int:
        value = getattr(metric, option)
        return 0 if value is None else CHOICES[option].index(value)

    return MetricSpec(
        kind=_CODES.index(metric.name),
        cutoff=metric.cutoff or 0,
        rel=1.0 if metric.rel is None else metric.rel,
        gain=code("gain"),
        discount=code("discount"),
        ties=code("ties"),
        short_list=code("short"),
        cut_norm=metric.norm == "cutoff",
        max_label=float(y.max()) if metric.max_label is None else metric.max_label,
    )


def _round(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "-"
