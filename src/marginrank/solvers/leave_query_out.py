"""Exact scores of each query by the model that was fitted without it, for every alpha, without refitting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.solvers.spectral import SpectralPath, rounding
from marginrank.system.threads import one_blas_thread
from marginrank.types import Array, Vector

# Queries of similar length share stacked arrays of about this many numbers, rows of zeros filling up.
_STACK_ENTRIES = 2**20
_SIZE_STEP = 1.15
# Below this part of the largest eigenvalue, a shift is small: see _Stack.over_rows.
_SMALL_SHIFT = 1e-3
_TINY = np.finfo(np.float64).tiny


def leave_query_out(path: SpectralPath, alphas: Sequence[float] | Vector) -> Iterator[tuple[slice, Array]]:
    """Yield, block after block of rows, the scores by the fits without the query of each row.

    Parameters
    ----------
    path : SpectralPath
        The decomposition of all data.
    alphas : sequence of float
        The regularisations, each as in ``path.coefficients``.

    Yields
    ------
    rows : slice
        Consecutive rows in grouped order: whole queries, or a piece of one very long query.
    scores : ndarray of shape (n_alphas, n_targets, n_rows_of_block)
        Scores of these rows, minus the mean of their query.

    Notes
    -----
    The fit without query q, of mass ``M_q``, solves ``(Xc'Xc - Zq'Zq + lambda_q) w = Xc'yc - Zq'yq`` with
    ``lambda_q = alpha (M - M_q) / 2``. For a query shorter than about the rank r, the identity of Woodbury
    turns that into one system over its rows for each alpha, of ``m_q^2 r + m_q^3 / 3`` operations; for a
    longer one, a decomposition of the matrix on the left serves all alphas. A direction that a query holds
    alone has no part in the fit without it; it is recognised by an eigenvalue within rounding of zero.

    Examples
    --------
    >>> from marginrank.designs.centred import CentredRows
    >>> from marginrank.designs.gram import centred_gram
    >>> rows = CentredRows(np.array([[0.0], [2.0], [1.0], [5.0]]), np.array([0, 2, 4]), n_threads=1)
    >>> path = SpectralPath(centred_gram(rows, np.array([0.0, 2.0, 0.0, 8.0])))
    >>> [np.round(scores, 6).tolist() for _, scores in leave_query_out(path, [1e-9])]
    [[[[-2.0, 2.0, -2.0, 2.0]]]]
    """
    alphas = np.asarray(alphas, dtype=np.float64)
    rows = path.gram.rows
    for is_piece, group in groupby(rows.blocks, key=lambda block: bool(block.is_piece)):
        if is_piece:
            queries = [list(pieces) for _, pieces in groupby(group, key=lambda block: block.first)]
            yield from chain.from_iterable(_long_query(path, alphas, pieces) for pieces in queries)
        else:
            yield from rows.map(lambda block: _whole_queries(path, alphas, block), group)


def leave_query_out_scores(path: SpectralPath, alphas: Sequence[float] | Vector) -> Array:
    """Return all scores of :func:`leave_query_out`, of shape (n_alphas, n_targets, n_rows).

    Examples
    --------
    >>> from marginrank.designs.centred import CentredRows
    >>> from marginrank.designs.gram import centred_gram
    >>> rows = CentredRows(np.array([[0.0], [2.0], [1.0], [5.0]]), np.array([0, 2, 4]), n_threads=1)
    >>> path = SpectralPath(centred_gram(rows, np.array([0.0, 2.0, 0.0, 8.0])))
    >>> leave_query_out_scores(path, [1e-9, 1.0]).round(3).tolist()  # slopes 2 and 1, then shrunk
    [[[-2.0, 2.0, -2.0, 2.0]], [[-1.778, 1.778, -1.333, 1.333]]]
    """
    scores = np.empty((len(alphas), path.gram.targets.shape[1], path.gram.rows.shape[0]))
    for rows, part in leave_query_out(path, alphas):
        scores[:, :, rows] = part
    return scores


def _shifts(path: SpectralPath, alphas: Vector, first: int, last: int) -> Array:
    """Return ``lambda_q`` by query and alpha; infinite where a query is all there is, so that w is 0."""
    rest = path.mass - path.gram.rows.query_mass[first:last]
    rest[rest <= 1e-14 * path.mass] = np.inf
    return rest[:, None] * (alphas / 2.0)


def _whole_queries(path: SpectralPath, alphas: Vector, block: Any) -> tuple[slice, Array]:
    rows, targets = path.gram.rows, path.gram.targets
    span = slice(block.begin, block.end)
    Z, Y = path.project(block), targets[span]
    starts = rows.query_ptr[block.first : block.last] - block.begin
    sizes = np.diff(rows.query_ptr[block.first : block.last + 1])
    shifts = _shifts(path, alphas, block.first, block.last)
    scores = np.empty((len(alphas), Y.shape[1], len(Z)))
    for queries, length in _similar(sizes, Z.shape[1]):
        places = np.arange(length)
        filled = places < sizes[queries][:, None]
        index = np.where(filled, starts[queries][:, None] + places, 0)
        stack = _Stack(path, Z[index], Y[index], filled, index + block.begin)
        if _rows_pay(length, Z.shape[1], len(alphas)):
            out = stack.over_rows(shifts[queries])
        else:
            out = stack.over_features(shifts[queries])
        scores[:, :, index[filled]] = out[:, filled].transpose(0, 2, 1)
    return span, scores / rows.root_weight[span]


def _similar(sizes: NDArray[np.int64], rank: int) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield numbers of queries of similar size and the size of the longest, in stacks within bounds."""
    order = np.argsort(sizes, kind="stable")
    position = 0
    while position < len(order):
        smallest = sizes[order[position]]
        end = int(np.searchsorted(sizes[order], max(int(smallest * _SIZE_STEP), 2), side="right"))
        longest = int(sizes[order[end - 1]])
        room = max(1, _STACK_ENTRIES // (max(longest, min(rank, 4 * longest)) * max(rank, 1)))
        end = min(end, position + room)
        yield order[position:end], int(sizes[order[end - 1]])
        position = end


def _rows_pay(length: int, rank: int, n_alphas: int) -> bool:
    """Compare microseconds, as measured with 20 to 400 features and 10 to 200 rows a query."""
    by_rows = n_alphas * (5.0 + 3e-3 * length * rank + 5e-5 * length**2 * (rank + 2 * length))
    by_features = 30.0 + 5e-5 * rank**2 * length + 5e-4 * rank**3
    return by_rows < by_features


class _ResidualBasis(NamedTuple):
    """What ``I - H`` and the residual of the full fit are made of, in a basis of the rows of a query.

    With ``g = lambda / (e + lambda)``, ``I - H = Q (diag(rest) + U g U') Q'`` and
    ``y - Z D^-1 b = Q (moment + U g fit)``. All terms are positive, and the basis keeps small ones apart from
    large ones, so nothing is lost however small lambda is. A direction with a ``rest`` of 0 is held by this
    query alone, which the unregularised fit follows exactly; rounding must not make it anything else.
    """

    vectors: Array
    U: Array
    fit: Array
    rest: Array
    moment: Array


class _Stack:
    """Queries of similar length in stacked arrays, rows of zeros filling up."""

    def __init__(self, path: SpectralPath, Z: Array, Y: Array, filled: Any, index: Any) -> None:
        Z[~filled] = 0.0
        Y[~filled] = 0.0
        self._path, self._Z, self._Y, self._filled, self._index = path, Z, Y, filled, index

    def over_features(self, shifts: Array) -> Array:
        """Return the scores, (n_alphas, queries, length, n_targets), by the fits without each query."""
        Z, Y = self._Z, self._Y
        w = _without(self._path, Z.transpose(0, 2, 1) @ Z, Z.transpose(0, 2, 1) @ Y, shifts)
        shape = (*Y.shape[:2], shifts.shape[1], Y.shape[2])
        return (Z @ w).reshape(shape).transpose(2, 0, 1, 3)

    def over_rows(self, shifts: Array) -> Array:
        """Return the same from a system over the rows of each query, for each alpha.

        With ``D = e + lambda_q`` and ``H = Z D^-1 Z'``, the scores are ``(I - H)^-1 (Z D^-1 b - H y)``, or
        y minus ``(I - H)^-1 (y - Z D^-1 b)``. The first form keeps the digits of small scores where lambda is
        large, the second those of a small ``I - H`` where lambda is small.
        """
        small = _SMALL_SHIFT * self._path.eigenvalues[-1:].sum()
        is_small = [bool(shift.max() < small) for shift in shifts.T]
        basis = self._residual_basis() if any(is_small) else None
        solved = [
            self._by_residual(shift, basis) if basis is not None and use else self._by_scores(shift)
            for shift, use in zip(shifts.T, is_small, strict=True)
        ]
        return np.stack(solved)

    def _by_scores(self, shift: Vector) -> Array:
        root = 1.0 / np.sqrt(self._path.eigenvalues + shift[:, None])
        W = self._Z * root[:, None, :]
        H = W @ W.transpose(0, 2, 1)
        right = W @ (root[:, :, None] * self._path.moment) - H @ self._Y
        np.negative(H, out=H)
        _add_to_diagonal(H, 1.0)
        return np.asarray(np.linalg.solve(H, right))

    def _by_residual(self, shift: Vector, basis: _ResidualBasis) -> Array:
        root = 1.0 / np.sqrt(1.0 + self._path.eigenvalues / shift[:, None])
        W = basis.U * root[:, None, :]
        left = W @ W.transpose(0, 2, 1)
        _add_to_diagonal(left, basis.rest)
        # Entries differ by factors up to e / lambda; with a diagonal of ones no pivot can mix them.
        diagonal = np.maximum(np.diagonal(left, axis1=1, axis2=2), _TINY)
        size = 1.0 / np.sqrt(diagonal)[:, :, None]
        left *= size
        left *= size.transpose(0, 2, 1)
        right = (W @ (root[:, :, None] * basis.fit) + basis.moment) * size
        return np.asarray(self._Y - basis.vectors @ (np.linalg.solve(left, right) * size))

    def _residual_basis(self) -> _ResidualBasis:
        path, fit = self._path, self._path.left_moment
        if path.gram.over_rows:
            U, null = (vectors[self._index] for vectors in (path.left_vectors, path.null_vectors))
            U[~self._filled] = 0.0
            null[~self._filled] = 0.0
            rest = null @ null.transpose(0, 2, 1)
            _add_to_diagonal(rest, ~self._filled)
            moment = null @ path.null_moment
        else:
            U = self._Z / np.sqrt(path.eigenvalues)
            rest = -(U @ U.transpose(0, 2, 1))
            _add_to_diagonal(rest, 1.0)
            moment = self._Y - U @ fit
        values, vectors = np.linalg.eigh(rest)
        rotate = vectors.transpose(0, 2, 1)
        held = values < rounding(rest.shape[1])
        values[held] = 0.0
        moment = rotate @ moment
        moment[held] = 0.0
        return _ResidualBasis(vectors, rotate @ U, fit, values, moment)


def _add_to_diagonal(stack: Array, values: Any) -> None:
    diagonal = np.arange(stack.shape[1])
    stack[:, diagonal, diagonal] += values


def _without(path: SpectralPath, square: Array, moment: Array, shifts: Array) -> Array:
    """Return the fits without each query, of shape (queries, rank, n_alphas * n_targets)."""
    left = np.negative(square)
    _add_to_diagonal(left, path.eigenvalues)
    values, vectors = np.linalg.eigh(left)
    right = vectors.transpose(0, 2, 1) @ (path.moment - moment)
    kept = values > rounding(left.shape[1]) * path.eigenvalues[-1:].sum()
    right[~kept] = 0.0
    denominator = np.where(kept, values, 0.0)[:, :, None] + shifts[:, None, :]
    shrunk = right[:, :, None, :] / denominator[:, :, :, None]
    return np.asarray(vectors @ shrunk.reshape(*values.shape, shifts.shape[1] * moment.shape[2]))


def _long_query(path: SpectralPath, alphas: Vector, pieces: list[Any]) -> Iterator[tuple[slice, Array]]:
    """Yield the scores of one query that is cut into pieces, in two passes over them."""
    rows, targets = path.gram.rows, path.gram.targets

    def moments(block: Any) -> tuple[Array, Array]:
        Z = path.project(block)
        return Z.T @ Z, Z.T @ targets[block.begin : block.end]

    rank, n_targets = path.moment.shape
    square, moment = np.zeros((rank, rank)), np.zeros((rank, n_targets))
    for part, part_moment in rows.map(moments, pieces):
        square += part
        moment += part_moment
    shifts = _shifts(path, alphas, pieces[0].first, pieces[0].last)
    with one_blas_thread():
        w = _without(path, square[None], moment[None], shifts)[0]

    def scores(block: Any) -> tuple[slice, Array]:
        span = slice(block.begin, block.end)
        centred = path.project(block) @ w / rows.root_weight[span, None]
        return span, np.ascontiguousarray(centred.T).reshape(len(alphas), n_targets, -1)

    yield from rows.map(scores, pieces)
