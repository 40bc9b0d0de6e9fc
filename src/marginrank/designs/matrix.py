"""Products with the user's own matrix, dense or CSR, in place: no copy, no conversion, no regrouping."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import QueryLoss
from marginrank.cached import cached_property
from marginrank.data.matrices import CSR, DENSE, as_dense, in_memory, is_sparse
from marginrank.designs.base import Evaluation, LocalDesign, tree_depth
from marginrank.designs.column_sums import ColumnSums, CountedRows, MeasuredColumns, sum_columns
from marginrank.designs.columns import IDENTITY, ColumnTransform
from marginrank.designs.sampling import SampledRows
from marginrank.losses.base import Loss
from marginrank.storage.row_files import FileRows
from marginrank.types import Mask, MemoryMatrix, Rows, Vector

# A query must stay in cache until it is read again, and there must be queries enough to share. With 512 KB of
# second-level cache a core and a large third level, a fused pass over 2,000 float32 columns took .58 to .79
# of a split one for queries from 156 KB to 1.5 MB.
_FUSED_QUERY_BYTES = 2 << 20
_FUSED_QUERIES = 64


def native_matrix(X: MemoryMatrix | FileRows, rows: Rows | None = None, shift: Vector | None = None) -> Any:
    """Return the compiled view of a matrix: an array, a CSR matrix, or rows of a file.

    Parameters
    ----------
    X : ndarray, CSR matrix or rows of a file
        The matrix.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss, ascending where they lie in a file; by default all rows.
    shift : ndarray of shape (n_columns,), optional
        What products subtract from the stored entries of each column.

    Examples
    --------
    >>> native_matrix(np.array([[1.0, 2.0]])).n_cols
    2
    """
    if not in_memory(X):
        return X.native(rows, shift)
    if not is_sparse(X):
        return DENSE[X.dtype.name](X, rows, shift)
    kind = CSR[X.dtype.name, X.indices.dtype.name]
    return kind(X.data, X.indices, X.indptr, X.shape[1], rows, shift)


class MatrixProducts(MeasuredColumns):
    """Products with rows of a matrix, in the order of the loss.

    Parameters
    ----------
    X : ndarray, CSR matrix or rows of a file
        As ``validation.check_matrix`` returns it, or of ``row_files``.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    transform : ColumnTransform, optional
        Its shift is subtracted within the products; scales belong to :class:`TransformedDesign`.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    Sums are in float64 whatever the data are. Partial sums of the adjoint belong to fixed blocks of rows and
    meet in a fixed binary tree, so the bits are the same for any number of threads.
    """

    def __init__(
        self,
        X: MemoryMatrix | FileRows,
        rows: NDArray[np.int64] | None = None,
        transform: ColumnTransform = IDENTITY,
        *,
        n_threads: int,
    ) -> None:
        self._n_threads = n_threads
        self._transform = transform
        self._native = native_matrix(X, rows, transform.shift)
        self.shape = (self._native.n_rows, self._native.n_cols)
        self._partial_lock = Lock()

    @cached_property
    def _partial(self) -> NDArray[np.float64]:
        """Partial sums of the adjoint, kept from pass to pass: fresh memory costs page faults every time."""
        return np.empty((self._native.adjoint_blocks, self.shape[1]))

    def scores(self, w: Vector) -> Vector:
        """Return ``X w``."""
        out = np.empty(self.shape[0])
        self._native.scores(w, out, self._n_threads)
        return out

    def adjoint(self, g: Vector) -> Vector:
        """Return ``X' g``."""
        out = np.empty(self.shape[1])
        with self._partial_lock:
            self._native.adjoint(g, self._partial, out, self._n_threads)
        return out

    @cached_property
    def _block_partial(self) -> NDArray[np.float64]:
        """Partial sums of the adjoint with several vectors, at the start of a cache line: eight fill one."""
        size = self._native.block_partial_size
        room = np.empty(size + 7)
        start = -(room.ctypes.data // 8) % 8
        return room[start : start + size]

    def scores_block(self, W: Vector) -> Vector:
        """Return ``W X'``: the scores of each row of W, in one read of X for up to eight of them.

        The last group of fewer than eight is filled up with zeros to 2, 4 or 8.
        """
        out = np.empty((len(W), self.shape[0]))
        self._native.scores_block(W, out, self._n_threads)
        return out

    def adjoint_block(self, G: Vector) -> Vector:
        """Return ``G X``: the adjoint of each row of G, in one read of X for up to eight of them."""
        out = np.empty((len(G), self.shape[1]))
        with self._partial_lock:
            self._native.adjoint_block(G, self._block_partial, out, self._n_threads)
        return out

    def column_sums(self, counted: CountedRows) -> ColumnSums:
        """Return the sums over the columns as they are, in one read of X."""
        return sum_columns(self._native, counted, self._n_threads)

    def varying_columns(self, query_ptr: NDArray[np.int64], settled: Mask) -> Mask:
        """Return the columns that differ between two rows of a query, and those that are settled already.

        The read of X ends when no column is left.
        """
        varies = settled.astype(np.uint8)
        self._native.find_varying_columns(query_ptr, varies, self._n_threads)
        return varies.astype(bool)

    @property
    def adjoint_depth(self) -> int:
        """Additions on the way of a row into the adjoint, at most."""
        native, n_rows = self._native, self.shape[0]
        blocks, fewest = native.adjoint_blocks, min(native.adjoint_blocks, native.block_adjoint_blocks)
        # Blocks of a fused pass end with a query, which may begin just before the end of an equal share.
        query = _FUSED_QUERY_BYTES // native.row_bytes if native.row_bytes else n_rows
        return int(min(n_rows, -(-n_rows // fewest) + query) + tree_depth(blocks))

    def fuses(self, loss: Loss) -> bool:
        """Whether the fused products pay for this loss."""
        return self.fuses_queries(loss.n_queries, loss.longest_query)

    def fuses_queries(self, n_queries: int, longest: int) -> bool:
        """Whether they pay for so many queries, the longest of so many rows."""
        return n_queries >= _FUSED_QUERIES and longest * self._native.row_bytes <= _FUSED_QUERY_BYTES

    def fused_queries(
        self, w: Vector, loss: QueryLoss, scores: Vector, gradient: Vector, first: int, last: int
    ) -> tuple[float, Vector]:
        """Return the value of queries ``first`` to ``last`` of a loss and ``X' g``, for the rows of these.

        Their scores and gradient are filled in; both arrays span all rows of the loss.
        """
        out = np.empty(self.shape[1])
        threads = self._n_threads
        with self._partial_lock:
            value = self._native.fused(loss, w, scores, gradient, self._partial, out, threads, first, last)
        return value, out

    def fused_hvp_queries(
        self,
        v: Vector,
        loss: QueryLoss,
        scores: Vector,
        direction: Vector,
        product: Vector,
        first: int,
        last: int,
    ) -> Vector:
        """Return ``X' H(scores) X v`` of queries ``first`` to ``last``, for the rows of these.

        The direction ``X v`` and its product with H are filled in; both arrays span all rows of the loss.
        """
        out, threads = np.empty(self.shape[1]), self._n_threads
        with self._partial_lock:
            self._native.fused_hvp(
                loss, v, scores, direction, product, self._partial, out, threads, first, last
            )
        return out


class MatrixDesign(MatrixProducts, SampledRows, LocalDesign):
    """Rows of a matrix in memory, in the order of the loss.

    Parameters
    ----------
    X : ndarray or CSR matrix
        As ``validation.check_matrix`` returns it.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    transform : ColumnTransform, optional
        Its shift is subtracted within the products; scales belong to :class:`TransformedDesign`.
    n_threads : int
        Threads to use; the result does not depend on it.
    """

    def __init__(
        self,
        X: MemoryMatrix,
        rows: NDArray[np.int64] | None = None,
        transform: ColumnTransform = IDENTITY,
        *,
        n_threads: int,
    ) -> None:
        super().__init__(X, rows, transform, n_threads=n_threads)
        self._X: MemoryMatrix = X
        self._rows = rows

    def dense_rows(self) -> NDArray[np.float64]:
        """Return the rows as a dense matrix, less the shift."""
        return np.asarray(as_dense(self.take(np.arange(self.shape[0]))), dtype=np.float64)

    @property
    def _pass_work(self) -> float:
        X = self._X
        per_row = X.nnz / max(1, X.shape[0]) if is_sparse(X) else X.shape[1]
        return float(2.0 * (per_row * self.shape[0]))

    def _fused(self, w: Vector, loss: Loss) -> Evaluation:
        scores, gradient = np.empty(self.shape[0]), np.empty(self.shape[0])
        value, adjoint = self.fused_queries(w, loss.compiled, scores, gradient, 0, loss.n_queries)
        return Evaluation(w, value, adjoint, scores, gradient)

    def _fused_hvp(self, v: Vector, loss: Loss, scores: Vector) -> Vector:
        direction, product = np.empty(self.shape[0]), np.empty(self.shape[0])
        return self.fused_hvp_queries(v, loss.compiled, scores, direction, product, 0, loss.n_queries)
