"""The Gram matrix of query-centred data: over features, or over rows where there are fewer of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.designs.centred import Block, CentredRows
from marginrank.designs.gram_sums import BlockSum, GramSums, tree_sum

# Strips are summed each by one thread, then in a fixed tree. Each needs a matrix of its own.
_MOST_STRIPS = 16
_STRIP_BYTES = 2**28
# A product of sparse matrices pays where it has this many times fewer terms than the dense one.
_SPARSE_PAYS = 160


@dataclass(frozen=True)
class CentredGram:
    """Second moments of query-centred rows ``Xc`` and targets ``Yc``.

    Attributes
    ----------
    rows : CentredRows
        The centred rows, for products with them.
    over_rows : bool
        Whether ``matrix`` is ``Xc Xc'`` rather than ``Xc' Xc``.
    matrix : ndarray
        The Gram matrix, symmetric, float64.
    targets : ndarray of shape (n_rows, n_targets)
        ``Yc``: targets minus the mean of their query, times the roots of the weights.
    moment : ndarray of shape (k, n_targets)
        ``Xc' Yc``, or ``Yc`` where the matrix is over rows.
    """

    rows: CentredRows
    over_rows: bool
    matrix: NDArray[np.float64]
    targets: NDArray[np.float64]
    moment: NDArray[np.float64]


def centred_gram(
    rows: CentredRows,
    targets: NDArray[np.float64],
    *,
    over_rows: bool | None = None,
    sums: GramSums | None = None,
) -> CentredGram:
    """Accumulate the Gram matrix of centred rows and their products with the targets.

    Parameters
    ----------
    rows : CentredRows
        The data.
    targets : ndarray of shape (n_rows,) or (n_rows, n_targets)
        Labels in grouped order.
    over_rows : bool, optional
        The matrix to form; None takes the smaller one.
    sums : GramSums, optional
        Of the same rows. It has the matrix of the blocks so far at any moment, where blocks are multiplied
        as dense ones, and the whole in the end.

    Returns
    -------
    CentredGram
        The same bits for any number of threads.

    Notes
    -----
    Costs ``m n min(m, n)`` multiplications and additions for dense data, and no copy of them. Sparse data are
    multiplied sparse where few entries meet, and block by block as dense ones otherwise.

    Examples
    --------
    >>> rows = CentredRows(np.array([[1.0], [3.0], [7.0]]), np.array([0, 2, 3]), n_threads=1)
    >>> gram = centred_gram(rows, np.array([0.0, 1.0, 5.0]))
    >>> gram.matrix.tolist(), gram.moment.tolist()
    ([[2.0]], [[1.0]])
    """
    Y = rows.centre(np.asarray(targets, dtype=np.float64).reshape(rows.shape[0], -1))
    sums = GramSums(rows, over_rows) if sums is None else sums
    if sums.over_rows:
        matrix, moment = _sparse_over_rows(rows) if rows.is_sparse else _dense_over_rows(sums, Y), Y
    elif rows.is_sparse and _SPARSE_PAYS * rows.n_entries**2 < (rows.shape[0] * rows.shape[1]) ** 2:
        matrix, moment = _sparse_over_features(rows, Y)
    else:
        matrix, moment = _dense_over_features(sums, Y)
    matrix = _symmetric(matrix)
    sums.keep_whole(matrix, moment)
    return CentredGram(rows, sums.over_rows, matrix, Y, moment)


def _dense_over_features(sums: GramSums, Y: NDArray[np.float64]) -> tuple[Any, Any]:
    rows, n, n_targets = sums.rows, sums.rows.shape[1], Y.shape[1]

    def strip(numbered: tuple[int, Sequence[Block]]) -> tuple[Any, Any]:
        number, blocks = numbered
        first = blocks[0].begin
        total = BlockSum(np.zeros((n, n)), np.zeros((n, n_targets)), first, first)
        matrix = np.empty((n, n))
        for block in sums.until_stopped(blocks):
            values = rows.dense(block)
            # numpy sees the symmetry, as BLAS's dsyrk in scipy does, and unlike that lets other threads run.
            np.matmul(values.T, values, out=matrix)
            moment = total.moment + values.T @ Y[block.begin : block.end]
            matrix += total.matrix
            sums.keep(number, added := BlockSum(matrix, moment, first, block.end))
            total, matrix = added, total.matrix
        return total.matrix, total.moment

    parts = list(rows.map(strip, enumerate(_strips(rows.blocks, n)), sums.stop))
    return tree_sum([matrix for matrix, _ in parts]), tree_sum([moment for _, moment in parts])


def _sparse_over_features(rows: CentredRows, Y: NDArray[np.float64]) -> tuple[Any, Any]:
    """Sum ``X' W X`` sparse and take off the part of the means, query by query.

    Little is lost to the difference: where a share d of a column's entries is stored, its centred square is
    at least 1 - d of its square, and columns stored in full have been shifted.
    """

    def strip(blocks: Sequence[Block]) -> tuple[Any, Any]:
        begin, end = blocks[0].begin, blocks[-1].end
        values = rows.raw(begin, end)
        moment = values.T @ (rows.root_weight[begin:end, None] * Y[begin:end])
        means = [_mean_rows(rows, block) for block in blocks if not block.is_piece]
        values.data *= np.repeat(rows.root_weight[begin:end], np.diff(values.indptr))
        matrix = (values.T @ values).toarray()
        if means:
            stacked = sparse.vstack(means, format="csr")
            matrix -= (stacked.T @ stacked).toarray()
        return matrix, moment

    parts = list(rows.map(strip, _strips(rows.blocks, rows.shape[1])))
    matrix = tree_sum([matrix for matrix, _ in parts])
    for query, mean in rows.long_queries.items():
        matrix -= rows.query_mass[query] * np.outer(mean, mean)
    return matrix, tree_sum([moment for _, moment in parts])


def _mean_rows(rows: CentredRows, block: Block) -> Any:
    """Return the means of a block's queries, times the roots of their masses."""
    means = rows.membership(block.first, block.last) @ rows.raw(block.begin, block.end)
    root = np.sqrt(rows.query_mass[block.first : block.last])
    return sparse.csr_array(sparse.diags_array(root) @ means)


