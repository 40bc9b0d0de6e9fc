"""Columns scaled on the way into a map, block by block, so that no scaled copy of X is ever made."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import csr_like, is_sparse
from marginrank.designs.blocks import BlockMap
from marginrank.types import MemoryMatrix, Vector


def scale_rows(X: MemoryMatrix, multiplier: Vector, offset: Vector | None = None) -> MemoryMatrix:
    """Return ``multiplier * x + offset`` for each row, in the dtype of X.

    Sparse rows stay sparse, unless there is an offset.

    Examples
    --------
    >>> scale_rows(np.array([[1.0, 2.0]]), np.array([2.0, 0.5]), np.array([0.0, 1.0]))
    array([[2., 2.]])
    """
    shifts = offset is not None and bool(np.any(offset))
    if is_sparse(X) and shifts:
        X = X.toarray()
    if is_sparse(X):
        data = (X.data * multiplier[X.indices]).astype(X.dtype)
        return csr_like(X, data)
    scaled = X * multiplier if offset is None or not shifts else X * multiplier + offset
    return scaled.astype(X.dtype, copy=False)


class ScaledRows:
    """A map after a scaling of the columns.

    Parameters
    ----------
    inner : BlockMap
        The map.
    multiplier : ndarray of shape (n_features,)
        What the columns of X are multiplied by.
    offset : ndarray of shape (n_features,), optional
        What is added to them after that.
    """

    def __init__(self, inner: BlockMap, multiplier: Vector, offset: Vector | None = None) -> None:
        self._inner = inner
        self._multiplier = multiplier
        self._offset = offset
        self.width = inner.width
        self.dtype = inner.dtype
        self.factor = inner.factor

    def transform_block(self, X: MemoryMatrix, out: NDArray[Any]) -> None:
        """Write the features of the rows of X, scaled, into ``out``."""
        if self.dtype == np.float64:  # float32 would round away what such a map tells apart
            X = X.astype(np.float64, copy=False)
        self._inner.transform_block(scale_rows(X, self._multiplier, self._offset), out)
