"""Splitters of scikit-learn that keep the rows of a query together."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from marginrank.data import RankingData
from marginrank.data.frames import as_frame
from marginrank.data.queries import check_qid, group_rows
from marginrank.data.query_folds import dealt_by_size, dealt_in_order
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.parameters import (
    check_choice,
    check_count,
    check_flag,
    check_seed,
    finite_number,
    whole_number,
)
from marginrank.types import Rows

Balance = Literal["queries", "rows"]
Split = tuple[Rows, Rows]
# More would take hours and say nothing more.
_MOST_SPLITS = 100_000


class _QuerySplitter(BaseCrossValidator):  # type: ignore[misc]  # scikit-learn has no types
    """What both splitters share: where query ids come from, and rows from queries."""

    # Requested without a word: a splitter of queries is of no use without them.
    __metadata_request__split = MappingProxyType({"groups": True, "qid": True})

    n_splits: int

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[Split]:
        """Yield the numbers of training and test rows, in ascending order.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData
            The rows; of a data frame the column ``qid`` has the query ids.
        y : object, optional
            Not looked at.
        groups, qid : array-like of shape (n_rows,), optional
            The query ids, under scikit-learn's name or ours, where X does not bring them.

        Yields
        ------
        train, test : ndarray of int64
            Row numbers; the rows of a query are in one of the two.
        """
        del y
        source, ids = _query_ids(self, X, groups, qid)
        found = group_rows(ids)
        sizes = np.diff(found.query_ptr)
        n_rows = int(found.query_ptr[-1])
        order = np.arange(n_rows) if found.order is None else found.order
        for sides in self._sides(sizes, source):
            by_row = np.empty(n_rows, dtype=np.int64)
            by_row[order] = np.repeat(sides, sizes)
            yield np.flatnonzero(by_row == 0), np.flatnonzero(by_row == 1)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, qid: Any = None) -> int:
        """Return the number of splits; nothing else is looked at.

        Parameters
        ----------
        X, y, groups, qid : object, optional
            Not looked at.

        Returns
        -------
        int
            ``n_splits``.
        """
        del X, y, groups, qid
        return self.n_splits

    def _sides(self, sizes: NDArray[np.int64], source: str) -> Iterator[NDArray[np.int64]]:
        """Yield for each split where each query goes: 0 training, 1 test, -1 neither."""
        raise NotImplementedError


class QueryKFold(_QuerySplitter):
    """K folds of whole queries, for ``cv=`` of scikit-learn's searches and of ``alpha="auto"``.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2.
    shuffle : bool, default=False
        Deal the queries in a random order, else in that of their first rows.
    balance : {"queries", "rows"}, default="queries"
        What folds have about the same number of.
    random_state : int, numpy Generator or None, default=None
        The seed of ``shuffle``; None draws another order each time.

    See Also
    --------
    QueryShuffleSplit : random splits.

    Examples
    --------
    >>> from marginrank import QueryKFold
    >>> qid = ["a", "b", "a", "c", "c", "c"]
    >>> [test.tolist() for _, test in QueryKFold(3).split([[0.0]] * 6, groups=qid)]
    [[0, 2], [1], [3, 4, 5]]
    >>> [test.tolist() for _, test in QueryKFold(2, balance="rows").split([[0.0]] * 6, groups=qid)]
    [[3, 4, 5], [0, 1, 2]]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        shuffle: bool = False,
        balance: Balance = "queries",
        random_state: Any = None,
    ) -> None:
        self.n_splits = check_count(n_splits, "n_splits", least=2, most=_MOST_SPLITS)
        self.shuffle = check_flag(shuffle, "shuffle")
        check_choice("balance", balance, ("queries", "rows"))
        self.balance = balance
        self.random_state = check_seed(random_state, np.random.Generator)

    def _sides(self, sizes: NDArray[np.int64], source: str) -> Iterator[NDArray[np.int64]]:
        if len(sizes) < self.n_splits:
            raise MarginRankError.saying(
                "{n_splits=} wants as many folds, but the queries of {source!s} are {found:d}.",
                n_splits=self.n_splits,
                source=source,
                found=len(sizes),
            )
        order = np.arange(len(sizes))
        if self.shuffle:
            order = np.random.default_rng(self.random_state).permutation(len(sizes))
        deal = dealt_by_size if self.balance == "rows" else dealt_in_order
        fold_of = deal(sizes, order, self.n_splits)
        for fold in range(self.n_splits):
            yield (fold_of == fold).astype(np.int64)


