"""What a search for alpha will take: timed on a sample, times how much longer passes over all data take."""

from __future__ import annotations

import warnings
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory, is_sparse
from marginrank.exceptions import MarginRankError
from marginrank.solvers import Callback, Progress
from marginrank.types import Rows

if TYPE_CHECKING:
    from marginrank.estimators.rank_svm import RankSVM

# Entries of X that are searched; smaller data are searched whole, which takes a second or less.
_ENTRIES = 2_000_000
# Queries, and rows or pairs where there are none, that a sample has at least: few are searched otherwise.
_LEAST_QUERIES, _LEAST_ROWS = 200, 2000
# After so many seconds the search of the sample ends, and the rest is estimated by how much of it was done.
_LONGEST = 5.0
# How passes are timed; at the default alpha, where the search of the sample was ended.
_USUAL_ALPHA = 1e-4
_ITERATIONS, _TIMINGS = 4, 2


def search_seconds(data: RankingData, n_jobs: int | None = None) -> float | None:
    """Return about how long ``RankSVM(alpha="auto")`` takes on data; None where it cannot be trained.

    Parameters
    ----------
    data : RankingData
        Labelled rows, or explicit pairs.
    n_jobs : int, optional
        Threads to use.

    Examples
    --------
    >>> data = RankingData(np.arange(20.0)[:, None], y=np.arange(20), qid=np.arange(20) // 4)
    >>> search_seconds(data) > 0.0
    True
    >>> search_seconds(data.subset([0, 1])) is None  # one query, and five folds
    True
    """
    rows = sampled_rows(data)
    try:
        if rows is None:
            return _searched(data, n_jobs)[0]
        sample = data.subset(rows)
        seconds, alpha = _searched(sample, n_jobs)
        return seconds * _pass_seconds(data, alpha, n_jobs) / _pass_seconds(sample, alpha, n_jobs)
    except MarginRankError:
        return None


def sampled_rows(data: RankingData, entries: int = _ENTRIES) -> Rows | None:
    """Return the rows to search: whole queries, or pairs, evenly spaced; None for all of them.

    Examples
    --------
    >>> data = RankingData(np.zeros((3000, 2)), y=np.arange(3000), qid=np.arange(3000) // 3)
    >>> rows = sampled_rows(data, entries=2000)
    >>> len(rows), rows[:6].tolist()
    (1002, [0, 1, 2, 9, 10, 11])
    """
    step = int(_stored(data) // entries)
    if step < 2:
        return None
    if data.pairs is not None:
        step = min(step, max(1, len(data.pairs) // _LEAST_ROWS))
        return None if step < 2 else np.unique(np.asarray(data.pairs)[::step])
    if data.query_ids is None:
        # Files are often sorted by label, and with them every so many rows would be alike.
        kept = max(data.n_rows // step, min(_LEAST_ROWS, data.n_rows))
        return np.sort(np.random.default_rng(0).permutation(data.n_rows)[:kept])
    step = min(step, max(1, data.n_queries // _LEAST_QUERIES))
    of_query = np.arange(data.n_queries) % step == 0
    by_row = data.in_original_order(np.repeat(of_query, np.diff(data.query_ptr)))
    return None if step < 2 else np.flatnonzero(by_row)


def _stored(data: RankingData) -> int:
    """Return about how many entries of X a pass reads."""
    if in_memory(data.X) and is_sparse(data.X):
        return int(data.X.nnz)
    return data.n_rows * data.n_features


class _LongEnoughError(Exception):
    """Ends a search that takes longer than anyone waits for an estimate."""


class _Watch:
    """A callback that remembers how much of a search is done, and ends a long one."""

    def __init__(self) -> None:
        self.began = perf_counter()
        self.done = 1.0

    def __call__(self, progress: Progress) -> None:
        seconds = perf_counter() - self.began
        if seconds > _LONGEST:
            self.done = min(max(progress.done or 0.0, 0.01), 1.0)
            raise _LongEnoughError


def _searched(data: RankingData, n_jobs: int | None) -> tuple[float, float]:
    """Search; return the seconds that it took, or would have taken, and the alpha that was chosen."""
    ranker, watch = _ranker(alpha="auto", n_jobs=n_jobs), _Watch()
    with suppress(_LongEnoughError):
        _fit(ranker, data, watch)
    seconds = (perf_counter() - watch.began) / watch.done
    return seconds, getattr(ranker, "alpha_", _USUAL_ALPHA)


def _pass_seconds(data: RankingData, alpha: float, n_jobs: int | None) -> float:
    """Return how long a pass of a fit takes, with all that belongs to it."""
    ranker, seconds = _ranker(alpha=alpha, max_iter=_ITERATIONS, n_jobs=n_jobs), []
    for _ in range(_TIMINGS):  # the first one wakes threads and fetches X from memory
        began = perf_counter()
        _fit(ranker, data)
        seconds.append((perf_counter() - began) / ranker.n_passes_)
    return min(seconds)


def _ranker(**parameters: Any) -> RankSVM:
    # With scikit-learn, slow to import; models are inspected without it.
    from marginrank.estimators.rank_svm import RankSVM

    return RankSVM(**parameters)


def _fit(ranker: RankSVM, data: RankingData, *callbacks: Callback) -> None:
    fit = ranker.fit if data.pairs is None else ranker.fit_pairs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(data, callbacks=list(callbacks))
