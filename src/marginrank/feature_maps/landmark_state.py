"""Landmarks of a Nystroem map as plain arrays, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import validation as gate
from marginrank.data.matrices import csr_like, is_sparse
from marginrank.exceptions import MarginRankError, ModelFileError, shown
from marginrank.feature_maps.base import state_array
from marginrank.types import MemoryMatrix


def pack_landmarks(landmarks: MemoryMatrix) -> tuple[str, dict[str, NDArray[Any]]]:
    """Return how landmarks are stored ("dense", "csr" or "indices") and their arrays.

    Examples
    --------
    >>> pack_landmarks(np.array([2, 5]))
    ('indices', {'landmark_indices': array([2, 5])})
    """
    if not is_sparse(landmarks):
        name = "landmark_indices" if landmarks.ndim == 1 else "landmarks"
        return ("indices" if landmarks.ndim == 1 else "dense"), {name: landmarks}
    if landmarks.nnz == 0:  # arrays in a file are not empty
        zero = np.zeros(1, dtype=landmarks.dtype)
        ends = np.minimum(np.arange(landmarks.shape[0] + 1, dtype=landmarks.indptr.dtype), 1)
        landmarks = csr_like(landmarks, zero, np.zeros(1, dtype=landmarks.indices.dtype), ends)
    parts = {f"landmarks_{name}": getattr(landmarks, name) for name in ("data", "indices", "indptr")}
    return "csr", parts


def unpack_landmarks(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> tuple[MemoryMatrix, NDArray[np.float64], NDArray[np.float64]]:
    """Return landmarks, whitening and eigenvalues of a state, checked."""
    T = state_array(arrays, "whitening", (None, None)).astype(np.float64, copy=False)
    values = state_array(arrays, "eigenvalues", (T.shape[1],)).astype(np.float64, copy=False)
    n_landmarks, n_features = T.shape[0], header["n_features_in"]
    storage = header.get("landmark_storage")
    if (storage == "indices") != (header["kernel"] == "precomputed"):
        raise ModelFileError(f"landmark_storage {storage!r} does not go with kernel {header['kernel']!r}.")
    if storage == "indices":
        indices = state_array(arrays, "landmark_indices", (n_landmarks,), "i")
        if indices.min() < 0 or indices.max() >= n_features:
            raise ModelFileError(f"landmark_indices must lie from 0 to {n_features - 1}.")
        return indices, T, values
    if storage == "dense":
        return state_array(arrays, "landmarks", (n_landmarks, n_features)), T, values
    if storage != "csr":
        raise ModelFileError(f"landmark_storage must be 'dense', 'csr' or 'indices'; got {shown(storage)}.")
    data = state_array(arrays, "landmarks_data", (None,))
    indices, indptr = (
        state_array(arrays, f"landmarks_{name}", (None,), "i") for name in ("indices", "indptr")
    )
    try:
        csr = sparse.csr_array((data, indices, indptr), shape=(n_landmarks, n_features))
        return gate.check_matrix(csr)[0], T, values
    except (MarginRankError, ValueError) as error:
        raise ModelFileError(f"The landmarks of the state are no valid CSR matrix: {error}") from None
