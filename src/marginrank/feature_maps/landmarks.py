"""Which rows stand for all of them: three ways to choose the landmarks of a Nystroem map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh
from sklearn.cluster import kmeans_plusplus

from marginrank.designs.blocks import BlockMap, block_rows, row_blocks
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps.kernel_units import ordinary_entries
from marginrank.feature_maps.row_draws import DistinctRows
from marginrank.parameters import check_choice
from marginrank.system.threads import one_blas_thread, run_parallel
from marginrank.types import MemoryMatrix, Rows, Vector

LANDMARKS = ("uniform", "kmeans++", "leverage")

# k-means++ looks at every row for every landmark; a sample this many times as large is as good.
_SAMPLE_FACTOR = 10


def choose_landmarks(
    how: str,
    X: MemoryMatrix,
    n_landmarks: int,
    columns: Callable[[Rows], BlockMap],
    diagonal: Callable[[], NDArray[np.float64]],
    rng: np.random.RandomState,
    n_threads: int,
    weight: Vector | None = None,
) -> Rows:
    """Return the numbers of rows that differ, ``n_landmarks`` where there are so many.

    They and their order depend on the content of the rows and the seed, not on the order of the rows.

    Parameters
    ----------
    how : {"uniform", "kmeans++", "leverage"}
        Every row alike, by its weight; far apart from each other, by squared Euclidean distance; or one half
        uniformly and the other with probability proportional to what the first leaves unexplained of a row in
        the kernel's feature space (ridge leverage scores).
    X : ndarray or CSR matrix
        The rows.
    n_landmarks : int
        How many; at most the number of rows.
    columns : callable
        Makes a map to kernel values with the rows of given numbers.
    diagonal : callable
        Returns ``k(x, x)`` for all rows.
    rng : RandomState
        The only source of chance.
    n_threads : int
        Threads to use; the result does not depend on it.
    weight : ndarray of shape (n_rows,), optional
        Weights of the rows; a weight is a repetition.
    """
    check_choice("landmarks", how, LANDMARKS)
    if n_landmarks >= X.shape[0]:  # nothing is left to chance
        return DistinctRows(X, weight, np.random.RandomState(0)).rows
    distinct = DistinctRows(X, weight, rng)
    if how == "uniform" or n_landmarks >= len(distinct.rows):
        return distinct.rows[distinct.draw(n_landmarks)]
    if how == "kmeans++":
        return _kmeans_plusplus(X, n_landmarks, distinct, rng)
    # All by leverage would leave the bulk of the rows to chance: on OHSUMED that tripled the mean error.
    pilot = distinct.draw((n_landmarks + 1) // 2)
    score = _leverage(X, columns(distinct.rows[pilot]), distinct.rows[pilot], diagonal(), n_threads)
    score = score[distinct.rows]
    score[pilot] = 0.0
    rest = distinct.draw(n_landmarks - len(pilot), score)
    return np.asarray(distinct.rows[np.concatenate([pilot, rest])])


def _kmeans_plusplus(
    X: MemoryMatrix, n_landmarks: int, distinct: DistinctRows, rng: np.random.RandomState
) -> Rows:
    sample = distinct.draw(max(_SAMPLE_FACTOR * n_landmarks, 1000))
    rows, weight = distinct.rows[sample], distinct.weight[sample]
    with one_blas_thread():
        sample_rows, _ = ordinary_entries(X[rows])  # squares of their distances are summed
        _, found = kmeans_plusplus(sample_rows, n_landmarks, sample_weight=weight, random_state=rng)
    chosen = np.unique(found)
    # Where distances are below what float64 can tell, it finds the same row again; the first ones fill up.
    others = np.setdiff1d(np.arange(len(rows)), chosen)
    return np.asarray(rows[np.concatenate([chosen, others[: n_landmarks - len(chosen)]])])


def _leverage(
    X: MemoryMatrix, columns: BlockMap, pilot: Rows, diagonal: NDArray[np.float64], n_threads: int
) -> NDArray[np.float64]:
    """Return ``k(x, x) - k_x' (W + mu I)^-1 k_x``, the ridge leverage scores up to a factor.

    The ridge mu is the mean of the pilot's eigenvalues below the upper half of them, over that half's size:
    what a rank of half the landmarks cannot reach.
    """
    W = np.empty((len(pilot), len(pilot)), dtype=columns.dtype)
    columns.transform_block(X[pilot], W)
    gram = W.astype(np.float64)
    gram = (gram + gram.T) / 2
    with one_blas_thread():
        values = eigvalsh(gram)[::-1]
        half = max(1, len(values) // 2)
        ridge = max(float(values[half:].clip(0).sum()) / half, 1e-7 * float(values[0]), 1e-300)
        gram[np.diag_indices_from(gram)] += ridge
        try:
            solver = cho_factor(gram)
        except LinAlgError:
            raise MarginRankError(
                "landmarks='leverage' needs a positive definite kernel, which this one is not with its "
                "gamma, degree and coef0. Use landmarks='uniform', or a coef0 of at least 0."
            ) from None
    score = np.empty(X.shape[0])

    def fill(bounds: tuple[int, int]) -> None:
        first, last = bounds
        block = np.empty((last - first, len(pilot)), dtype=columns.dtype)
        columns.transform_block(X[first:last], block)
        explained = np.einsum("ij,ji->i", block, cho_solve(solver, block.T.astype(np.float64)))
        score[first:last] = diagonal[first:last] - explained

    run_parallel(fill, row_blocks(X.shape[0], block_rows(columns)), n_threads)
    # A floor gives rows that the pilot explains in full a small chance, and there are always enough of them.
    return np.maximum(score, max(1e-6 * float(np.abs(diagonal).mean()), 1e-300))


def landmark_rows(X: MemoryMatrix, chosen: Rows, kernel: str) -> Any:
    """Return what the map keeps of the landmarks: the rows, or their numbers for a precomputed kernel."""
    return chosen if kernel == "precomputed" else X[chosen]
