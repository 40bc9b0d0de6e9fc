"""Linear models of the learning-to-rank plugins of Elasticsearch and OpenSearch, which share their parser.

A definition maps feature names to numbers; features of the set that it does not name weigh 0, and one that
the set does not know is refused. Scores are float32 sums in the order of the set, without an intercept.
The normaliser ``standard`` is ``(x - mean) / standard_deviation`` and wants a positive deviation; ``min_max``
wants numbers that are not negative, so a column with a negative minimum is sent as ``standard`` with the
minimum for a mean and the range for a deviation, which is the same map. A feature is the score of a query,
and Lucene has no scores below 0: columns that were negative in training are warned of.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError, Sentence, warn
from marginrank.export.base import ExportedModel, Options, Scorer, Written
from marginrank.export.normalizers import Normalized, SearchPlugin, normalized_weights
from marginrank.export.numbers import (
    as_float32,
    check_float32,
    float32_dot,
    listed_columns,
)
from marginrank.types import Rows, Vector

_FEATURE_SET = "features"


class Elasticsearch(SearchPlugin):
    """The learning-to-rank plugin of Elasticsearch."""

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = "The learning-to-rank plugin of Elasticsearch"

    def write(self, model: ExportedModel, options: Options) -> Written:
        """Return the body of ``_createmodel``, and a feature set to fill in."""
        found = normalized_weights(model, options)
        names = [options.names[j] for j in found.columns]
        check_float32(found.weights, names, self.title)
        _warn_of_negatives(model, options, found.columns, self.title)
        linear: dict[str, Any] = {
            "type": "model/linear",
            "definition": dict(zip(names, found.weights.tolist(), strict=True)),
        }
        if found.normalized.any():
            linear["feature_normalizers"] = _normalizers(names, found, options.normalizers == "minmax")
        set_name = options.feature_set or _FEATURE_SET
        features = {"featureset": {"name": set_name, "features": [_feature(name) for name in names]}}
        url = f"http://localhost:9200/_ltr/_featureset/{quote(set_name, safe='')}"
        header = "-H 'Content-Type: application/json'"
        return Written(
            _json({"model": {"name": options.model_name, "model": linear}}),
            found.columns,
            companions=((".features.json", _json(features)),),
            commands=(
                f"curl -X POST '{url}' {header} --data-binary @{{.features.json}}",
                f"curl -X POST '{url}/_createmodel' {header} --data-binary @{{model}}",
            ),
        )

    def scorer(self, content: bytes, options: Options) -> Scorer:
        """Return a replica of the plugin's linear ranker, for a set of the model's columns in their order."""
        linear = json.loads(content)["model"]["model"]
        place = {name: j for j, name in enumerate(options.names)}
        unknown = [name for name in linear["definition"] if name not in place]
        if unknown:
            raise MarginRankError(f"The feature set does not know {unknown[0]!r}, which the model weighs.")
        weights = np.zeros(len(place), dtype=np.float32)
        for name, weight in linear["definition"].items():
            weights[place[name]] = weight
        normalizers = {place[name]: one for name, one in linear.get("feature_normalizers", {}).items()}
        used = np.flatnonzero(weights)  # a product with 0 adds nothing to a finite sum

        def score(X: NDArray[np.float64], queries: Rows) -> Vector:
            values = as_float32(X[:, used])
            for k, j in enumerate(used.tolist()):
                if j in normalizers:
                    values[:, k] = _normalize(values[:, k], normalizers[j])
            return float32_dot(values, weights[used])

        return score


class OpenSearch(Elasticsearch):
    """The learning-to-rank plugin of OpenSearch."""

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "The learning-to-rank plugin of OpenSearch"


def _warn_of_negatives(model: ExportedModel, options: Options, columns: Rows, title: str) -> None:
    """Warn of columns that no query can have for its score."""
    if model.column_statistics is None:
        return
    negative = columns[model.column_statistics.low[columns] < 0.0]
    if len(negative):
        warn(
            Sentence(
                "{title!s} takes scores of queries for features, which are never below 0, and {columns!s} "
                "had negative values in training.",
                "Add a constant to the column, in the index and in training; that changes no order.",
                title=title,
                columns=listed_columns(negative, options.names),
            ),
            UserWarning,
        )


def _normalizers(names: list[str], found: Normalized, by_range: bool) -> dict[str, Any]:
    normalizers: dict[str, Any] = {}
    for k in np.flatnonzero(found.normalized):
        shift, scale = float(found.shift[k]), float(found.scale[k])
        if by_range and shift >= 0.0:
            normalizers[names[k]] = {"min_max": {"minimum": shift, "maximum": shift + scale}}
        else:
            normalizers[names[k]] = {"standard": {"mean": shift, "standard_deviation": scale}}
    return normalizers


def _normalize(values: NDArray[np.float32], normalizer: dict[str, Any]) -> NDArray[np.float32]:
    (kind, given), *_ = normalizer.items()
    with np.errstate(over="ignore", invalid="ignore"):
        if kind == "standard":
            mean, deviation = np.float32(given["mean"]), np.float32(given["standard_deviation"])
            return np.asarray((values - mean) / deviation)
        low, high = np.float32(given["minimum"]), np.float32(given["maximum"])
        return np.asarray((values - low) / (high - low))


def _feature(name: str) -> dict[str, Any]:
    """Return a feature that is the value of a field, to be replaced by what the column stands for."""
    value = {"field_value_factor": {"field": name, "missing": 0}}
    query = {"query": {"match_all": {}}, "functions": [value], "boost_mode": "replace"}
    return {
        "name": name,
        "params": [],
        "template_language": "mustache",
        "template": {"function_score": query},
    }


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
