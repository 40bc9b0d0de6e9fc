"""Rows times a matrix, where a row's result does not depend on the rows beside it.

The last bits of a BLAS product depend on the place of a row in a block, on the shape of the block and on the
processor: features of the same row would differ from one call to the next. The kernel behind this sums in one
order, at about the speed of BLAS.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import _kernels

_PRODUCTS: dict[str, Any] = {"float32": _kernels.RowProductF32, "float64": _kernels.RowProductF64}


class RowProduct:
    """The map from rows ``A`` to ``A @ matrix``.

    Parameters
    ----------
    matrix : ndarray of shape (depth, width), float32 or float64
        What rows are multiplied by; a packed copy is kept.

    Examples
    --------
    >>> product = RowProduct(np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> product(np.array([[1.0, 1.0]]))
    array([[4., 6.]])
    """

    def __init__(self, matrix: NDArray[Any]) -> None:
        self.dtype = matrix.dtype
        self.width = matrix.shape[1]
        self._native = _PRODUCTS[matrix.dtype.name](np.ascontiguousarray(matrix))

    def __call__(self, A: NDArray[Any], out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return ``A @ matrix``, into ``out`` if it is given; A is taken in the dtype of the matrix."""
        out = np.empty((len(A), self.width), dtype=self.dtype) if out is None else out
        self._native.apply(np.ascontiguousarray(A, dtype=self.dtype), out)
        return out


def row_sums(A: NDArray[Any]) -> NDArray[np.float64]:
    """Return the sum of each row in float64, in the order of a :class:`RowProduct`.

    Examples
    --------
    >>> row_sums(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """
    return RowProduct(np.ones((A.shape[1], 1)))(A)[:, 0]
