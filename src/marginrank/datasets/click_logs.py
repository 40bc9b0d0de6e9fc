"""Click logs of simulated readers, who look at high positions more often than at low ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.labels import LabelledQueries
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.parameters import as_list, check_count, check_number, check_seed
from marginrank.types import Rows, Vector

_MOST_SESSIONS = 1_000_000
_MOST_BIAS = 100.0


class ClickLog(NamedTuple):
    """A click log: one entry for each row that was shown, session by session from the first position on.

    Train on it by ``X[log.rows], log.clicks, qid=log.sessions``.

    Attributes
    ----------
    rows : ndarray of int64
        Which row of the data was shown.
    sessions : ndarray of int64
        The session: one reader who saw one ranking.
    positions : ndarray of int64
        Where, from 1.
    clicks : ndarray of float64
        1 where the reader clicked, else 0.
    loggers : ndarray of int64
        Which ranking was shown: a number in ``scores``.
    examination : ndarray of float64
        The true probability that a reader looked at this position; logs of real readers do not have it.

    Examples
    --------
    >>> from marginrank.datasets import make_clicks
    >>> log = make_clicks(y=[0, 2, 1], scores=[3.0, 2.0, 1.0], bias=1.0, noise=0.0)
    >>> log.rows.tolist(), log.positions.tolist(), log.examination.round(2).tolist()
    ([0, 1, 2], [1, 2, 3], [1.0, 0.5, 0.33])
    """

    rows: Rows
    sessions: Rows
    positions: Rows
    clicks: Vector
    loggers: Rows
    examination: Vector


def make_clicks(
    y: Any,
    scores: Any,
    *,
    qid: Any = None,
    group: Any = None,
    n_sessions: int = 1,
    bias: float = 1.0,
    noise: float = 0.1,
    cutoff: int | None = None,
    random_state: Any = 0,
) -> ClickLog:
    """Make the clicks of readers who are shown each query in the order of a logging ranker.

    The position-based model: a reader looks at position k with probability ``k**-bias``, whatever is shown
    there, and clicks a row that was looked at with probability
    ``noise + (1 - noise) * (2**y - 1) / (2**max(y) - 1)``: the best rows always, rows of label 0 by
    mistake.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of at least 0 and at most 60: how much readers like the rows.
    scores : array-like of shape (n_rows,), None, or a list of these
        Scores of the logging ranker, highest first; None shows every session in a random order of its own.
        Several rankers share the sessions at random.
    qid, group : array-like, optional
        Queries, as in ``fit``.
    n_sessions : int, default=1
        How many readers see each query.
    bias : float, default=1.0
        How fast attention falls with the position; 0 for readers who look at everything.
    noise : float, default=0.1
        Probability of a click on a row of label 0 that was looked at, from 0 to 1.
    cutoff : int, optional
        Only the first positions are shown, and logged; by default all rows of the query.
    random_state : int, numpy Generator or None, default=0
        Seed. The same seed gives the same log; None gives another each time.

    Returns
    -------
    ClickLog
        Rows, sessions, positions and clicks.

    Examples
    --------
    >>> from marginrank.datasets import make_clicks
    >>> log = make_clicks(y=[0, 2, 1], scores=[3.0, 2.0, 1.0], n_sessions=2, noise=0.0)
    >>> log.rows.tolist(), log.positions.tolist(), log.sessions.tolist()
    ([0, 1, 2, 0, 1, 2], [1, 2, 3, 1, 2, 3], [0, 0, 0, 1, 1, 1])
    """
    labels = _check_labels(gate.check_only_labels(y))
    loggers = _check_loggers(scores, len(labels))
    queries = LabelledQueries.of(labels, qid=qid, group=group)
    n_sessions = check_count(n_sessions, "n_sessions", most=_MOST_SESSIONS)
    bias = check_number(bias, "bias", least=0.0)
    if bias > _MOST_BIAS:
        raise ParameterError("bias", f"at most {_MOST_BIAS:g}", bias)
    noise = check_number(noise, "noise", least=0.0)
    if noise > 1.0:
        raise ParameterError("noise", "a probability, from 0 to 1", noise)
    shown = len(labels) if cutoff is None else check_count(cutoff, "cutoff")
    rng = np.random.default_rng(check_seed(random_state, np.random.Generator))
    parts = [
        _shown(rng, queries, loggers, min(shown, len(labels))) for _ in range(n_sessions)
    ]  # of one reader for each query
    rows, numbers, positions, by = (np.concatenate(part) for part in zip(*parts, strict=True))
    _, sessions = np.unique(
        np.repeat(np.arange(n_sessions), [len(part[0]) for part in parts]) * queries.n_queries + numbers,
        return_inverse=True,
    )
    highest = max(labels.max(), 1.0)
    liking = noise + (1.0 - noise) * (2.0**labels - 1.0) / (2.0**highest - 1.0)
    examination = positions ** -float(bias)
    clicks = (rng.random(len(rows)) < examination * liking[rows]).astype(np.float64)
    return ClickLog(rows, sessions.astype(np.int64), positions, clicks, by, examination)


def _shown(
    rng: np.random.Generator, queries: LabelledQueries, loggers: list[Vector | None], most: int
) -> tuple[Rows, Rows, Rows, Rows]:
    """Return rows, query numbers, positions and logger numbers of one session for each query."""
    n_rows, ptr = int(queries.query_ptr[-1]), queries.query_ptr
    rows = np.arange(n_rows) if queries.order is None else queries.order
    sizes = np.diff(ptr)
    number = np.repeat(np.arange(len(sizes)), sizes)
    logger = rng.integers(len(loggers), size=len(sizes))[number]
    keys = rng.random(n_rows)  # random orders, and nothing for loggers that have one
    by_score = np.empty(n_rows)
    for k, scores in enumerate(loggers):
        mine = logger == k
        by_score[mine] = keys[mine] if scores is None else -scores[rows[mine]]
    order = np.lexsort((by_score, number))  # stable: rows of equal scores stay in their order
    position = np.arange(n_rows) - np.repeat(ptr[:-1], sizes) + 1
    kept = position <= most
    return rows[order][kept], number[kept], position[kept], logger[kept]


def _check_labels(y: NDArray[np.float64]) -> Vector:
    if y.min() < 0.0 or y.max() > 60.0:
        raise MarginRankError.naming("y", f"must be from 0 to 60; got {y.min():g} to {y.max():g}.")
    return y


def _check_loggers(scores: Any, n_rows: int) -> list[Vector | None]:
    if scores is None:
        return [None]
    listed = as_list(scores)
    several = listed is not None and len(listed) > 0 and all(_is_logger(one) for one in listed)
    if not several and getattr(scores, "ndim", 1) != 2:
        return [gate.check_scores(scores, n_rows)]
    given = list(scores)
    if not given:
        raise ParameterError("scores", "the scores of at least one ranker", scores)
    return [None if one is None else gate.check_scores(one, n_rows) for one in given]


def _is_logger(one: Any) -> bool:
    return one is None or as_list(one) is not None
