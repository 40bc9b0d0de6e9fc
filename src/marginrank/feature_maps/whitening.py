"""The factor that turns kernel values into features: ``T = U_k S_k^(-1/2)`` for ``W = U S U'``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from marginrank.exceptions import MarginRankError, warn
from marginrank.system.threads import one_blas_thread

# Rounding makes eigenvalues of a kernel matrix a little negative; this much is no rounding.
_NEGATIVE = 1e-4


def whitening(
    W: NDArray[np.float64], rank: int | None, cutoff: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factor and the eigenvalues that it keeps, largest first.

    Parameters
    ----------
    W : ndarray of shape (n_landmarks, n_landmarks)
        Kernel values between landmarks.
    rank : int or None
        Keep at most so many eigenvalues.
    cutoff : float
        Drop eigenvalues at or below this part of the largest.

    Examples
    --------
    >>> T, kept = whitening(np.diag([4.0, 1.0, 0.0]), None, 1e-12)
    >>> T.tolist(), kept.tolist()
    ([[0.5, 0.0], [0.0, 1.0], [0.0, 0.0]], [4.0, 1.0])
    """
    with one_blas_thread():
        values, vectors = eigh((W + W.T) / 2)
    values, vectors = values[::-1], vectors[:, ::-1]
    if not values[0] > 0:
        raise MarginRankError(
            "The kernel matrix of the landmarks must have a positive eigenvalue; the largest is "
            f"{values[0]:.3g}. Check the precomputed kernel, coef0, or X."
        )
    if values[-1] < -_NEGATIVE * values[0]:
        warn(
            "The kernel matrix of the landmarks is not positive semidefinite: its eigenvalues run from "
            f"{values[-1]:.3g} to {values[0]:.3g}. The negative ones are dropped; check the precomputed "
            "kernel, or coef0.",
            UserWarning,
        )
    n_kept = int(np.count_nonzero(values > cutoff * values[0]))
    n_kept = n_kept if rank is None else min(n_kept, rank)
    values, vectors = values[:n_kept], vectors[:, :n_kept]
    # An eigenvector's sign is arbitrary; fix it, so that LAPACK's choice does not show.
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None, :], axis=0)
    return vectors * (np.where(largest < 0, -1.0, 1.0) / np.sqrt(values)), values.copy()
