"""Queries of rows in chunks, as the chunks see them, and where a chunk ends within one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from marginrank.designs.columns import rows_differ
from marginrank.types import Mask, MemoryMatrix, Rows, Section


def section_queries(section: Section, query_ptr: Rows) -> Rows:
    """Return the offsets of the queries, or parts of them, within a section.

    Examples
    --------
    >>> section_queries(Section(0, 3, 8, None), np.array([0, 2, 5, 9])).tolist()
    [0, 2, 5]
    """
    inside = query_ptr[(query_ptr > section.first) & (query_ptr < section.last)]
    return np.concatenate(([section.first], inside, [section.last])).astype(np.int64) - section.first


def border_differences(
    sections: Sequence[Section], query_ptr: Rows, take: Callable[[Rows], MemoryMatrix]
) -> Mask | np.bool_:
    """Return the columns that differ across the borders of sections that cut a query."""
    starts = np.array([section.first for section in sections], dtype=np.int64)
    cut = starts[~np.isin(starts, query_ptr)]
    if not len(cut):
        return np.False_
    return rows_differ(take(cut - 1), take(cut))


def query_ranges(sections: Sequence[Section], query_ptr: Rows) -> list[tuple[int, int]] | None:
    """Return the queries of each section of a selection, or None where one of them is cut.

    Examples
    --------
    >>> halves = [Section(0, 0, 5, None), Section(1, 5, 9, None)]
    >>> query_ranges(halves, np.array([0, 2, 5, 9]))
    [(0, 2), (2, 3)]
    """
    starts = [section.first for section in sections]
    firsts = np.searchsorted(query_ptr, starts)
    if np.any(query_ptr[firsts] != starts):
        return None
    firsts[0] = 0
    return list(pairwise([*firsts.tolist(), len(query_ptr) - 1]))
