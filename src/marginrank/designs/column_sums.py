"""Sums over the columns of some rows, from one read, and how those of several parts become those of all.

The kernel (``column_sums.hpp``) sums up blocks of rows. The blocks of a matrix, and then its chunks, are
merged in a fixed binary tree, each two by the update of Chan, Golub and LeVeque about their means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.designs.base import ProductRounding
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.columns import ColumnRange, ColumnTransform
from marginrank.types import Array, Mask, Rows, Section, Vector

_LOW, _HIGH, _NONZERO, _REFERENCE, _MEAN, _SQUARES, _WITHIN, _STORED, _PARTS = range(9)
_FIELDS = 9
# What is known of an open query.
_MOMENTS = [_REFERENCE, _MEAN, _SQUARES]
# Blocks are as many as there are stored values for this many, or for so many of each column: what a block
# finds has to be put down and merged.
_BLOCK_VALUES = 1 << 16
_BLOCK_VALUES_OF_COLUMN = 128
_MOST_BLOCKS = 64
# Ranges whose squares are neither 0 nor infinite, by far.
_LARGE = 2.0**400


class CountedRows(NamedTuple):
    """How rows count: their queries, None where all are one, and weights, None where these are 1.

    ``ends`` says whether the first and the last query begin before these rows, or end after them.
    ``unit`` has a factor for each column.
    """

    query_ptr: Rows | None = None
    weight: Vector | None = None
    ends: tuple[bool, bool] = (False, False)
    first_query: int = 0
    unit: Vector | None = None

    def of_section(self, section: Section) -> CountedRows:
        """Return how the rows of a section count."""
        weight = None if self.weight is None else self.weight[section.first : section.last]
        if self.query_ptr is None:
            return CountedRows(None, weight, unit=self.unit)
        ptr = self.query_ptr
        first = int(np.searchsorted(ptr, section.first, side="right")) - 1
        last = int(np.searchsorted(ptr, section.last))
        ends = (bool(ptr[first] < section.first), bool(ptr[last] > section.last))
        inside = np.clip(ptr[first : last + 1], section.first, section.last) - section.first
        return CountedRows(inside, weight, ends, first, self.unit)


@dataclass(frozen=True)
class ColumnSums:
    """What the columns hold over some rows; sums of neighbouring rows add up.

    ``table`` has a row for each of the kernel's fields, and ``figures`` the weight of the rows, their number,
    and the entries of the longest one. A query that other rows belong to as well is open: it is not in the
    squares within queries. ``open_queries`` says which are, ``open_weight`` what their rows here weigh, and
    ``open_moments``, of shape (n_open, 3, n_columns), their references, means and squares.
    """

    table: Array
    figures: Vector
    open_queries: Rows
    open_weight: Vector
    open_moments: Array

    def __add__(self, after: ColumnSums) -> ColumnSums:
        if not (self.figures[1] and after.figures[1]):  # no rows say nothing
            return self if self.figures[1] else after
        figures = np.stack((self.figures, after.figures))
        table, weight = _in_tree(np.stack((self.table, after.table)), figures[:, 0])
        queries = np.concatenate((self.open_queries, after.open_queries))
        weights = np.concatenate((self.open_weight, after.open_weight))
        moments = np.concatenate((self.open_moments, after.open_moments))
        border = len(self.open_queries)
        if 0 < border < len(queries) and queries[border - 1] == queries[border]:
            both = slice(border - 1, border + 1)
            moments[border - 1], weights[border - 1] = _of_query(moments[both], weights[both])
            queries, weights = np.delete(queries, border), np.delete(weights, border)
            moments = np.delete(moments, border, axis=0)
        # Those between are whole now; whether the first and the last are, depends on the rows around.
        table[_WITHIN] += moments[1:-1, -1].sum(axis=0)
        ends = np.unique((0, len(queries) - 1)) if len(queries) else np.empty(0, dtype=np.int64)
        together = np.array([weight, figures[:, 1].sum(), figures[:, 2].max()])
        return ColumnSums(table, together, queries[ends], weights[ends], moments[ends])

    @property
    def range(self) -> ColumnRange:
        """The range that products are rounded by; it holds both signs of what is stored in parts."""
        low, high, parts = self.table[_LOW], self.table[_HIGH], self.table[_PARTS]
        n_rows = int(self.figures[1])
        full = (self.table[_STORED] == n_rows) & (n_rows > 0)
        in_parts = parts > 0.0
        low = np.where(in_parts, np.minimum(low, -parts), low)
        high = np.where(in_parts, np.maximum(high, parts), high)
        return ColumnRange(low, high, full, int(self.figures[2]))

    def units(self) -> Vector | None:
        """Return powers of two that bring columns of extreme size to about 1; None where there are none."""
        low, high = self.table[_LOW], self.table[_HIGH]
        with np.errstate(over="ignore"):
            width = high - low
        extreme = (width != 0.0) & ((width > _LARGE) | (width < 1.0 / _LARGE))
        if not extreme.any():
            return None
        exponent = np.frexp(np.maximum(np.abs(low), np.abs(high)))[1]
        return np.asarray(np.ldexp(1.0, np.where(extreme, np.clip(-exponent, -1000, 1000), 0)))

    def deviations(self, *, by_query: bool) -> tuple[Vector, Vector, Vector]:
        """Return means and deviations, overall and within queries, of all rows."""
        within = self.table[_SQUARES]
        if by_query:
            within = self.table[_WITHIN] + self.open_moments[:, -1].sum(axis=0)
        weight = self.figures[0] if self.figures[0] > 0.0 else 1.0
        with np.errstate(all="ignore"):
            squares = np.sqrt(self.table[_SQUARES] / weight), np.sqrt(within / weight)
        return self.table[_REFERENCE] + self.table[_MEAN], *squares

    @property
    def zeros(self) -> Vector:
        """Share of the values that are 0."""
        weight = self.figures[0] if self.figures[0] > 0.0 else 1.0
        return np.asarray(np.clip(1.0 - self.table[_NONZERO] / weight, 0.0, 1.0))


class MeasuredColumns(ABC):
    """Base of the products with rows whose columns are summed up: what their rounding follows from."""

    _transform: ColumnTransform

    @abstractmethod
    def column_sums(self, counted: CountedRows) -> ColumnSums:
        """Return the sums over the columns as they are, in one read of X."""

    @property
    @abstractmethod
    def adjoint_depth(self) -> int:
        """Additions on the way of a row into the adjoint, at most."""

    @cached_property
    def column_range(self) -> ColumnRange:
        """Least and largest values of the columns as they are, found in one read of X."""
        if self._transform.known is not None:
            return self._transform.known
        return self.column_sums(CountedRows()).range

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded."""
        return self._transform.rounding(self.column_range, self.adjoint_depth)


