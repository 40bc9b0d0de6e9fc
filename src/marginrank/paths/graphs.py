"""Which pairs a path learns from: all comparable ones, a sample of them, or the reduced graph of a paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, get_args

import numpy as np

from marginrank.choices import Graph
from marginrank.data import RankingData, TrainingView
from marginrank.data.validation import nothing_to_rank
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_choice, check_count, check_seed
from marginrank.types import Rows, Vector


class GraphPairs(NamedTuple):
    """Winners and losers by row number, with the weight and the margin of each pair."""

    winner: Rows
    loser: Rows
    weight: Vector
    margin: Vector


def graph_pairs(
    data: RankingData,
    graph: str = "all",
    *,
    pairs_per_row: int = 10,
    weighting: str = "pairs",
    random_state: Any = 0,
) -> GraphPairs:
    """Return the pairs of a graph, within queries.

    Parameters
    ----------
    data : RankingData
        Labels with queries and weights, or explicit pairs, which are taken as they are.
    graph : {"all", "sampled", "reduced"}, default="all"
        All comparable pairs; up to ``pairs_per_row`` random partners of each row; or the reduced graph of the
        regularisation path paper.
    pairs_per_row : int, default=10
        For the sample.
    weighting : {"pairs", "queries"}, default="pairs"
        Whether the loss is a mean over pairs or over queries.
    random_state : int, numpy Generator or None, default=0
        For the sample.

    Returns
    -------
    GraphPairs

    Examples
    --------
    >>> data = RankingData([[1], [2], [3]], y=[0, 1, 1])
    >>> pairs = graph_pairs(data)
    >>> list(zip(pairs.winner.tolist(), pairs.loser.tolist()))
    [(1, 0), (2, 0)]
    """
    check_graph(graph, weighting, pairs_per_row)
    rng = np.random.default_rng(check_seed(random_state, np.random.Generator))
    if data.pairs is not None:
        return _explicit_pairs(data, graph)
    choose: Callable[[Vector], tuple[Rows, Rows]] = {
        "all": _all_pairs,
        "sampled": lambda y: _sampled_pairs(y, int(pairs_per_row), rng),
        "reduced": _reduced_pairs,
    }[graph]
    return _pairs_by_query(data.training_view(), choose, weighting)


def check_graph(graph: Any, weighting: Any, pairs_per_row: Any) -> None:
    """Raise unless these say which pairs to take and how to weigh them."""
    check_choice("graph", graph, get_args(Graph))
    check_choice("weighting", weighting, ("pairs", "queries"))
    check_count(pairs_per_row, "pairs_per_row")


def _explicit_pairs(data: RankingData, graph: str) -> GraphPairs:
    if data.y is not None:
        raise MarginRankError("These data hold y and pairs; a path learns from one of them. Leave one out.")
    if graph != "all":
        raise MarginRankError.saying(
            "{graph=} chooses among the pairs of labels, but pairs were given, which are taken as they are.",
            "Use {graph='all'}.",
            graph=graph,
        )
    pairs, weight, margin = data.training_pairs()
    ones = np.ones(len(pairs))
    margin = ones if margin is None else margin
    if not np.all(margin > 0.0):
        k = int(np.argmax(margin <= 0.0))
        raise MarginRankError(f"pair_margin must be positive for a path; got {margin[k]:g} at pair {k}.")
    rows = pairs.astype(np.int64, copy=False)
    return GraphPairs(rows[:, 0].copy(), rows[:, 1].copy(), ones if weight is None else weight, margin)


def _pairs_by_query(
    view: TrainingView, choose: Callable[[Vector], tuple[Rows, Rows]], weighting: str
) -> GraphPairs:
    winners, losers, weights = [], [], []
    n_queries = len(view.query_ptr) - 1
    query_weight = np.ones(n_queries) if view.query_weight is None else view.query_weight
    for q in range(n_queries):
        rows = slice(view.query_ptr[q], view.query_ptr[q + 1])
        winner, loser = choose(view.y[rows])
        weight = np.full(len(winner), query_weight[q])
        if view.sample_weight is not None:
            mine = view.sample_weight[rows]
            weight *= mine[winner] * mine[loser]
        if weighting == "queries" and len(weight):
            weight *= query_weight[q] / weight.sum()
        winners.append(winner + view.query_ptr[q])
        losers.append(loser + view.query_ptr[q])
        weights.append(weight)
    winner, loser, weight = np.concatenate(winners), np.concatenate(losers), np.concatenate(weights)
    if len(winner) == 0:
        raise nothing_to_rank(n_queries)
    if view.rows is not None:
        winner, loser = view.rows[winner], view.rows[loser]
    return GraphPairs(winner, loser, weight, np.ones(len(winner)))


def _all_pairs(y: Vector) -> tuple[Rows, Rows]:
    winner, loser = np.nonzero(y[:, None] > y[None, :])
    return winner, loser


def _sampled_pairs(y: Vector, per_row: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Return up to ``per_row`` partners of each row, drawn without replacement; a pair drawn twice is one."""
    order = np.argsort(y, kind="stable")
    ranked = y[order]
    first = np.searchsorted(ranked, ranked, side="left")
    last = np.searchsorted(ranked, ranked, side="right")
    keys = []
    for place, (begin, end) in enumerate(zip(first, last, strict=True)):
        n_partners = len(y) - (end - begin)
        drawn = rng.choice(n_partners, size=min(per_row, n_partners), replace=False)
        drawn = np.where(drawn < begin, drawn, drawn + (end - begin))  # step over the rows with its own label
        keys.append(np.maximum(drawn, place) * len(y) + np.minimum(drawn, place))
    high, low = np.divmod(np.unique(np.concatenate(keys)), len(y))
    return order[high], order[low]


def _reduced_pairs(y: Vector) -> tuple[Rows, Rows]:
    winners, losers = [], []
    for level, above in _levels(y):
        first, others = level[0], level[1:]
        winners += [np.full(len(others), first), above]
        losers += [others, np.full(len(above), first)]
    if not winners:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    return np.concatenate(winners), np.concatenate(losers)


def _levels(y: Vector) -> Iterator[tuple[Rows, Rows]]:
    """Yield the rows of each label but the highest, with the rows of the next one."""
    order = np.argsort(y, kind="stable")
    starts = np.flatnonzero(np.diff(y[order])) + 1
    levels = np.split(order, starts)
    yield from pairwise(levels)
