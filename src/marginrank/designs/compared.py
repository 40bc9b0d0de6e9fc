"""The design of rows wherever they lie, and the transform of columns that follows from those compared."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from marginrank.data.matrices import in_memory, is_sparse, stacked
from marginrank.designs.base import Design
from marginrank.designs.chunked import ChunkedDesign
from marginrank.designs.column_sums import measure_columns
from marginrank.designs.columns import IDENTITY, ColumnRange, ColumnTransform, large_offset, rows_differ
from marginrank.designs.matrix import MatrixDesign
from marginrank.designs.remote import RemoteDesign
from marginrank.designs.scaling import Scale, ScaleSetting, divisors, resolve_scale
from marginrank.designs.transformed import TransformedDesign
from marginrank.exceptions import ParameterError
from marginrank.storage.engines import RemoteMatrix
from marginrank.types import Mask, Matrix, MemoryMatrix, Rows, StoredMatrix, Vector

# Values of rows in chunks that are in memory at a time, while columns are looked through.
_MOST_VALUES = 1 << 24
_FIRST_PAIRS = 1024


#: A design of columns as they are, but for a shift, with what is known of them.
PlainDesign = MatrixDesign | ChunkedDesign | RemoteDesign


def plain_design(
    X: Matrix,
    rows: Rows | None = None,
    transform: ColumnTransform = IDENTITY,
    *,
    n_threads: int,
) -> PlainDesign:
    """Return the design of rows of a matrix, wherever it lies, with the shift of a transform."""
    if in_memory(X):
        return MatrixDesign(X, rows, transform, n_threads=n_threads)
    if isinstance(X, RemoteMatrix):
        return RemoteDesign(X, rows, transform)
    return ChunkedDesign(X, rows, transform, n_threads=n_threads)


def matrix_design(
    X: Matrix,
    rows: Rows | None = None,
    transform: ColumnTransform = IDENTITY,
    *,
    n_threads: int,
) -> Design:
    """Return the design of rows of a matrix, wherever it lies, with transformed columns.

    Examples
    --------
    >>> matrix_design(np.array([[1.0, 2.0]]), n_threads=1).scores(np.array([1.0, 1.0]))
    array([3.])
    """
    plain = plain_design(X, rows, transform.within_products, n_threads=n_threads)
    return plain if transform.is_within_products else TransformedDesign(plain, transform)


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
    scale: ScaleSetting | None = None,
    weight: Vector | None = None,
    whole: ColumnTransform | None = None,
    n_threads: int,
) -> ColumnTransform:
    """Return the transform of training rows, found in one read of them, or two where columns are constant.

    Parameters
    ----------
    X : ndarray, CSR matrix or stored matrix
        The features.
    rows : ndarray of int64, optional
        Row numbers in the order of the loss; None takes all rows as they stand.
    compared : ComparedRows
        Which of them are compared.
    scale : {None, "auto", "standard", "minmax"}
        What columns are divided by; "auto" decides by the ranges of the columns.
    weight : ndarray, optional
        Weights of the rows, for the scale.
    whole : ColumnTransform, optional
        That of more rows with more comparisons, where these are a part of them: its shift is taken over, and
        what "auto" became for it.
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
    if scale == "auto" and whole is not None:
        scale = whole.scaled_by
    known, statistics = None if whole is None else whole.known, None
    if known is None or scale is not None:
        found, statistics = measure_columns(design, compared.query_ptr, weight)
        known = found if known is None else known
    constant = _constant_columns(X, design, compared, known, n_threads)
    shift = _reference(known, constant) if whole is None else whole.shift
    scaled_by = None if statistics is None else resolve_scale(scale, statistics, constant)
    divisor = None if scaled_by is None or statistics is None else divisors(scaled_by, statistics)
    return ColumnTransform(shift, divisor, constant if constant.any() else None, known, statistics, scaled_by)


