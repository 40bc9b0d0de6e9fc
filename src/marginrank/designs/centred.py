"""Rows minus the mean of their query, block by block: centred data are dense and never exist as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data.matrices import is_sparse, n_stored
from marginrank.designs.columns import IDENTITY, ColumnTransform
from marginrank.exceptions import MarginRankError
from marginrank.system.threads import WorkerThreads, in_this_context, one_blas_thread
from marginrank.types import MemoryMatrix, Vector

Item = TypeVar("Item")
Result = TypeVar("Result")

# A block of rows in float64 is about 4 MB: large enough for BLAS, small enough for a core's cache.
_BLOCK_ENTRIES = 2**19
_LEAST_ROWS, _MOST_ROWS = 512, 8192


class Block(NamedTuple):
    """Rows ``begin:end`` of the queries ``first:last``; a query longer than a block is cut into pieces."""

    begin: int
    end: int
    first: int
    last: int
    is_piece: bool


class CentredRows:
    """The matrix ``Xc`` with the rows ``sqrt(v_q s_i) (x_i - mean_q)``, the mean being weighted by ``s``.

    Parameters
    ----------
    X : ndarray or CSR matrix
        As ``validation.check_matrix`` returns it.
    query_ptr : ndarray of int64
        Where each query starts, and the number of rows; empty queries are passed over.
    rows : ndarray of int64, optional
        Row numbers in grouped order; None takes all rows as they stand.
    sample_weight : ndarray, optional
        Positive weight ``s`` of each row, in grouped order.
    query_weight : ndarray, optional
        Positive weight ``v`` of each query.
    transform : ColumnTransform, optional
        What is done to the columns first.
    n_threads : int
        Threads to use; the result does not depend on it.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    query_mass : ndarray
        ``v_q sum_i s_i`` for each query that has rows.
    mass : float
        Their sum.
    root_weight : ndarray
        ``sqrt(v_q s_i)`` for each row.
    blocks : tuple of Block
        All rows, cut the same way for any number of threads.

    Notes
    -----
    Means are subtracted from the data, not from sums of squares, so a column with a large mean loses no
    digits. Sparse blocks are kept sparse where the centring can follow a product; there, a column with an
    entry in every row is shifted first, which changes no ranking and saves the digits.

    Examples
    --------
    >>> rows = CentredRows(np.array([[1.0], [3.0], [7.0]]), np.array([0, 2, 3]), n_threads=1)
    >>> rows.dense(rows.blocks[0]).tolist()
    [[-1.0], [1.0], [0.0]]
    """

    def __init__(
        self,
        X: MemoryMatrix,
        query_ptr: NDArray[np.int64],
        *,
        rows: NDArray[np.int64] | None = None,
        sample_weight: Vector | None = None,
        query_weight: Vector | None = None,
        transform: ColumnTransform = IDENTITY,
        n_threads: int,
    ) -> None:
        self._X, self._rows, self._transform = X, rows, transform
        self.n_threads = n_threads
        self.shape = (int(query_ptr[-1]), X.shape[1])
        occupied = np.diff(query_ptr) > 0
        self.query_ptr = np.append(query_ptr[:-1][occupied], query_ptr[-1])
        self._sizes = np.diff(self.query_ptr)
        self._weight = sample_weight
        by_query = np.ones(len(self._sizes)) if query_weight is None else query_weight[occupied]
        by_row = np.ones(self.shape[0]) if sample_weight is None else sample_weight
        if np.any(by_query <= 0.0) or np.any(by_row <= 0.0):
            raise MarginRankError(
                "Weights must be positive here; leave out rows and queries that weigh nothing."
            )
        self._sums = np.add.reduceat(by_row, self.query_ptr[:-1])
        self.query_mass = by_query * self._sums
        self.mass = float(self.query_mass.sum())
        self.root_weight = np.sqrt(np.repeat(by_query, self._sizes) * by_row)
        self._is_unit = sample_weight is None and query_weight is None
        self.blocks = _cut(self.query_ptr, X.shape[1])
        self._shift = _sparse_shift(X, transform.shift) if is_sparse(X) else transform.shift
        self._long_means = self._means_of_long_queries()

    @property
    def is_sparse(self) -> bool:
        """Whether X is stored sparse."""
        return is_sparse(self._X)

    @property
    def n_entries(self) -> int:
        """Number of stored entries of X."""
        return n_stored(self._X)

    def dense(self, block: Block) -> NDArray[np.float64]:
        """Return the rows of a block of ``Xc``."""
        values = self.raw(block.begin, block.end)
        return self._centre(values.toarray() if self.is_sparse else values, block, None)

    def project(self, block: Block, V: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows of a block of ``Xc V``."""
        if self.is_sparse:
            return self._centre(np.asarray(self.raw(block.begin, block.end) @ V), block, V)
        return np.asarray(self.dense(block) @ V)

    def centre(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Centre values that have one row per row of X, as X is; the argument is left alone.

        Twice, because the rounding of a large mean leaves a small one, which products with rows that are
        not centred would see.
        """
        for _ in range(2):
            means = self._query_means(values, 0, len(self._sizes))
            values = values - np.repeat(means, self._sizes, axis=0)
        return values * self.root_weight[:, None]

    def adjoint(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ``Xc' values`` for one row of values per row of X."""
        if self.is_sparse:
            return np.asarray(self.raw(0, self.shape[0]).T @ self._centre_adjoint(values))

        def part(begin: int) -> NDArray[np.float64]:
            return np.asarray(self.columns(begin, begin + self.column_width).T @ values)

        return np.concatenate(list(self.map(part, range(0, self.shape[1], self.column_width))))

    @property
    def column_width(self) -> int:
        """How many columns, all rows, make a block of the usual size."""
        return int(np.clip(_BLOCK_ENTRIES // self.shape[0], 16, self.shape[1]))

    def columns(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return some columns of ``Xc``, all rows, where X is dense."""
        taken = self._X[:, begin:end] if self._rows is None else self._X[self._rows, begin:end]
        return self.centre(self._transformed(np.array(taken, dtype=np.float64), slice(begin, end)))

    def raw(self, begin: int, end: int) -> Any:
        """Return rows of X in float64, transformed, not centred; CSR where X is."""
        taken = self._X[begin:end] if self._rows is None else self._X[self._rows[begin:end]]
        if not self.is_sparse:
            return self._transformed(np.array(taken, dtype=np.float64), slice(None))
        values: Any = sparse.csr_array(taken, dtype=np.float64, copy=True)
        self._transformed(values.data, values.indices)
        return values

    def _transformed(self, values: NDArray[np.float64], columns: Any) -> NDArray[np.float64]:
        """Transform values of these columns where they are."""
        scale, constant = self._transform.scale, self._transform.constant
        if self._shift is not None:
            values -= self._shift[columns]
        if scale is not None:
            values /= scale[columns]
        if constant is not None:
            values *= ~constant[columns]
        return values

    def membership(self, first: int, last: int) -> Any:
        """Return the matrix whose row q averages the rows of query ``first + q``, by their weights."""
        begin, end = self.query_ptr[first], self.query_ptr[last]
        weight = np.ones(end - begin) if self._weight is None else self._weight[begin:end]
        share = weight / np.repeat(self._sums[first:last], self._sizes[first:last])
        pointers = self.query_ptr[first : last + 1] - begin
        return sparse.csr_array((share, np.arange(end - begin), pointers), shape=(last - first, end - begin))

    @property
    def long_queries(self) -> dict[int, Vector]:
        """Means of the queries that are cut into pieces."""
        return self._long_means

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        at_end: Callable[[], None] | None = None,
    ) -> Iterator[Result]:
        """Apply a function on several threads, each with one thread of BLAS; results come in order."""
        return map_in_order(function, items, self.n_threads, at_end)

    def _centre_adjoint(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Apply the transpose of ``centre``, so that sparse X need not be centred."""
        values = values * self.root_weight[:, None]
        sums = np.add.reduceat(values, self.query_ptr[:-1], axis=0) / self._sums[:, None]
        spread = np.repeat(sums, self._sizes, axis=0)
        return values - (spread if self._weight is None else spread * self._weight[:, None])

    def _centre(
        self, values: NDArray[np.float64], block: Block, V: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        if block.is_piece:
            mean = self._long_means[block.first]
            values -= mean if V is None else mean @ V
        else:
            means = self._query_means(values, block.first, block.last)
            values -= np.repeat(means, self._sizes[block.first : block.last], axis=0)
        if not self._is_unit:
            values *= self.root_weight[block.begin : block.end, None]
        return values

    def _query_means(self, values: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
        means = np.asarray(self.membership(first, last) @ values)
        return self._settled(means, values[self.query_ptr[first:last] - self.query_ptr[first]], first, last)

    def _settled(self, means: Any, row: Any, first: int, last: int) -> NDArray[np.float64]:
        """Put the first row of a query where its mean is within rounding of it.

        So a column that is constant in a query becomes exactly 0, and not noise that a small alpha would
        take for data. Elsewhere a centre that is off by rounding is an error of second order.
        """
        room = np.finfo(np.float64).eps * (8.0 + np.sqrt(self._sizes[first:last]))[:, None]
        return np.asarray(np.where(np.abs(means - row) <= room * np.abs(row), row, means))

    def _means_of_long_queries(self) -> dict[int, Vector]:
        def part(block: Block) -> Vector:
            weight = np.ones(block.end - block.begin)
            if self._weight is not None:
                weight = self._weight[block.begin : block.end]
            return np.asarray(self.raw(block.begin, block.end).T @ weight)

        pieces = [block for block in self.blocks if block.is_piece]
        means: dict[int, Vector] = {}
        for block, total in zip(pieces, self.map(part, pieces), strict=True):
            means[block.first] = means.get(block.first, 0.0) + total
        for query, total in means.items():
            start = int(self.query_ptr[query])
            row = self.raw(start, start + 1)
            row = row.toarray() if self.is_sparse else row
            means[query] = self._settled(total / self._sums[query], row, query, query + 1)[0]
        return means


def map_in_order(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    n_threads: int,
    at_end: Callable[[], None] | None = None,
) -> Iterator[Result]:
    """Yield ``function(item)`` in order, computed a few items ahead by several threads.

    ``at_end`` is called before the threads are waited for: after an error or Ctrl-C it can tell those that
    are in the middle of something to leave it.

    Examples
    --------
    >>> list(map_in_order(abs, [-1, 2, -3], n_threads=2))
    [1, 2, 3]
    """
    with one_blas_thread():
        if n_threads == 1:
            yield from map(function, items)
            return
        with WorkerThreads(n_threads) as pool:
            run = in_this_context(function)
            ahead = []
            try:
                for item in items:
                    ahead.append(pool.submit(run, item))
                    if len(ahead) > n_threads:
                        yield ahead.pop(0).result()
                while ahead:
                    yield ahead.pop(0).result()
            finally:
                for future in ahead:
                    future.cancel()
                if at_end is not None:
                    at_end()


def _cut(query_ptr: NDArray[np.int64], n_columns: int) -> tuple[Block, ...]:
    """Cut rows into blocks of whole queries, and queries that are longer than a block into pieces."""
    room = int(np.clip(_BLOCK_ENTRIES // n_columns, _LEAST_ROWS, _MOST_ROWS))
    blocks: list[Block] = []
    first, n_queries = 0, len(query_ptr) - 1
    while first < n_queries:
        begin = int(query_ptr[first])
        last = int(np.searchsorted(query_ptr, begin + room, side="right")) - 1
        if last > first:
            blocks.append(Block(begin, int(query_ptr[last]), first, last, False))
        else:
            last, end = first + 1, int(query_ptr[first + 1])
            edges = np.linspace(begin, end, -(-(end - begin) // room) + 1).astype(int).tolist()
            blocks += [Block(a, b, first, last, True) for a, b in pairwise(edges)]
        first = last
    return tuple(blocks)


def _sparse_shift(X: Any, shift: Vector | None) -> Vector | None:
    """Return a shift with the first row's entries in further columns that have an entry in every row."""
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    if not full.any() or not X.has_canonical_format:
        return shift
    first = np.where(full, X[[0]].toarray().ravel(), 0.0)
    return first if shift is None else np.where(shift != 0.0, shift, first)
