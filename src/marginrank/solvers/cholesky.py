"""Cholesky factors of small systems: LAPACK's own routines.

Those of scipy.linalg call them behind checks that take longer than a solution with a hundred unknowns.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from marginrank.types import Array


def cholesky_factor(matrix: Array) -> Array | None:
    """Return a lower factor of a symmetric matrix, of which one triangle is read; None where it has none.

    The other triangle of the factor is of no meaning. The matrix may be overwritten. NaN makes a factor of
    NaN, as in scipy.linalg.

    Examples
    --------
    >>> factor = cholesky_factor(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> solved(factor, np.array([8.0, 10.0]))
    array([1.25, 1.5 ])
    >>> cholesky_factor(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    True
    """
    if not len(matrix):
        return matrix
    factor, failed = dpotrf(matrix, lower=True, clean=False, overwrite_a=True)
    return None if failed else np.asarray(factor)


def solved(factor: Array, right: Array) -> Array:
    """Return the solution of the system that a factor belongs to, for a vector or each column of a matrix."""
    return np.asarray(dpotrs(factor, right, lower=True)[0]) if right.size else right
