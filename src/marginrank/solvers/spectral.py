"""Least squares for a whole grid of alphas from one eigendecomposition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from marginrank.system.threads import one_blas_thread
from marginrank.types import Array, Vector


class WeightedRows(Protocol):
    """Query-centred, weighted rows ``Xc``, in blocks of whole queries or pieces of one."""

    shape: tuple[int, int]
    mass: float
    query_mass: Vector
    query_ptr: NDArray[np.int64]
    root_weight: Vector

    @property
    def blocks(self) -> Sequence[Any]:
        """Blocks with ``begin``, ``end``, ``first``, ``last`` and ``is_piece``."""

    def project(self, block: Any, V: Array) -> Array:
        """Return the rows of a block of ``Xc V``."""

    def adjoint(self, values: Array) -> Array:
        """Return ``Xc' values``."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Apply a function on several threads, results in order."""


class Gram(Protocol):
    """Second moments of centred rows and targets, over features or over rows."""

    @property
    def rows(self) -> WeightedRows:
        """The centred rows."""

    @property
    def over_rows(self) -> bool:
        """Whether the matrix is ``Xc Xc'`` rather than ``Xc' Xc``."""

    @property
    def matrix(self) -> Array:
        """The Gram matrix."""

    @property
    def targets(self) -> Array:
        """Centred targets, one column each."""

    @property
    def moment(self) -> Array:
        """``Xc'`` times the targets, or the targets where the matrix is over rows."""


class SpectralPath:
    """Minimisers of ``||Xc w - yc||^2 / M + alpha/2 ||w||^2`` for any number of alphas.

    With the eigenvalues ``e`` of the Gram matrix, ``M`` the mass of the data and ``lambda = alpha M / 2``,
    every coefficient of ``w`` in the eigenvectors is ``b / (e + lambda)``.

    Parameters
    ----------
    gram : Gram
        Second moments of query-centred data; see ``designs.gram.centred_gram``.

    Attributes
    ----------
    eigenvalues : ndarray of shape (rank,)
        Those of the Gram matrix that rounding leaves any meaning, ascending.
    moment : ndarray of shape (rank, n_targets)
        ``Xc' yc`` in the eigenvectors.

    Notes
    -----
    One decomposition costs about ``9 k^3`` operations for ``k = min(rows, features)``; then each alpha costs
    ``2 k n`` a target. Directions whose eigenvalue is within rounding of zero have no part in the optimum and
    are dropped.

    Examples
    --------
    >>> from marginrank.designs.centred import CentredRows
    >>> from marginrank.designs.gram import centred_gram
    >>> rows = CentredRows(np.array([[0.0], [2.0], [7.0]]), np.array([0, 2, 3]), n_threads=1)
    >>> path = SpectralPath(centred_gram(rows, np.array([0.0, 3.0, 5.0])))
    >>> path.coefficients([2 / 3]).tolist()  # (2 + lambda) w = 3 with lambda = 1
    [[[1.0]]]
    """

    def __init__(self, gram: Gram) -> None:
        self.gram = gram
        with one_blas_thread():
            values, vectors = linalg.eigh(gram.matrix, driver="evd", check_finite=False)
            kept = values > rounding(len(values)) * max(float(values[-1]), 0.0)
            self.eigenvalues: Vector = values[kept]
            self._vectors: Array = np.ascontiguousarray(vectors[:, kept])
            self._null: Array = np.ascontiguousarray(vectors[:, ~kept])
            self._rotated: Array = self._vectors.T @ gram.moment
        self._root = np.sqrt(self.eigenvalues)
        self.moment: Array = self._rotated * self._root[:, None] if gram.over_rows else self._rotated

    @property
    def mass(self) -> float:
        """The weight of all rows, by which the risk is divided."""
        return self.gram.rows.mass

    def coefficients(self, alphas: Sequence[float] | Vector) -> Array:
        """Return the minimiser for each alpha and target, of shape (n_alphas, n_targets, n_features)."""
        alphas = np.asarray(alphas, dtype=np.float64)
        with one_blas_thread():
            dual = self._vectors @ self._shrunk(alphas)
            if self.gram.over_rows:
                dual = self.gram.rows.adjoint(dual)
        n_targets = self.gram.targets.shape[1]
        return np.ascontiguousarray(dual.T).reshape(len(alphas), n_targets, self.gram.rows.shape[1])

    def values(self, alphas: Sequence[float] | Vector) -> Array:
        """Return the optimal value of the objective for each alpha and target."""
        shift = self._shifts(alphas)[:, None, None]
        explained = np.square(self.moment) / self.eigenvalues[:, None]
        left = np.maximum(np.square(self.gram.targets).sum(axis=0) - explained.sum(axis=0), 0.0)
        # What is left of the risk, e c^2 - 2 b c + b^2/e, and lambda c^2 together are explained * this:
        missed = (explained * (shift / (self.eigenvalues[:, None] + shift))).sum(axis=1)
        return np.asarray((left + missed) / self.mass)

    def gaps(self, alphas: Sequence[float] | Vector) -> Array:
        """Return a bound on how far each computed minimiser is from optimal, relative to its value.

        Over features, ``J(w) - min J <= ||gradient||^2 / (2 alpha)``, as the objective is strongly convex;
        over rows it is ``r' K (K + lambda)^-1 r / M`` for the residual r of the dual system, which is at most
        ``2 (||p||^2 + ||z|| ||K z|| / lambda) / M`` for its parts p, in the vectors kept, and z, the rest.
        Both are taken with the Gram matrix itself, not with its decomposition, so they show its errors: a
        gap that is not tiny means columns of so different sizes (1e7 and more) that they must be scaled.
        """
        alphas = np.asarray(alphas, dtype=np.float64)
        n_targets = self.gram.targets.shape[1]
        shift = self._shifts(alphas)
        with one_blas_thread():
            dual = self._vectors @ self._shrunk(alphas)
            residual = self.gram.matrix @ dual + np.repeat(shift, n_targets) * dual
            residual -= np.tile(self.gram.moment, len(alphas))
            slack = self._slack(residual, np.repeat(shift, n_targets)).reshape(len(alphas), n_targets)
        values = self.values(alphas)
        return np.asarray(np.divide(slack, values, out=np.zeros_like(slack), where=values > 0.0))

    def _slack(self, residual: Array, shift: Vector) -> Vector:
        if not self.gram.over_rows:
            return np.asarray(np.square(residual).sum(axis=0) / (self.mass * shift))
        dropped = self._null @ (self._null.T @ residual)
        kept = np.square(residual - dropped).sum(axis=0)
        lost = np.linalg.norm(dropped, axis=0) * np.linalg.norm(self.gram.matrix @ dropped, axis=0)
        return np.asarray(2.0 * (kept + lost / shift) / self.mass)

    def project(self, block: Any) -> Array:
        """Return a block of the centred rows in the eigenvectors, of shape (rows, rank)."""
        if self.gram.over_rows:
            return np.asarray(self._vectors[block.begin : block.end] * self._root)
        return np.asarray(self.gram.rows.project(block, self._vectors))

    @property
    def left_vectors(self) -> Array:
        """Left singular vectors of ``Xc``, one row per row; only where the matrix is over rows."""
        return self._vectors

    @property
    def left_moment(self) -> Array:
        """Products of the left singular vectors with the targets."""
        return self._rotated if self.gram.over_rows else np.asarray(self._rotated / self._root[:, None])

    @property
    def null_vectors(self) -> Array:
        """What completes ``left_vectors`` to a basis."""
        return self._null

    @property
    def null_moment(self) -> Array:
        """Products of the null vectors with the targets."""
        return np.asarray(self._null.T @ self.gram.targets)

    def _shifts(self, alphas: Sequence[float] | Vector) -> Vector:
        return np.asarray(alphas, dtype=np.float64) * (self.mass / 2.0)

    def _shrunk(self, alphas: Vector) -> Array:
        """Return the solutions in the eigenvectors, one column per alpha and target."""
        shrunk = self._rotated[:, None, :] / (self.eigenvalues[:, None] + self._shifts(alphas))[:, :, None]
        return shrunk.reshape(len(self.eigenvalues), len(alphas) * self.gram.targets.shape[1])


