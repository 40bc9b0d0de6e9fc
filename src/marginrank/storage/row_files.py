"""Rows of a file that the compiled routines read themselves, a piece at a time.

A piece is in the cache of its core when products need it; nothing else of the file takes memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import _kernels
from marginrank.data.matrices import CSR, DENSE
from marginrank.types import Rows, Vector


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
        return DENSE[self.dtype.name](self.file, self.offset, *self.shape, rows, shift)


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
        kind = CSR[self.dtype.name, self.indptr.dtype.name]
        return kind(self.file, self.offset, self.indices_offset, self.indptr, self.n_columns, rows, shift)


FileRows = DenseFileRows | CsrFileRows
