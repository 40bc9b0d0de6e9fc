"""The types that all modules share: arrays of numbers, and the matrices that features come in.

A matrix is a dense array, a sparse one (CSR), or one that does not lie in memory
(:class:`marginrank.storage.chunks.ChunkedMatrix`). Who needs to know which asks
:func:`marginrank.data.matrices.is_sparse` or :func:`marginrank.data.matrices.in_memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Numbers in one dimension: scores, labels, coefficients.
Vector: TypeAlias = NDArray[np.float64]
#: Numbers in any number of dimensions.
Array: TypeAlias = NDArray[np.float64]
#: Numbers of rows, or offsets among rows.
Rows: TypeAlias = NDArray[np.int64]
#: One boolean for each row or column.
Mask: TypeAlias = NDArray[np.bool_]


class SparseMatrix(Protocol):
    """A CSR matrix or array of scipy."""

    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries."""

    @property
    def nnz(self) -> int:
        """Number of stored entries."""

    @property
    def has_canonical_format(self) -> bool:
        """Whether every row is sorted, and no entry is stored twice."""

    def __getitem__(self, index: Any) -> Any: ...

    def __matmul__(self, other: Any) -> Any: ...

    def __abs__(self) -> SparseMatrix: ...

    def toarray(self) -> NDArray[Any]:
        """Return a dense copy."""

    def transpose(self) -> Any:
        """Return the transpose."""

    def tocsc(self) -> Any:
        """Return the same matrix, stored by columns."""

    def copy(self) -> SparseMatrix:
        """Return a copy."""

    def astype(self, dtype: Any, copy: bool = True) -> SparseMatrix:
        """Return the matrix with entries of another type."""

    def sorted_indices(self) -> SparseMatrix:
        """Return a copy whose rows are sorted by column."""

    def sum_duplicates(self) -> None:
        """Make one entry of those that are stored twice, in place."""

    def eliminate_zeros(self) -> None:
        """Drop stored zeros, in place."""

    def multiply(self, other: Any) -> Any:
        """Return the products of the entries."""

    def power(self, n: float) -> SparseMatrix:
        """Return powers of the entries."""

    def diagonal(self) -> NDArray[Any]:
        """Return the diagonal."""

    def count_nonzero(self) -> int:
        """Return the number of entries that are not 0."""

    def min(self, axis: int | None = None) -> Any:
        """Return the least entry, or those of the rows or columns; what is not stored is 0."""

    def max(self, axis: int | None = None) -> Any:
        """Return the largest entry, or those of the rows or columns; what is not stored is 0."""


class Section(NamedTuple):
    """Positions ``first`` to ``last`` of a selection of rows, which lie in one chunk.

    ``rows`` are their numbers within the chunk; None stands for all rows of it.
    """

    chunk: int
    first: int
    last: int
    rows: Rows | None


class StoredMatrix(Protocol):
    """A matrix that does not lie in memory: its rows come in chunks, by ascending row numbers."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the entries: float32 or float64."""

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""

    @property
    def is_remote(self) -> bool:
        """Whether the chunks lie with other processes, which work on them there."""

    def select(self, rows: Rows) -> StoredMatrix:
        """Return the matrix of some rows, without loading any."""

    def changed(self, change: Callable[[Any], Any], n_features: int) -> StoredMatrix:
        """Return the matrix whose chunks a function makes of these, row by row, when they are loaded."""

    def sections(self, rows: Rows | None = None) -> list[Section]:
        """Return the chunks that hold these rows, and which of their rows."""

    def visit(self, sections: Sequence[Section]) -> Iterator[tuple[Section, Any]]:
        """Load the chunk of each section in turn."""

    def map_pass(
        self, work: Callable[[Section, Any, int], Any], sections: Sequence[Section], n_threads: int
    ) -> Iterator[Any]:
        """Apply a function to the chunk of each section, in threads; answers come in their order."""

    def blocks(self, rows: Rows | None = None) -> Iterator[tuple[int, int, Any]]:
        """Return the rows of one chunk after another, as ``first, last, matrix`` of the selection."""

    def map_blocks(
        self, function: Callable[[Any, Any], Any], rows: Rows | None = None, along: Any = None
    ) -> Iterator[tuple[int, int, Any]]:
        """Apply a function to the rows of one chunk after another, where these rows are."""

    def __getitem__(self, index: Any) -> Any:
        """Return some rows in memory, by numbers in any order, a slice or a mask."""


#: Rows of features in memory: a C-ordered array or CSR, of float32 or float64.
MemoryMatrix: TypeAlias = NDArray[Any] | SparseMatrix
#: Rows of features, wherever they lie.
Matrix: TypeAlias = MemoryMatrix | StoredMatrix
