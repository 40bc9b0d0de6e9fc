"""Rows of X mapped to features, block by block, on several threads: what mapped designs and maps share.

A map computes each row as if it stood alone, so the features of a row have the same bits for any number of
threads, any blocks, and any rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.row_products import RowProduct
from marginrank.system.progress_bar import stage
from marginrank.system.threads import run_parallel
from marginrank.types import Matrix, MemoryMatrix, Vector

# A block of mapped rows stays in the cache of one core between the product and what follows it.
_BLOCK_BYTES = 1 << 21
_SMALLEST_BLOCK = 32
# Enough to share the work, few enough that partial sums take no memory to speak of.
MAX_GROUPS = 64


class BlockMap(Protocol):
    """A map of rows to features, one block of rows at a time.

    The features of a row are ``b @ factor``, with ``b`` what ``transform_block`` writes; a factor of None
    stands for the identity. Keeping the two apart saves the product: ``(B F) w`` is ``B (F w)``.
    """

    @property
    def width(self) -> int:
        """Columns of a block."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """What a block is stored as: float32 or float64."""

    @property
    def factor(self) -> NDArray[np.float64] | None:
        """The matrix of shape (width, n_features_out) that follows the block, or None."""

    def transform_block(self, X: MemoryMatrix, out: NDArray[Any]) -> None:
        """Map the rows of X, dense or CSR, into ``out`` of shape (n_rows, width)."""


def n_features_out(mapping: BlockMap) -> int:
    """Return the number of features that a map makes."""
    return mapping.width if mapping.factor is None else mapping.factor.shape[1]


def block_weights(factor: NDArray[np.float64], coef: Vector) -> Vector:
    """Return ``factor @ coef``, the weights of a block's columns, in one order of sums.

    Examples
    --------
    >>> block_weights(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]))
    array([3., 7.])
    """
    return np.asarray(RowProduct(np.ascontiguousarray(factor.T))(coef[None, :])[0])


def block_rows(mapping: BlockMap) -> int:
    """Return the number of rows in a block."""
    return max(_SMALLEST_BLOCK, _BLOCK_BYTES // (mapping.width * mapping.dtype.itemsize))


def row_blocks(n_rows: int, step: int) -> list[tuple[int, int]]:
    """Return the bounds of the blocks that rows are cut into.

    Examples
    --------
    >>> row_blocks(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def query_runs(query_ptr: NDArray[np.int64], step: int) -> list[tuple[int, int]]:
    """Return runs of whole queries, first and last, of about ``step`` rows each.

    Examples
    --------
    >>> query_runs(np.array([0, 3, 5, 6, 12]), 5)
    [(0, 2), (2, 3), (3, 4)]
    """
    runs, first, n_queries = [], 0, len(query_ptr) - 1
    while first < n_queries:
        last = int(np.searchsorted(query_ptr, query_ptr[first] + step, side="right")) - 1
        last = min(max(last, first + 1), n_queries)
        runs.append((first, last))
        first = last
    return runs


def groups(n_blocks: int) -> list[range]:
    """Deal blocks out into at most 64 groups of neighbours, for one partial sum each.

    Examples
    --------
    >>> groups(3)
    [range(0, 1), range(1, 2), range(2, 3)]
    """
    n_groups = min(n_blocks, MAX_GROUPS)
    bounds = [n_blocks * k // n_groups for k in range(n_groups + 1)] if n_groups else [0]
    return [range(first, last) for first, last in pairwise(bounds)]


def take_rows(X: Matrix, rows: NDArray[np.int64] | None, first: int, last: int) -> MemoryMatrix:
    """Return rows ``first`` to ``last`` of the order ``rows``."""
    return X[first:last] if rows is None else X[rows[first:last]]


def map_rows(
    mapping: BlockMap, X: Matrix, rows: NDArray[np.int64] | None = None, *, n_threads: int
) -> NDArray[Any]:
    """Return the blocks of all rows as one matrix, without the factor; nothing is held twice."""
    return _filled(mapping, X, rows, mapping.width, mapping.transform_block, n_threads)


def map_features(
    mapping: BlockMap, X: Matrix, rows: NDArray[np.int64] | None = None, *, n_threads: int
) -> NDArray[Any]:
    """Return the features of all rows as one matrix: blocks times factor, one block at a time."""
    if mapping.factor is None:
        return map_rows(mapping, X, rows, n_threads=n_threads)
    product = RowProduct(mapping.factor.astype(mapping.dtype))

    def transform(taken: MemoryMatrix, out: NDArray[Any]) -> None:
        block = np.empty((len(out), mapping.width), dtype=mapping.dtype)
        mapping.transform_block(taken, block)
        product(block, out)

    return _filled(mapping, X, rows, product.width, transform, n_threads)


def _filled(
    mapping: BlockMap,
    X: Matrix,
    rows: NDArray[np.int64] | None,
    width: int,
    transform: Callable[[MemoryMatrix, NDArray[Any]], object],
    n_threads: int,
) -> NDArray[Any]:
    """Return what a function makes of the rows, block by block, each into its part of one matrix."""
    n_rows = X.shape[0] if rows is None else len(rows)
    out = np.empty((n_rows, width), dtype=mapping.dtype)

    def fill(bounds: tuple[int, int]) -> None:
        first, last = bounds
        transform(take_rows(X, rows, first, last), out[first:last])
        block_done()

    blocks = row_blocks(n_rows, block_rows(mapping))
    block_done = stage("kernel map", len(blocks))
    run_parallel(fill, blocks, n_threads)
    return out
