"""What is known about columns, and what products do to them on the way: subtract, divide, leave out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import csr_like, is_sparse
from marginrank.designs.base import ProductRounding, steps
from marginrank.designs.column_statistics import ColumnStatistics
from marginrank.designs.scaling import Scale
from marginrank.types import Array, Mask, MemoryMatrix, Vector

# A column has a large offset where its middle is more than so many times its range. Below, the offset costs
# sums at most ten of their 53 bits. Above, all values lie within a factor of two of the middle, so that
# subtracting it is exact.
_LARGE_OFFSET = 1024.0


class ColumnRange(NamedTuple):
    """Least and largest values of the columns over some rows; what is not stored is 0.

    ``full`` tells which columns have exactly one entry in each row. ``longest`` is the number of entries of
    the longest row. Where an entry is stored in parts, both signs of the sum of their sizes are in the range.
    """

    low: Vector
    high: Vector
    full: Mask
    longest: int

    def largest(self, shift: Vector | None = None) -> Vector:
        """Return bounds of the absolute values, less a shift if there is one."""
        if shift is None:
            return np.maximum(np.abs(self.low), np.abs(self.high))
        bound = np.maximum(np.abs(self.low - shift), np.abs(self.high - shift))
        return np.where(bound > 0.0, np.nextafter(bound, np.inf), 0.0)


def large_offset(low: Vector, high: Vector) -> Vector:
    """Return the middle of columns that have a large common offset, from their range, and 0 for the others.

    Examples
    --------
    >>> large_offset(np.array([1e9, 1.0]), np.array([1e9 + 2.0, 3.0])).tolist()
    [1000000001.0, 0.0]
    """
    with np.errstate(over="ignore"):
        width = high - low
    middle = 0.5 * low + 0.5 * high
    return np.where(np.abs(middle) > _LARGE_OFFSET * width, middle, 0.0)


@dataclass(frozen=True)
class ColumnTransform:
    """The columns ``(x - shift) / scale``, without those that are constant wherever rows are compared.

    No ranking sees a number that is added to a whole column, so shifted columns are as good as those of the
    user, and keep the digits that a large common offset would take from every product. A column that is
    constant wherever rows are compared orders none of them: its weight is 0.

    Attributes
    ----------
    shift : ndarray of shape (n_columns,) or None
        What is subtracted within the products; of sparse rows, only where each of them stores the column.
    scale : ndarray of shape (n_columns,) or None
        Positive divisors.
    constant : ndarray of bool, shape (n_columns,), or None
        Columns that are left out.
    known : ColumnRange or None
        The range of the columns over the rows of the design, and maybe of others.
    statistics : ColumnStatistics or None
        Those of the columns as they are, over the training rows, where they were found.
    scaled_by : {None, "standard", "minmax"}
        What ``scale`` holds; what "auto" became.

    Examples
    --------
    >>> transform = ColumnTransform(scale=np.array([2.0, 1.0]), constant=np.array([False, True]))
    >>> transform.raw(np.array([3.0, 4.0])).tolist()
    [1.5, 0.0]
    """

    shift: Vector | None = None
    scale: Vector | None = None
    constant: Mask | None = None
    known: ColumnRange | None = None
    statistics: ColumnStatistics | None = None
    scaled_by: Scale | None = None

    def raw(self, w: Array) -> Array:
        """Return coefficients of the columns as they are, from those of the transformed ones."""
        return self.kept(w if self.scale is None else w / self.scale)

    def transformed(self, w: Array) -> Array:
        """Return coefficients of the transformed columns, from those of the columns as they are."""
        return self.kept(w if self.scale is None else w * self.scale)

    def kept(self, values: Array) -> Array:
        """Return values of the columns, 0 for those that are left out."""
        return values if self.constant is None else np.where(self.constant, 0.0, values)

    def rounding(self, known: ColumnRange, adjoint_depth: int) -> ProductRounding:
        """Return the rounding of products with columns of a known range, less their shift."""
        shifts = 0 if self.shift is None else 1
        return ProductRounding(
            known.largest(self.shift), steps(known.longest + shifts), steps(adjoint_depth + shifts)
        )

    @property
    def is_within_products(self) -> bool:
        """Whether there is nothing to do outside the products."""
        return self.scale is None and self.constant is None

    @property
    def within_products(self) -> ColumnTransform:
        """The shift alone."""
        return replace(self, scale=None, constant=None, statistics=None, scaled_by=None)

    @property
    def without_shift(self) -> ColumnTransform:
        """What can be done to any rows: whether others store a column in each of them is not known."""
        return replace(self, shift=None, known=None, statistics=None)


#: Columns as they are.
IDENTITY = ColumnTransform()


def shifted_rows(X: MemoryMatrix, shift: Vector | None) -> MemoryMatrix:
    """Return rows in memory less a shift, in float64; sparse ones stay sparse.

    Examples
    --------
    >>> shifted_rows(np.array([[3.0, 1.0]]), np.array([2.0, 0.0]))
    array([[1., 1.]])
    """
    if shift is None:
        return X
    if not is_sparse(X):
        return np.asarray(X - shift)
    data: NDArray[Any] = X.data - shift[X.indices]
    return csr_like(X, data)


def rows_differ(A: MemoryMatrix, B: MemoryMatrix) -> Mask:
    """Return the columns in which two matrices in memory differ.

    Examples
    --------
    >>> rows_differ(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))
    array([False,  True])
    """
    if not is_sparse(A):
        return np.asarray((A != B).any(axis=0))
    difference = cast(Any, A != B).tocsr()
    found = np.zeros(A.shape[1], dtype=bool)
    found[difference.indices[difference.data]] = True
    return found