def rounding(order: int) -> float:
    """Return the part of the largest eigenvalue of a Gram matrix below which others are rounding."""
    return float((order + 64) * np.finfo(np.float64).eps)


# Nanoseconds of one core, measured with one thread of BLAS: a term of the dense product and of the sparse
# one, an entry converted and centred, a cubed order of the eigendecomposition; an entry of one pass of
# conjugate gradients, which takes about this many passes for a whole grid of alphas at once.
_DENSE_TERM, _SPARSE_TERM, _ENTRY, _EIGEN = 0.06, 10.0, 4.5, 0.4
_PASS_ENTRY, _PASSES = 2.0, 30
# The matrix, its eigenvectors, work space and partial sums; a gigabyte is always allowed.
_MATRICES, _FREE_BYTES = 8, 2**30


def direct_pays(n_rows: int, n_features: int, nonzeros: int, n_alphas: int) -> bool:
    """Whether one decomposition costs less than conjugate gradients, in time, and in memory no more than X.

    Parameters
    ----------
    n_rows, n_features : int
        Shape of the data.
    nonzeros : int
        Stored entries; ``n_rows * n_features`` for dense data.
    n_alphas : int
        Alphas that are wanted.

    Notes
    -----
    With ``k = min(rows, features)`` the Gram matrix takes ``rows features k`` terms, or about
    ``nonzeros k / max(rows, features)`` times the entries of a row where the data are sparse, and the
    decomposition ``k^3``. Dense data of many rows are decomposed up to about a thousand features.

    Examples
    --------
    >>> direct_pays(1_175_000, 136, 1_175_000 * 136, 21)
    True
    >>> direct_pays(512_000, 47_000, 512_000 * 90, 21)
    False
    """
    order, other = min(n_rows, n_features), max(n_rows, n_features)
    if 8 * _MATRICES * order**2 > max(_FREE_BYTES, 8 * nonzeros):
        return False
    dense = _DENSE_TERM * n_rows * n_features * order + _ENTRY * n_rows * n_features
    sparse = _SPARSE_TERM * nonzeros**2 / other + _ENTRY * nonzeros
    direct = min(dense, sparse) if nonzeros < n_rows * n_features else dense
    direct += _EIGEN * order**3 + _DENSE_TERM * 2 * n_alphas * order * n_features
    iterative = _PASSES * (_PASS_ENTRY * nonzeros + n_alphas * n_features)
    return bool(direct < iterative)
