"""Random frequencies whose cosines average to a kernel, and the map that takes these cosines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.data.matrices import is_sparse
from marginrank.designs.row_products import RowProduct
from marginrank.exceptions import MarginRankError
from marginrank.types import MemoryMatrix

FREQUENCIES = ("rbf", "laplacian")


def draw_frequencies(
    kernel: str, gamma: float, shape: tuple[int, int], orthogonal: bool, rng: np.random.RandomState
) -> NDArray[np.float64]:
    """Return frequencies of shape (n_features, n_components) from the spectral density of a kernel.

    For ``exp(-gamma |x - y|^2)`` it is a normal density of variance ``2 gamma``; for scikit-learn's laplacian
    ``exp(-gamma |x - y|_1)`` a product of Cauchy densities of scale ``gamma``.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        The kernel.
    gamma : float
        Its width.
    shape : tuple of int
        Features and components.
    orthogonal : bool
        Make the frequencies orthogonal within batches of ``n_features``, with the lengths that independent
        ones would have: each has the same law as before, and the error is smaller. "rbf" only, because the
        Cauchy density looks different in every direction.
    rng : RandomState
        The only source of chance.

    Examples
    --------
    >>> draw_frequencies("laplacian", 1.0, (3, 500), False, np.random.RandomState(0)).shape
    (3, 500)
    """
    if kernel == "laplacian":
        if orthogonal:
            raise MarginRankError(
                "orthogonal=True needs kernel='rbf', whose frequencies have no preferred direction; "
                "got kernel='laplacian'."
            )
        return np.asarray(gamma * rng.standard_cauchy(shape))
    normal = rng.standard_normal(shape)
    if orthogonal:
        normal = _orthogonal(normal, rng)
    return np.asarray(np.sqrt(2.0 * gamma) * normal)


def _orthogonal(normal: NDArray[np.float64], rng: np.random.RandomState) -> NDArray[np.float64]:
    n_features, n_components = normal.shape
    parts = []
    for first in range(0, n_components, n_features):
        part = normal[:, first : first + n_features]
        directions, triangle = np.linalg.qr(part)
        directions *= np.where(np.diagonal(triangle) < 0, -1.0, 1.0)  # else not uniform over directions
        parts.append(directions)
    lengths = np.sqrt(rng.chisquare(n_features, n_components))
    return np.asarray(np.concatenate(parts, axis=1) * lengths)


class Cosines:
    """The map from a row ``x`` to ``sqrt(2/D) cos(w_j . (x - c) + b_j)`` for D frequencies ``w_j``.

    Parameters
    ----------
    frequencies : ndarray of shape (n_features, n_components)
        The ``w_j``; their dtype is that of the features.
    phases : ndarray of shape (n_components,)
        The ``b_j``.
    centre : ndarray of shape (n_features,)
        The point ``c``; any serves, and near the middle of the data the fewest digits are lost.

    Examples
    --------
    >>> out = np.empty((1, 1))
    >>> Cosines(np.array([[1.0]]), np.array([0.0]), np.array([2.0])).transform_block(np.array([[2.0]]), out)
    >>> out.round(3)
    array([[1.414]])
    """

    factor = None

    def __init__(
        self, frequencies: NDArray[Any], phases: NDArray[np.float64], centre: NDArray[np.float64]
    ) -> None:
        self.dtype = frequencies.dtype
        self.width = frequencies.shape[1]
        self._frequencies = frequencies
        self._phases = phases.astype(self.dtype)
        self._centre = centre
        self._size = self.dtype.type(np.sqrt(2.0 / self.width))

    @cached_property
    def _product(self) -> RowProduct:
        return RowProduct(self._frequencies)

    def transform_block(self, X: MemoryMatrix, out: NDArray[Any]) -> None:
        """Write the features of the rows of X into ``out`` of shape (n_rows, n_components)."""
        if is_sparse(X):
            out[...] = X.astype(self.dtype, copy=False) @ self._frequencies
            out -= (self._centre @ self._frequencies).astype(self.dtype)
        else:
            self._product(X - self._centre, out)
        out += self._phases
        np.cos(out, out=out)
        out *= self._size
