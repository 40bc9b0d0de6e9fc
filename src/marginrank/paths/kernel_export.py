"""A kernel machine as a model file holds it: coefficients of columns, or of one feature made by a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import NystroemFeatures
from marginrank.feature_maps.kernel_columns import KERNELS
from marginrank.feature_maps.landmark_state import pack_landmarks
from marginrank.feature_maps.landmarks import landmark_rows
from marginrank.paths.gram import Kernel
from marginrank.types import Array, Vector


def kernel_model_parts(kernel: Kernel, X: Any, K: Array, coef: Vector) -> dict[str, Any]:
    """Return the arguments of a RankingModel with the scores ``sum_r coef_r k(x, x_r)``.

    With the linear kernel they are coefficients of the columns. Else there is one feature, the unit vector of
    the kernel's space in the direction of the model: a Nystroem map of rank 1 over rows with coefficients.

    Parameters
    ----------
    kernel : Kernel
        Of the training rows.
    X : ndarray or CSR matrix of shape (n_rows, n_features)
        The training rows; for a precomputed kernel anything of as many columns as there are rows.
    K : ndarray of shape (n_rows, n_rows)
        Their kernel matrix.
    coef : ndarray of shape (n_rows,)
        The coefficients.

    Raises
    ------
    MarginRankError
        If model files do not know the kernel.
    """
    name = "polynomial" if kernel.kernel == "poly" else kernel.kernel
    if name == "linear":
        return {"coef": np.asarray(X.T @ coef, dtype=np.float64).ravel()}
    if not isinstance(name, str) or name not in KERNELS:
        shown = repr(name) if isinstance(name, str) else "a function"
        raise MarginRankError(
            f"A model file holds the kernels linear, {', '.join(KERNELS)}; this path has {shown}. Score with "
            "predict of the path instead."
        )
    rows = np.flatnonzero(coef)
    if not len(rows):
        rows = np.zeros(1, dtype=np.int64)
    squared_norm = float(coef @ K @ coef)
    length = float(np.sqrt(squared_norm)) if squared_norm > 0.0 else 1.0
    direction = coef[rows] / length
    storage, arrays = pack_landmarks(landmark_rows(X, rows, name))
    header = {
        "map": NystroemFeatures.map_name,
        "state_version": 1,
        "dtype": "float64",
        "n_features_in": int(X.shape[1]),
        "feature_names_in": None,
        "kernel": name,
        "gamma": kernel.gamma_in_use(X.shape[1]) if "gamma" in KERNELS[name][1] else None,
        "degree": float(kernel.degree),
        "coef0": float(kernel.coef0),
        "landmark_storage": storage,
    }
    # The factor of a Nystroem map is an eigenvector over the root of its eigenvalue.
    arrays["whitening"] = direction[:, None]
    arrays["eigenvalues"] = np.array([1.0 / max(float(direction @ direction), np.finfo(float).tiny)])
    return {"coef": [length], "feature_map": NystroemFeatures.from_state(header, arrays)}
