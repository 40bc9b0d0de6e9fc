"""Metrics of many score vectors over the same rows: labels and queries are prepared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import MetricSpec, PairLabels, ranking_metrics
from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError
from marginrank.gains import GainTable, gains_of
from marginrank.metrics.families import DEFAULTS, FAMILIES
from marginrank.metrics.metric import Metric
from marginrank.system.threads import resolve_threads
from marginrank.types import Vector

# Metrics that ask of labels only which of two is higher.
_COMPARING = [name for name, one in FAMILIES.items() if not one.uses_gains and "rel" not in one.options]


class Measured(NamedTuple):
    """Metrics of k score vectors.

    ``values`` and ``empty`` have shape (k, n_metrics, n_queries), ``tied`` (k, n_queries). Values are NaN for
    queries that do not count; ``empty`` marks those with nothing to find, ``tied`` those in which two rows of
    different labels have the same score.
    """

    values: NDArray[np.float64]
    empty: NDArray[np.bool_]
    tied: NDArray[np.bool_]


class Evaluator:
    """Measures scores of the same rows again and again.

    Parameters
    ----------
    data : LabelledQueries or RankingData
        Labels, queries and query weights; features are not looked at.
    metrics : mapping of str to Metric
        What to measure.
    y : ndarray of shape (n_rows,), optional
        Labels in place of those of the data.
    docid : array-like of shape (n_rows,), optional
        Document ids, where a metric breaks ties by them.
    n_jobs : int, optional
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    weights : tuple of (ndarray of shape (n_queries,) or None)
        For each metric the weights of the queries in its mean; None where they count alike.

    Examples
    --------
    >>> from marginrank.metrics import Metric
    >>> data = LabelledQueries.of([0, 2, 1])
    >>> evaluator = Evaluator(data, {"mrr": Metric("mrr"), "pairwise_error": Metric("pairwise_error")})
    >>> evaluator.means(np.array([[1.0, 3.0, 2.0], [3.0, 2.0, 1.0]])).round(3).tolist()
    [[1.0, 0.0], [0.5, 0.667]]
    """

    def __init__(
        self,
        data: LabelledQueries | RankingData,
        metrics: Mapping[str, Metric],
        *,
        y: Vector | None = None,
        docid: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        labels = data.y if y is None else y
        if labels is None:
            raise MarginRankError("These data hold pairs and no y; metrics compare with y.")
        _check_gains(labels, metrics)
        self.metrics = dict(metrics)
        self.n_queries = data.n_queries
        self._order = data.order
        self._query_ptr = data.query_ptr
        # A table of gains takes the place of the labels, and metrics of it are measured apart.
        tables = dict.fromkeys(m.gain for m in metrics.values() if isinstance(m.gain, GainTable))
        self._labels = {None: self._grouped(labels)} | {
            table: self._grouped(gains_of(labels, table)) for table in tables
        }
        ids = _docid_ranks(docid, metrics, data.n_rows)
        self._docid = None if ids is None else self._grouped(ids)
        self._specs: dict[GainTable | None, list[tuple[int, MetricSpec]]] = {key: [] for key in self._labels}
        for j, metric in enumerate(metrics.values()):
            table = metric.gain if isinstance(metric.gain, GainTable) else None
            self._specs[table].append((j, _spec(metric, labels)))
        self._n_threads = resolve_threads(n_jobs)
        self.weights = self._mean_weights(data.query_weight)

    def measure(self, scores: NDArray[np.float64]) -> Measured:
        """Return the metrics of each query for one vector of scores, or for each row of a matrix of them."""
        if not np.isfinite(scores).all():
            raise MarginRankError(
                "Scores of validation rows left the range of float64. Look for an outlier in their features, "
                "or for a column in other units than in training."
            )
        grouped = np.ascontiguousarray(self._grouped(np.atleast_2d(scores)))
        k, n_rows = grouped.shape
        # The vectors stand one after the other as if they were more queries, so one call serves them all.
        starts = self._query_ptr[:-1] + n_rows * np.arange(k)[:, None]
        ptr = np.append(starts.reshape(-1), k * n_rows)
        raw = np.empty((len(self.metrics), k * self.n_queries))
        tied = np.empty(k * self.n_queries, dtype=bool)
        docid = None if self._docid is None else np.tile(self._docid, k)
        for table, labels in self._labels.items():
            numbers, specs = [j for j, _ in self._specs[table]], [spec for _, spec in self._specs[table]]
            found, same = np.empty((len(specs), raw.shape[1])), np.empty_like(tied)
            y = np.tile(labels, k)
            ranking_metrics(y, grouped.reshape(-1), docid, ptr, specs, found, same, self._n_threads)
            raw[numbers] = found
            if table is None:  # gains may be equal where labels differ
                tied = same
        values = np.ascontiguousarray(raw.reshape(-1, k, self.n_queries).swapaxes(0, 1))
        empty = np.isnan(values)
        for j, metric in enumerate(self.metrics.values()):
            values[:, j][empty[:, j]] = np.nan if metric.empty == "skip" else metric.empty
        return Measured(values, empty, tied.reshape(k, -1))

    def means(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means over queries, of shape (k, n_metrics)."""
        return self.means_of(self.measure(scores).values)

    def means_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means over queries of values of shape (k, n_metrics, n_queries)."""
        means = [weighted_means(values[:, j], weight) for j, weight in enumerate(self.weights)]
        return np.stack(means, axis=1)

    def _mean_weights(self, query_weight: Vector | None) -> tuple[Vector | None, ...]:
        """Return what queries count in the mean of each metric: their weight, maybe times their pairs."""
        if not any(metric.counts_pairs for metric in self.metrics.values()):
            return (query_weight,) * len(self.metrics)
        pairs = PairLabels(self._labels[None], self._query_ptr, None, self._n_threads)
        n_pairs = pairs.n_pairs.astype(np.float64)
        by_pairs = n_pairs if query_weight is None else n_pairs * moderate(query_weight)
        return tuple(by_pairs if one.counts_pairs else query_weight for one in self.metrics.values())

    def _grouped(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self._order is None else values[..., self._order]


def weighted_means(values: NDArray[np.float64], weight: Vector | None) -> NDArray[np.float64]:
    """Return means along the last axis over the queries that count (not NaN); NaN where none does.

    Every mean of a metric is made here, in one order of summation and without BLAS, whose last bits depend on
    shapes and on the processor: a figure is that of the same model measured alone.

    Parameters
    ----------
    values : ndarray of shape (..., n_queries)
        The metric of each query.
    weight : ndarray of shape (n_queries,) or None
        Weights of the queries.

    Examples
    --------
    >>> weighted_means(np.array([[1.0, 0.0, np.nan], [np.nan] * 3]), np.array([3.0, 1.0, 5.0])).tolist()
    [0.75, nan]
    """
    rows = values.reshape(-1, values.shape[-1])
    return np.array([weighted_mean(row, weight) for row in rows]).reshape(values.shape[:-1])


def weighted_mean(values: Vector, weight: Vector | None) -> float:
    """Return the mean over queries that count (not NaN); NaN where none does."""
    counts = ~np.isnan(values)
    values = values[counts]
    if weight is None:
        return float(values.mean()) if len(values) else float("nan")
    weight = moderate(weight[counts])
    total = float(weight.sum())
    return float((weight * values).sum()) / total if total > 0.0 else float("nan")


def _check_gains(y: Vector, metrics: Mapping[str, Metric]) -> None:
    needy = [
        name
        for name, metric in metrics.items()
        if FAMILIES[metric.name].uses_gains and not isinstance(metric.gain, GainTable)
    ]
    if not needy:
        return
    row = int(np.argmin(y))
    if y[row] < 0.0:
        raise MarginRankError(
            f"{needy[0]} needs labels of at least 0, as gains are; got {y[row]:g} at row {row}. Shift the "
            f"labels, or use a metric that compares them only: {', '.join(_COMPARING)}, or map with rel=."
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


def _docid_ranks(docid: Any, metrics: Mapping[str, Metric], n_rows: int) -> NDArray[np.int64] | None:
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
    def chosen(option: str) -> Any:
        value = getattr(metric, option)
        return DEFAULTS[option] if value is None else value

    return MetricSpec(
        name=metric.name,
        cutoff=metric.cutoff or 0,
        rel=DEFAULTS["rel"] if metric.rel == "all" else chosen("rel"),
        rel_all=metric.rel == "all",
        gain="linear" if isinstance(metric.gain, GainTable) else chosen("gain"),
        discount=chosen("discount"),
        ties=chosen("ties"),
        short_list=chosen("short"),
        cut_norm=metric.norm == "cutoff",
        max_label=float(y.max()) if metric.max_label is None else metric.max_label,
        p=chosen("p"),
    )
