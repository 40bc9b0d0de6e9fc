"""Numbers of rows that lie with the chunks of remote rows, such as labels: read where they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from marginrank.storage.engines import Engine, RemoteMatrix
from marginrank.types import MemoryMatrix, Rows, Vector

#: What is asked about the numbers of a chunk: from these, a number of threads and what belongs to the chunk.
Question = Callable[[Vector, int, Any], Any]


class VectorSource(Protocol):
    """Where the numbers of a chunk come from; it can be sent."""

    @property
    def fingerprint(self) -> str:
        """What tells the numbers from others."""

    def read(self) -> Vector:
        """Return the numbers."""


@dataclass(frozen=True)
class VectorPart:
    """The numbers of some neighbouring rows of a chunk; an array wherever numpy asks for one.

    Parameters
    ----------
    source : VectorSource
        Where the numbers of the chunk come from.
    first, last : int
        The rows, as the chunk counts them.
    """

    source: VectorSource
    first: int
    last: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        del copy
        return np.asarray(self.source.read()[self.first : self.last], dtype=dtype)

    @property
    def fingerprint(self) -> str:
        """What tells the numbers from others."""
        return f"{self.source.fingerprint}/{self.first}/{self.last}"


class ChunkVector:
    """A number for each row of a remote matrix, chunk by chunk; an array wherever numpy asks for one.

    Neighbouring rows of a chunk, ``vector[first:last]``, stay where they are; anything else is brought here.

    Parameters
    ----------
    sources : sequence of VectorSource or ndarray
        The numbers of each chunk, or where they come from.
    bounds : ndarray of int64, shape (n_chunks + 1,)
        First row of each chunk, and the number of rows.
    engine : Engine, optional
        Reaches the chunks of the matrix; without it, nothing can be asked where they are.

    Examples
    --------
    >>> labels = ChunkVector([np.array([1.0, 0.0]), np.array([2.0])], np.array([0, 2, 3]))
    >>> len(labels), np.asarray(labels).tolist(), labels[2:3].tolist(), labels[[2, 0]].tolist()
    (3, [1.0, 0.0, 2.0], [2.0], [2.0, 1.0])
    """

    ndim = 1
    dtype = np.dtype(np.float64)

    def __init__(self, sources: Sequence[Any], bounds: Rows, engine: Engine | None = None) -> None:
        self._sources = list(sources)
        self._bounds = bounds
        self._engine = engine

    @classmethod
    def along(cls, values: Any, X: RemoteMatrix) -> Any:
        """Return numbers cut like the chunks of a matrix, to be asked about there; None stays None.

        Of some of the rows of the chunks they stay as they are.
        """
        sections = X.sections()
        if values is None or not sections or any(section.rows is not None for section in sections):
            return values
        bounds = np.array([0, *(section.last for section in sections)], dtype=np.int64)
        if isinstance(values, ChunkVector) and np.array_equal(values._bounds, bounds):
            return cls(values._sources, bounds, X.engine)
        here = np.asarray(values)
        return cls([here[first:last] for first, last in pairwise(bounds.tolist())], bounds, X.engine)

    def __len__(self) -> int:
        return int(self._bounds[-1])

    @property
    def shape(self) -> tuple[int]:
        """The number of rows, as arrays have it."""
        return (len(self),)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        del copy
        return np.asarray(np.concatenate(list(self.parts())), dtype=dtype)

    def parts(self) -> Iterator[Vector]:
        """Return the numbers of one chunk after the other, brought here."""
        yield from map(np.asarray, self._parts())

    def _parts(self) -> list[Any]:
        """Return the numbers of each chunk, where they are."""
        sizes = np.diff(self._bounds).tolist()
        return [
            source if isinstance(source, np.ndarray) else VectorPart(source, 0, size)
            for source, size in zip(self._sources, sizes, strict=True)
        ]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice) and index.step in (None, 1):
            first, last, _ = index.indices(len(self))
            chunk = int(np.searchsorted(self._bounds, first, side="right")) - 1
            if first < last <= self._bounds[chunk + 1]:
                source, start = self._sources[chunk], int(self._bounds[chunk])
                if isinstance(source, np.ndarray):
                    return source[first - start : last - start]
                return VectorPart(source, first - start, last - start)
        return np.asarray(self)[index]

    def queries(self, query_ptr: Rows) -> list[tuple[int, int]] | None:
        """Return the queries of each chunk; None where one is cut, or where no engine reaches the chunks."""
        ends = np.searchsorted(query_ptr, self._bounds)
        if self._engine is None or np.any(query_ptr[np.minimum(ends, len(query_ptr) - 1)] != self._bounds):
            return None
        return list(pairwise(ends.tolist()))

    def ask(self, question: Question, own: Sequence[Any]) -> list[Any]:
        """Return the answers to a question, a function of a module, about each chunk, where it lies."""
        assert self._engine is not None  # or there would be no queries
        handle = self._engine.prepare(_numbers, range(len(self._sources)), self._parts())
        return self._engine.gather(handle, _asked, question, own)


def _numbers(X: MemoryMatrix, part: Any, n_threads: int) -> tuple[Vector, int]:
    del X
    return np.asarray(part), n_threads


def _asked(numbers: tuple[Vector, int], question: Question, own: Any) -> Any:
    return question(*numbers, own)
