"""Whether an export ranks as the model does: on rows, through the target's runtime or its replica."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from marginrank.data.matrices import as_dense
from marginrank.data.queries import check_qid, group_rows
from marginrank.exceptions import MarginRankError
from marginrank.export.base import Options, Scorer, Target
from marginrank.metrics import pairwise_error
from marginrank.types import Matrix, Rows, Vector

_BLOCK_VALUES = 1 << 22


class CheckedRows(NamedTuple):
    """Rows to check an export on: their columns as the model has them, their queries, and its scores.

    Examples
    --------
    >>> import numpy as np
    >>> rows = CheckedRows(np.array([[1.0], [2.0]]), None, np.array([0.5, 1.0]))
    >>> rows.scores.tolist()
    [0.5, 1.0]
    """

    X: Matrix
    qid: Any
    scores: Vector


@dataclass(frozen=True)
class ExportCheck:
    """How the scores of an export differ from those of the model.

    Parameters
    ----------
    n_rows, n_queries : int
        What it was checked on.
    n_pairs : int
        Pairs of rows of a query to which the model gives different scores.
    order_changes : int
        How many of them the export puts in the other order.
    new_ties : int
        How many of them have the same score in the export.
    largest_difference : float
        The largest change of a difference of two scores of a query, in units of ``spread``.
    spread : float
        Deviation of the model's scores about the mean of their query.

    Examples
    --------
    >>> print(ExportCheck(9, 3, 9, 0, 1, 2e-07, 1.5))
    9 rows of 3 queries: of 9 pairs 0 change their order and 1 become ties; differences of scores change by at most 2e-07 of their spread
    """  # noqa: E501 - one line of output

    n_rows: int
    n_queries: int
    n_pairs: int
    order_changes: int
    new_ties: int
    largest_difference: float
    spread: float

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} rows of {self.n_queries:,} queries: of {self.n_pairs:,} pairs "
            f"{self.order_changes:,} change their order and {self.new_ties:,} become ties; differences of "
            f"scores change by at most {self.largest_difference:.2g} of their spread"
        )


def check_export(target: Target, content: bytes, options: Options, rows: CheckedRows) -> ExportCheck:
    """Score rows by an export, and compare with the model."""
    queries, order, query_ptr = _grouped(rows)
    found = np.empty(len(rows.scores))
    scorer = target.scorer(content, options)
    for block in _blocks(query_ptr, rows.X.shape[1]):
        found[order[block]] = _scored(scorer, rows, order[block], queries)
    if not np.isfinite(found).all():
        raise MarginRankError(
            f"{target.title} gives {np.count_nonzero(~np.isfinite(found)):,} rows no finite score, of "
            f"{len(found):,}: values or sums leave the range of its numbers. Give the columns other units."
        )
    return compare_scores(rows.scores, found, queries)


def _grouped(rows: CheckedRows) -> tuple[Rows, Rows, Rows]:
    n_rows = len(rows.scores)
    if rows.qid is None:
        return np.zeros(n_rows, dtype=np.int64), np.arange(n_rows), np.array([0, n_rows])
    groups = group_rows(check_qid(rows.qid, n_rows))
    order = np.arange(n_rows) if groups.order is None else groups.order
    queries = np.empty(n_rows, dtype=np.int64)
    queries[order] = np.repeat(np.arange(len(groups.query_ptr) - 1), np.diff(groups.query_ptr))
    return queries, order, groups.query_ptr


def _blocks(query_ptr: Rows, n_columns: int) -> list[slice]:
    """Return runs of whole queries that take little memory as dense rows."""
    most = max(1, _BLOCK_VALUES // n_columns)
    starts = [0]
    for first, last in zip(query_ptr[:-1].tolist(), query_ptr[1:].tolist(), strict=True):
        if last - starts[-1] > most and first > starts[-1]:
            starts.append(first)
    return [slice(a, b) for a, b in zip(starts, [*starts[1:], int(query_ptr[-1])], strict=True)]


def _scored(scorer: Scorer, rows: CheckedRows, block: Rows, queries: Rows) -> Vector:
    X = np.asarray(as_dense(rows.X[block]), dtype=np.float64)
    return scorer(X, queries[block])


def compare_scores(expected: Vector, found: Vector, queries: Rows) -> ExportCheck:
    """Compare two scores of each row within queries, which are numbered from 0.

    Examples
    --------
    >>> zero = np.zeros(3, dtype=np.int64)
    >>> check = compare_scores(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 2.0]), zero)
    >>> check.n_pairs, check.order_changes, check.new_ties
    (3, 0, 1)
    """
    counts = np.bincount(queries)
    centred = expected - (np.bincount(queries, expected) / counts)[queries]
    spread = float(np.sqrt(np.mean(centred**2)))
    change = found - expected
    low, high = np.full(len(counts), np.inf), np.full(len(counts), -np.inf)
    np.minimum.at(low, queries, change)
    np.maximum.at(high, queries, change)
    worst = float((high - low).max())
    n_pairs = int((counts * (counts - 1) // 2).sum()) - _n_tied(queries, expected)
    new_ties = _n_tied(queries, found) - _n_tied(queries, expected, found)
    wrong = pairwise_error(expected, found, qid=queries) * n_pairs if n_pairs else 0.0
    return ExportCheck(
        n_rows=len(expected),
        n_queries=len(counts),
        n_pairs=n_pairs,
        order_changes=round(wrong - new_ties / 2),  # ties count half in the error
        new_ties=new_ties,
        largest_difference=worst / spread if spread > 0.0 else (0.0 if worst == 0.0 else float("inf")),
        spread=spread,
    )


def _n_tied(*keys: Rows | Vector) -> int:
    """Return the number of pairs of rows that agree in all keys."""
    order = np.lexsort(keys)
    differs = np.zeros(len(order) - 1, dtype=bool)
    for key in keys:
        differs |= np.diff(key[order]) != 0
    ends = np.flatnonzero(np.concatenate(([True], differs, [True])))
    sizes = np.diff(ends)
    return int((sizes * (sizes - 1) // 2).sum())
