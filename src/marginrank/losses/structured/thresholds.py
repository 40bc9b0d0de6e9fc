"""Thresholds between grades: where a graded loss splits each query, and what each split counts.

With gains ``G`` that increase with the label, the ideal ranking of all grades is ideal for every threshold at
once, so one minus NDCG is a sum over the thresholds ``t`` between neighbouring grades,

    1 - DCG(y) / Z = sum_t omega_t Delta_t(y),   omega_t = (G_t - G_before) Z_t / Z,

with ``Delta_t`` one minus NDCG of the rows at or above ``t`` against the others, and ``Z_t`` its ideal sum.
All rows are at or above the lowest grade, which costs nothing and counts in ``Z``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Rows, Vector

#: Up to so many labels every one is a grade of its own; beyond, labels are binned to as many grades.
MOST_GRADES = 32


class GradedQueries(NamedTuple):
    """Rows of each query by descending grade.

    Attributes
    ----------
    order : ndarray of int64
        Row numbers; each query keeps its place.
    rank : ndarray of int64
        The ideal rank of each of them, from 0.
    grade : ndarray
        Their grades.
    """

    order: Rows
    rank: Rows
    grade: Vector

    @property
    def steps(self) -> NDArray[np.bool_]:
        """Where a grade is lower than that before it in the query: there a threshold splits the query."""
        lower = np.zeros(len(self.grade), dtype=bool)
        lower[1:] = self.grade[1:] < self.grade[:-1]
        return lower & (self.rank > 0)


def graded_queries(grade: Vector, query_ptr: Rows) -> GradedQueries:
    """Sort the rows of each query by descending grade, equal ones in their order.

    Examples
    --------
    >>> queries = graded_queries(np.array([0.0, 2.0, 1.0, 3.0, 3.0]), np.array([0, 3, 5]))
    >>> queries.order.tolist(), queries.steps.tolist()
    ([1, 2, 0, 3, 4], [False, True, True, False, False])
    """
    sizes = np.diff(query_ptr)
    query = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-grade, query))
    rank = np.arange(len(grade)) - np.repeat(query_ptr[:-1], sizes)
    return GradedQueries(order, rank, grade[order])


def ideal_sums(queries: GradedQueries, discount: Vector, query_ptr: Rows) -> tuple[Vector, Vector]:
    """Return the highest gain of each query (1 where it is 0), and its ideal sum over that."""
    highest = queries.grade[query_ptr[:-1]]
    highest = np.where(highest > 0.0, highest, 1.0)
    relative = queries.grade / np.repeat(highest, np.diff(query_ptr))
    return highest, np.add.reduceat(relative * discount[queries.rank], query_ptr[:-1])


def ndcg_shares(queries: GradedQueries, discount: Vector, query_ptr: Rows) -> Vector:
    """Return ``omega`` of the threshold just above each row of the sorted queries; 0 where there is none.

    Parameters
    ----------
    queries : GradedQueries
        By gain.
    discount : ndarray
        Of each rank; 0 beyond a cut-off.
    query_ptr : ndarray of int64
        First row of each query, and the number of rows.

    Examples
    --------
    >>> queries = graded_queries(np.array([0.0, 3.0, 1.0]), np.array([0, 3]))
    >>> ndcg_shares(queries, np.array([1.0, 0.5, 0.25]), np.array([0, 3])).round(3).tolist()
    [0.0, 0.571, 0.429]
    """
    sizes = np.diff(query_ptr)
    highest, total = ideal_sums(queries, discount, query_ptr)
    lost = np.zeros(len(queries.grade))
    lost[1:] = queries.grade[:-1] - queries.grade[1:]
    relative = lost / np.repeat(highest, sizes)
    best = np.concatenate(([0.0], np.cumsum(discount)))[queries.rank]
    per_total = np.repeat(np.where(total > 0.0, total, 1.0), sizes)
    return np.where(queries.steps, relative * best / per_total, 0.0)


def equal_shares(queries: GradedQueries, query_ptr: Rows) -> Vector:
    """Return one over the number of thresholds of its query, for each of them; 0 elsewhere.

    Examples
    --------
    >>> equal_shares(graded_queries(np.array([0.0, 2.0, 1.0]), np.array([0, 3])), np.array([0, 3])).tolist()
    [0.0, 0.5, 0.5]
    """
    steps = queries.steps
    count = np.add.reduceat(steps.astype(np.int64), query_ptr[:-1]).clip(1)
    return np.where(steps, 1.0 / np.repeat(count, np.diff(query_ptr)), 0.0)
