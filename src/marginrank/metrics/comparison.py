"""Comparing two models on the same queries: whether a difference is more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.metrics.comparison_drawing import draw_comparison
from marginrank.metrics.comparison_tables import comparison_html, shorten, table_lines
from marginrank.metrics.evaluation import Evaluation, evaluate
from marginrank.metrics.evaluator import weighted_mean
from marginrank.metrics.metric import Metric
from marginrank.metrics.names import parse_metric, spell_metric
from marginrank.metrics.paired_tests import ROUNDING, TESTS, holm, run_tests
from marginrank.parameters import as_list, check_count, check_seed
from marginrank.types import Vector

# Each takes memory and time; beyond this p-values no longer differ.
_MOST_RESAMPLES = 10_000_000


class QueryChange(NamedTuple):
    """A query and what it scores with the two models.

    Examples
    --------
    >>> from marginrank.comparison import compare
    >>> a, b = [0.1, 0.2, 0.1, 0.2], [0.2, 0.1, 0.1, 0.2]
    >>> found = compare([1, 0, 1, 0], a, b, qid=["x", "x", "y", "y"], metrics="mrr")
    >>> found.most_changed("mrr")
    [QueryChange(query='x', a=0.5, b=1.0, difference=0.5)]
    """

    query: Any
    a: float
    b: float
    difference: float


@dataclass(frozen=True)
class MetricComparison:
    """What one metric says about model b against model a.

    ``difference`` is the mean of b minus a over the queries that count (for ``pairwise_error`` over all
    pairs), with its 95% interval; ``wins`` are queries where b is better. ``p_values`` are per test,
    ``p_holm`` corrected for the number of metrics; NaN where a test needs more queries.

    Examples
    --------
    >>> from marginrank.comparison import compare
    >>> a, b = [0.1, 0.2, 0.1, 0.2], [0.2, 0.1, 0.2, 0.1]
    >>> found = compare([1, 0, 1, 0], a, b, qid=[1, 1, 2, 2], metrics="mrr")
    >>> found["mrr"].mean_a, found["mrr"].mean_b, found["mrr"].wins
    (0.5, 1.0, 2)
    """

    metric: Metric
    mean_a: float
    mean_b: float
    difference: float
    interval: tuple[float, float]
    wins: int
    ties: int
    losses: int
    p_values: dict[str, float]
    p_holm: dict[str, float]


class Comparison(Mapping[str, MetricComparison]):
    """Model b against model a, metric by metric; made by :func:`compare`.

    A mapping from metric name to :class:`MetricComparison`. Any spelling of a name finds its metric.

    Attributes
    ----------
    a, b : Evaluation
        The evaluations of both models, with the values of each query.
    tests : tuple of str
        The tests made.

    Examples
    --------
    >>> result = compare([1, 0, 1, 0], [1, 2, 2, 1], [2, 1, 2, 1], group=[2, 2], metrics=["mrr"], tests=["t"])
    >>> row = result["mrr"]
    >>> row.mean_a, row.mean_b, (row.wins, row.ties, row.losses), round(row.p_values["t"], 3)
    (0.75, 1.0, (1, 1, 0), 0.5)
    """

    def __init__(
        self, a: Evaluation, b: Evaluation, results: dict[str, MetricComparison], tests: tuple[str, ...]
    ) -> None:
        self.a = a
        self.b = b
        self.tests = tests
        self._results = results

    def __getitem__(self, name: str | Metric) -> MetricComparison:
        return self._results[self._name(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def _name(self, name: str | Metric) -> str:
        if isinstance(name, str) and name in self._results:
            return name
        try:
            spelled = spell_metric(parse_metric(name, flavor=self.a.flavor), self.a.flavor)
        except MarginRankError:
            raise KeyError(name) from None
        if spelled not in self._results:
            raise KeyError(name)
        return spelled

    def _compared(self, metric: Any) -> str:
        try:
            return self._name(metric)
        except KeyError:
            known = ", ".join(map(repr, self))
            raise ParameterError("metric", f"one of {known}", metric) from None

    def most_changed(self, metric: str | Metric | None = None, n: int = 5) -> list[QueryChange]:
        """Return the queries that changed most, the largest change first.

        Parameters
        ----------
        metric : str or Metric, optional
            By default the first one.
        n : int, default=5
            How many at most; queries without a change are left out.

        Examples
        --------
        >>> y, qid = [1, 0, 1, 0], ["x", "x", "y", "y"]
        >>> result = compare(y, [2, 1, 1, 2], [2, 1, 2, 1], qid=qid, metrics=["mrr"])
        >>> result.most_changed()
        [QueryChange(query='y', a=0.5, b=1.0, difference=0.5)]
        """
        n = check_count(n, "n", least=0)
        name = next(iter(self)) if metric is None else self._compared(metric)
        a, b = self.a.per_query[name], self.b.per_query[name]
        change = np.nan_to_num(_differences(self.a, self.b, name))
        ids = self.a.query_ids
        names = [None] * len(a) if ids is None else ids.tolist()
        largest = np.argsort(-np.abs(change), kind="stable")[:n]
        return [
            QueryChange(names[q], float(a[q]), float(b[q]), float(change[q])) for q in largest if change[q]
        ]

    def differences(self, metric: str | Metric | None = None) -> Vector:
        """Return b minus a for each query, 0 where the two differ by rounding only.

        Parameters
        ----------
        metric : str or Metric, optional
            By default the first one.

        Returns
        -------
        ndarray of shape (n_queries,)
            In the order of ``a.query_ids``; NaN for queries that do not count.

        Examples
        --------
        >>> y, qid = [1, 0, 1, 0], ["x", "x", "y", "y"]
        >>> compare(y, [2, 1, 1, 2], [2, 1, 2, 1], qid=qid, metrics=["mrr"]).differences()
        array([0. , 0.5])
        """
        name = next(iter(self)) if metric is None else self._compared(metric)
        return _differences(self.a, self.b, name)

    def plot(self, metric: str | Metric | None = None) -> Any:
        """Draw the mean differences with their intervals, and the difference of every query.

        Parameters
        ----------
        metric : str or Metric, optional
            Whose queries are drawn; by default the first one.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).

        Examples
        --------
        >>> y, qid = [1, 0, 1, 0], ["x", "x", "y", "y"]
        >>> result = compare(y, [2, 1, 1, 2], [2, 1, 2, 1], qid=qid, metrics=["mrr"])
        >>> [axis.get_xlabel() for axis in result.plot().axes][1]
        'queries, sorted by their difference; 1 have none'
        """
        name = next(iter(self)) if metric is None else self._compared(metric)
        return draw_comparison(self, name)

    def _repr_html_(self) -> str:
        return comparison_html(self)

    def __repr__(self) -> str:
        lines = table_lines(self)
        queries = "1 query" if self.a.n_queries == 1 else f"{self.a.n_queries:,} queries"
        flavor = "" if self.a.flavor == "standard" else f" Flavor {self.a.flavor!r}."
        lines.append(f"{queries}; wins/ties/losses of b; p-values corrected by Holm.{flavor}")
        name = next(iter(self))
        changes = self.most_changed(name, 3)
        if changes and self.a.query_ids is not None:
            lines.append(f"Queries that changed most in {shorten(name, 40)}:")
            ids = [shorten(str(change.query), 40) for change in changes]
            width = max(map(len, ids))
            for query, change in zip(ids, changes, strict=True):
                lines.append(
                    f"  {query:<{width}}  {change.a:.3f} -> {change.b:.3f}  ({change.difference:+.3f})"
                )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the values of all queries as plain Python values, for JSON; NaN is None.

        The five queries that changed most are there for each metric.

        Examples
        --------
        >>> result = compare([1, 0], [2, 1], [2, 1], metrics=["mrr"], tests=["t"])
        >>> result.to_dict()["metrics"]["mrr"]["difference"]
        0.0
        """
        rows = {}
        for name, result in self.items():
            rows[name] = {
                "mean_a": _none_if_nan(result.mean_a),
                "mean_b": _none_if_nan(result.mean_b),
                "difference": _none_if_nan(result.difference),
                "interval": [_none_if_nan(bound) for bound in result.interval],
                "wins": result.wins,
                "ties": result.ties,
                "losses": result.losses,
                "p_values": {test: _none_if_nan(p) for test, p in result.p_values.items()},
                "p_holm": {test: _none_if_nan(p) for test, p in result.p_holm.items()},
                "most_changed": [_plain(change) for change in self.most_changed(name)],
            }
        return {"metrics": rows, "flavor": self.a.flavor, "n_queries": self.a.n_queries}


