"""Random Fourier features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from marginrank.data import validation as gate
from marginrank.data.matrices import is_sparse
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, ModelFileError, shown
from marginrank.feature_maps.base import FeatureMap, State, state_array
from marginrank.feature_maps.frequencies import FREQUENCIES, Cosines, draw_frequencies
from marginrank.feature_maps.gamma import resolve_gamma
from marginrank.parameters import check_count, check_flag, check_seed
from marginrank.types import Vector

_ROOM = 2.0**20


class FourierFeatures(FeatureMap):
    """Random Fourier features: cosines whose inner products approximate a shift-invariant kernel.

    With D frequencies ``w_j`` drawn from the kernel's spectral density and phases ``b_j`` uniform on the
    circle, ``z(x) = sqrt(2/D) cos(W'(x - c) + b)`` and ``z(x).z(y)`` is ``k(x, y)`` on average, with an error
    that falls like ``1/sqrt(D)``. The map depends on the data only through ``gamma`` and the centre ``c``.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}, default="rbf"
        ``exp(-gamma |x - y|^2)``, or ``exp(-gamma |x - y|_1)`` with the sum of absolute differences, as in
        ``sklearn.metrics.pairwise``.
    gamma : float or {"scale", "median"}, default="scale"
        Width of the kernel. "scale" takes ``1 / (n_features * X.var())`` (laplacian: ``X.std()``), "median"
        1 over the median distance between rows, in the kernel's own distance.
    n_components : int, default=500
        Number of features D.
    orthogonal : bool, default=False
        Orthogonal frequencies within batches of ``n_features``: a smaller error for the same D. rbf only.
    dtype : {"float32", "float64"}, default="float32"
        Of the features.
    n_jobs : int, optional
        Threads; None takes all processors. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws frequencies and phases.

    Attributes
    ----------
    gamma_ : float
        The width in use.
    frequencies_ : ndarray of shape (n_features, n_components)
        The ``w_j``.
    phases_ : ndarray of shape (n_components,)
        The ``b_j``.
    centre_ : ndarray of shape (n_features,)
        The mean of the rows in ``fit``, or 0 where they were sparse; subtracting it keeps digits that float32
        would lose.

    See Also
    --------
    NystroemFeatures : Adapts to the data, and takes any kernel.

    Notes
    -----
    Costs ``n_rows * n_features * n_components`` multiplications, in blocks over threads. ``to_state`` has the
    arrays ``frequencies``, ``phases`` and ``centre``, and in the header ``kernel`` and ``gamma``, which say
    where they came from.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.feature_maps import FourierFeatures
    >>> X = np.random.default_rng(0).random((40, 3))
    >>> Z = FourierFeatures(gamma=0.5, n_components=4000, random_state=0).fit_transform(X)
    >>> kernel = np.exp(-0.5 * ((X[0] - X[1]) ** 2).sum())
    >>> bool(abs(Z[0] @ Z[1] - kernel) < 0.05)
    True
    """

    map_name = "fourier"

    def __init__(
        self,
        kernel: Literal["rbf", "laplacian"] = "rbf",
        *,
        gamma: float | Literal["scale", "median"] = "scale",
        n_components: int = 500,
        orthogonal: bool = False,
        dtype: Any = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            Gives the number of features, the centre, and gamma where it is a rule.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows; a weight is a repetition. They count for gamma and the centre.

        Returns
        -------
        FourierFeatures
            This map.
        """
        X = self._check_matrix(X, reset=True)
        if not isinstance(self.kernel, str) or self.kernel not in FREQUENCIES:
            raise MarginRankError(
                f"kernel must be 'rbf' or 'laplacian' for Fourier features; got {shown(self.kernel)}. "
                "NystroemFeatures takes other kernels."
            )
        dtype = self._check_dtype()
        n_components = check_count(self.n_components, "n_components", most=2**31 - 1)
        orthogonal = check_flag(self.orthogonal, "orthogonal")
        rng = check_random_state(check_seed(self.random_state, np.random.RandomState))
        weight = moderate(gate.check_weights(sample_weight, X.shape[0]))
        with self._finite_arithmetic(X):
            gamma = resolve_gamma(self.gamma, self.kernel, X, rng, weight)
            assert gamma is not None
            self.gamma_ = gamma
            shape = (X.shape[1], n_components)
            frequencies = draw_frequencies(self.kernel, gamma, shape, orthogonal, rng)
            _check_frequencies(frequencies, gamma, dtype)
            self.frequencies_ = frequencies.astype(dtype)
            self.phases_ = rng.uniform(0.0, 2.0 * np.pi, n_components)
            # Sparse rows lie about the origin, which costs nothing to subtract.
            self.centre_ = np.zeros(X.shape[1]) if is_sparse(X) else _mean(X, weight)
        return self

    def block_map(self, dtype: Any = None) -> Cosines:
        """Return the fitted map as designs take it."""
        frequencies = self.frequencies_.astype(self._check_dtype(dtype), copy=False)
        return Cosines(frequencies, self.phases_, self.centre_)

    def _state(self) -> State:
        header = {"kernel": self.kernel, "gamma": self.gamma_}
        return header, {"frequencies": self.frequencies_, "phases": self.phases_, "centre": self.centre_}

    @classmethod
    def _from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        frequencies = state_array(arrays, "frequencies", (header["n_features_in"], None))
        n_components = frequencies.shape[1]
        kernel, gamma = header.get("kernel"), header.get("gamma")
        if kernel not in FREQUENCIES or not isinstance(gamma, float):
            raise ModelFileError(
                f"The state of a Fourier map needs a kernel and gamma; got {shown(kernel)}, {gamma!r}."
            )
        fitted = cls(
            kernel,
            gamma=gamma,
            n_components=n_components,
            dtype=header["dtype"],
        )
        fitted.gamma_ = gamma
        fitted.frequencies_ = frequencies.astype(header["dtype"], copy=False)
        fitted.phases_ = state_array(arrays, "phases", (n_components,))
        fitted.centre_ = state_array(arrays, "centre", (header["n_features_in"],))
        return fitted


def _check_frequencies(frequencies: NDArray[np.float64], gamma: float, dtype: np.dtype[Any]) -> None:
    limits, largest = np.finfo(dtype), float(np.abs(frequencies).max())
    # Products with features of the opposite size, and their sums, want room at both ends.
    if not _ROOM * float(limits.tiny) <= largest <= float(limits.max) / _ROOM:
        other = "" if dtype == np.float64 else "dtype='float64', or "
        raise MarginRankError(
            f"gamma={gamma:g} gives frequencies of size {largest:.3g}, which {dtype} cannot work with; use "
            f"{other}features of ordinary size (scale='standard')."
        )


def _mean(X: NDArray[Any], weight: Vector | None) -> NDArray[np.float64]:
    if weight is None:
        return np.asarray(X.mean(axis=0, dtype=np.float64))
    return np.asarray(weight @ X / weight.sum(), dtype=np.float64)