def measure_columns(
    design: MeasuredColumns, query_ptr: Rows | None = None, weight: Vector | None = None
) -> tuple[ColumnRange, ColumnStatistics]:
    """Return range and statistics of the columns of a design, in one read; in two for values of extreme size.

    Parameters
    ----------
    design : MatrixDesign, ChunkedDesign or RemoteDesign
        The rows.
    query_ptr : ndarray of int64, optional
        First row of each query, and the number of rows; by default all rows are one query.
    weight : ndarray, optional
        Weights of the rows; they count as repetitions.

    Examples
    --------
    >>> from marginrank.designs import MatrixDesign
    >>> design = MatrixDesign(np.array([[1.0], [3.0], [8.0], [8.0]]), n_threads=1)
    >>> measure_columns(design, np.array([0, 2, 4]))[1].within_deviation.round(3).tolist()
    [0.707]
    """
    by_query = query_ptr is not None and len(query_ptr) > 2
    counted = CountedRows(query_ptr if by_query else None, weight)
    sums = design.column_sums(counted)
    unit = sums.units()
    if unit is None:
        mean, deviation, within = sums.deviations(by_query=by_query)
    else:
        again = design.column_sums(counted._replace(unit=unit))
        mean, deviation, within = (one / unit for one in again.deviations(by_query=by_query))
    low, high = sums.table[_LOW], sums.table[_HIGH]
    n_rows = int(sums.figures[1])
    mean = np.clip(mean, low, high)
    return sums.range, ColumnStatistics(low, high, mean, deviation, within, sums.zeros, n_rows)


