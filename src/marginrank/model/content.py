"""What a model file holds of a model: header values and arrays, and what they say of the model again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.model.calibration import calibration_from_file, calibration_to_file
from marginrank.model.mapping import mapping_from_file
from marginrank.model.statistics import statistics_from_file, statistics_to_file

# For programs that bring the columns: they can leave out others. Readers that do not know it score the same.
_USED = "features_used"


def content_of(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]], int]:
    """Return header values and arrays of a RankingModel, and the first format version that holds them."""
    content = {
        "kind": model.kind,
        "intercept": model.intercept,
        "feature_names": model.feature_names,
        "query_normalization": model.query_normalization,
        "metadata": model.metadata,
    }
    arrays: dict[str, NDArray[Any]] = {"coef": model.coef}
    if model.column_scale is not None:
        arrays["column_scale"] = model.column_scale
    used = model.features_used
    if 0 < len(used) <= model.n_features // 2:  # of more, the coefficients tell
        arrays[_USED] = used.astype(np.int32)
    version = 1  # holds all that a linear model needs, and every release reads it
    if model.mapping is not None:
        header, more = model.mapping.to_file()
        content, arrays, version = {**content, **header}, {**arrays, **more}, 2
    if model.column_statistics is not None:
        header, more = statistics_to_file(model.column_statistics, is_linear=model.mapping is None)
        content, arrays, version = {**content, **header}, {**arrays, **more}, 3
    if model.calibration is not None:
        header, more = calibration_to_file(model.calibration)
        content, arrays, version = {**content, **header}, {**arrays, **more}, 4
    if model.linear_coef is not None:
        version = 5
    return content, arrays, version


def arguments_of(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return what a model is made with; a ``KeyError`` names what is missing."""
    mapping = mapping_from_file(dict(header), dict(arrays)) if header["kind"] == "mapped" else {}
    used = arrays.get(_USED)
    if used is not None and (mapping or not np.array_equal(used, np.flatnonzero(arrays["coef"]))):
        raise MarginRankError(f"{_USED} must be the columns whose coefficient is not 0")
    return {
        "coef": arrays["coef"],
        "intercept": header["intercept"],
        "feature_names": header["feature_names"],
        "query_normalization": header["query_normalization"],
        "column_scale": arrays.get("column_scale"),
        "column_statistics": statistics_from_file(header, arrays),
        "calibration": calibration_from_file(header, arrays),
        "metadata": header["metadata"],
        **mapping,
    }
