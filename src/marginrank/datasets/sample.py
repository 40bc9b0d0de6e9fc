"""A small search collection that is made, not downloaded: feature names, document ids, raw units."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.types import Array, Rows, Vector

_SEED = 20
_QUERIES = {"train": 60, "validation": 20, "test": 20}
_ROWS = (8, 24)
_LEVELS = (0.55, 0.8, 0.93)  # of the rows of all queries that have less than the label 1, 2 and 3


class Sample(NamedTuple):
    """Three sets of the same kind: to train on, to choose alpha by, and to measure the chosen model.

    Attributes
    ----------
    train, validation, test : RankingData
        Rows with feature names; comments hold the document ids.

    Examples
    --------
    >>> from marginrank.datasets import load_sample
    >>> train, validation, test = load_sample()
    >>> train.n_queries, validation.n_queries, test.n_queries
    (60, 20, 20)
    """

    train: RankingData
    validation: RankingData
    test: RankingData


def load_sample() -> Sample:
    """Return a small search collection in three sets, of 60, 20 and 20 queries.

    Documents have labels from 0 to 3, ten features in units of their own (some of them constant within a
    query, one of them noise), and document ids in the comments, as in LETOR's files. It is made anew at each
    call, always the same. ``marginrank sample DIR`` writes it to files.

    Returns
    -------
    Sample
        ``train``, ``validation`` and ``test``.

    Examples
    --------
    >>> from marginrank import RankSVM
    >>> from marginrank.datasets import load_sample
    >>> sample = load_sample()
    >>> sample.train.n_queries, sample.train.feature_names[:3]
    (60, ('bm25_title', 'bm25_body', 'title_matches'))
    >>> sample.train.comments[0]
    'docid = D-0001-01'
    >>> ranker = RankSVM(alpha="auto", scale="standard").fit(sample.train, eval_set=sample.validation)
    >>> ranker.score(sample.test) > 0.75
    True
    """
    rng = np.random.default_rng(_SEED)
    sizes = rng.integers(*_ROWS, sum(_QUERIES.values()), endpoint=True)
    qid = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    columns, utilities = _documents(rng, qid)
    borders = np.quantile(utilities, _LEVELS, method="nearest")
    y = np.searchsorted(borders, utilities, side="right").astype(np.float64)
    within = np.arange(len(qid)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    docids = [f"docid = D-{query:04d}-{row:02d}" for query, row in zip(qid, within, strict=True)]
    X = np.column_stack(list(columns.values()))
    last = np.cumsum(list(_QUERIES.values()))
    parts = [
        np.flatnonzero((qid > end - n) & (qid <= end)) for end, n in zip(last, _QUERIES.values(), strict=True)
    ]
    return Sample(*(_set(X, y, qid, docids, rows, tuple(columns)) for rows in parts))


def _set(
    X: Array, y: Vector, qid: Rows, docids: list[str], rows: Rows, names: tuple[str, ...]
) -> RankingData:
    comments = [docids[row] for row in rows]
    return RankingData(X[rows], y[rows], qid=qid[rows], feature_names=names, comments=comments)


def _documents(rng: np.random.Generator, qid: Rows) -> tuple[dict[str, NDArray[Any]], Vector]:
    """Return the columns, with the digits that a program would log, and the utilities behind the labels."""
    n, n_queries = len(qid), int(qid[-1])
    topical, authority, freshness = rng.normal(size=(3, n))
    difficulty = rng.normal(size=n_queries)[qid - 1]
    columns = {
        "bm25_title": (4.0 + 1.5 * topical + rng.normal(size=n)).clip(0.0).round(3),
        "bm25_body": (11.0 + 4.0 * topical - difficulty + 3.0 * rng.normal(size=n)).clip(0.0).round(3),
        "title_matches": (1.5 + topical + 0.7 * rng.normal(size=n)).clip(0.0, 5.0).round(),
        "query_terms": (3.0 + 1.2 * difficulty).clip(1.0, 8.0).round(),
        "query_clicks_30d": (10.0 ** (3.5 - 0.5 * difficulty)).round(),
        "pagerank": (10.0 ** (-6.0 + 0.6 * authority)).round(9),
        "inlinks": (10.0 ** (2.0 + 0.8 * authority + 0.3 * rng.normal(size=n))).round(),
        "age_days": (400.0 - 120.0 * freshness + 40.0 * rng.normal(size=n)).clip(0.0).round(),
        "url_length": (45.0 - 6.0 * authority + 12.0 * rng.normal(size=n)).clip(12.0, 160.0).round(),
        "checksum_byte": rng.integers(0, 256, n).astype(np.float64),
    }
    return columns, topical + 0.5 * authority + 0.3 * freshness - 0.3 * difficulty + 0.4 * rng.normal(size=n)
