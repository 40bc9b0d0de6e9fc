"""A matrix stored as chunks of rows, of which a few at a time are in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError
from marginrank.system.threads import WorkerThreads
from marginrank.types import Rows, Section

# Chunks are worked on at the same time as long as sums over their rows take so much together.
_SUMS_BYTES = 64 << 20


class PassLoader(NamedTuple):
    """Loads chunks for products.

    ``load`` returns a matrix, or rows that the kernels read as they get to them (``row_files``); such are in
    the system's cache once ``read_ahead`` returns.
    """

    load: Callable[[int], Any]
    read_ahead: Callable[[int], None]


class ChunkedMatrix:
    """Rows of features, dense or CSR, that are loaded chunk by chunk.

    Parameters
    ----------
    load : callable
        From the number of a chunk to its matrix, as ``validation.check_matrix`` returns it.
    bounds : ndarray of int64, shape (n_chunks + 1,)
        First row of each chunk, and the number of rows.
    n_features : int
        Columns.
    dtype : dtype
        float32 or float64.
    rows : ndarray of int64, optional
        Ascending row numbers, where only these take part; by default all.
    passes : PassLoader, optional
        How to load chunks for products, where that differs.

    Examples
    --------
    >>> parts = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> X = ChunkedMatrix(parts.__getitem__, np.array([0, 2, 3]), 1, np.dtype("f8"))
    >>> X.shape, X[[2, 0]].ravel().tolist()
    ((3, 1), [3.0, 1.0])
    """

    ndim = 2

    def __init__(
        self,
        load: Callable[[int], Any],
        bounds: Rows,
        n_features: int,
        dtype: np.dtype[Any],
        rows: Rows | None = None,
        passes: PassLoader | None = None,
    ) -> None:
        self._load = load
        self._passes = passes
        self._bounds = bounds
        self._rows = rows
        self.dtype = dtype
        self.shape = (int(bounds[-1]) if rows is None else len(rows), n_features)

    @property
    def is_remote(self) -> bool:
        """Whether the chunks lie with other processes, which work on them there."""
        return False

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return len(self._bounds) - 1

    def select(self, rows: Rows) -> ChunkedMatrix:
        """Return the matrix of some rows, by ascending numbers, without loading any."""
        return ChunkedMatrix(
            self._load,
            self._bounds,
            self.shape[1],
            self.dtype,
            rows if self._rows is None else self._rows[rows],
            self._passes,
        )

    def taken(self, rows: Rows) -> Any:
        """Return some rows, by their numbers: ascending ones without loading any, others in memory."""
        return self.select(rows) if np.all(rows[1:] > rows[:-1]) else self[rows]

    def changed(self, change: Callable[[Any], Any], n_features: int) -> ChunkedMatrix:
        """Return the matrix whose chunks a function makes of these, row by row, when they are loaded."""

        def load(number: int) -> Any:
            return change(self._load(number))

        return ChunkedMatrix(load, self._bounds, n_features, self.dtype, self._rows)

    def sections(self, rows: Rows | None = None) -> list[Section]:
        """Return what to visit for these rows, chunks without any left out.

        Parameters
        ----------
        rows : ndarray of int64, optional
            Ascending row numbers; by default all rows.
        """
        taken = self._rows if rows is None else rows if self._rows is None else self._rows[rows]
        if taken is None:
            bounds = list(pairwise(self._bounds.tolist()))
            return [Section(chunk, first, last, None) for chunk, (first, last) in enumerate(bounds)]
        if np.any(taken[1:] <= taken[:-1]):
            raise MarginRankError("Rows of a matrix in chunks are taken in ascending order.")
        ends = np.searchsorted(taken, self._bounds).tolist()
        found = []
        for chunk, (first, last) in enumerate(pairwise(ends)):
            start, size = int(self._bounds[chunk]), int(self._bounds[chunk + 1] - self._bounds[chunk])
            if last > first:
                local = None if last - first == size else taken[first:last] - start
                found.append(Section(chunk, first, last, local))
        return found

    def visit(self, sections: Sequence[Section]) -> Iterator[tuple[Section, Any]]:
        """Load the chunk of each section in turn; a thread reads the next one meanwhile."""
        if len(sections) == 1:
            yield sections[0], self._load(sections[0].chunk)
            return
        with WorkerThreads(1, thread_name_prefix="marginrank-read-ahead") as reader:
            coming = [reader.submit(self._load, section.chunk) for section in sections[:1]]
            for k, section in enumerate(sections):
                X = coming.pop().result()
                if k + 1 < len(sections):
                    coming.append(reader.submit(self._load, sections[k + 1].chunk))
                yield section, X
                del X

    def map_pass(
        self, work: Callable[[Section, Any, int], Any], sections: Sequence[Section], n_threads: int
    ) -> Iterator[Any]:
        """Apply a function to the chunk of each section, for products.

        Parameters
        ----------
        work : callable
            Of the section, what was loaded for it and the number of threads to use; its answer must not
            depend on the last. It is called from several threads.
        sections : sequence of Section
            What to visit.
        n_threads : int
            Threads to use.

        Yields
        ------
        answer
            What the function returned, in the order of the sections.

        Notes
        -----
        Chunks whose rows the kernels read take no memory, so each thread has one of its own, as long as the
        sums are short: threads need not wait for each other at the end of every chunk. What is left over in
        the end is shared.
        """
        if self._passes is None:
            for section, X in self.visit(sections):
                yield work(section, X, n_threads)
            return
        if len(sections) <= 1:
            for section in sections:
                yield work(section, self._passes.load(section.chunk), n_threads)
            return
        at_once = min(n_threads, max(1, _SUMS_BYTES // (8 * self.shape[1])))
        apart = len(sections) // at_once * at_once if at_once > 1 else 0
        reader = WorkerThreads(1, thread_name_prefix="marginrank-read-ahead")
        workers = WorkerThreads(at_once, thread_name_prefix="marginrank-pass")
        running: deque[Future[Any]] = deque()
        try:
            for k, (section, coming) in enumerate(self._coming(sections, reader)):
                if k < apart:
                    running.append(workers.submit(_apply, work, section, coming, n_threads // at_once))
                while running and (k >= apart or len(running) > at_once):
                    yield running.popleft().result()
                if k >= apart:
                    yield work(section, coming.result(), n_threads)
            while running:
                yield running.popleft().result()
        finally:
            workers.shutdown(cancel_futures=True)
            reader.shutdown(cancel_futures=True)

    def _coming(
        self, sections: Sequence[Section], reader: WorkerThreads
    ) -> Iterator[tuple[Section, Future[Any]]]:
        """Give what is being loaded for products in each section, begun one section ahead."""
        assert self._passes is not None
        load, read_ahead = self._passes

        def begin(section: Section) -> Future[Any]:
            coming = reader.submit(load, section.chunk)
            reader.submit(read_ahead, section.chunk)
            return coming

        ahead = begin(sections[0])
        for section, following in zip_longest(sections, sections[1:]):
            coming = ahead
            if following is not None:
                ahead = begin(following)
            yield section, coming

    def blocks(self, rows: Rows | None = None) -> Iterator[tuple[int, int, Any]]:
        """Return the rows of one chunk after another, as ``first, last, matrix`` of the selection."""
        for section, X in self.visit(self.sections(rows)):
            yield section.first, section.last, X if section.rows is None else X[section.rows]

    def map_blocks(
        self, function: Callable[[Any, Any], Any], rows: Rows | None = None, along: Any = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply a function to the rows of one chunk after another.

        Parameters
        ----------
        function : callable
            Of the matrix and of its part of ``along``; a function of a module, where the rows are remote.
        rows : ndarray of int64, optional
            Ascending row numbers; by default all rows.
        along : ndarray, optional
            One entry for each of these rows.

        Yields
        ------
        first, last, answer
            Positions in the selection, and what the function returned.
        """
        for first, last, X in self.blocks(rows):
            yield first, last, function(X, None if along is None else along[first:last])

    def __getitem__(self, index: Any) -> Any:
        """Return some rows in memory, by numbers in any order, a slice or a boolean mask."""
        if isinstance(index, tuple):
            raise MarginRankError(
                "Data on disk have the columns that they were written with; to have others, write them anew."
            )
        numbers = np.arange(self.shape[0])[index]
        wanted, back = np.unique(numbers, return_inverse=True)
        found: Any = []
        for section, X in self.visit(self.sections(wanted)):
            if is_sparse(X):
                # A copy of a whole chunk, too: hundreds of mapped files would stay open.
                found.append(X.copy() if section.rows is None else X[section.rows])
                continue
            if not section.first:
                found = np.empty((len(wanted), self.shape[1]), dtype=self.dtype)
            found[section.first : section.last] = X if section.rows is None else X[section.rows]
        if not len(found):
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        together = sparse.vstack(found, format="csr") if isinstance(found, list) else found
        return together if len(numbers) == len(wanted) and np.array_equal(numbers, wanted) else together[back]


def _apply(
    work: Callable[[Section, Any, int], Any], section: Section, coming: Future[Any], n_threads: int
) -> Any:
    """Wait for what is loaded, and apply a function to it."""
    return work(section, coming.result(), n_threads)


class TreeSum:
    """Adds arrays or numbers up in a fixed binary tree over their order, holding few of them.

    The tree is that in which the kernels add up their partial sums.

    Examples
    --------
    >>> TreeSum.of([1.0, 2.0, 4.0])
    7.0
    """

    def __init__(self) -> None:
        self._parts: list[tuple[int, Any]] = []

    @classmethod
    def of(cls, values: Iterable[Any]) -> Any:
        """Return the sum of some summands, at least one."""
        total = cls()
        for value in values:
            total.add(value)
        return total.result()

    def add(self, value: Any, level: int = 0) -> None:
        """Take the next summand, or the sum of the next ``2 ** level``, a complete subtree."""
        while self._parts and self._parts[-1][0] == level:
            value = self._parts.pop()[1] + value
            level += 1
        self._parts.append((level, value))

    def result(self) -> Any:
        """Return the sum of at least one summand."""
        parts = [value for _, value in self._parts]
        total = parts.pop()
        while parts:
            total = parts.pop() + total
        return total
