"""Kernels of rows of any size: units in which their products stay within float32 and float64.

A kernel sees ``gamma |x - y|^2``, ``gamma |x - y|_1`` or ``gamma x.y``, so rows may be taken in a unit that
makes gamma about 1. The unit is a power of two, and no bit of the kernel changes. Cosines do not depend on a
unit at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data.finite import check_finite_results, extremes
from marginrank.data.matrices import csr_like, is_sparse
from marginrank.types import MemoryMatrix

#: Kernels that have a gamma, and the power of the data's unit that it divides by.
UNITS = {"rbf": 2, "laplacian": 1, "chi2": 1, "polynomial": 2}
# Numbers between 2**-40 and 2**40 are taken as they are: their squares fit float32 with room for sums.
_ORDINARY = 40
# gamma |x - c|^2 beyond which a row is far from the centre c: from products, its distance to a row beside it
# would be off by more than 1e-8.
_FAR = 1e7


class KernelUnits:
    """The unit of one kernel.

    Parameters
    ----------
    kernel : str
        The name of the kernel.
    parameters : mapping
        Its parameters.

    Attributes
    ----------
    parameters : dict
        The parameters for rows in this unit.

    Examples
    --------
    >>> units = KernelUnits("rbf", {"gamma": 2.0**-400})
    >>> units.rows(np.array([[2.0**200]])).tolist(), units.parameters["gamma"]
    ([[1.0]], 1.0)
    """

    def __init__(self, kernel: str, parameters: Mapping[str, Any]) -> None:
        self.parameters = dict(parameters)
        self._gamma = parameters.get("gamma")
        self._by_row = kernel == "cosine"
        self._exponent = 0
        if kernel in UNITS:
            gamma, power = float(parameters["gamma"]), UNITS[kernel]
            exponent = int(np.frexp(gamma)[1]) // power
            # Distances of the first power may overflow to the kernel 0 that they mean.
            if exponent < -_ORDINARY or (exponent > _ORDINARY and power == 2):
                self._exponent = exponent
                self.parameters["gamma"] = float(np.ldexp(gamma, -power * exponent))

    def rows(self, X: MemoryMatrix) -> MemoryMatrix:
        """Return rows in this unit, without a copy where it is 1; what is too large becomes infinite.

        Of sparse rows that is refused: scikit-learn's kernels of them take finite numbers only.
        """
        if self._by_row:
            return _rows_of_ordinary_size(X)
        if self._exponent == 0:
            return X
        scaled = _scaled(X, self._exponent)
        if is_sparse(X):
            check_finite_results(partial(extremes, X, gamma=self._gamma), scaled.data)
        return scaled


def ordinary_entries(X: MemoryMatrix) -> tuple[MemoryMatrix, int]:
    """Return X times a power of two that leaves no entry huge nor all of them tiny, and the exponent of it.

    Examples
    --------
    >>> ordinary_entries(np.array([[2.0**300, 2.0**299]]))
    (array([[0.5 , 0.25]]), -301)
    """
    values = X.data if is_sparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    if largest == 0.0 or abs(exponent) <= _ORDINARY:
        return X, 0
    return _scaled(X, -exponent), -exponent


class FarRows:
    """Rows and landmarks so far from the others that products lose their distances: these are subtracted.

    Parameters
    ----------
    landmarks : ndarray
        The landmarks of an rbf kernel.
    gamma : float
        Its width.

    Attributes
    ----------
    landmarks : ndarray
        The landmarks, with others in the place of those that are far.
    numbers : ndarray of int64
        Which are far.

    Notes
    -----
    A far row costs as much as a subtraction from every landmark; where none is far, two looks at each row.
    """

    def __init__(self, landmarks: NDArray[Any], gamma: float) -> None:
        self._gamma = gamma
        self._all: NDArray[np.float64] = np.asarray(landmarks, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            self._centre = np.median(self._all, axis=0)
            self._centre[~np.isfinite(self._centre)] = 0.0
            self.numbers = self._numbers(self._all)
        self.landmarks = self._near(landmarks, self.numbers)

    def near(self, X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the rows with others in the place of those that are far, and the numbers of these."""
        far = self._numbers(X)
        return self._near(X, far), far

    def correct(self, X: NDArray[Any], far: NDArray[np.int64], out: NDArray[Any]) -> None:
        """Write the kernel values of far rows and of far landmarks."""
        landmarks = self._all[self.numbers]
        for row in range(len(X) if len(self.numbers) else 0):
            out[row, self.numbers] = self._values(X[row], landmarks)
        for row in far:
            out[row] = self._values(X[row], self._all)

    def _values(self, x: NDArray[Any], landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.exp(-self._gamma * np.square(landmarks - x).sum(axis=1)))

    def _numbers(self, X: NDArray[Any]) -> NDArray[np.int64]:
        centred = X - self._centre
        squares = np.einsum("ij,ij->i", centred, centred)
        return np.flatnonzero(~(self._gamma * squares <= _FAR))

    def _near(self, X: NDArray[Any], far: NDArray[np.int64]) -> NDArray[Any]:
        if len(far):
            X = X.copy()
            X[far] = self._centre
        return X


def _scaled(X: MemoryMatrix, exponent: int) -> MemoryMatrix:
    """Return X times a power of two, in float64."""
    if is_sparse(X):
        data = np.ldexp(X.data.astype(np.float64, copy=False), exponent)
        return csr_like(X, data)
    return np.ldexp(X.astype(np.float64, copy=False), exponent)


def _rows_of_ordinary_size(X: MemoryMatrix) -> MemoryMatrix:
    """Return rows, those of extreme size times a power of two of their own."""
    if is_sparse(X):
        largest = np.asarray(abs(X).max(axis=1).todense(), dtype=np.float64).ravel()
    else:
        largest = np.maximum(X.max(axis=1), -X.min(axis=1)).astype(np.float64)
    exponent = np.frexp(largest)[1]
    exponent[np.abs(exponent) <= _ORDINARY] = 0
    if not exponent.any():
        return X
    if is_sparse(X):
        data = np.ldexp(X.data.astype(np.float64, copy=False), -np.repeat(exponent, np.diff(X.indptr)))
        return csr_like(X, data)
    return np.ldexp(X.astype(np.float64, copy=False), -exponent[:, None])
