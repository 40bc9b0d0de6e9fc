"""Ranking data: rows, their labels or preferences, and the queries they belong to.

Rows are never moved. Losses and designs work in *grouped order* (rows of a query next to each other, queries
in order of first appearance) through ``order``, so the user's X is used where it lies in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank._kernels import PairLabels
from marginrank.data import validation as gate
from marginrank.data.queries import (
    Groups,
    check_group,
    check_qid,
    group_rows,
    offsets,
    one_query,
    weight_by_query,
)
from marginrank.data.query_normalization import minmax_by_query
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, NothingToRankError, ParameterError
from marginrank.parameters import check_flag
from marginrank.system.threads import default_threads
from marginrank.types import Matrix, Vector


class TrainingView(NamedTuple):
    """What a loss within queries trains on: rows of positive weight, in grouped order.

    ``rows`` are their original numbers, or None where these are all rows as they stand. ``y`` and
    ``sample_weight`` have one entry per training row, ``query_weight`` one per query that has training rows;
    a weight of None means 1 for all. Weights of extreme size are scaled by a power of two.
    """

    rows: NDArray[np.int64] | None
    query_ptr: NDArray[np.int64]
    y: Vector
    sample_weight: Vector | None
    query_weight: Vector | None


class TrainingPairs(NamedTuple):
    """What a loss over explicit pairs trains on: the pairs of positive weight; None means 1 for all."""

    pairs: NDArray[Any]
    weight: Vector | None
    margin: Vector | None


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RankingData:
    """Rows to rank, with labels or preference pairs, queries and weights; validated once.

    Every ranker takes it in place of X, y, qid and weights.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Kept as it is, without a copy, where it is a C-ordered array or CSR of float32 or float64; converted
        once otherwise. The column ``qid`` of a data frame (pandas, polars, Arrow) gives the query ids.
    y : array-like of shape (n_rows,), optional
        Labels, any real numbers; higher is better. Needed unless there are pairs.
    qid : array-like of shape (n_rows,), optional
        Query ids: any hashable values, in any row order. None is one ranking of all rows.
    group : array-like of shape (n_queries,), optional
        Sizes of consecutive queries, instead of ``qid``; the queries are then called 0, 1, ...
    pairs : array-like of shape (n_pairs, 2), optional
        Row numbers: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``.
    pair_weight, pair_margin : array-like of shape (n_pairs,), optional
        Weight and margin of each pair, 1 by default; a margin may be one number for all.
    sample_weight : array-like of shape (n_rows,), optional
        A weight means repetition: a pair of rows weighs the product of their weights.
    query_weight : mapping of query id to weight, or array-like, optional
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
    y: Vector | None
    qid: NDArray[Any] | None
    sample_weight: Vector | None
    query_weight: Vector | None
    query_ids: NDArray[Any] | None
    query_ptr: NDArray[np.int64]
    order: NDArray[np.int64] | None
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
        if y is None:
            _check_pairs_alone(pairs, sample_weight, query_weight)
        if pairs is None and (pair_weight is not None or pair_margin is not None):
            raise MarginRankError("pair_weight and pair_margin describe pairs; give pairs too.")
        X, qid = gate.split_frame(X, qid, group)
        X, names = gate.check_matrix(X)
        names = gate.check_feature_names(names if feature_names is None else feature_names, X.shape[1])
        if not allow_nonfinite:
            gate.check_finite(X, names)
        n_rows = X.shape[0]
        qid, groups = _queries(qid, group, n_rows)
        if pairs is not None:
            pairs, pair_weight, pair_margin = gate.check_pairs(pairs, n_rows, pair_weight, pair_margin)
        self._set(
            X=X,
            y=None if y is None else gate.check_labels(y, n_rows),
            qid=qid,
            sample_weight=gate.check_weights(sample_weight, n_rows),
            query_weight=weight_by_query(query_weight, groups),
            pairs=pairs,
            pair_weight=pair_weight,
            pair_margin=pair_margin,
            feature_names=names,
            comments=gate.check_comments(comments, n_rows),
            allow_nonfinite=allow_nonfinite,
            **groups._asdict(),
        )

    def _set(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        pairs = "" if self.pairs is None else f"n_pairs={len(self.pairs)}, "
        storage = "CSR" if sparse.issparse(self.X) else "dense"
        return (
            f"RankingData(n_rows={self.n_rows}, n_features={self.n_features}, "
            f"n_queries={self.n_queries}, {pairs}{storage} {self.X.dtype})"
        )

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
        return len(self.query_ptr) - 1

    def count_pairs(self) -> int:
        """Return the number of comparable pairs: same query, different labels, zero weights left out.

        The converters of :mod:`marginrank.regularization` ask for it. O(m log m) for m rows.

        Examples
        --------
        >>> RankingData([[1], [2], [3]], y=[0, 1, 1], qid=["a", "a", "a"]).count_pairs()
        2
        """
        view = self.training_view()
        return int(PairLabels(view.y, view.query_ptr, None, default_threads()).n_pairs.sum())

    def in_original_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values given in grouped order, one per row, in the order of the rows of X.

        Examples
        --------
        >>> import numpy as np
        >>> data = RankingData([[0.1], [0.7], [0.3]], y=[0, 1, 2], qid=["b", "a", "b"])
        >>> data.in_original_order(np.array([10, 20, 30]))  # rows 0, 2, 1
        array([10, 30, 20])
        """
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result

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
        if self.y is None:
            raise MarginRankError("These data hold pairs and no y; training within queries needs y.")
        self._check_finite()
        rows, query_ptr, kept_queries = self._rows_that_weigh(part)
        weight = _take(self.sample_weight, rows)
        return TrainingView(
            rows=rows,
            query_ptr=query_ptr,
            y=self.y if rows is None else self.y[rows],
            sample_weight=None if weight is None or np.all(weight == 1.0) else moderate(weight),
            query_weight=moderate(_take(self.query_weight, kept_queries)),
        )

    def _check_finite(self) -> None:
        if self.allow_nonfinite:
            gate.check_finite(self.X, self.feature_names)

    def _rows_that_weigh(
        self, part: NDArray[np.int64] | None
    ) -> tuple[Any, NDArray[np.int64], NDArray[np.bool_] | None]:
        kept = np.ones(self.n_rows, dtype=bool)  # in grouped order
        if part is not None:
            taken = np.zeros(self.n_rows, dtype=bool)
            taken[part] = True
            kept &= _take(taken, self.order)
        if self.sample_weight is not None:
            kept &= _take(self.sample_weight, self.order) > 0.0
        if self.query_weight is not None:
            kept &= np.repeat(self.query_weight > 0.0, np.diff(self.query_ptr))
        if kept.all():
            return self.order, self.query_ptr, None
        if not kept.any():
            raise NothingToRankError(
                "Every row has zero sample_weight or is in a query of zero query_weight, "
                "so there is nothing to rank."
            )
        sizes = np.add.reduceat(kept, self.query_ptr[:-1], dtype=np.int64)
        rows = np.flatnonzero(kept) if self.order is None else self.order[kept]
        return rows, offsets(sizes[sizes > 0]), sizes > 0

    def training_pairs(self, part: NDArray[np.int64] | None = None) -> TrainingPairs:
        """Return the explicit pairs, or those of some numbers, without those that weigh nothing."""
        if self.pairs is None:
            raise MarginRankError("These data hold no pairs; give pairs, or train within queries on y.")
        self._check_finite()
        kept: Any = part
        if self.pair_weight is not None and not self.pair_weight.all():
            weighty = self.pair_weight > 0.0
            kept = weighty if part is None else part[weighty[part]]
            if not np.any(weighty if part is None else len(kept)):
                raise NothingToRankError("Every pair of this fold has zero weight; give fewer folds.")
        return TrainingPairs(
            _take(self.pairs, kept), moderate(_take(self.pair_weight, kept)), _take(self.pair_margin, kept)
        )

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
        rows = _row_numbers(rows, self.n_rows)
        groups = one_query(len(rows)) if self.qid is None else group_rows(self.qid[rows])
        query_weight = self.query_weight
        if query_weight is not None:
            by_row = self.in_original_order(np.repeat(query_weight, np.diff(self.query_ptr)))
            first = groups.query_ptr[:-1]
            query_weight = by_row[rows][first if groups.order is None else groups.order[first]]
        kept, pairs = _pairs_within(self.pairs, rows, self.n_rows)
        part = object.__new__(RankingData)
        part._set(
            X=self.X[rows],
            y=_take(self.y, rows),
            qid=_take(self.qid, rows),
            sample_weight=_take(self.sample_weight, rows),
            query_weight=query_weight,
            pairs=pairs,
            pair_weight=_take(self.pair_weight, kept),
            pair_margin=_take(self.pair_margin, kept),
            feature_names=self.feature_names,
            comments=_take(self.comments, rows),
            allow_nonfinite=self.allow_nonfinite,
            **groups._asdict(),
        )
        return part

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
        same = {field.name: getattr(self, field.name) for field in fields(self)}
        normalized = object.__new__(RankingData)
        normalized._set(**{**same, "X": minmax_by_query(self.X, self.query_ptr, self.order)})
        return normalized


def check_data(data: Any, name: str = "data") -> RankingData:
    """Return data that are ranking data, in memory or on disk."""
    if not isinstance(data, RankingData):
        raise ParameterError(name, "a RankingData", data)
    return data


def _check_pairs_alone(pairs: Any, sample_weight: Any, query_weight: Any) -> None:
    if pairs is None:
        raise MarginRankError(
            "RankingData requires y to be passed, but the target y is None; give y, or pairs of row numbers."
        )
    if sample_weight is not None or query_weight is not None:
        raise MarginRankError("sample_weight and query_weight need y; to weigh pairs, use pair_weight.")


def _queries(qid: Any, group: Any, n_rows: int) -> tuple[NDArray[Any] | None, Groups]:
    if qid is not None and group is not None:
        raise MarginRankError("qid and group say the same thing twice; give one of them.")
    if group is not None:
        sizes = check_group(group, n_rows)
        query_ids = np.arange(len(sizes))
        return np.repeat(query_ids, sizes), Groups(query_ids, offsets(sizes), None)
    if qid is None:
        return None, one_query(n_rows)
    ids = check_qid(qid, n_rows)
    return ids, group_rows(ids)


def _take(values: Any, index: NDArray[Any] | None) -> Any:
    return values if values is None or index is None else values[index]


def _row_numbers(selection: Any, n_rows: int) -> NDArray[np.int64]:
    rows = gate.as_array(selection, "rows")
    if rows.dtype == bool and rows.shape == (n_rows,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or len(rows) == 0:
        raise MarginRankError("rows must be a list of row numbers that is not empty, or one boolean per row.")
    if rows.min() < 0 or rows.max() >= n_rows:
        raise MarginRankError(f"rows must be from 0 to {n_rows - 1}; got {rows.min()} to {rows.max()}.")
    return rows.astype(np.int64, copy=False)


def _pairs_within(pairs: Any, rows: NDArray[np.int64], n_rows: int) -> tuple[Any, Any]:
    """Return which pairs have both rows among ``rows``, and these pairs in the new row numbers."""
    if pairs is None:
        return None, None
    if len(np.unique(rows)) < len(rows):
        raise MarginRankError("rows must be distinct where there are pairs; some occur twice.")
    new_number = np.full(n_rows, -1, dtype=pairs.dtype)
    new_number[rows] = np.arange(len(rows))
    renumbered = new_number[pairs]
    kept = (renumbered >= 0).all(axis=1)
    if not kept.any():
        raise NothingToRankError("No pair has both of its rows in the subset, so there is nothing to rank.")
    return kept, renumbered[kept]