def compare(
    y: Any,
    scores_a: Any,
    scores_b: Any,
    *,
    qid: Any = None,
    group: Any = None,
    metrics: str | Metric | Sequence[str | Metric] = ("ndcg@10",),
    flavor: str = "standard",
    docid: Any = None,
    tests: str | Sequence[str] = TESTS,
    n_resamples: int = 9999,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
) -> Comparison:
    """Compare the scores of two models on the same queries.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels.
    scores_a, scores_b : array-like of shape (n_rows,)
        Scores of both models for the same rows.
    qid, group, metrics, flavor, docid, n_jobs : optional
        As in :func:`marginrank.metrics.evaluate`.
    tests : sequence of {"t", "randomization", "bootstrap"}
        Two-sided paired tests over queries: Student's t, Fisher's randomisation (signs of the differences,
        exact where ``2 ** n_queries <= n_resamples``) and the percentile bootstrap of the mean difference.
    n_resamples : int, default=9999
        Draws of the randomisation and of the bootstrap.
    random_state : int, Generator or None, default=None
        Seed; the same seed gives the same figures, for each metric whatever the others are.

    Returns
    -------
    Comparison
        A mapping from metric name to means, difference with its 95% interval (bootstrap where that is among
        the tests, else t), wins, ties and losses of b, and p-values with Holm's correction over metrics.

    Notes
    -----
    Queries that a metric skips (``empty=skip``) take no part in its tests. All tests are over queries, also
    for ``pairwise_error``, in whose mean a query counts with the number of its pairs: pairs of one query are
    not independent, so the t test is on the influence values of the queries (the standard error of a ratio of
    sums), the randomisation on the signs of their weighted differences, and the bootstrap draws queries with
    their pairs. O(n_resamples n_queries) for each metric and resampling test.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.comparison import compare
    >>> rng = np.random.default_rng(0)
    >>> y, qid = rng.integers(0, 3, 800), np.repeat(np.arange(40), 20)
    >>> noisy, exact = y + 2 * rng.normal(size=800), y + rng.normal(size=800)
    >>> result = compare(y, noisy, exact, qid=qid, metrics=["ndcg@5", "map"], random_state=0)
    >>> result["map"].wins > result["map"].losses, result["map"].p_holm["t"] < 0.01
    (True, True)
    """
    tests = _check_tests(tests)
    n_resamples = check_count(n_resamples, "n_resamples", least=2, most=_MOST_RESAMPLES)
    seed = _seed(random_state)
    y = gate.check_only_labels(y)
    options: dict[str, Any] = {"qid": qid, "group": group, "metrics": metrics, "flavor": flavor}
    a, b = (
        evaluate(y, gate.check_scores(scores, len(y), name), docid=docid, n_jobs=n_jobs, **options)
        for name, scores in (("scores_a", scores_a), ("scores_b", scores_b))
    )
    p_values: dict[str, dict[str, float]] = {}
    intervals: dict[str, tuple[float, float]] = {}
    for name in a:
        difference = _differences(a, b, name)
        counts, weight = ~np.isnan(difference), a.mean_weights[name]
        counted = None if weight is None else weight[counts]
        p_values[name], intervals[name] = run_tests(difference[counts], counted, tests, n_resamples, seed)
    p_holm = {test: holm([p_values[name][test] for name in a]) for test in tests}
    results = {
        name: _result(a, b, name, intervals[name], p_values[name], {test: p_holm[test][k] for test in tests})
        for k, name in enumerate(a)
    }
    return Comparison(a, b, results, tests)


