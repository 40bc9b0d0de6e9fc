"""Matrices whose chunks lie with other processes, and the engines that work on the chunks there.

An engine answers requests: it prepares an object from each chunk, such as a design, where the chunk lies, and
applies operations to these objects; only the answers travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import stacked
from marginrank.exceptions import MarginRankError
from marginrank.storage.chunks import ChunkedMatrix, TreeSum
from marginrank.types import Rows

#: Makes the object that operations work on, from a chunk, its own argument and a number of threads; None
#: takes the chunk itself.
Make = Callable[[Any, Any, int], Any] | None
#: Computes an answer from a prepared object, an argument that is the same for all, and one of its own.
Operation = Callable[[Any, Any, Any], Any]
#: A sum over a complete subtree of ``2 ** level`` positions: the first position, the level and the value.
PartialSum = tuple[int, int, Any]


_apart: ContextVar[bool] = ContextVar("apart_from_training", default=False)


@contextmanager
def apart_from_training() -> Iterator[None]:
    """Mark the requests of a ``with`` block as no step of training, so that no journal records them."""
    token = _apart.set(True)
    try:
        yield
    finally:
        _apart.reset(token)


def is_apart_from_training() -> bool:
    """Whether requests made now are no step of training, and belong in no journal.

    Examples
    --------
    >>> with apart_from_training():
    ...     print(is_apart_from_training())
    True
    """
    return _apart.get()


class EngineRequest(NamedTuple):
    """A question to an engine, to be asked along with others: one of ``gather`` or of ``tree_sum``."""

    kind: Literal["gather", "tree_sum"]
    handle: Any
    operation: Operation
    shared: Any = None
    each: Sequence[Any] | None = None


class Engine(Protocol):
    """Runs operations where the chunks are.

    Operations are functions of a module, so that they can be sent to workers, and depend on nothing but their
    arguments, so that they can be repeated on any worker with the same bits.
    """

    def prepare(self, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> Any:
        """Return a handle to objects made of some chunks, each with an argument of its own."""

    def gather(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the answer of an operation for each prepared object, in their order."""

    def tree_sum(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers, by the fixed tree of ``TreeSum`` over their order."""

    def together(self, requests: Sequence[EngineRequest]) -> list[Any]:
        """Return the answers to several requests, asked at once: the bits of one after the other."""


class SerialEngine:
    """An engine within this process, one chunk after another; others must give the same bits.

    Parameters
    ----------
    load : callable
        From the number of a chunk to its matrix.
    n_threads : int, default=1
        Threads to use.
    groups : sequence of sequences of int, optional
        Which chunks lie together, as they would on workers: each group is summed on its own first. By default
        all.
    """

    def __init__(
        self, load: Callable[[int], Any], n_threads: int = 1, groups: Sequence[Sequence[int]] | None = None
    ) -> None:
        self._load = load
        self._n_threads = n_threads
        self._groups = groups

    def prepare(self, make: Make, chunks: Sequence[int], parts: Sequence[Any]) -> Any:
        """Make the objects now."""
        made = [
            X if make is None else make(X, part, self._n_threads)
            for X, part in zip(map(self._load, chunks), parts, strict=True)
        ]
        return list(chunks), made

    def gather(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> list[Any]:
        """Return the answers."""
        own = [None] * len(handle[1]) if each is None else each
        return [operation(one, shared, part) for one, part in zip(handle[1], own, strict=True)]

    def tree_sum(
        self, handle: Any, operation: Operation, shared: Any = None, each: Sequence[Any] | None = None
    ) -> NDArray[np.float64]:
        """Return the sum of the answers."""
        chunks, made = handle
        groups = [chunks] if self._groups is None else self._groups
        found: list[PartialSum] = []
        for group in groups:
            positions = [k for k, chunk in enumerate(chunks) if chunk in set(group)]
            own = None if each is None else [each[k] for k in positions]
            answers = self.gather((None, [made[k] for k in positions]), operation, shared, own)
            found += partial_sums(positions, answers)
        return np.asarray(finished_sum(found))

    def together(self, requests: Sequence[EngineRequest]) -> list[Any]:
        """Return the answers to several requests, one after the other."""
        return [getattr(self, one.kind)(*one[1:]) for one in requests]


def subtrees(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return first position and level of the largest complete subtrees within ascending positions.

    Examples
    --------
    >>> list(subtrees([1, 2, 3, 4, 5, 6]))
    [(1, 0), (2, 1), (4, 1), (6, 0)]
    """
    k = 0
    while k < len(positions):
        first, level = positions[k], 0
        while True:
            size = 2 << level
            last = k + size - 1
            if first % size or last >= len(positions) or positions[last] != first + size - 1:
                break
            level += 1
        yield first, level
        k += 1 << level


def partial_sums(positions: Sequence[int], values: Iterable[Any]) -> list[PartialSum]:
    """Return the sums of complete subtrees, from the values of ascending positions."""
    coming = iter(values)
    found = []
    for first, level in subtrees(positions):
        found.append((first, level, TreeSum.of(islice(coming, 1 << level))))
    return found


def finished_sum(parts: Iterable[PartialSum]) -> Any:
    """Return the sum over all positions from those of subtrees, wherever these were computed.

    Examples
    --------
    >>> finished_sum([*partial_sums([0, 2], [0.1, 0.3]), *partial_sums([1], [0.2])])
    0.6000000000000001
    >>> (0.1 + 0.2) + 0.3
    0.6000000000000001
    """
    total = TreeSum()
    for _, level, value in sorted(parts, key=lambda part: part[0]):
        total.add(value, level)
    return total.result()


class RemoteMatrix(ChunkedMatrix):
    """A matrix whose chunks are reached through an engine.

    Products are computed by ``designs.RemoteDesign`` where the chunks are; rows are fetched only by indexing.

    Parameters
    ----------
    engine : Engine
        Reaches the chunks, by their numbers.
    bounds : ndarray of int64, shape (n_chunks + 1,)
        First row of each chunk, and the number of rows.
    n_features : int
        Columns.
    dtype : dtype
        float32 or float64.
    rows : ndarray of int64, optional
        Ascending row numbers, where only these take part; by default all.

    Examples
    --------
    >>> parts = [np.array([[1.0], [2.0]]), np.array([[3.0]])]
    >>> X = RemoteMatrix(SerialEngine(parts.__getitem__), np.array([0, 2, 3]), 1, np.dtype("f8"))
    >>> X.shape, X[[2, 0]].ravel().tolist()
    ((3, 1), [3.0, 1.0])
    """

    def __init__(
        self,
        engine: Engine,
        bounds: Rows,
        n_features: int,
        dtype: np.dtype[Any],
        rows: Rows | None = None,
    ) -> None:
        super().__init__(self._fetch, bounds, n_features, dtype, rows)
        self.engine = engine

    @property
    def is_remote(self) -> bool:
        """Whether the chunks lie with other processes: they do."""
        return True

    def select(self, rows: Rows) -> RemoteMatrix:
        """Return the matrix of some rows, by ascending numbers, without loading any."""
        taken = rows if self._rows is None else self._rows[rows]
        return RemoteMatrix(self.engine, self._bounds, self.shape[1], self.dtype, taken)

    def through(self, engine: Engine) -> RemoteMatrix:
        """Return the same matrix, reached through another engine."""
        return RemoteMatrix(engine, self._bounds, self.shape[1], self.dtype, self._rows)

    def blocks(self, rows: Rows | None = None) -> Iterator[tuple[int, int, Any]]:
        """Return the rows of one chunk after another, brought here."""
        return self.map_blocks(_same, rows)

    def map_blocks(
        self, function: Callable[[Any, Any], Any], rows: Rows | None = None, along: Any = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply a function of a module to the rows of each chunk, where they are."""
        sections = self.sections(rows)
        if not sections:
            return
        handle = self.engine.prepare(None, [section.chunk for section in sections], [None] * len(sections))
        each = [
            (section.rows, None if along is None else along[section.first : section.last])
            for section in sections
        ]
        answers = self.engine.gather(handle, _applied, function, each)
        for section, answer in zip(sections, answers, strict=True):
            yield section.first, section.last, answer

    def __getitem__(self, index: Any) -> Any:
        """Return some rows in memory, by numbers in any order, a slice or a mask; only these travel."""
        if isinstance(index, tuple):
            raise MarginRankError("Rows of remote data are taken with all of their columns.")
        numbers = _row_numbers(index, self.shape[0])
        wanted, back = np.unique(numbers, return_inverse=True)
        found = [X for _, _, X in self.blocks(wanted)]
        if not found:
            return np.empty((0, self.shape[1]), dtype=self.dtype)
        return stacked(found)[back]

    def _fetch(self, number: int) -> Any:
        handle = self.engine.prepare(None, [number], [None])
        return self.engine.gather(handle, _applied, _same, [(None, None)])[0]


def _row_numbers(index: Any, n_rows: int) -> Rows:
    """Return the numbers of rows that an index names, without a list of all rows for a few of them."""
    if isinstance(index, np.ndarray | list) and len(index):
        given = np.asarray(index)
        if given.dtype.kind in "iu" and given.min() >= 0 and given.max() < n_rows:
            return given.astype(np.int64, copy=False)
    numbers: Rows = np.arange(n_rows)[index]
    return numbers


def _same(X: Any, along: None) -> Any:
    del along
    return X


def _applied(X: Any, function: Callable[[Any, Any], Any], own: tuple[Rows | None, Any]) -> Any:
    rows, along = own
    return function(X if rows is None else X[rows], along)
