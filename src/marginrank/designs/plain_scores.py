"""Scores of an ordinary array, in one call: what most predictions are, many of them small."""

from __future__ import annotations

import numpy as np

from marginrank._kernels import first_nonfinite
from marginrank.data.matrices import DENSE
from marginrank.system.threads import resolve_threads
from marginrank.types import Vector

_KINDS = {np.dtype(name): kind for name, kind in DENSE.items()}
# Below this, asking how many threads there are takes longer than the product.
_ENTRIES_FOR_ONE_THREAD = 1 << 15


def plain_scores(X: object, coef: Vector, n_jobs: int | None, intercept: float = 0.0) -> Vector | None:
    """Return ``X @ coef + intercept``, or None where anything about X is to be looked at first.

    Scores are returned for an array that the kernels read as it is, of the width of ``coef``, if all of them
    are finite. Then all entries of X are finite, too: NaN and infinity go into the score of their row by
    whatever they are multiplied, 0 included. So no read of X is spent on a check of it, and whoever gets None
    finds out what is wrong in the usual way.

    Parameters
    ----------
    X : object
        What a user passed.
    coef : ndarray of shape (n_features,)
        The coefficients.
    n_jobs : int, optional
        Threads; the scores have the same bits for any number.
    intercept : float, default=0.0
        Added to every score.

    Examples
    --------
    >>> plain_scores(np.array([[1.0, 2.0]]), np.array([3.0, 4.0]), 1)
    array([11.])
    >>> plain_scores(np.array([[1.0, np.nan]]), np.array([3.0, 0.0]), 1) is None
    True
    """
    if type(X) is not np.ndarray or X.ndim != 2 or coef.ndim != 1:  # subclasses may mean something else
        return None
    kind, flags = _KINDS.get(X.dtype), X.flags
    n_rows, n_columns = X.shape
    if kind is None or n_columns != len(coef) or not (n_rows and flags.c_contiguous and flags.aligned):
        return None
    one_thread = n_jobs is None and X.size < _ENTRIES_FOR_ONE_THREAD
    threads = 1 if one_thread else resolve_threads(n_jobs)
    scores = np.empty(n_rows)
    kind(X, None, None).scores(coef, scores, threads)
    if intercept != 0.0:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is found below
            scores += intercept
    return scores if first_nonfinite(scores, threads) < 0 else None