def _dense_over_rows(sums: GramSums, Y: NDArray[np.float64]) -> Any:
    rows, (m, n) = sums.rows, sums.rows.shape
    width = rows.column_width

    def strip(numbered: tuple[int, Sequence[int]]) -> Any:
        number, starts = numbered
        first = starts[0]
        total = BlockSum(np.zeros((m, m)), Y, first, first)
        matrix = np.empty((m, m))
        for begin in sums.until_stopped(starts):
            end = min(begin + width, n)
            values = rows.columns(begin, end)
            np.matmul(values, values.T, out=matrix)
            matrix += total.matrix
            sums.keep(number, added := BlockSum(matrix, Y, first, end))
            total, matrix = added, total.matrix
        return total.matrix

    return tree_sum(list(rows.map(strip, enumerate(_strips(range(0, n, width), m)), sums.stop)))


def _sparse_over_rows(rows: CentredRows) -> Any:
    """Multiply sparse, then centre the small matrix from both sides."""
    values = rows.raw(0, rows.shape[0])
    product = (values @ values.T).toarray()
    return rows.centre(rows.centre(product).T)


def _strips(items: Sequence[Any], order: int) -> list[Sequence[Any]]:
    """Cut items into runs, few enough that their matrices of this order stay within bounds."""
    room = max(2, _STRIP_BYTES // (8 * order * order))
    edges = np.linspace(0, len(items), min(_MOST_STRIPS, room, len(items)) + 1).astype(int)
    return [items[a:b] for a, b in pairwise(edges)]


def _symmetric(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Copy the upper triangle into the lower one: after centring from both sides they differ by rounding."""
    upper = np.triu(matrix)
    return upper + np.triu(matrix, 1).T


__all__ = ["CentredGram", "centred_gram"]
