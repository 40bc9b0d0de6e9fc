"""Rows of a file that the compiled routines read themselves, a piece at a time.

A piece is in the cache of its core when products need it; nothing else of the file takes memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import _kernels
from marginrank.data.matrices import in_memory, is_sparse
from marginrank.types import MemoryMatrix, Rows, Vector

_DENSE = {"float32": _kernels.DenseF32, "float64": _kernels.DenseF64}
_CSR = {
    ("float32", "int32"): _kernels.CsrF32I32,
    ("float32", "int64"): _kernels.CsrF32I64,
    ("float64", "int32"): _kernels.CsrF64I32,
    ("float64", "int64"): _kernels.CsrF64I64,
}


@dataclass(frozen=True)
class DenseFileRows:
    """Dense rows of a file that is read.

    Parameters
    ----------
    file : RowFile
        The file.
    dtype : dtype
        float32 or float64, in the byte order of the machine.
    shape : tuple of int
        Rows and columns.
    offset : int
        Where the first row begins.
    """

    file: _kernels.RowFile
    dtype: np.dtype[Any]
    shape: tuple[int, int]
    offset: int

    def native(self, rows: Rows | None, shift: Vector | None) -> Any:
        """Return the kernels' view of some rows, less a shift."""
        return _DENSE[self.dtype.name](self.file, self.offset, *self.shape, rows, shift)


@dataclass(frozen=True)
class CsrFileRows:
    """CSR rows of a file that is read, all but the row pointers.

    Parameters
    ----------
    file : RowFile
        The file.
    dtype : dtype
        Of the values: float32 or float64, in the byte order of the machine.
    offset, indices_offset : int
        Where the values and the columns begin.
    indptr : ndarray of shape (n_rows + 1,)
        Where each row begins; the columns have its dtype.
    n_columns : int
        Columns of the matrix.
    """

    file: _kernels.RowFile
    dtype: np.dtype[Any]
    offset: int
    indices_offset: int
    indptr: NDArray[Any]
    n_columns: int

    def native(self, rows: Rows | None, shift: Vector | None) -> Any:
        """Return the kernels' view of some rows, less a shift."""
        kind = _CSR[self.dtype.name, self.indptr.dtype.name]
        return kind(self.file, self.offset, self.indices_offset, self.indptr, self.n_columns, rows, shift)


FileRows = DenseFileRows | CsrFileRows


def native_matrix(
    X: MemoryMatrix | FileRows, rows: Rows | None = None, shift: NDArray[np.float64] | None = None
) -> Any:
    """Return the kernels' view of a matrix: an array, a CSR matrix, or rows of a file.

    Parameters
    ----------
    X : ndarray, CSR matrix, DenseFileRows or CsrFileRows
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
        return _DENSE[X.dtype.name](X, rows, shift)
    kind = _CSR[X.dtype.name, X.indices.dtype.name]
    return kind(X.data, X.indices, X.indptr, X.shape[1], rows, shift)