def sum_columns(native: Any, counted: CountedRows, n_threads: int) -> ColumnSums:
    """Return the sums over the rows of a native matrix; the bits do not depend on the threads."""
    n_rows, n_cols = native.n_rows, native.n_cols
    query_ptr = counted.query_ptr
    borders, is_open = _blocks(native, counted)
    if len(borders) == 1:
        return ColumnSums(np.zeros((_FIELDS, n_cols)), np.zeros(3), *_none_open(n_cols))
    tables = np.empty((len(borders) - 1, _FIELDS, n_cols))
    weight = counted.weight
    longest = native.sum_columns(borders, query_ptr, weight, counted.unit, tables.ravel(), n_threads)
    weights = np.diff(borders).astype(np.float64) if weight is None else np.add.reduceat(weight, borders[:-1])
    opened = np.flatnonzero(is_open)
    moments = tables[opened][:, _MOMENTS]
    tables[opened, _WITHIN] = 0.0
    queries = np.empty(0, dtype=np.int64)
    if query_ptr is not None:
        at = np.searchsorted(query_ptr, borders[opened], side="right") - 1
        queries = at + counted.first_query
    open_weight = weights[opened]
    table, total = _in_tree(tables, weights)
    figures = np.array([total, n_rows, longest], dtype=np.float64)
    return ColumnSums(table, figures, queries, open_weight, moments)


def _of_query(moments: Array, weights: Vector) -> tuple[Array, float]:
    """Return the moments of a query from those of its parts, and their weight."""
    tables = np.zeros((len(moments), _FIELDS, moments.shape[2]))
    tables[:, _MOMENTS] = moments
    table, weight = _in_tree(tables, weights)
    return table[_MOMENTS], weight


def _none_open(n_cols: int) -> tuple[Rows, Vector, Array]:
    return np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 3, n_cols))


def _blocks(native: Any, counted: CountedRows) -> tuple[Rows, Mask]:
    """Return where blocks begin, and the number of rows; and which of them are parts of open queries."""
    n_rows, n_cols, query_ptr = native.n_rows, native.n_cols, counted.query_ptr
    if n_rows == 0:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=bool)
    values = native.row_entries * n_rows
    n_blocks = values // max(_BLOCK_VALUES, _BLOCK_VALUES_OF_COLUMN * n_cols)
    n_blocks = min(max(n_blocks, 1), _MOST_BLOCKS, n_rows)
    even = np.arange(n_blocks + 1) * n_rows // n_blocks
    if query_ptr is None:
        return even.astype(np.int64), np.zeros(n_blocks, dtype=bool)
    borders = query_ptr[np.searchsorted(query_ptr, even)]
    first, last = counted.ends
    cuts = [*([query_ptr[1]] if first else []), *([query_ptr[-2]] if last else [])]
    borders = np.unique(np.concatenate((borders, cuts))).astype(np.int64)
    is_open = np.zeros(len(borders) - 1, dtype=bool)
    is_open[0] |= first
    is_open[-1] |= last
    return borders, is_open


def _in_tree(tables: NDArray[np.float64], weights: Vector) -> tuple[Array, float]:
    """Return the table of all rows, and their weight, from those of parts, by a fixed binary tree."""
    with np.errstate(all="ignore"):  # columns of extreme size are measured again, in units of their own
        while len(tables) > 1:
            even = len(tables) // 2 * 2
            tables_left, weights_left = tables[even:], weights[even:]
            tables, weights = _two(tables[:even:2], weights[:even:2], tables[1:even:2], weights[1:even:2])
            tables = np.concatenate((tables, tables_left))
            weights = np.concatenate((weights, weights_left))
    return tables[0].copy(), float(weights[0])


def _two(A: Array, a: Vector, B: Array, b: Vector) -> tuple[Array, Vector]:
    """Return the tables and weights of pairs of parts, by Chan's update."""
    total = a + b
    found = A + B
    found[:, _LOW], found[:, _HIGH] = np.minimum(A[:, _LOW], B[:, _LOW]), np.maximum(A[:, _HIGH], B[:, _HIGH])
    found[:, _PARTS] = np.maximum(A[:, _PARTS], B[:, _PARTS])
    found[:, _REFERENCE] = A[:, _REFERENCE]
    # About the reference of the first, so that no digits are lost to a common offset.
    step = (B[:, _REFERENCE] - A[:, _REFERENCE]) + (B[:, _MEAN] - A[:, _MEAN])
    share = (b / total)[:, None]
    found[:, _MEAN] = A[:, _MEAN] + step * share
    found[:, _SQUARES] += np.square(step) * (a[:, None] * share)
    return found, total