class QueryShuffleSplit(_QuerySplitter):
    """Random splits into training and test queries.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size : float or int, default=0.2
        The test queries: a share of all, or their number.
    train_size : float or int, optional
        The training queries, likewise; by default all others.
    balance : {"queries", "rows"}, default="queries"
        What sizes count. With "rows" they are met as nearly as whole queries allow.
    random_state : int, numpy Generator or None, default=0
        The seed; None draws other splits each time.

    See Also
    --------
    QueryKFold : folds, in which each query is tested once.

    Examples
    --------
    >>> from marginrank import QueryShuffleSplit
    >>> qid = ["a", "b", "a", "c", "c", "c"]
    >>> splitter = QueryShuffleSplit(2, test_size=1)
    >>> [(len(train), len(test)) for train, test in splitter.split([[0.0]] * 6, groups=qid)]
    [(3, 3), (3, 3)]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float = 0.2,
        train_size: float | None = None,
        balance: Balance = "queries",
        random_state: Any = 0,
    ) -> None:
        self.n_splits = check_count(n_splits, "n_splits", most=_MOST_SPLITS)
        self.test_size = _check_size(test_size, "test_size")
        self.train_size = None if train_size is None else _check_size(train_size, "train_size")
        check_choice("balance", balance, ("queries", "rows"))
        self.balance = balance
        self.random_state = check_seed(random_state, np.random.Generator)

    def _sides(self, sizes: NDArray[np.int64], source: str) -> Iterator[NDArray[np.int64]]:
        rng = np.random.default_rng(self.random_state)
        counted = sizes if self.balance == "rows" else np.ones(len(sizes), dtype=np.int64)
        for _ in range(self.n_splits):
            order = rng.permutation(len(sizes))
            n_test = _nearest(self.test_size, counted[order])
            n_train = len(sizes) - n_test
            if self.train_size is not None:
                n_train = _nearest(self.train_size, counted[order[::-1]])
            if n_test < 1 or n_train < 1 or n_test + n_train > len(sizes):
                raise MarginRankError.saying(
                    "{test_size=} and {train_size=} do not fit: of the {found:d} queries of {source!s} at "
                    "least one must be left for each.",
                    source=source,
                    test_size=self.test_size,
                    train_size=self.train_size,
                    found=len(sizes),
                )
            sides = np.full(len(sizes), -1, dtype=np.int64)
            sides[order[:n_test]] = 1
            sides[order[len(sizes) - n_train :]] = 0
            yield sides


def _check_size(size: Any, name: str) -> float | int:
    count, share = whole_number(size), finite_number(size)
    if count is not None and count >= 1:
        return count
    if count is None and share is not None and 0.0 < share < 1.0:
        return share
    raise ParameterError(name, "a share between 0 and 1, or a positive integer", size)


def _nearest(size: float | int, counted: NDArray[np.int64]) -> int:
    """Return how many of the first queries come nearest to a size; at least one of a share."""
    total = int(counted.sum())
    if isinstance(size, int):
        wanted: float = size
        if size > total:
            return len(counted) + 1  # more than there are
    else:
        wanted = size * total
    return int(np.argmin(np.abs(np.cumsum(counted) - wanted))) + 1


def _query_ids(splitter: Any, X: Any, groups: Any, qid: Any) -> tuple[str, NDArray[Any]]:
    """Return where the query ids in effect come from, and the ids: given, or those of the data."""
    given = {"groups": groups, "qid": qid}
    if isinstance(X, RankingData):
        n_rows, given["X"] = X.n_rows, X.qid
    else:
        frame = as_frame(X)
        if frame is not None and "qid" in frame.columns:
            given["X"] = frame["qid"].to_native()
        n_rows = _n_rows(X)
    found = {name: check_qid(ids, n_rows, name) for name, ids in given.items() if ids is not None}
    if not found:
        raise MarginRankError.saying(
            "{who!s} keeps queries together, so it needs their ids.",
            "Give X as a data frame with a column 'qid', or {groups=qid}.",
            who=type(splitter).__name__,
        )
    name, ids = found.popitem()
    for other, more in found.items():
        if not np.array_equal(ids, more):
            raise MarginRankError.saying(
                "Query ids come from {first!s} and from {second!s}, and are not the same; leave one out.",
                first=name,
                second=other,
            )
    return name, ids


def _n_rows(X: Any) -> int:
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        return int(shape[0])
    if isinstance(X, list | tuple):
        return len(X)
    raise ParameterError("X", "rows: an array, a sparse matrix, a list or a data frame", X)
