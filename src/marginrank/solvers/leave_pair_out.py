"""Differences of the scores of two rows by the model that was fitted without both, without refitting."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from marginrank.solvers.spectral import SpectralPath
from marginrank.system.threads import one_blas_thread
from marginrank.types import Array

# Rows at a time: with each of them all others make pairs.
_BLOCK = 256


class PairsOut:
    """Leave-pair-out of one ranking of all rows, none of which has a weight.

    Parameters
    ----------
    path : SpectralPath
        The decomposition of all rows.

    Notes
    -----
    The fit without two of m rows at alpha has ``lambda = alpha (m - 2) / 2``. With the hat matrix of all
    rows at that lambda, ``H = 1/m + Xc (Xc'Xc + lambda)^-1 Xc'``, what it leaves of the labels of both rows
    solves the 2 x 2 part of ``I - H``, with the residual of all rows on the right side. That is exact: the
    mean is an intercept that is not penalised. ``I - H`` is ``lambda / (e + lambda)`` along the left singular
    vectors and 1 across them and the mean; where these span everything, nothing cancels, however small lambda
    is.

    For each alpha ``O(m^2 rank)`` operations; ``8 m rank`` bytes for the singular vectors, and a few blocks
    of 256 rows of the hat matrix, which is never there as a whole.

    Examples
    --------
    >>> from marginrank.designs.centred import CentredRows
    >>> from marginrank.designs.gram import centred_gram
    >>> rows = CentredRows(np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([0, 4]), n_threads=1)
    >>> path = SpectralPath(centred_gram(rows, np.array([0.0, 1.0, 3.0, 4.0])))
    >>> [block.round(6).tolist()[0][1][:2] for _, block in PairsOut(path).differences(1e-9)]
    [[0.5, 0.0]]

    Without the first two rows the slope is 1/2: so much is the second ahead of the first.
    """

    def __init__(self, path: SpectralPath) -> None:
        gram = path.gram
        self._eigenvalues = path.eigenvalues
        self._targets = np.asarray(gram.targets)
        self._n_rows = n_rows = gram.rows.shape[0]
        if gram.over_rows:
            self._vectors = path.left_vectors
        else:
            projected = [path.project(block) for block in gram.rows.blocks]
            self._vectors = np.concatenate(projected) / np.sqrt(path.eigenvalues)
        with one_blas_thread():
            self._moment = self._vectors.T @ self._targets
            # Where the vectors and the mean span everything, nothing is left, not even rounding.
            self._spans = self._vectors.shape[1] >= n_rows - 1
            self._rest = np.zeros_like(self._targets)
            if not self._spans:
                self._rest = self._targets - self._vectors @ self._moment

    def differences(self, alpha: float) -> Iterator[tuple[slice, Array]]:
        """Yield, block after block of rows, by how much their scores exceed those of every row.

        Yields
        ------
        rows : slice
            Consecutive rows, in the order of the decomposition.
        differences : ndarray of shape (n_targets, n_rows_of_block, n_rows)
            Score of the row of the block less that of the other one, by the fit without both; 0 with itself.
        """
        shift = 0.5 * alpha * (self._n_rows - 2)
        kept = shift / (self._eigenvalues + shift)
        with one_blas_thread():
            left = self._rest + self._vectors @ (kept[:, None] * self._moment)
        diagonal = np.square(self._vectors) @ kept
        if not self._spans:
            diagonal += np.maximum(1.0 - 1.0 / self._n_rows - np.square(self._vectors).sum(axis=1), 0.0)
        for begin in range(0, self._n_rows, _BLOCK):
            rows = slice(begin, min(begin + _BLOCK, self._n_rows))
            with one_blas_thread():
                across = (self._vectors[rows] * kept) @ self._vectors.T
                if not self._spans:
                    across -= self._vectors[rows] @ self._vectors.T + 1.0 / self._n_rows
            yield rows, self._of_block(rows, across, diagonal, left)

    def _of_block(self, rows: slice, across: Array, diagonal: Array, left: Array) -> Array:
        """Solve the 2 x 2 systems of a block of rows with all others."""
        own = diagonal[rows, None]
        itself = np.arange(rows.start, rows.stop)
        found = np.empty((left.shape[1], len(itself), self._n_rows))
        for k, (residual, target) in enumerate(zip(left.T, self._targets.T, strict=True)):
            with np.errstate(divide="ignore", invalid="ignore"):  # of a row with itself
                missed = missed_difference((own, diagonal), across, (residual[rows, None], residual))
            found[k] = target[rows, None] - target - missed
            found[k, np.arange(len(itself)), itself] = 0.0
        return found


def missed_difference(diagonal: tuple[Array, Array], across: Array, residual: tuple[Array, Array]) -> Array:
    """Return what the fit without two rows leaves of the difference of their labels.

    Parameters
    ----------
    diagonal : pair of ndarray
        Entries of ``I - H`` for the one row and for the other.
    across : ndarray
        The entry of ``I - H`` for both.
    residual : pair of ndarray
        What the fit to all rows leaves of their labels.

    Examples
    --------
    >>> half, none = np.array([0.5]), np.array([0.0])  # each row pulls the fit half the way
    >>> missed_difference((half, half), none, (np.array([1.0]), none))
    array([2.])
    """
    own, other = diagonal
    missed = (other + across) * residual[0] - (own + across) * residual[1]
    return np.asarray(missed / (own * other - np.square(across)))