def _check_tests(tests: str | Sequence[str]) -> tuple[str, ...]:
    chosen = [tests] if isinstance(tests, str) else as_list(tests)
    if not chosen or not all(isinstance(test, str) and test in TESTS for test in chosen):
        raise ParameterError("tests", f"among {', '.join(map(repr, TESTS))}", tests)
    return tuple(dict.fromkeys(chosen))


def _seed(random_state: int | np.random.Generator | None) -> int:
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is None:
        return int(np.random.default_rng().integers(2**63))
    return int(check_seed(random_state, np.random.Generator))


def _differences(a: Evaluation, b: Evaluation, name: str) -> Vector:
    """Return b minus a for every query, with rounding errors taken for the zeros they are."""
    first, second = a.per_query[name], b.per_query[name]
    difference = second - first
    scale = np.maximum(np.abs(first), np.abs(second))
    difference[np.abs(difference) <= ROUNDING * scale] = 0.0
    return difference


def _result(
    a: Evaluation,
    b: Evaluation,
    name: str,
    interval: tuple[float, float],
    p_values: dict[str, float],
    p_holm: dict[str, float],
) -> MetricComparison:
    metric = a.metrics[name]
    difference = _differences(a, b, name)
    gain = difference if metric.higher_is_better else -difference
    return MetricComparison(
        metric=metric,
        mean_a=a[name],
        mean_b=b[name],
        difference=weighted_mean(difference, a.mean_weights[name]),
        interval=interval,
        wins=int(np.sum(gain > 0.0)),
        ties=int(np.sum(gain == 0.0)),
        losses=int(np.sum(gain < 0.0)),
        p_values=p_values,
        p_holm=p_holm,
    )


def _plain(change: QueryChange) -> dict[str, Any]:
    """Return a change with an id that JSON can hold: dates and the like as text."""
    query = change.query
    return {**change._asdict(), "query": query if isinstance(query, str | int | float | None) else str(query)}


def _none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else value
