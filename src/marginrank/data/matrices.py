"""Which kind of matrix features are in, asked in one place: sparse or dense, in memory or stored.

Everything else treats all matrices alike, or asks here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank import _kernels
from marginrank.exceptions import MarginRankError
from marginrank.types import Matrix, MemoryMatrix, Rows, SparseMatrix, Vector

if TYPE_CHECKING:
    from typing_extensions import TypeIs

#: Views of matrices for the compiled routines, by the types of their numbers.
DENSE = {"float32": _kernels.DenseF32, "float64": _kernels.DenseF64}
CSR = {
    ("float32", "int32"): _kernels.CsrF32I32,
    ("float32", "int64"): _kernels.CsrF32I64,
    ("float64", "int32"): _kernels.CsrF64I32,
    ("float64", "int64"): _kernels.CsrF64I64,
}


def is_sparse(X: object) -> TypeIs[SparseMatrix]:
    """Whether X is a sparse matrix in memory.

    Examples
    --------
    >>> is_sparse(sparse.csr_array([[1.0]])), is_sparse(np.ones((1, 1)))
    (True, False)
    """
    return bool(sparse.issparse(X))


def in_memory(X: object) -> TypeIs[MemoryMatrix]:
    """Whether the rows lie in memory, rather than on disk or on workers.

    Examples
    --------
    >>> in_memory(np.ones((1, 1)))
    True
    """
    return isinstance(X, np.ndarray) or is_sparse(X)


def require_memory(X: Matrix, who: str = "This") -> MemoryMatrix:
    """Return rows that lie in memory; raise where they do not.

    Examples
    --------
    >>> require_memory(np.ones((1, 1)))
    array([[1.]])
    """
    if not in_memory(X):
        raise MarginRankError(f"{who} needs the rows in memory; load them with in_memory().")
    return X


def n_stored(X: MemoryMatrix) -> int:
    """Return the number of stored entries.

    Examples
    --------
    >>> n_stored(np.zeros((2, 3))), n_stored(sparse.csr_array([[1.0, 0.0]]))
    (6, 1)
    """
    return int(X.nnz) if is_sparse(X) else int(X.size)


def as_dense(X: MemoryMatrix) -> NDArray[Any]:
    """Return the matrix as an array: itself, or a dense copy of a sparse one."""
    return X.toarray() if is_sparse(X) else X


def stacked(parts: Sequence[MemoryMatrix]) -> MemoryMatrix:
    """Return the rows of several matrices in one; all of them are dense, or all sparse.

    Examples
    --------
    >>> stacked([np.array([[1.0]]), np.array([[2.0]])]).tolist()
    [[1.0], [2.0]]
    """
    if is_sparse(parts[0]):
        return cast(SparseMatrix, sparse.vstack(cast(Any, parts), format="csr"))
    return np.concatenate(cast(Any, parts))


def csr_like(
    X: SparseMatrix,
    data: NDArray[Any],
    indices: NDArray[Any] | None = None,
    indptr: NDArray[Any] | None = None,
    *,
    shape: tuple[int, int] | None = None,
) -> SparseMatrix:
    """Return a matrix of scipy's same class with other entries; what is left out is taken over, not copied.

    Examples
    --------
    >>> X = sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> csr_like(X, 3 * X.data).toarray().tolist()
    [[3.0, 0.0], [0.0, 6.0]]
    """
    arrays = (data, X.indices if indices is None else indices, X.indptr if indptr is None else indptr)
    made: SparseMatrix = cast(Any, type(X))(arrays, shape=X.shape if shape is None else shape)
    return made


def blocks(X: Matrix) -> Iterator[MemoryMatrix]:
    """Return rows in memory: all at once where they lie there, else one chunk after another."""
    if in_memory(X):
        yield X
    else:
        for _, _, part in X.blocks():
            yield part


def column_extremes(X: Matrix) -> tuple[Vector, Vector]:
    """Return the least and the largest value of each column.

    Examples
    --------
    >>> low, high = column_extremes(np.array([[1.0, -3.0], [2.0, 0.0]]))
    >>> low.tolist(), high.tolist()
    ([1.0, -3.0], [2.0, 0.0])
    """
    low, high = np.full(X.shape[1], np.inf), np.full(X.shape[1], -np.inf)
    for block in blocks(X):
        least, most = block.min(axis=0), block.max(axis=0)
        if is_sparse(block):
            least, most = least.toarray().ravel(), most.toarray().ravel()
        np.minimum(low, least, out=low)
        np.maximum(high, most, out=high)
    return low, high


def map_blocks(
    X: Matrix, function: Callable[[Any, Any], Any], rows: Rows | None = None, along: Any = None
) -> Iterator[tuple[int, int, Any]]:
    """Apply a function to blocks of rows: to all rows in memory at once, to stored ones chunk by chunk.

    Parameters
    ----------
    X : Matrix
        The rows.
    function : callable
        Of a matrix in memory and of its part of ``along``; a function of a module, so that it can be sent to
        where the rows are.
    rows : ndarray of int64, optional
        Ascending row numbers; by default all rows.
    along : ndarray, optional
        One entry for each of these rows.

    Yields
    ------
    first, last, answer
        Positions among these rows, and what the function returned.

    Examples
    --------
    >>> list(map_blocks(np.array([[1.0], [2.0]]), lambda X, along: float(X.sum())))
    [(0, 2, 3.0)]
    """
    if not in_memory(X):
        yield from X.map_blocks(function, rows, along)
        return
    taken = X if rows is None else X[rows]
    yield 0, taken.shape[0], function(taken, along)
