"""Kernel values between rows and landmarks, block by block.

In float64 the rbf, polynomial and cosine kernels of dense rows are made of sums in one order, products,
quotients and square roots alone, so they have the same bits on every machine and in every runtime of an
exported graph. Weights of landmarks may be 1e5 times as large as the scores that they add up to: a last place
of a kernel value would be 1e-11 of the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import (
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from marginrank import _kernels
from marginrank.cached import cached_property
from marginrank.data.finite import check_finite_results
from marginrank.data.matrices import as_dense, csr_like, is_sparse
from marginrank.data.sparse_matrices import summed
from marginrank.designs.columns import large_offset
from marginrank.designs.row_products import RowProduct, row_sums
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps.kernel_units import FarRows, KernelUnits
from marginrank.types import MemoryMatrix, Rows, SparseMatrix

#: Kernels by name, and which of gamma, degree and coef0 each takes.
KERNELS: Mapping[str, tuple[Callable[..., Any] | None, tuple[str, ...]]] = {
    "rbf": (rbf_kernel, ("gamma",)),
    "laplacian": (laplacian_kernel, ("gamma",)),
    "polynomial": (polynomial_kernel, ("gamma", "degree", "coef0")),
    "cosine": (cosine_similarity, ()),
    "chi2": (chi2_kernel, ("gamma",)),
    "precomputed": (None, ()),
}
#: Kernels of the difference of two rows, which no common offset changes.
DIFFERENCES = ("rbf", "laplacian")
# Squared distances from products lose digits where rows lie far from the centre: in float32 the exponent
# is off by about 1e-7 times this, and beyond it the products are done in float64.
_LARGEST_FLOAT32_EXPONENT = 16.0
# Kernels of inner products.
_PRODUCTS = ("cosine", "polynomial")
# Powers up to this are made by multiplication.
_LARGEST_POWER = 64


class KernelColumns:
    """The map from a row ``x`` to ``k(x, l)`` for all landmarks ``l``, followed by a factor.

    Parameters
    ----------
    kernel : str
        One of ``KERNELS``.
    landmarks : ndarray or CSR matrix of shape (n_landmarks, n_features)
        For "precomputed" instead the numbers of their columns.
    parameters : mapping
        ``gamma``, ``degree`` and ``coef0``; what the kernel does not take is ignored.
    dtype : dtype
        Of the values: float32 or float64.
    factor : ndarray of shape (n_landmarks, rank), optional
        What the values are multiplied by.

    Examples
    --------
    >>> columns = KernelColumns("rbf", np.array([[0.0], [1.0]]), {"gamma": 1.0}, np.dtype("float64"))
    >>> out = np.empty((1, 2))
    >>> columns.transform_block(np.array([[1.0]]), out)
    >>> out.round(3)
    array([[0.368, 1.   ]])
    """

    def __init__(
        self,
        kernel: str,
        landmarks: MemoryMatrix,
        parameters: Mapping[str, Any],
        dtype: np.dtype[Any],
        factor: NDArray[np.float64] | None = None,
    ) -> None:
        self._given = {name: float(parameters[name]) for name in KERNELS[kernel][1]}
        self._units = KernelUnits(kernel, parameters)
        with np.errstate(over="ignore"):
            landmarks, parameters = self._units.rows(landmarks), self._units.parameters
        self._far = None
        if kernel == "rbf" and not is_sparse(landmarks):
            self._far = FarRows(landmarks, float(parameters["gamma"]))
            landmarks = self._far.landmarks
        if kernel != "precomputed" and dtype == np.float64:  # or float32 rows would be compared in float32
            landmarks = landmarks.astype(np.float64, copy=False)
        self._function, takes = KERNELS[kernel]
        self._parameters = {name: parameters[name] for name in takes}
        self._landmarks = landmarks
        self._dense_only = kernel == "chi2"
        self._apart: NDArray[np.int64] | None = None
        self.kernel = kernel
        self.width = landmarks.shape[0]
        self.dtype = np.dtype(dtype)
        self.factor = factor
        if kernel == "rbf" and not is_sparse(landmarks):
            self._prepare_rbf(float(parameters["gamma"]))
        elif is_sparse(landmarks):
            self._landmarks = landmarks = with_small_indices(landmarks)
            if kernel == "rbf":
                self._set_apart(landmarks)
        elif kernel in _PRODUCTS:
            self._landmarks = landmarks.astype(self.dtype, copy=False)

    def _prepare_rbf(self, gamma: float) -> None:
        """Make the exponent ``2 gamma x.l - gamma |x|^2 - gamma |l|^2`` one product of wider matrices."""
        landmarks = np.asarray(self._landmarks, dtype=np.float64)
        # The kernel sees differences only, and products lose fewer digits about the centre.
        # The mean of equal numbers need not be that number; subtracting the number itself leaves 0.
        low, high = landmarks.min(axis=0), landmarks.max(axis=0)
        self._centre = np.asarray(np.where(low == high, low, landmarks.mean(axis=0)))
        centred = landmarks - self._centre
        squares = row_sums(centred * centred)
        far = gamma * float(squares.max()) > _LARGEST_FLOAT32_EXPONENT
        self._product_dtype = np.dtype(np.float64) if far else self.dtype
        rows = [2.0 * gamma * centred.T, np.full((1, self.width), -gamma), -gamma * squares[None, :]]
        self._expanded = np.concatenate(rows).astype(self._product_dtype)

    @property
    def centre(self) -> NDArray[np.float64]:
        """What an rbf kernel subtracts from dense rows first."""
        return self._centre

    @property
    def far_landmarks(self) -> NDArray[np.int64]:
        """Numbers of landmarks that are so far from the others that their values are computed apart."""
        return np.zeros(0, dtype=np.int64) if self._far is None else self._far.numbers

    @cached_property
    def product_matrix(self) -> NDArray[Any]:
        """What dense rows are multiplied by; those of an rbf kernel have their squares and 1 after them."""
        if self.kernel == "rbf":
            return self._expanded
        landmarks = as_dense(self._landmarks)
        landmarks = _normalized(landmarks) if self.kernel == "cosine" else landmarks
        return np.asarray(landmarks.T)

    @cached_property
    def _product(self) -> RowProduct:
        """A row of its own each, which a BLAS product would not be."""
        return RowProduct(self.product_matrix)

    def transform_block(self, X: MemoryMatrix, out: NDArray[Any]) -> None:
        """Write the kernel values of the rows of X into ``out`` of shape (n_rows, n_landmarks)."""
        # What overflows on the way to a kernel of 0, as large distances do, is no error; the values tell.
        with np.errstate(over="ignore", invalid="ignore"):
            X = self._units.rows(X)
            if self._far is None or is_sparse(X):
                self._transform(X, out)
            else:
                near, far = self._far.near(X)
                self._transform(near, out)
                self._far.correct(X, far, out)
        check_finite_results(self._overflow, out)

    def _overflow(self) -> str:
        given = ", ".join(f"{name}={value:.3g}" for name, value in self._given.items())
        return (
            f"The {self.kernel} kernel gives NaN or infinity in {self.dtype}{given and f' ({given})'}; take "
            "a smaller gamma, degree or coef0, dtype='float64', or features of ordinary size."
        )

    def _transform(self, X: MemoryMatrix, out: NDArray[Any]) -> None:
        if self.kernel == "precomputed":
            out[...] = as_dense(X[:, cast(Rows, self._landmarks)])
        elif self.kernel == "rbf" and not is_sparse(X) and not is_sparse(self._landmarks):
            self._rbf(X, out)
        elif self.kernel in _PRODUCTS and not is_sparse(X) and not is_sparse(self._landmarks):
            self._of_products(X, out)
        else:
            out[...] = self._by_function(X)

    def _set_apart(self, landmarks: SparseMatrix) -> None:
        """Set columns apart in which all sparse landmarks have a large common offset.

        Distances of sparse rows are made of products, in which it would drown them. The kernel is a product
        over the columns, and theirs is computed from differences.
        """
        entries = landmarks.tocsc()
        apart, full = [], np.diff(entries.indptr) == self.width
        for j in np.flatnonzero(full):
            column = entries.data[entries.indptr[j] : entries.indptr[j + 1]].astype(np.float64)
            if large_offset(column.min(keepdims=True), column.max(keepdims=True))[0] != 0.0:
                apart.append(j)
        if apart:
            self._apart = np.array(apart)
            self._apart_landmarks = landmarks[:, self._apart].toarray().astype(np.float64)
            self._landmarks = _without_columns(landmarks, self._apart)

    def _by_function(self, X: MemoryMatrix) -> NDArray[Any]:
        if self._apart is not None:
            return self._with_columns_apart(X, self._apart)
        return self._of_pairs(X)

    def _with_columns_apart(self, X: MemoryMatrix, apart: NDArray[np.int64]) -> NDArray[Any]:
        columns = np.asarray(as_dense(X[:, apart]), dtype=np.float64)
        squares = np.zeros((X.shape[0], self.width))
        for x, landmark in zip(columns.T, self._apart_landmarks.T, strict=True):
            squares += np.square(np.subtract.outer(x, landmark))
        return np.asarray(
            self._of_pairs(_without_columns(X, apart)) * np.exp(-self._parameters["gamma"] * squares)
        )

    def _of_pairs(self, X: MemoryMatrix) -> NDArray[Any]:
        landmarks = self._landmarks
        if self._dense_only:  # only this block of X, and the landmarks
            X, landmarks = (M.toarray() if is_sparse(M) else np.require(M, None, "W") for M in (X, landmarks))
        elif is_sparse(X):
            X = with_small_indices(X)
        elif not is_sparse(landmarks):
            X = X.astype(landmarks.dtype, copy=False)
        assert self._function is not None
        return np.asarray(self._function(X, landmarks, **self._parameters))

    def _rbf(self, X: NDArray[Any], out: NDArray[Any]) -> None:
        n_rows, n_features = X.shape
        centred = X - self._centre
        wide = np.empty((n_rows, n_features + 2), dtype=self._product_dtype)
        wide[:, :n_features] = centred
        wide[:, n_features] = row_sums(centred * centred)
        wide[:, n_features + 1] = 1.0
        exponent = out if out.dtype == self._product_dtype else np.empty(out.shape, self._product_dtype)
        self._product(wide, exponent)
        np.minimum(exponent, 0.0, out=exponent)  # rounding puts a row that is a landmark above 1
        if exponent is out:
            _kernels.exponentials(out) if out.dtype == np.float64 else np.exp(out, out=out)
        else:
            np.exp(exponent, out=out, casting="same_kind")

    def _of_products(self, X: NDArray[Any], out: NDArray[Any]) -> None:
        X = X.astype(self.dtype, copy=False)
        if self.kernel == "cosine":
            self._product(_normalized(X), out)
            return
        self._product(X, out)
        out *= self._parameters["gamma"]
        out += self._parameters["coef0"]
        degree = self._parameters["degree"]
        factors = power_by_products(degree)
        if factors is None or out.dtype != np.float64:
            np.power(out, degree, out=out, casting="same_kind")
            return
        base = out.copy()
        for by_itself in factors:
            out *= out if by_itself else base


def power_by_products(degree: float) -> list[bool] | None:
    """Return how a whole power is made of its base: True squares it, False multiplies by the base.

    None where the degree is not whole, or so large that products would take longer than a power.

    Examples
    --------
    >>> power_by_products(3.0), power_by_products(4.0), power_by_products(2.5)
    ([True, False], [True, True], None)
    """
    if degree != int(degree) or not 1 <= degree <= _LARGEST_POWER:
        return None
    return [square for bit in bin(int(degree))[3:] for square in ([True, False] if bit == "1" else [True])]


def _without_columns(X: MemoryMatrix, columns: NDArray[np.int64]) -> MemoryMatrix:
    """Return rows with zeros in some columns."""
    if not is_sparse(X):
        X = X.copy()
        X[:, columns] = 0.0
        return X
    kept = ~np.isin(X.indices, columns)
    ends = np.concatenate(([0], np.cumsum(kept)))[X.indptr].astype(X.indptr.dtype)
    return csr_like(X, X.data[kept], X.indices[kept], ends)


def _normalized(X: NDArray[Any]) -> NDArray[Any]:
    """Return rows of length 1; those of zeros stay."""
    length = np.sqrt(row_sums(np.square(X, dtype=np.float64)))
    return np.asarray(X / np.where(length > 0.0, length, 1.0)[:, None], dtype=X.dtype)


def with_small_indices(X: SparseMatrix) -> SparseMatrix:
    """Return CSR rows as scikit-learn's kernels take them: 32-bit indices, no entry stored twice."""
    X = summed(X)
    if X.indices.dtype == np.int32 or max(X.nnz, X.shape[1]) > np.iinfo(np.int32).max:
        return X
    return csr_like(X, X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))


def kernel_diagonal(kernel: str, X: MemoryMatrix, parameters: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return ``k(x, x)`` for each row.

    Examples
    --------
    >>> kernel_diagonal("polynomial", np.array([[2.0]]), {"gamma": 1.0, "degree": 2, "coef0": 1.0})
    array([25.])
    """
    if kernel == "precomputed":
        return np.asarray(X.diagonal(), dtype=np.float64)
    if kernel == "polynomial":
        units = KernelUnits(kernel, parameters)
        X, parameters = units.rows(X), units.parameters
        squares = X.multiply(X).sum(axis=1) if is_sparse(X) else np.einsum("ij,ij->i", X, X)
        squares = np.asarray(squares, dtype=np.float64).ravel()
        base = parameters["gamma"] * squares + parameters["coef0"]
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite(np.asarray(base ** parameters["degree"]))
    return np.ones(X.shape[0])


def _finite(values: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(values).all():
        raise MarginRankError(
            "The polynomial kernel overflows on these rows; use a smaller gamma, degree or coef0, or "
            "scale the features."
        )
    return values
