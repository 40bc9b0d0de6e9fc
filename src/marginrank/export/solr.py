"""Linear models of Solr's learning-to-rank module (``org.apache.solr.ltr.model.LinearModel``).

Every feature of a model needs a weight, and a model needs a feature. Scores are float32 sums in the order of
the features, without an intercept. Numbers of normalisers are strings: ``StandardNormalizer`` takes ``avg``
and a positive ``std``, ``MinMaxNormalizer`` different ``min`` and ``max``, of any sign.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from marginrank.export.base import ExportedModel, Options, Scorer, Written
from marginrank.export.normalizers import SearchPlugin, normalized_weights
from marginrank.export.numbers import as_float32, check_float32, float32_dot
from marginrank.types import Rows, Vector

_STORE = "_DEFAULT_"
_STANDARD = "org.apache.solr.ltr.norm.StandardNormalizer"
_MIN_MAX = "org.apache.solr.ltr.norm.MinMaxNormalizer"


class Solr(SearchPlugin):
    """Solr's learning-to-rank module."""

    name: ClassVar[str] = "solr"
    title: ClassVar[str] = "Solr's LinearModel"

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return the model for ``schema/model-store``, and a feature store to fill in."""
        found = normalized_weights(model, options)
        names = [options.names[j] for j in found.columns]
        check_float32(found.weights, names, self.title)
        store = options.feature_set or _STORE
        features: list[dict[str, Any]] = []
        for k, name in enumerate(names):
            feature: dict[str, Any] = {"name": name}
            if found.normalized[k]:
                shift, scale = float(found.shift[k]), float(found.scale[k])
                feature["norm"] = _norm(shift, scale, options.normalizers == "minmax")
            features.append(feature)
        content = {
            "class": "org.apache.solr.ltr.model.LinearModel",
            "name": options.model_name,
            "store": store,
            "features": features,
            "params": {"weights": dict(zip(names, found.weights.tolist(), strict=True))},
        }
        url = "http://localhost:8983/solr/COLLECTION/schema"
        header = "-H 'Content-type: application/json'"
        return Written(
            _json(content),
            found.columns,
            companions=((".features.json", _json([_feature(store, name) for name in names])),),
            commands=(
                f"curl -X PUT '{url}/feature-store' {header} --data-binary @{{.features.json}}",
                f"curl -X PUT '{url}/model-store' {header} --data-binary @{{model}}",
            ),
        )

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return a replica of ``LinearModel.score``, after the normalisers."""
        model = json.loads(content)
        place = {name: j for j, name in enumerate(options.names)}
        columns = [place[feature["name"]] for feature in model["features"]]
        weights = np.array(
            [model["params"]["weights"][feature["name"]] for feature in model["features"]], dtype=np.float32
        )
        norms = [feature.get("norm") for feature in model["features"]]

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            values = as_float32(X[:, columns])
            for k, norm in enumerate(norms):
                if norm is not None:
                    values[:, k] = _normalize(values[:, k], norm)
            return float32_dot(values, weights)

        return score


def _norm(shift: float, scale: float, by_range: bool) -> dict[str, Any]:
    if by_range:
        return {"class": _MIN_MAX, "params": {"min": repr(shift), "max": repr(shift + scale)}}
    return {"class": _STANDARD, "params": {"avg": repr(shift), "std": repr(scale)}}


def _normalize(values: NDArray[np.float32], norm: dict[str, Any]) -> NDArray[np.float32]:
    given = {name: np.float32(text) for name, text in norm["params"].items()}
    with np.errstate(over="ignore", invalid="ignore"):
        if norm["class"] == _STANDARD:
            return np.asarray((values - given["avg"]) / given["std"])
        return np.asarray((values - given["min"]) / (given["max"] - given["min"]))


def _feature(store: str, name: str) -> dict[str, Any]:
    """Return a feature that is the value of a field, to be replaced by what the column stands for."""
    kind = "org.apache.solr.ltr.feature.FieldValueFeature"
    return {"store": store, "name": name, "class": kind, "params": {"field": name}}


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
