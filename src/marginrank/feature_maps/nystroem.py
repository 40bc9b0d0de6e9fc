"""Nystroem features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state

from marginrank.choices import KernelName
from marginrank.data import validation as gate
from marginrank.data.weights import moderate
from marginrank.exceptions import MarginRankError, ModelFileError, ParameterError, Sentence, shown, warn
from marginrank.feature_maps.base import FeatureMap, State
from marginrank.feature_maps.gamma import resolve_gamma
from marginrank.feature_maps.kernel_columns import KERNELS, KernelColumns, kernel_diagonal
from marginrank.feature_maps.landmark_state import pack_landmarks, unpack_landmarks
from marginrank.feature_maps.landmarks import choose_landmarks, landmark_rows
from marginrank.feature_maps.whitening import whitening
from marginrank.parameters import (
    check_choice,
    check_count,
    check_number,
    check_seed,
    finite_number,
)
from marginrank.system.threads import resolve_threads
from marginrank.types import MemoryMatrix, Rows

# Relative eigenvalues below which a feature would hold more rounding error than signal. The largest one often
# belongs to a constant, which ranking does not see: with a cut at 1e-6 of it, OHSUMED loses in quality.
_CUTOFFS = {"float32": 1e-8, "float64": 1e-12}


class NystroemFeatures(FeatureMap):
    """Nystroem features: kernel values against landmarks, whitened.

    With landmarks ``l_1 .. l_m`` from the training rows and their kernel matrix ``W = U S U'``, the map is
    ``z(x) = T' (k(x, l_1), ..., k(x, l_m))`` with ``T = U_k S_k^(-1/2)``. Inner products of features equal
    the kernel on the landmarks; with all rows as landmarks a linear model over the features is the exact
    kernel machine.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "polynomial", "cosine", "chi2", "precomputed"}, default="rbf"
        As in ``sklearn.metrics.pairwise``; "laplacian" is ``exp(-gamma |x - y|_1)``. For "precomputed",
        ``fit`` takes the square matrix of kernel values between training rows, and ``transform`` those
        between new rows and all training rows.
    gamma : float or {"scale", "median"}, default="scale"
        Width of rbf, laplacian and chi2, factor of polynomial. "scale" takes ``1 / (n_features * X.var())``
        (laplacian and chi2: ``X.std()``), "median" 1 over the median distance between rows, in the kernel's
        own distance.
    degree : float, default=3
        Of the polynomial kernel ``(gamma x.y + coef0)^degree``.
    coef0 : float, default=1
        Of the polynomial kernel.
    n_components : int, default=500
        Number of landmarks. With more than there are rows, a warning, and all rows are used.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How they are chosen: every row alike; far apart from each other; or one half uniformly and the other
        where the first explains least (approximate ridge leverage scores). The last two cost more. Equal rows
        are one landmark.
    rank : int, optional
        Keep at most this many features, those of the largest eigenvalues; by default all above the cut-off.
    cutoff : float, optional
        Drop eigenvalues at or below this part of the largest; by default 1e-8 for float32 and 1e-12 for
        float64.
    dtype : {"float32", "float64"}, default="float32"
        Of kernel values and features; the eigenvalues are always computed in float64.
    n_jobs : int, optional
        Threads; None takes all processors. The result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the landmarks, and the rows for ``gamma="median"``, by what rows contain: their order does not
        matter.

    Attributes
    ----------
    gamma_ : float or None
        The width in use.
    landmark_indices_ : ndarray of int64
        The rows of the training data that are landmarks, all different, in the order of the features' sums.
    landmarks_ : ndarray or CSR matrix
        These rows; for "precomputed" their numbers.
    whitening_ : ndarray of shape (n_landmarks, n_features_out)
        The matrix T.
    eigenvalues_ : ndarray of shape (n_features_out,)
        Those kept, largest first.

    See Also
    --------
    FourierFeatures : Cheaper to fit, for rbf and laplacian.

    Notes
    -----
    Costs ``m^3`` for the eigenvalues and ``n_rows * m * (n_features + k)`` for ``transform``. Training does
    without the second part: ``designs.mapped_design`` multiplies by T on the side of the coefficients.

    ``to_state`` has the arrays ``whitening`` and ``eigenvalues`` and the landmarks, as ``landmarks``, as the
    three arrays of a CSR matrix, or as ``landmark_indices`` where the kernel is precomputed; the header holds
    ``kernel``, ``gamma``, ``degree``, ``coef0`` and ``landmark_storage``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.feature_maps import NystroemFeatures
    >>> X = np.random.default_rng(0).random((40, 3))
    >>> nystroem = NystroemFeatures(gamma=0.5, n_components=40, dtype="float64", random_state=0)
    >>> Z = nystroem.fit_transform(X)
    >>> bool(abs(Z[0] @ Z[1] - np.exp(-0.5 * ((X[0] - X[1]) ** 2).sum())) < 1e-9)
    True
    """

    map_name = "nystroem"

    def __init__(
        self,
        kernel: KernelName = "rbf",
        *,
        gamma: float | Literal["scale", "median"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        n_components: int = 500,
        landmarks: Literal["uniform", "kmeans++", "leverage"] = "uniform",
        rank: int | None = None,
        cutoff: float | None = None,
        dtype: Any = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.rank = rank
        self.cutoff = cutoff
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose landmarks and whiten their kernel matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The training rows; for "precomputed" their kernel matrix.
        y : ignored
            For pipelines.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of the rows; a weight is a repetition. They count for gamma and
            for the landmarks.

        Returns
        -------
        NystroemFeatures
            This map.
        """
        X = self._check_matrix(X, reset=True)
        self._check_kernel(X)
        dtype, rank, cutoff = self._check_dtype(), self._check_rank(), self._check_cutoff()
        n_landmarks = self._check_n_components(X.shape[0])
        weight = moderate(gate.check_weights(sample_weight, X.shape[0]))
        rng = check_random_state(check_seed(self.random_state, np.random.RandomState))
        with self._finite_arithmetic(X):
            self.gamma_ = resolve_gamma(self.gamma, self.kernel, X, rng, weight)
            chosen = choose_landmarks(
                self.landmarks,
                X,
                n_landmarks,
                lambda rows: self._columns(landmark_rows(X, rows, self.kernel), dtype),
                lambda: kernel_diagonal(self.kernel, X, self._parameters()),
                rng,
                resolve_threads(self.n_jobs),
                weight,
            )
            self.landmark_indices_ = chosen
            self.landmarks_ = landmark_rows(X, chosen, self.kernel)
            self.whitening_, self.eigenvalues_ = whitening(self._gram(X, chosen), rank, cutoff)
        return self

    def block_map(self, dtype: Any = None) -> KernelColumns:
        """Return the fitted map as designs take it: kernel values, and T as the factor."""
        return self._columns(self.landmarks_, self._check_dtype(dtype), self.whitening_)

    def _columns(
        self, landmarks: MemoryMatrix, dtype: np.dtype[Any], factor: NDArray[np.float64] | None = None
    ) -> KernelColumns:
        return KernelColumns(self.kernel, landmarks, self._parameters(), dtype, factor)

    def _parameters(self) -> dict[str, Any]:
        return {"gamma": self.gamma_, "degree": float(self.degree), "coef0": float(self.coef0)}

    def _gram(self, X: MemoryMatrix, chosen: Rows) -> NDArray[np.float64]:
        """Return the kernel values between landmarks, in float64 whatever the features are."""
        out = np.empty((len(chosen), len(chosen)))
        self._columns(self.landmarks_, np.dtype(np.float64)).transform_block(X[chosen], out)
        return out

    def _check_kernel(self, X: MemoryMatrix) -> None:
        check_choice("kernel", self.kernel, KERNELS)
        check_number(self.degree, "degree", least=1.0)
        check_number(self.coef0, "coef0")
        if self.kernel == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise MarginRankError(
                    "kernel='precomputed' needs the square matrix of kernel values between training rows; "
                    f"got shape {X.shape}."
                )
            if self.landmarks == "kmeans++":
                raise MarginRankError(
                    "landmarks='kmeans++' needs the rows themselves, which kernel='precomputed' does not "
                    "have. Use 'uniform' or 'leverage'."
                )
        if self.kernel == "chi2" and X.min() < 0:
            raise MarginRankError(
                f"Negative values in data passed to {type(self).__name__}: kernel='chi2' needs features of "
                f"at least 0; got {X.min():g}. Shift or scale them, or use another kernel."
            )

    def _check_n_components(self, n_rows: int) -> int:
        n_components = check_count(self.n_components, "n_components")
        if n_components > n_rows:
            warn(
                Sentence(
                    "{n_components=} is more than the {n_rows:d} rows of X; all rows are landmarks.",
                    n_components=n_components,
                    n_rows=n_rows,
                ),
                UserWarning,
            )
        return min(n_components, n_rows)

    def _check_rank(self) -> int | None:
        if self.rank is None:
            return None
        rank = check_count(self.rank, "rank")
        if rank > self.n_components:
            raise ParameterError("rank", f"at most n_components={self.n_components}", rank)
        return rank

    def _check_cutoff(self) -> float:
        if self.cutoff is None:
            return _CUTOFFS[self._check_dtype().name]
        cutoff = finite_number(self.cutoff)
        if cutoff is not None and 0.0 <= cutoff < 1.0:
            return cutoff
        raise ParameterError("cutoff", "None or a number from 0 to below 1", self.cutoff)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.kernel, str) else None
        tags.input_tags.pairwise = kernel == "precomputed"
        tags.input_tags.positive_only = kernel == "chi2"
        return tags

    def _state(self) -> State:
        storage, arrays = pack_landmarks(self.landmarks_)
        header = {
            "kernel": self.kernel,
            "gamma": self.gamma_,
            "degree": float(self.degree),
            "coef0": float(self.coef0),
            "landmark_storage": storage,
        }
        return header, {**arrays, "whitening": self.whitening_, "eigenvalues": self.eigenvalues_}

    @classmethod
    def _from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        keys = ("kernel", "gamma", "degree", "coef0")
        kernel, gamma, degree, coef0 = (header.get(key, "missing") for key in keys)
        if kernel not in KERNELS or not all(isinstance(v, float | int) for v in (degree, coef0)):
            raise ModelFileError(
                f"The state of a Nystroem map has no sound kernel, degree and coef0: {kernel!r}."
            )
        if "gamma" in KERNELS[kernel][1] and not (isinstance(gamma, float) and 0 < gamma < np.inf):
            raise ModelFileError(f"The state of a Nystroem map needs a positive gamma; got {shown(gamma)}.")
        landmarks, T, values = unpack_landmarks(header, arrays)
        fitted = cls(
            kernel,
            gamma="scale" if gamma is None else gamma,
            degree=degree,
            coef0=coef0,
            n_components=landmarks.shape[0],
            dtype=header["dtype"],
        )
        fitted.gamma_ = gamma
        fitted.landmarks_, fitted.whitening_, fitted.eigenvalues_ = landmarks, T, values
        return fitted
