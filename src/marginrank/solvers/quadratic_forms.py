"""Quadratic forms that stand for the Hessian of an objective: diagonal or dense, cheap to solve with."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from marginrank.solvers.cholesky import cholesky_factor, solved
from marginrank.types import Array, Mask, Vector

# Rounding leaves a flat direction this much of its features' own curvature, which keeps the factor sound.
_ROUNDING = 1e-11


class QuadraticForm(Protocol):
    """A symmetric positive definite matrix."""

    @property
    def separable(self) -> bool:
        """Whether it is diagonal, so that what some entries add does not depend on the others."""

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""

    def solve(self, vector: Array) -> Array:
        """Return the product of the inverse with a vector, or with each column of a matrix."""

    def among(self, chosen: Mask) -> QuadraticForm:
        """Return the form of vectors that are 0 but for some entries."""


class DiagonalForm:
    """A diagonal of positive numbers.

    Examples
    --------
    >>> DiagonalForm(np.array([1.0, 4.0])).solve(np.array([1.0, 1.0]))
    array([1.  , 0.25])
    """

    separable = True

    def __init__(self, diagonal: Vector) -> None:
        self._diagonal = diagonal

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        return self._diagonal * vector

    def solve(self, vector: Array) -> Array:
        """Return the product of the inverse with a vector, or with each column of a matrix."""
        return vector / (self._diagonal if vector.ndim == 1 else self._diagonal[:, None])

    def among(self, chosen: Mask) -> DiagonalForm:
        """Return the form of some entries."""
        return DiagonalForm(self._diagonal[chosen])


class DenseForm:
    """The matrix ``C + alpha I`` with a factor of it, for a positive semidefinite ``C``.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The matrix ``C``; it is not changed.
    alpha : float
        What is added to its diagonal.

    Examples
    --------
    >>> form = DenseForm(np.array([[2.0, 1.0], [1.0, 2.0]]), 1.0)
    >>> form.solve(form.times(np.array([1.0, -1.0]))).round(6)
    array([ 1., -1.])
    """

    separable = False

    def __init__(self, matrix: NDArray[np.float64], alpha: float) -> None:
        self._matrix, self._alpha = matrix, alpha
        self._added = alpha + _ROUNDING * matrix.diagonal()
        whole = matrix.copy()
        whole[np.diag_indices_from(whole)] += self._added
        factor = cholesky_factor(whole)
        if factor is None:
            raise LinAlgError("The matrix is not positive definite.")
        self._factor = factor

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        return np.asarray(self._matrix @ vector + self._added * vector)

    def solve(self, vector: Array) -> Array:
        """Return the product of the inverse with a vector, or with each column of a matrix."""
        return solved(self._factor, vector)

    def among(self, chosen: Mask) -> DenseForm:
        """Return the form of some entries, with a factor of its own."""
        return DenseForm(self._matrix[np.ix_(chosen, chosen)], self._alpha)


def form_of(curvature: NDArray[np.float64], alpha: float) -> QuadraticForm:
    """Return the form of a curvature, given as a diagonal or as a matrix, plus ``alpha I``.

    Examples
    --------
    >>> form_of(np.array([1.0, 3.0]), 1.0).times(np.ones(2))
    array([2., 4.])
    """
    if curvature.ndim == 2:
        return DenseForm(curvature, alpha)
    return DiagonalForm(curvature + alpha)
