"""What feature maps share: checks of input, the blocked transform, and the way to and from a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from marginrank.data import validation as gate
from marginrank.data.finite import check_finite_results, extremes, finite_arithmetic
from marginrank.designs.blocks import BlockMap, map_features, n_features_out
from marginrank.exceptions import MarginRankError, ModelFileError, shown
from marginrank.parameters import check_float_dtype
from marginrank.system.threads import resolve_threads
from marginrank.types import MemoryMatrix

#: A map as data: JSON values, and arrays of float32, float64, int32 or int64 that are not empty.
State = tuple[dict[str, Any], dict[str, NDArray[Any]]]

_DTYPES = ("float32", "float64")


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the feature maps: a scikit-learn transformer around a block map.

    Examples
    --------
    >>> from marginrank import FourierFeatures, NystroemFeatures
    >>> issubclass(FourierFeatures, FeatureMap), issubclass(NystroemFeatures, FeatureMap)
    (True, True)
    """

    #: The name in a state.
    map_name: ClassVar[str]

    n_components: int
    dtype: Any
    n_jobs: int | None
    n_features_in_: int

    def block_map(self, dtype: Any = None) -> BlockMap:
        """Return the fitted map as designs take it, in a dtype, or in its own; each map has its own."""
        raise NotImplementedError

    def transform(self, X: Any) -> NDArray[Any]:
        """Map rows to features.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows. Sparse rows are never made dense, except a block at a time where the kernel needs it.

        Returns
        -------
        ndarray of shape (n_rows, n_features_out)
            The features, float32 or float64 as ``dtype`` says.
        """
        check_is_fitted(self)
        X = self._check_matrix(X, reset=False)
        with self._finite_arithmetic(X):
            features = map_features(self.block_map(), X, n_threads=resolve_threads(self.n_jobs))
        check_finite_results(partial(self._out_of_range, X), features)
        return features

    def _finite_arithmetic(self, X: MemoryMatrix) -> AbstractContextManager[None]:
        """Return the context to work in: what leaves the range of the numbers ends in a sentence."""
        return finite_arithmetic(partial(self._out_of_range, X))

    def _out_of_range(self, X: MemoryMatrix) -> str:
        gamma = getattr(self, "gamma_", None)
        return (
            f"The features of {type(self).__name__} leave the range of {np.dtype(self.dtype)}. "
            f"{extremes(X, gamma=gamma)}"
        )

    def to_state(self) -> State:
        """Return the fitted map as data, for a file: nothing in it is code.

        Returns
        -------
        header : dict
            JSON values; ``map`` and ``state_version`` say how to read the rest.
        arrays : dict of ndarray
            By name.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        header, arrays = self._state()
        common = {
            "map": self.map_name,
            "state_version": 1,
            "dtype": np.dtype(self.dtype).name,
            "n_features_in": int(self.n_features_in_),
            "feature_names_in": None if names is None else [str(name) for name in names],
        }
        return {**common, **header}, arrays

    @classmethod
    def from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return a fitted map from what ``to_state`` returned; its features have the same bits.

        Raises
        ------
        ModelFileError
            If the parts do not fit together.
        """
        check_state(header, arrays)
        kind, version = header.get("map"), header.get("state_version")
        if not isinstance(kind, str) or kind != cls.map_name or type(version) is not int or version != 1:
            raise ModelFileError(
                f"header must be that of a {cls.map_name!r} feature map of version 1; got map {shown(kind)} "
                f"of version {shown(version)}."
            )
        n_features, names, dtype = (header.get(k) for k in ("n_features_in", "feature_names_in", "dtype"))
        if (
            type(n_features) is not int
            or n_features < 1
            or not isinstance(dtype, str)
            or dtype not in _DTYPES
        ):
            raise ModelFileError(
                f"The state of a feature map needs a positive n_features_in and dtype float32 or float64; "
                f"got {shown(n_features)} and {shown(dtype)}."
            )
        if names is not None and (not isinstance(names, list) or len(names) != n_features):
            raise ModelFileError(f"feature_names_in must list {n_features} names, or be null.")
        fitted = cls._from_state(header, arrays)
        fitted.n_features_in_ = n_features
        if names is not None:
            fitted.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
        return fitted

    def _state(self) -> State:
        """Return what is fitted; each map has its own."""
        raise NotImplementedError

    @classmethod
    def _from_state(cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Return the map of a state; each map has its own."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return n_features_out(self.block_map())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # dtype= decides
        return tags

    def _check_dtype(self, dtype: Any = None) -> np.dtype[Any]:
        return check_float_dtype(self.dtype if dtype is None else dtype)

    def _check_matrix(self, X: Any, *, reset: bool) -> MemoryMatrix:
        """Return X as the kernels take it, finite, with scikit-learn's checks of width and names."""
        rows, names = gate.check_matrix(X)
        gate.check_finite(rows, names)
        if not reset and rows.shape[1] != self.n_features_in_:
            raise MarginRankError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        validate_data(self, rows if names is None else X, reset=reset, skip_check_array=True)
        return rows


def check_state(header: Any, arrays: Any) -> None:
    """Raise unless these are two mappings, as ``to_state`` returns them."""
    for name, part in (("header", header), ("arrays", arrays)):
        if not isinstance(part, Mapping):
            raise ModelFileError(f"{name} must be a mapping, as to_state returns it; got {shown(part)}.")


def state_array(
    arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...], kind: str = "f"
) -> NDArray[Any]:
    """Return an array of a state, or raise unless it is there with this shape and only finite numbers."""
    array = arrays.get(name)
    sound = (
        isinstance(array, np.ndarray)
        and array.dtype.kind == kind
        and array.ndim == len(shape)
        and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
        and bool(np.isfinite(array).all())
    )
    if array is None or not sound:
        raise ModelFileError(
            f"arrays of a feature map must hold {name!r} of shape {shape}, finite, of kind {kind!r}."
        )
    return array
