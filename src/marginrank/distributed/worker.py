"""What runs on a worker: chunks that are loaded there, what is made of them, and answers about it.

Nothing here changes from call to call. A prepared object is sent as what it was made of and made again where
it arrives, so it may move or be lost at any time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import is_sparse
from marginrank.distributed.handshake import introduce
from marginrank.storage.engines import Operation, partial_sums
from marginrank.system.threads import one_blas_thread


class Source(Protocol):
    """Where the features of a chunk come from; it can be sent."""

    def load(self) -> Any:
        """Return the matrix."""

    @property
    def in_memory(self) -> bool:
        """Whether the matrix takes memory of its own once it is loaded."""


class InMemory:
    """A matrix that is its own source.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The matrix.
    """

    in_memory = True

    def __init__(self, X: Any) -> None:
        self._X = X

    def load(self) -> Any:
        """Return the matrix."""
        return self._X


class Chunk:
    """The features of a chunk, loaded once on each worker; sent as its source.

    Parameters
    ----------
    source : Source
        Where they come from.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._X: Any = None
        self._lock = Lock()

    @property
    def made(self) -> Any:
        """The features."""
        with self._lock:
            if self._X is None:
                self._X = self._source.load()
            return self._X

    def __reduce__(self) -> Any:
        return Chunk, (self._source,)

    def __sizeof__(self) -> int:
        # Dask counts the memory of a worker by it; pages of a mapped file are not the worker's to free.
        if self._X is None or not self._source.in_memory:
            return object.__sizeof__(self)
        return object.__sizeof__(self) + sum(part.nbytes for part in _arrays(self._X))


class Prepared:
    """What was made of a chunk; sent as what it was made of.

    Parameters
    ----------
    chunk : Chunk
        The chunk.
    make : callable
        From the matrix, the part and the number of threads to the thing itself.
    part : object
        What belongs to the chunk.
    """

    def __init__(self, chunk: Chunk, make: Callable[[Any, Any, int], Any], part: Any) -> None:
        self._recipe = (chunk, make, part)
        self._made: Any = None
        self._lock = Lock()

    @property
    def made(self) -> Any:
        """The thing itself."""
        with self._lock:
            if self._made is None:
                chunk, make, part = self._recipe
                self._made = make(chunk.made, part, _n_threads())
            return self._made

    def __reduce__(self) -> Any:
        return Prepared, self._recipe


def load_chunk(source: Source) -> Chunk:
    """Load a chunk."""
    chunk = Chunk(source)
    chunk.made  # noqa: B018  # made now, not in the first pass
    return chunk


def prepare_chunk(chunk: Chunk, make: Callable[[Any, Any, int], Any], part: Any) -> Prepared:
    """Make something of a chunk."""
    prepared = Prepared(chunk, make, part)
    with one_blas_thread():
        prepared.made  # noqa: B018  # made now, not in the first pass
    return prepared


def answers(batch: Sequence[Sequence[Any]]) -> tuple[str, str, list[tuple[int, list[Any]]]]:
    """Return where this ran, the mark of the program there, and its answers to each request of a batch.

    A request is its number, its kind, prepared objects, their positions, an operation and its arguments. To
    "gather" there is an answer for each position, to "tree_sum" the sums of subtrees that are complete here.
    """
    with one_blas_thread():
        return _address(), introduce().mark, [(request[0], _answered(*request[1:])) for request in batch]


def _answered(
    kind: str,
    prepared: Sequence[Prepared | Chunk],
    positions: Sequence[int],
    operation: Operation,
    shared: Any,
    each: Any,
) -> list[Any]:
    own = [None] * len(prepared) if each is None else each
    found = (operation(one.made, shared, part) for one, part in zip(prepared, own, strict=True))
    return partial_sums(positions, found) if kind == "tree_sum" else list(zip(positions, found, strict=True))


def _n_threads() -> int:
    from distributed import get_worker

    return int(get_worker().state.nthreads)


def _address() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _arrays(X: Any) -> list[NDArray[Any]]:
    return [X.data, X.indices, X.indptr] if is_sparse(X) else [np.asarray(X)]


def bytes_of(payload: Any) -> int:
    """Return about how many bytes a payload takes on its way."""
    if isinstance(payload, np.ndarray):
        return int(payload.nbytes)
    if isinstance(payload, tuple | list):
        return sum(map(bytes_of, payload))
    return sys.getsizeof(payload)