def column_scale(X: Matrix, scale: Scale, rows: Rows | None = None, weight: Vector | None = None) -> Vector:
    """Return a positive divisor per column: standard deviation, or range; 1 for constant columns.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features.
    scale : {"standard", "minmax"}
        Standard deviation (of the population, weighted) or maximum minus minimum.
    rows : ndarray of int64, optional
        The rows that take part; by default all.
    weight : ndarray, optional
        Weights of these rows; they count as repetitions.

    Examples
    --------
    >>> column_scale(np.array([[1.0, 5.0], [3.0, 5.0]]), "minmax").tolist()
    [2.0, 1.0]
    """
    if scale not in ("standard", "minmax"):
        raise ParameterError("scale", "None, 'standard' or 'minmax'", scale)
    return divisors(scale, measure_columns(plain_design(X, rows, n_threads=1), weight=weight)[1])


def _reference(known: ColumnRange, constant: Mask) -> Vector | None:
    """Return what to subtract from columns that need it, 0 for the others; None where no column does.

    Smaller offsets are left alone: the stated rounding of products accounts for the few bits that they cost,
    and kernels without a subtraction are faster.
    """
    shift = np.where(known.full & ~constant, large_offset(known.low, known.high), 0.0)
    return shift if shift.any() else None


def _constant_columns(
    X: Matrix, design: PlainDesign, compared: ComparedRows, known: ColumnRange, n_threads: int
) -> Mask:
    """Return which columns have equal values wherever rows are compared."""
    everywhere = known.low == known.high
    if compared.pairs is None:
        assert compared.query_ptr is not None
        varies = design.varying_columns(compared.query_ptr, everywhere)
    elif not in_memory(X):
        varies = _varying_in_chunks(X, design, compared.pairs, everywhere, n_threads)
    else:
        order, ptr = connected_rows(compared.pairs, X.shape[0])
        varies = plain_design(X, order, n_threads=n_threads).varying_columns(ptr, everywhere)
    return np.asarray(everywhere | ~varies)


def connected_rows(pairs: NDArray[Any], n_rows: int) -> tuple[Rows, Rows]:
    """Return the rows in an order in which those that pairs connect are neighbours, and where these begin.

    A column is equal in the two rows of every pair where it is constant within each of these groups.

    Examples
    --------
    >>> order, ptr = connected_rows(np.array([[0, 2], [2, 3]]), 4)
    >>> order.tolist(), ptr.tolist()
    ([0, 2, 3, 1], [0, 3, 4])
    """
    edges = (np.ones(len(pairs), dtype=np.int8), (pairs[:, 0], pairs[:, 1]))
    graph = sparse.coo_array(edges, shape=(n_rows, n_rows))
    n_groups, group = connected_components(graph, directed=False)
    ptr = np.concatenate(([0], np.cumsum(np.bincount(group, minlength=n_groups)))).astype(np.int64)
    return np.argsort(group, kind="stable").astype(np.int64), ptr


def _varying_in_chunks(
    X: StoredMatrix, design: PlainDesign, pairs: NDArray[Any], settled: Mask, n_threads: int
) -> Mask:
    """Return the same of rows in chunks: some pairs settle most columns, and the others are fetched."""
    sample = pairs[: max(1, min(_FIRST_PAIRS, _MOST_VALUES // X.shape[1]))].astype(np.int64)
    varies = settled | rows_differ(design.take(sample[:, 0]), design.take(sample[:, 1]))
    order, ptr = connected_rows(pairs, X.shape[0])
    width = max(1, _MOST_VALUES // X.shape[0])
    left = np.flatnonzero(~varies)
    while len(left):
        # Of sparse rows all columns that are left are fetched at once: they have few entries.
        blocks = [rows for _, _, rows in X.map_blocks(partial(_chosen, columns=left, width=width))]
        together = stacked(blocks)
        taken = left[: together.shape[1]]
        found = plain_design(together, order, n_threads=n_threads)
        varies[taken] = found.varying_columns(ptr, np.zeros(len(taken), dtype=bool))
        left = left[len(taken) :]
    return varies


def _chosen(X: MemoryMatrix, along: None, *, columns: Rows, width: int) -> MemoryMatrix:
    """Return some columns: of dense rows the first so many of them."""
    del along
    if is_sparse(X):
        chosen: MemoryMatrix = X[:, columns]
        return chosen
    return np.ascontiguousarray(X[:, columns[:width]])
