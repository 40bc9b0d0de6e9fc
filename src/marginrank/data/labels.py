"""Labels grouped into queries, without features: what losses, metrics and folds ask of ranking data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, NothingToRankError
from marginrank.system.threads import default_threads
from marginrank.types import Rows, Vector


class TrainingView(NamedTuple):
    """What a loss within queries trains on: rows of positive weight, in grouped order.

    ``rows`` are their original numbers, or None where these are all rows as they stand. ``y``, which may lie
    with remote rows, and ``sample_weight`` have one entry per training row, ``query_weight`` one per query
    that has training rows; a weight of None means 1 for all. Weights of extreme size are scaled by a power of
    two.

    Examples
    --------
    >>> from marginrank import RankingData
    >>> view = RankingData([[0.0], [1.0], [2.0]], [0, 1, 2], qid=["a", "b", "a"]).training_view()
    >>> view.rows.tolist(), view.query_ptr.tolist(), view.y.tolist()
    ([0, 2, 1], [0, 2, 3], [0.0, 2.0, 1.0])
    """

    rows: Rows | None
    query_ptr: Rows
    y: Vector
    sample_weight: Vector | None
    query_weight: Vector | None

    def here(self) -> TrainingView:
        """Return the same with all labels in memory."""
        return self._replace(y=np.asarray(self.y))


@dataclass(frozen=True, eq=False)
class LabelledQueries:
    """Labels of rows, the queries that they belong to, and weights; validated.

    Parameters
    ----------
    groups : Groups
        The rows of each query; they may come in any order.
    y : ndarray of shape (n_rows,), optional
        Labels; higher is better. None where only pairs are known.
    row_ids : ndarray of shape (n_rows,), optional
        The query id of each row as the user gave it; by default those of ``groups``, repeated when asked for.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.
    query_weight : ndarray of shape (n_queries,), optional
        Weights of the queries.

    Examples
    --------
    >>> queries = LabelledQueries.of([0, 1, 2, 0], qid=["b", "a", "b", "a"])
    >>> queries.query_ids.tolist(), queries.query_ptr.tolist(), queries.order.tolist()
    (['b', 'a'], [0, 2, 4], [0, 2, 1, 3])
    """

    groups: Groups
    y: Vector | None = None
    row_ids: NDArray[Any] | None = None
    sample_weight: Vector | None = None
    query_weight: Vector | None = None

    @classmethod
    def of(
        cls,
        y: Any,
        n_rows: int | None = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> LabelledQueries:
        """Check labels, ids and weights as users pass them (see :class:`~marginrank.RankingData`).

        Without ``n_rows``, y tells how many rows there are.
        """
        if n_rows is None:
            y = gate.check_only_labels(y)
            n_rows = len(y)
        row_ids, groups = _queries(qid, group, n_rows)
        return cls(
            groups,
            None if y is None else gate.check_labels(y, n_rows),
            row_ids,
            gate.check_weights(sample_weight, n_rows),
            weight_by_query(query_weight, groups),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.query_ptr[-1])

    @property
    def n_queries(self) -> int:
        """Number of queries; 1 for one ranking of all rows."""
        return len(self.query_ptr) - 1

    @property
    def query_ids(self) -> NDArray[Any] | None:
        """Distinct ids in order of first appearance; None for one ranking of all rows."""
        return self.groups.query_ids

    @property
    def query_ptr(self) -> Rows:
        """Offsets of the queries in grouped order."""
        return self.groups.query_ptr

    @property
    def order(self) -> Rows | None:
        """Row numbers in grouped order; None where the rows are grouped as they stand."""
        return self.groups.order

    @property
    def qid(self) -> NDArray[Any] | None:
        """The query id of each row; None for one ranking of all rows."""
        if self.row_ids is not None or self.query_ids is None:
            return self.row_ids
        return self.in_original_order(np.repeat(self.query_ids, np.diff(self.query_ptr)))

    def in_original_order(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values given in grouped order, one per row, in the order of the rows."""
        if self.order is None:
            return values
        result = np.empty_like(values)
        result[self.order] = values
        return result

    def count_pairs(self) -> int:
        """Return the number of comparable pairs: same query, different labels, zero weights left out."""
        view = self.training_view().here()
        return int(PairLabels(view.y, view.query_ptr, None, default_threads()).n_pairs.sum())

    def training_view(self, part: Rows | None = None) -> TrainingView:
        """Return labels, weights and offsets in grouped order, without the rows that weigh nothing.

        Parameters
        ----------
        part : ndarray of int64, optional
            Numbers of the rows that take part, as in a fold; by default all.

        Examples
        --------
        >>> view = LabelledQueries.of([0, 1, 2], qid=[5, 4, 5], sample_weight=[1, 0, 2]).training_view()
        >>> view.rows.tolist(), view.query_ptr.tolist(), view.y.tolist()
        ([0, 2], [0, 2], [0.0, 2.0])
        """
        if self.y is None:
            raise MarginRankError("These data hold pairs and no y; training within queries needs y.")
        rows, query_ptr, kept_queries = self._rows_that_weigh(part)
        weight, query_weight = take(self.sample_weight, rows), take(self.query_weight, kept_queries)
        return TrainingView(
            rows=rows,
            query_ptr=query_ptr,
            y=self.y if rows is None else self.y[rows],
            sample_weight=None if weight is None or np.all(weight == 1.0) else moderate(weight),
            query_weight=None if query_weight is None else moderate(query_weight),
        )

    def _rows_that_weigh(self, part: Rows | None) -> tuple[Any, Rows, NDArray[np.bool_] | None]:
        if part is None and self.sample_weight is None and self.query_weight is None:
            return self.order, self.query_ptr, None
        kept = np.ones(self.n_rows, dtype=bool)  # in grouped order
        if part is not None:
            taken = np.zeros(self.n_rows, dtype=bool)
            taken[part] = True
            kept &= take(taken, self.order)
        if self.sample_weight is not None:
            kept &= take(self.sample_weight, self.order) > 0.0
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

    def subset(self, rows: Rows) -> LabelledQueries:
        """Return labels, ids and weights of some rows, by their numbers.

        Examples
        --------
        >>> fold = LabelledQueries.of([0, 1, 2], qid=["u", "v", "u"]).subset(np.array([2, 0]))
        >>> fold.y.tolist(), fold.qid.tolist()
        ([2.0, 0.0], ['u', 'u'])
        """
        row_ids = take(self.qid, rows)
        groups = one_query(len(rows)) if row_ids is None else group_rows(row_ids)
        query_weight = self.query_weight
        if query_weight is not None:
            by_row = self.in_original_order(np.repeat(query_weight, np.diff(self.query_ptr)))
            first = groups.query_ptr[:-1]
            query_weight = by_row[rows][first if groups.order is None else groups.order[first]]
        weight = take(self.sample_weight, rows)
        return LabelledQueries(groups, take(self.y, rows), row_ids, weight, query_weight)


def take(values: Any, index: NDArray[Any] | None) -> Any:
    """Return the entries at an index; None for either stands for nothing, or for all."""
    return values if values is None or index is None else values[index]


def _queries(qid: Any, group: Any, n_rows: int) -> tuple[NDArray[Any] | None, Groups]:
    if qid is not None and group is not None:
        raise MarginRankError("qid and group say the same thing twice; give one of them.")
    if group is not None:
        sizes = check_group(group, n_rows)
        return None, Groups(np.arange(len(sizes)), offsets(sizes), None)
    if qid is None:
        return None, one_query(n_rows)
    ids = check_qid(qid, n_rows)
    return ids, group_rows(ids)
