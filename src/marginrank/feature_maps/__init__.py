"""Feature maps: kernels as plain features, for linear models of any kind."""

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from marginrank.exceptions import ModelFileError, shown
from marginrank.feature_maps.base import FeatureMap, check_state
from marginrank.feature_maps.fourier import FourierFeatures
from marginrank.feature_maps.nystroem import NystroemFeatures

#: Maps by the name in their state.
FEATURE_MAPS: Mapping[str, type[FeatureMap]] = {
    cls.map_name: cls for cls in (NystroemFeatures, FourierFeatures)
}


def map_from_state(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> FeatureMap:
    """Return a fitted map of any kind from what its ``to_state`` returned.

    Examples
    --------
    >>> import numpy as np
    >>> fourier = FourierFeatures(n_components=3, random_state=0).fit(np.eye(2))
    >>> copy = map_from_state(*fourier.to_state())
    >>> bool((copy.transform(np.eye(2)) == fourier.transform(np.eye(2))).all())
    True
    """
    check_state(header, arrays)
    name = header.get("map")
    if not isinstance(name, str) or name not in FEATURE_MAPS:
        known = ", ".join(map(repr, FEATURE_MAPS))
        raise ModelFileError(f"header names the feature map {shown(name)}; this version knows {known}.")
    return FEATURE_MAPS[name].from_state(header, arrays)


__all__ = ["FEATURE_MAPS", "FeatureMap", "FourierFeatures", "NystroemFeatures", "map_from_state"]
