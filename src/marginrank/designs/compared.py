"""Which rows are compared, which columns are constant there, and the transform that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import Vector
from marginrank.designs.chunked import PlainDesign, plain_design
from marginrank.designs.columns import ColumnRange, ColumnTransform, Mask, rows_differ
from marginrank.scaling import Scale, column_scale, large_offset
from marginrank.validation import Matrix

Rows = NDArray[np.int64]

# Values of pairs of rows that are looked at together: many, so that few reads do; at first few, because most
# columns differ within the first pairs.
_FIRST_PAIRS, _MOST_VALUES = 256, 1 << 22


@dataclass(frozen=True)
class ComparedRows:
    """Which rows of a design a loss compares: all of a query with each other, or the two of each pair.

    Examples
    --------
    >>> ComparedRows(query_ptr=np.array([0, 2, 5])).query_ptr.tolist()
    [0, 2, 5]
    """

    query_ptr: Rows | None = None
    pairs: NDArray[Any] | None = None


def column_transform(
    X: Matrix,
    rows: Rows | None,
    compared: ComparedRows,
    *,
    scale: Scale | None = None,
    weight: Vector | None = None,
    whole: ColumnTransform | None = None,
    n_threads: int,
) -> ColumnTransform:
    """Return the transform of training rows, found in one read of them, or two where columns are constant.

    Parameters
    ----------
    X : ndarray, CSR matrix or ChunkedMatrix
        The features.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    compared : ComparedRows
        Which of them are compared.
    scale : {None, "standard", "minmax"}
        What columns are divided by.
    weight : ndarray, optional
        Weights of the rows, for the scale.
    whole : ColumnTransform, optional
        That of more rows with more comparisons, where these are a part of them: its shift is taken over.
    n_threads : int
        Threads to use; the result does not depend on it.

    Examples
    --------
    >>> X = np.array([[1.0, 7.0, 9e9], [2.0, 7.0, 9e9], [1.0, 8.0, 9e9], [0.0, 8.0, 9e9 + 1.0]])
    >>> found = column_transform(X, None, ComparedRows(query_ptr=np.array([0, 2, 4])), n_threads=1)
    >>> found.constant.tolist(), found.shift.tolist()
    ([False, True, False], [0.0, 0.0, 9000000000.5])
    """
    design = plain_design(X, rows, n_threads=n_threads)
    known = design.column_range if whole is None or whole.known is None else whole.known
    constant = _constant_columns(design, compared, known)
    shift = _reference(known, constant) if whole is None else whole.shift
    transform = ColumnTransform(shift, None, constant if constant.any() else None, known)
    if scale is None:
        return transform
    return replace(transform, scale=column_scale(X, scale, rows, weight))


def _reference(known: ColumnRange, constant: Mask) -> Vector | None:
    """Return what to subtract from columns that need it, 0 for the others; None where no column does.

    Smaller offsets are left alone: the stated rounding of products accounts for the few bits that they cost,
    and kernels without a subtraction are faster.
    """
    shift = np.where(known.full & ~constant, large_offset(known.low, known.high), 0.0)
    return shift if shift.any() else None


def _constant_columns(design: PlainDesign, compared: ComparedRows, known: ColumnRange) -> Mask:
    """Return which columns have equal values wherever rows are compared."""
    everywhere = known.low == known.high
    if compared.pairs is not None:
        varies = _differing_columns(design.take, compared.pairs, everywhere)
    else:
        assert compared.query_ptr is not None
        varies = design.varying_columns(compared.query_ptr, everywhere)
    return np.asarray(everywhere | ~varies)


def _differing_columns(take: Callable[[Rows], Matrix], pairs: NDArray[Any], settled: Mask) -> Mask:
    """Return the columns that differ between the rows of a pair, and those that are settled already."""
    varies = settled.copy()
    first, room = 0, max(1, _MOST_VALUES // len(varies))
    size = min(_FIRST_PAIRS, room)
    while first < len(pairs) and not varies.all():
        part = np.asarray(pairs[first : first + size], dtype=np.int64)
        varies |= rows_differ(take(part[:, 0]), take(part[:, 1]))
        first, size = first + size, min(8 * size, room)
    return varies
