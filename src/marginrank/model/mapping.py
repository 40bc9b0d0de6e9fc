"""The way from raw columns to the features that a model's coefficients weigh, and its place in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs import ScaledRows, matrix_design
from marginrank.designs.blocks import BlockMap, block_weights, n_features_out
from marginrank.designs.recomputed import RecomputedDesign
from marginrank.exceptions import MarginRankError, ModelFileError
from marginrank.model.values import frozen_vector, json_value
from marginrank.types import Matrix, Vector

if TYPE_CHECKING:
    from marginrank.feature_maps import FeatureMap

_PREFIX = "feature_map."


@dataclass(frozen=True, eq=False)
class InputMapping:
    """``multiplier * x + offset`` by column, then a feature map; and beside that, weights of raw columns.

    Parameters
    ----------
    feature_map : FeatureMap
        The map, fitted.
    multiplier, offset : ndarray of shape (n_features,) or None
        The scaling before it.
    linear_coef : ndarray of shape (n_features,) or None
        Weights of the raw columns, which are added to the score.
    """

    feature_map: FeatureMap
    multiplier: Vector | None = None
    offset: Vector | None = None
    linear_coef: Vector | None = None

    @property
    def n_features(self) -> int:
        """Number of raw columns."""
        return int(self.feature_map.n_features_in_)

    @property
    def n_features_out(self) -> int:
        """Number of features, one for each coefficient."""
        return n_features_out(self.feature_map.block_map())

    def block_map(self) -> BlockMap:
        """Return it all as designs take it, in float64 whatever the features of training were.

        Weights of landmarks may be 1e5 times as large as the scores that they add up to: kernel values of
        float32 would leave two or three digits of these.
        """
        inner = self.feature_map.block_map(np.float64)
        if self.multiplier is None:
            return inner
        return ScaledRows(inner, self.multiplier, self.offset)

    def scores(self, X: Matrix, coef: Vector, *, n_threads: int) -> Vector:
        """Return the scores of rows, by the weights of the features."""
        return mapped_scores(self.block_map(), X, coef, self.linear_coef, n_threads=n_threads)

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays for a model file."""
        header, state = self.feature_map.to_state()
        arrays = {_PREFIX + name: array for name, array in state.items()}
        for name in ("multiplier", "offset"):
            if getattr(self, name) is not None:
                arrays[f"input_{name}"] = getattr(self, name)
        if self.linear_coef is not None:
            arrays["linear_coef"] = self.linear_coef
        return {"feature_map": json_value(header, "feature_map")}, arrays


def mapped_scores(
    mapping: BlockMap, X: Matrix, coef: Vector, linear_coef: Vector | None, *, n_threads: int
) -> Vector:
    """Return scores of rows by mapped features, and by the columns where these have weights, too.

    A row is scored once, so its features are not kept. All sums have one order, and exports have the same.
    """
    weights = coef if mapping.factor is None else block_weights(mapping.factor, coef)
    scores = RecomputedDesign(mapping, X, n_threads=n_threads).scores(weights)
    return (
        scores if linear_coef is None else scores + matrix_design(X, n_threads=n_threads).scores(linear_coef)
    )


def check_mapping(
    feature_map: Any, scaling: Any, linear_coef: Any, n_coefficients: int
) -> InputMapping | None:
    """Return the mapping of a model, checked, with a map that nobody else holds; None without a map."""
    if feature_map is None:
        if linear_coef is not None:
            raise MarginRankError("linear_coef goes with a feature map; without one, columns have the coef.")
        if scaling is not None:
            raise MarginRankError("input_scaling goes before a feature map; without one, scale the coef.")
        return None
    # Not above: scikit-learn, which the maps need, loads slowly.
    from marginrank.feature_maps import FeatureMap, map_from_state

    if not isinstance(feature_map, FeatureMap):
        raise MarginRankError(
            "feature_map must be a fitted NystroemFeatures or FourierFeatures; got "
            f"{type(feature_map).__name__}."
        )
    header, arrays = feature_map.to_state()
    own = map_from_state(header, {name: array.copy() for name, array in arrays.items()})
    multiplier, offset = (None, None) if scaling is None else scaling
    given = (("input_scaling", multiplier), ("input_scaling", offset), ("linear_coef", linear_coef))
    parts = [_per_column(values, own.n_features_in_, name) for name, values in given]
    found = InputMapping(own, *parts)
    if found.n_features_out != n_coefficients:
        raise MarginRankError(
            f"The feature map makes {found.n_features_out} features, but there are {n_coefficients} "
            "coefficients."
        )
    return found


def _per_column(values: Any, n_features: int, name: str) -> Vector | None:
    if values is None:
        return None
    vector = frozen_vector(values, name)
    if len(vector) != n_features:
        raise MarginRankError(f"{name} must have one entry per feature; got {len(vector)} for {n_features}.")
    return vector


def mapping_from_file(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the arguments of a RankingModel that a file of kind "mapped" holds."""
    from marginrank.feature_maps import map_from_state

    state = header["feature_map"]
    if not isinstance(state, dict):
        raise ModelFileError("feature_map must be an object.")
    own = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    multiplier, offset = arrays.get("input_multiplier"), arrays.get("input_offset")
    if multiplier is None and offset is not None:
        raise ModelFileError("input_offset comes with input_multiplier.")
    return {
        "feature_map": map_from_state(state, own),
        "input_scaling": None if multiplier is None else (multiplier, offset),
        "linear_coef": arrays.get("linear_coef"),
    }


def compose(
    first: tuple[Vector, Vector | None] | None, second: tuple[Vector, Vector | None] | None
) -> tuple[Vector, Vector | None] | None:
    """Return ``x -> m2 (m1 x + o1) + o2`` as one multiplier and offset.

    Examples
    --------
    >>> compose((np.array([2.0]), np.array([1.0])), (np.array([3.0]), None))
    (array([6.]), array([3.]))
    """
    if first is None or second is None:
        return second if first is None else first
    (m1, o1), (m2, o2) = first, second
    moved = np.zeros_like(m1) if o1 is None else m2 * o1
    return m1 * m2, moved if o2 is None else moved + o2
