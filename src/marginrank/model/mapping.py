"""The way from raw columns to the features that a model's coefficients weigh, and its place in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marginrank.designs import ScaledRows
from marginrank.designs.blocks import BlockMap, n_features_out
from marginrank.exceptions import MarginRankError, ModelFileError
from marginrank.model.values import frozen_vector, json_value
from marginrank.types import Vector

if TYPE_CHECKING:
    from marginrank.feature_maps import FeatureMap

_PREFIX = "feature_map."


@dataclass(frozen=True, eq=False)
class InputMapping:
    """``multiplier * x + offset`` by column, then a feature map.

    Parameters
    ----------
    feature_map : FeatureMap
        The map, fitted.
    multiplier, offset : ndarray of shape (n_features,) or None
        The scaling before it.
    """

    feature_map: FeatureMap
    multiplier: Vector | None = None
    offset: Vector | None = None

    @property
    def n_features(self) -> int:
        """Number of raw columns."""
        return int(self.feature_map.n_features_in_)

    @property
    def n_features_out(self) -> int:
        """Number of features, one for each coefficient."""
        return n_features_out(self.feature_map.block_map())

    def block_map(self) -> BlockMap:
        """Return it all as designs take it."""
        inner = self.feature_map.block_map()
        if self.multiplier is None:
            return inner
        return ScaledRows(inner, self.multiplier, self.offset)

    def to_file(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return header and arrays for a model file."""
        header, state = self.feature_map.to_state()
        arrays = {_PREFIX + name: array for name, array in state.items()}
        for name in ("multiplier", "offset"):
            if getattr(self, name) is not None:
                arrays[f"input_{name}"] = getattr(self, name)
        return {"feature_map": json_value(header, "feature_map")}, arrays


def check_mapping(feature_map: Any, scaling: Any, n_coefficients: int) -> InputMapping | None:
    """Return the mapping of a model, checked, with a map that nobody else holds; None without a map."""
    if feature_map is None:
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
    found = InputMapping(own, *(_per_column(v, own.n_features_in_) for v in (multiplier, offset)))
    if found.n_features_out != n_coefficients:
        raise MarginRankError(
            f"The feature map makes {found.n_features_out} features, but there are {n_coefficients} "
            "coefficients."
        )
    return found


def _per_column(values: Any, n_features: int) -> Vector | None:
    if values is None:
        return None
    vector = frozen_vector(values, "input_scaling")
    if len(vector) != n_features:
        raise MarginRankError(
            f"input_scaling must have one entry per feature; got {len(vector)} for {n_features}."
        )
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
