"""Ranking data: rows, their labels or preferences, and the queries they belong to.

Rows are never moved. Losses and designs work in *grouped order* (rows of a query next to each other, queries
in order of first appearance) through ``order``, so the user's X is used where it lies in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.collected_frames import collected
from marginrank.data.faces import data_html, data_text
from marginrank.data.frames import split_frame, take_columns
from marginrank.data.id_columns import warn_of_id_columns
from marginrank.data.labels import LabelledQueries, TrainingView, take
from marginrank.data.matrices import in_memory
from marginrank.data.preference_pairs import TrainingPairs, pairs_within, training_pairs
from marginrank.data.queries import row_numbers
from marginrank.data.query_normalization import minmax_by_query
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_flag
from marginrank.types import Matrix, Rows, Vector

_NO_PAIRS: dict[str, Any] = {"pairs": None, "pair_weight": None, "pair_margin": None}
# What data are rebuilt from.
_REBUILT = (
    *("X", "y", "qid", "sample_weight", "query_weight", "pairs", "pair_weight", "pair_margin"),
    *("feature_names", "comments", "allow_nonfinite"),
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankingData:
    """Rows to rank, with labels or preference pairs, queries and weights; validated once.

    Every ranker takes it in place of X, y, qid and weights.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Kept as it is, without a copy, where it is a C-ordered array or CSR of float32 or float64; converted
        once otherwise. The column ``qid`` of a data frame (pandas, polars, Arrow) gives the query ids. Its
        other columns are features, but for those that ``y``, ``qid`` and the weights name.
    y : array-like of shape (n_rows,) or str, optional
        Labels, any real numbers; higher is better. Needed unless there are pairs. A string is the name of a
        column of the data frame, here and for ``qid`` and the weights.
    qid : array-like of shape (n_rows,) or str, optional
        Query ids: any hashable values, in any row order. None is one ranking of all rows.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, instead of ``qid``; the queries are then called 0, 1, ...
    pairs : array-like of shape (n_pairs, 2), optional
        Row numbers: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``.
    pair_weight, pair_margin : array-like of shape (n_pairs,), optional
        Weight and margin of each pair, 1 by default; a margin may be one number for all.
    sample_weight : array-like of shape (n_rows,) or str, optional
        A weight means repetition: a pair of rows weighs the product of their weights.
    query_weight : mapping of query id to weight, array-like or str, optional
        An array has one entry per query in order of first appearance, or one per row, equal within a query.
    feature_names : sequence of str, optional
        Column names; by default those of the data frame.
    comments : sequence of str, optional
        A remark on each row, such as the document it stands for; files keep them.
    allow_nonfinite : bool, default=False
        Whether X may hold NaN and infinity: to look at the data or to write them. Training refuses them.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,) or None
        Distinct ids in order of first appearance; None without ``qid`` and ``group``.
    query_ptr : ndarray of int64, shape (n_queries + 1,)
        Offsets of the queries in grouped order.
    order : ndarray of int64, shape (n_rows,), or None
        Row numbers in grouped order, stable within a query; None where the rows are grouped as they stand.

    Notes
    -----
    Arrays are shared with the caller: do not change them while the data are in use. Grouping takes O(n_rows).

    Examples
    --------
    >>> from marginrank.data.ranking_data import RankingData
    >>> data = RankingData([[0.1], [0.7], [0.3], [0.9]], y=[0, 1, 2, 0], qid=["b", "a", "b", "a"])
    >>> data
    RankingData(n_rows=4, n_features=1, n_queries=2, dense float64)
    >>> data.query_ids.tolist(), data.query_ptr.tolist(), data.order.tolist()
    (['b', 'a'], [0, 2, 4], [0, 2, 1, 3])
    """

    X: Matrix
    queries: LabelledQueries
    pairs: NDArray[Any] | None
    pair_weight: Vector | None
    pair_margin: Vector | None
    feature_names: tuple[str, ...] | None
    comments: NDArray[Any] | None
    allow_nonfinite: bool

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        pairs: Any = None,
        pair_weight: Any = None,
        pair_margin: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        feature_names: Any = None,
        comments: Any = None,
        allow_nonfinite: bool = False,
    ) -> None:
        allow_nonfinite = check_flag(allow_nonfinite, "allow_nonfinite")
        weights = {"sample_weight": sample_weight, "query_weight": query_weight}
        preferences = {"pairs": pairs, "pair_weight": pair_weight, "pair_margin": pair_margin}
        _check_given(y, **weights, **preferences)
        X, given = take_columns(collected(X), y=y, qid=qid, **weights)
        y, qid, weights = given["y"], given["qid"], {name: given[name] for name in weights}
        X, qid = split_frame(X, qid, group)
        X, names = gate.check_matrix(X)
        if names is not None:
            warn_of_id_columns(names)
        names = gate.check_feature_names(names if feature_names is None else feature_names, X.shape[1])
        if not allow_nonfinite:
            gate.check_finite(X, names)
        self._set(
            X=X,
            feature_names=names,
            **_checked_rows(X.shape[0], y, qid, group, comments, weights, preferences),
            allow_nonfinite=allow_nonfinite,
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return data_text(self)

    _repr_html_ = data_html

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int:
        """Number of queries; 1 for one ranking of all rows."""
        return self.queries.n_queries

    @property
    def y(self) -> Vector | None:
        """Labels; None where there are only pairs."""
        return self.queries.y

    @property
    def qid(self) -> NDArray[Any] | None:
        """The query id of each row; None for one ranking of all rows."""
        return self.queries.qid

    @property
    def sample_weight(self) -> Vector | None:
        """Weights of the rows; None stands for 1."""
        return self.queries.sample_weight

    @property
    def query_weight(self) -> Vector | None:
        """Weights of the queries; None stands for 1."""
        return self.queries.query_weight

    @property
    def query_ids(self) -> NDArray[Any] | None:
        """Distinct ids in order of first appearance; None for one ranking of all rows."""
        return self.queries.query_ids

    @property
    def query_ptr(self) -> Rows:
        """Offsets of the queries in grouped order."""
        return self.queries.query_ptr

    @property
    def order(self) -> Rows | None:
        """Row numbers in grouped order; None where the rows are grouped as they stand."""
        return self.queries.order

    def count_pairs(self) -> int:
        """Return the number of comparable pairs: same query, different labels, zero weights left out.

        The converters of :mod:`marginrank.regularization` ask for it. O(m log m) for m rows.

        Examples
        --------
        >>> RankingData([[1], [2], [3]], y=[0, 1, 1], qid=["a", "a", "a"]).count_pairs()
        2
        """
        self._check_finite()
        return self.queries.count_pairs()

    def in_original_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values given in grouped order, one per row, in the order of the rows of X.

        Examples
        --------
        >>> import numpy as np
        >>> data = RankingData([[0.1], [0.7], [0.3]], y=[0, 1, 2], qid=["b", "a", "b"])
        >>> data.in_original_order(np.array([10, 20, 30]))  # rows 0, 2, 1
        array([10, 30, 20])
        """
        return self.queries.in_original_order(values)

    def training_view(self, part: NDArray[np.int64] | None = None) -> TrainingView:
        """Return labels, weights and offsets in grouped order, without the rows that weigh nothing.

        Parameters
        ----------
        part : ndarray of int64, optional
            Numbers of the rows that take part, as in a fold; by default all. Nothing of X is copied.

        Examples
        --------
        >>> data = RankingData([[1], [2], [3]], y=[0, 1, 2], qid=[5, 4, 5], sample_weight=[1, 0, 2])
        >>> view = data.training_view()
        >>> view.rows.tolist(), view.query_ptr.tolist(), view.y.tolist()
        ([0, 2], [0, 2], [0.0, 2.0])
        """
        self._check_finite()
        return self.queries.training_view(part)

    def _check_finite(self) -> None:
        if self.allow_nonfinite:
            gate.check_finite(self.X, self.feature_names)

    def training_pairs(self, part: NDArray[np.int64] | None = None) -> TrainingPairs:
        """Return the explicit pairs, or those of some numbers, without those that weigh nothing."""
        if self.pairs is None:
            raise MarginRankError("These data hold no pairs; give pairs, or train within queries on y.")
        self._check_finite()
        return training_pairs(self.pairs, self.pair_weight, self.pair_margin, part)

    def subset(self, rows: Any) -> RankingData:
        """Return the data of some rows, by row numbers or a boolean mask, for folds and samples.

        Ids, weights and comments go along; a pair is kept where both of its rows are.

        Examples
        --------
        >>> data = RankingData([[1], [2], [3]], y=[0, 1, 2], qid=["u", "v", "u"])
        >>> fold = data.subset([2, 0])
        >>> fold.y.tolist(), fold.qid.tolist()
        ([2.0, 0.0], ['u', 'u'])
        """
        rows = row_numbers(rows, self.n_rows)
        return self._subset(rows, self.X[rows], take(self.comments, rows))

    def _subset(self, rows: Rows, X: Matrix, comments: NDArray[Any] | None) -> RankingData:
        kept, pairs = pairs_within(self.pairs, rows, self.n_rows)
        return make_data(
            X=X,
            queries=self.queries.subset(rows),
            pairs=pairs,
            pair_weight=take(self.pair_weight, kept),
            pair_margin=take(self.pair_margin, kept),
            feature_names=self.feature_names,
            comments=comments,
            allow_nonfinite=self.allow_nonfinite,
        )

    @property
    def has_comments(self) -> bool:
        """Whether rows have remarks, without reading them."""
        return self.comments is not None

    def in_memory(self) -> RankingData:
        """Return the data with their features in memory, which may have to be read first."""
        if in_memory(self.X):
            return self
        return self._subset(np.arange(self.n_rows), self.X[:], self.comments)

    def chunks(self) -> Iterator[RankingData]:
        """Return the data in memory: as they are, or one chunk after another, without explicit pairs."""
        if in_memory(self.X):
            yield self
            return
        for section in self.X.sections():
            rows = np.arange(section.first, section.last)
            parts = {"X": self.X[rows], "queries": self.queries.subset(rows)}
            yield self._with(**parts, comments=take(self.comments, rows), **_NO_PAIRS)

    def normalized_by_query(self) -> RankingData:
        """Return the same data with each column scaled to [0, 1] within each query, as LETOR's files are.

        ``(x - min) / (max - min)`` over the rows of the query, those of zero weight included; 0 where the
        column is constant there. Labels, ids, weights, pairs and names stay. Without ids all rows are one
        query. A model trained on it must see other data normalised too:
        ``to_model(query_normalization="minmax")`` remembers that.

        Notes
        -----
        The result is dense, of the same float type: ``n_rows * n_features`` values of 4 or 8 bytes, also
        where X is sparse, because the minimum of a column is seldom 0 everywhere. O(n_rows * n_features).

        Examples
        --------
        >>> data = RankingData([[1.0], [8.0], [3.0], [9.0]], y=[0, 1, 2, 0], qid=["b", "a", "b", "a"])
        >>> data.normalized_by_query().X.tolist()
        [[0.0], [0.0], [1.0], [1.0]]
        """
        return self._with(X=minmax_by_query(self.X, self.query_ptr, self.order))

    def _with(self, **parts: Any) -> RankingData:
        """Return the data with some of their fields replaced, which were validated before."""
        same = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in parts}
        return make_data(**same, **parts)


