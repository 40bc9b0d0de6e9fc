"""Validation sets given to ``fit``: read, measured after each iteration, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from marginrank.data import RankingData
from marginrank.data.validation import check_offset
from marginrank.exceptions import MarginRankError, ParameterError, Sentence, shown
from marginrank.metrics import Evaluator, Metric
from marginrank.metrics.several_targets import TargetEvaluators
from marginrank.parameters import as_list
from marginrank.training.selection import Search, Selection
from marginrank.types import Array, Vector

#: From X and y, with qid= and group= (all but X None for RankingData), to validated data and its targets.
ReadRows = Callable[..., tuple[RankingData, Array]]


@dataclass(frozen=True)
class EvaluationSet:
    """Labelled rows and what is measured on them, against each of the targets."""

    name: str
    data: RankingData
    metrics: Mapping[str, Metric]
    targets: TargetEvaluators
    #: Scores of another ranker, which those of models are added to.
    offset: Vector | None = None

    @property
    def metric(self) -> Metric:
        """The metric that models are selected by: the first one."""
        return next(iter(self.metrics.values()))

    def select(self, search: Search, alphas: Vector, by_query: Array) -> Selection:
        """Choose from the values of the first metric by query, of shape (n_alphas, n_queries)."""
        return replace(search, metric=self.metric).select(alphas, by_query.T, self.targets.weight)

    def means(self, scores: Array) -> Array:
        """Return the mean of each metric over queries and targets, of shape (k, n_metrics).

        Scores have shape (k, n_targets, n_rows).
        """
        return self.targets.means(scores if self.offset is None else scores + self.offset)

    def measure(self, scores: Array) -> tuple[Vector, Array]:
        """Return figures by the first metric, of shape (k,), and its values by query, (k, n_queries)."""
        return self.targets.measure(scores if self.offset is None else scores + self.offset)


def read_evaluation_sets(
    eval_set: Any,
    queries: Mapping[str, Any],
    metrics: Mapping[str, Metric],
    read: ReadRows,
    n_jobs: int | None,
) -> list[EvaluationSet]:
    """Return the validation sets that a user passed to ``fit``.

    Parameters
    ----------
    eval_set : None, RankingData, (X, y), or a list of these
        The rows.
    queries : dict
        ``qid``, ``group`` and ``offset``: None, an array, or a list with one array for each set.
    metrics : dict of Metric
        What to measure, by name; the first one is what models are selected by.
    read : callable
        Validates one set.
    n_jobs : int or None
        Threads for the metrics.
    """
    if eval_set is None:
        for name, given in queries.items():
            if given is not None:
                raise MarginRankError(f"eval_{name} describes eval_set; give eval_set too.")
        return []
    alone = isinstance(eval_set, RankingData | tuple)
    sets = [eval_set] if alone else eval_set
    if not isinstance(sets, list) or not sets or not all(map(_is_set, sets)):
        raise ParameterError("eval_set", "(X, y), a RankingData, or a list of these", eval_set)
    by_set = {name: [given] if alone else _of_sets(name, given, len(sets)) for name, given in queries.items()}
    offsets = by_set.pop("offset", [None] * len(sets))
    found = []
    for number, rows in enumerate(sets):
        X, y = (rows, None) if isinstance(rows, RankingData) else rows
        with _about("eval_set" if alone else f"eval_set[{number}]"):
            data, targets = read(X, y, **{name: given[number] for name, given in by_set.items()})
            offset = check_offset(offsets[number], data.n_rows, "eval_offset")
        measuring = TargetEvaluators([Evaluator(data, metrics, y=y, n_jobs=n_jobs) for y in targets])
        found.append(EvaluationSet(f"validation_{number}", data, metrics, measuring, offset))
    return found


def _of_sets(name: str, given: Any, n_sets: int) -> list[Any]:
    """Return the ids or sizes of each of several sets."""
    if given is None:
        return [None] * n_sets
    listed = as_list(given)
    if listed is None or len(listed) != n_sets:
        got = shown(given) if listed is None else len(listed)
        what = {"qid": "ids", "group": "sizes"}.get(name, "scores")
        raise MarginRankError(
            f"eval_{name} must have one array of {what} for each set of eval_set; got {got} for {n_sets}."
        )
    return listed


@contextmanager
def _about(name: str) -> Iterator[None]:
    """Put the name of a set before sentences about its X and y, which those of ``fit`` are called, too."""
    try:
        yield
    except MarginRankError as error:
        if error.sentence.parameters & {"eval_set", "eval_qid", "eval_group", "eval_offset"}:
            raise
        raise error.about(Sentence(f"{{{name}}}: ")) from error


class Record:
    """The figures of every set and metric, iteration by iteration: ``evals_result_``."""

    def __init__(self, sets: list[EvaluationSet]) -> None:
        self._sets = sets
        self.result: dict[str, dict[str, list[float]]] = {
            one.name: {name: [] for name in one.metrics} for one in sets
        }

    def add(self, figures: list[Array]) -> float:
        """Note the means of the metrics of each set, and return that which models are selected by."""
        for one, means in zip(self._sets, figures, strict=True):
            for name, value in zip(one.metrics, means, strict=True):
                self.result[one.name][name].append(float(value))
        return float(figures[-1][0])


def better(metric: Metric, value: float, than: float | None) -> bool:
    """Whether a figure is better than another, or the first one that is a number."""
    if than is None:
        return not np.isnan(value)
    return value > than if metric.higher_is_better else value < than


def _is_set(rows: Any) -> bool:
    return isinstance(rows, RankingData) or (isinstance(rows, tuple) and len(rows) == 2)
