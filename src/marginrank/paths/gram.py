"""The kernel of a path: any of scikit-learn's, a function of two rows, or a matrix computed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels

from marginrank.data.finite import as_outside
from marginrank.data.matrices import is_sparse
from marginrank.designs.columns import large_offset
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.parameters import check_choice, check_number, check_positive
from marginrank.system.memory import physical_memory
from marginrank.types import Array, Vector

# Rows whose squared distance is below this part of their squared norms are the same point: what differs is
# the rounding of the kernel.
_SAME_POINT = 1e-14
# Eigenvalues below minus this part of the trace are not rounding.
# Its square, which tells how far apart points are, is within float64.
_LARGEST_VALUE = 1e150
_NOT_POSITIVE = 1e-10
# What the path holds for each entry of the kernel matrix (itself and the inverse of the active system) and
# for each pair.
_BYTES_PER_ENTRY = 16
_BYTES_PER_PAIR = 64


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters; calling it gives the matrix between two sets of rows.

    Parameters
    ----------
    kernel : str or callable
        A name that scikit-learn knows, "precomputed", or a function of two rows.
    gamma, degree, coef0 : float
        Parameters of the named kernels that have them.
    params : dict or None
        Further parameters of a function.

    Examples
    --------
    >>> Kernel("linear")(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    kernel: Any = "rbf"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if not callable(self.kernel):
            check_choice(
                "kernel, unless it is a function,", self.kernel, sorted({*kernel_metrics(), "precomputed"})
            )
        if self.gamma is not None:
            check_positive(self.gamma, "gamma")
        check_number(self.degree, "degree", least=1.0)
        check_number(self.coef0, "coef0")
        if self.params is not None and not isinstance(self.params, Mapping):
            raise ParameterError("kernel_params", "a dict of the kernel's parameters, or None", self.params)

    @property
    def is_precomputed(self) -> bool:
        """Whether users pass the matrix itself."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _is_of_distances(self) -> bool:
        """Whether distances are made of products, in which a common offset of the rows would drown them."""
        return isinstance(self.kernel, str) and self.kernel == "rbf"

    def gamma_in_use(self, n_features: int) -> float:
        """Return gamma, or the default of scikit-learn where None was given."""
        if self.gamma is not None:
            return self.gamma
        return 1.0 if self.kernel == "chi2" else 1.0 / n_features

    def __call__(self, X: Any, Y: Any) -> Array:
        """Return the kernel of the rows of X with those of Y."""
        if callable(self.kernel):
            options = self.params or {}
            metric = as_outside(self.kernel)
        else:
            options = {
                "gamma": float(self.gamma_in_use(X.shape[1])),
                "degree": float(self.degree),
                "coef0": float(self.coef0),
            }
            metric = self.kernel
        # What overflows on the way to 0, as distances of the rbf kernel may, is no error; who asks looks at
        # the values. float64 rows, because differences of float32 ones are squared.
        with np.errstate(over="ignore", invalid="ignore"):
            X, Y = (rows.astype(np.float64, copy=False) for rows in (X, Y))
            if self._is_of_distances and not is_sparse(X) and not is_sparse(Y):
                offset = large_offset(Y.min(axis=0), Y.max(axis=0))
                X, Y = (X - offset, Y - offset) if offset.any() else (X, Y)
            values = pairwise_kernels(X, Y, metric=metric, filter_params=True, **options)
        return np.ascontiguousarray(values, dtype=np.float64)


def gram_matrix(kernel: Kernel, X: Any) -> Array:
    """Return the kernel matrix of the training rows, checked to be one.

    Raises
    ------
    MarginRankError
        If it is not square, finite, symmetric and positive semidefinite (on vectors that sum to 0, which is
        all that differences of scores need).
    """
    if kernel.is_precomputed:
        K = np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if K.shape[0] != K.shape[1]:
            raise MarginRankError(
                f"A precomputed kernel must be square, (n_rows, n_rows); got shape {K.shape}."
            )
    else:
        K = kernel(X, X)
    largest = float(np.abs(K).max())
    if not np.isfinite(largest) or largest > _LARGEST_VALUE:
        raise MarginRankError(
            "The kernel gave NaN, infinity or values beyond 1e150; scale the features, or "
            "change its gamma, degree or coef0."
        )
    if not np.allclose(K, K.T, rtol=0.0, atol=1e-8 * largest):
        raise MarginRankError("The kernel matrix is not symmetric, so it is no kernel.")
    K = 0.5 * (K + K.T)
    _check_positive(K, largest)
    return K


def _check_positive(K: Array, largest: float) -> None:
    mean = K.mean(axis=0)
    centred = K - mean - mean[:, None] + mean.mean()
    trace = abs(float(np.trace(centred)))
    centred.flat[:: len(K) + 1] += _NOT_POSITIVE * trace + 1e-13 * largest + np.finfo(float).tiny
    try:
        linalg.cholesky(centred, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        lowest = float(linalg.eigvalsh(K, subset_by_index=[0, 0])[0])
        raise MarginRankError(
            f"The kernel is not positive definite: its matrix has the eigenvalue {lowest:.2g} where entries "
            f"are up to {largest:.2g}. Choose another kernel, or another gamma, degree or coef0, or "
            "clip the eigenvalues of a precomputed one."
        ) from None


def distinct_points(K: Array, X: Any = None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return one row for each distinct point, and the number of its point for each row.

    Equal rows, of X or in the kernel's eyes, must be one point to the path, or rounding decides between them.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows, point = distinct_points(X @ X.T)
    >>> rows.tolist(), point.tolist()
    ([0, 1], [0, 1, 0])
    """
    squares: Vector = np.diagonal(K)
    first = np.arange(len(K)) if X is None else _first_equal_rows(X)
    for r in range(len(K)):  # row by row: a matrix of distances would take as much memory as K
        both = squares[r] + squares[: r + 1]
        near = np.flatnonzero(both - 2.0 * K[r, : r + 1] <= _SAME_POINT * np.abs(both))
        first[r] = min(first[r], first[near].min(initial=r))
    rows, point = np.unique(first, return_inverse=True)
    return rows, point.astype(np.int64, copy=False)


def _first_equal_rows(X: Any) -> NDArray[np.int64]:
    """Return for each row the first one that has the same entries."""
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
        parts = [slice(*X.indptr[r : r + 2]) for r in range(X.shape[0])]
        keys = [(X.indices[part].tobytes(), X.data[part].tobytes()) for part in parts]
    else:
        keys = [(b"", (row + 0.0).tobytes()) for row in X]  # adding 0 makes -0 the same as 0
    seen: dict[tuple[bytes, bytes], int] = {}
    return np.array([seen.setdefault(key, r) for r, key in enumerate(keys)], dtype=np.int64)


def check_memory(n_rows: int, n_pairs: int) -> None:
    """Raise if the path would not fit into the memory of this machine."""
    needed = _BYTES_PER_ENTRY * n_rows**2 + _BYTES_PER_PAIR * n_pairs
    present = physical_memory()
    if needed > present:
        raise MarginRankError.saying(
            "The exact path of {n_rows:,} rows and {n_pairs:,} pairs would take about {needed:,.1f} GiB of "
            "memory; this machine has {present:,.1f}.",
            "Use {graph='sampled'} if the pairs are too many, a subset of the rows, or {KernelRankSVM}, "
            "which takes any number of rows.",
            n_rows=n_rows,
            n_pairs=n_pairs,
            needed=needed / 2**30,
            present=present / 2**30,
        )