def make_data(**parts: Any) -> RankingData:
    """Return ranking data from all of their fields, which were validated before."""
    data = object.__new__(RankingData)
    data._set(**parts)
    return data


def rebuilt(data: RankingData, **changed: Any) -> RankingData:
    """Return the data with some of their parts replaced, and validated again.

    Features that do not lie in memory stay where they are: they were validated when they were written.

    Parameters
    ----------
    data : RankingData
        In memory, on disk or on workers.
    **changed
        Arguments of :class:`RankingData` but ``group``.
    """
    kept = {name: getattr(data, name) for name in _REBUILT}
    parts = {**kept, **changed}
    if in_memory(parts["X"]):
        return RankingData(**parts)
    weights = {name: parts[name] for name in ("sample_weight", "query_weight")}
    preferences = {name: parts[name] for name in ("pairs", "pair_weight", "pair_margin")}
    _check_given(parts["y"], **weights, **preferences)
    n_rows = parts["X"].shape[0]
    return make_data(
        X=parts["X"],
        feature_names=parts["feature_names"],
        **_checked_rows(n_rows, parts["y"], parts["qid"], None, parts["comments"], weights, preferences),
        allow_nonfinite=parts["allow_nonfinite"],
    )


def _check_given(
    y: Any, sample_weight: Any, query_weight: Any, pairs: Any, pair_weight: Any, pair_margin: Any
) -> None:
    if y is None and pairs is None:
        raise MarginRankError(
            "RankingData requires y to be passed, but the target y is None; give y, or pairs of row numbers."
        )
    if y is None and (sample_weight is not None or query_weight is not None):
        raise MarginRankError("sample_weight and query_weight need y; to weigh pairs, use pair_weight.")
    if pairs is None and (pair_weight is not None or pair_margin is not None):
        raise MarginRankError("pair_weight and pair_margin describe pairs; give pairs too.")


def _checked_rows(
    n_rows: int,
    y: Any,
    qid: Any,
    group: Any,
    comments: Any,
    weights: dict[str, Any],
    preferences: dict[str, Any],
) -> dict[str, Any]:
    """Return everything but the features, validated."""
    queries = LabelledQueries.of(y, n_rows, qid=qid, group=group, **weights)
    if preferences["pairs"] is not None:
        clean = gate.check_pairs(
            preferences["pairs"], n_rows, preferences["pair_weight"], preferences["pair_margin"]
        )
        preferences = dict(zip(("pairs", "pair_weight", "pair_margin"), clean, strict=True))
    return {"queries": queries, **preferences, "comments": gate.check_comments(comments, n_rows)}
