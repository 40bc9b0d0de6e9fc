"""Models and rows that exports are tested on, and schemas of what engines take, by their parsers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from marginrank import RankingData, RankingModel, RankSVM

#: Names that a database, JSON or XML has to quote.
AWKWARD = ['price "net"', "it's", "a b", "größe", "select", "<&>", "x; DROP TABLE rows; --", "score", "100%"]


@cache
def raw_data(seed: int = 0) -> RankingData:
    """Return rows whose columns differ by 1e6 in scale; one is constant, some are negative."""
    rng = np.random.default_rng(seed)
    n_rows = 400
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.normal(size=n_rows) * 1e6,
            rng.normal(size=n_rows) - 5.0,
            rng.lognormal(size=n_rows) * 1e3,
            np.full(n_rows, 7.0),
            rng.integers(0, 3, size=n_rows),
            -rng.random(n_rows),
            rng.random(n_rows) * 1e-3,
            rng.random(n_rows),
        ]
    )
    utility = X @ [1.0, 1e-6, 0.5, -1e-3, 0.0, 0.3, 2.0, 500.0, 0.0] + rng.normal(size=n_rows)
    return RankingData(X, np.round(utility), qid=np.repeat(np.arange(40), 10))


@cache
def raw_model() -> RankingModel:
    """Return a model of these rows, with a weight of 0 and an intercept."""
    fitted = RankSVM(alpha=1e-3, scale="standard").fit(raw_data()).to_model()
    coef = fitted.coef.copy()
    coef[8] = 0.0
    return RankingModel(
        coef, intercept=0.25, feature_names=AWKWARD, column_statistics=fitted.column_statistics
    )


@cache
def wide() -> tuple[RankingModel, RankingData]:
    """Return a model of 10,000 columns, and rows of it."""
    rng = np.random.default_rng(1)
    X = rng.random((6, 10_000))
    return RankingModel(rng.normal(size=10_000)), RankingData(X, np.arange(6), qid=[1, 1, 1, 2, 2, 2])


@cache
def by_query() -> RankingModel:
    """Return a model that normalises the raw rows within queries."""
    data = raw_data()
    ranker = RankSVM(alpha=1e-3).fit(data.normalized_by_query())
    return ranker.to_model(query_normalization="minmax")


_NUMBER = {"type": "number"}

#: ``_ltr/_featureset/<set>/_createmodel`` of the plugins of Elasticsearch and OpenSearch.
PLUGIN_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["model"],
    "properties": {
        "model": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name", "model"],
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "model": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["type", "definition"],
                    "properties": {
                        "type": {"const": "model/linear"},
                        "definition": {"type": "object", "additionalProperties": _NUMBER},
                        "feature_normalizers": {
                            "type": "object",
                            "additionalProperties": {
                                "type": "object",
                                "minProperties": 1,
                                "maxProperties": 1,
                                "additionalProperties": False,
                                "properties": {
                                    "standard": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "required": ["mean", "standard_deviation"],
                                        "properties": {
                                            "mean": _NUMBER,
                                            "standard_deviation": {"type": "number", "exclusiveMinimum": 0},
                                        },
                                    },
                                    "min_max": {
                                        "type": "object",
                                        "additionalProperties": False,
                                        "required": ["minimum", "maximum"],
                                        "properties": {
                                            "minimum": {"type": "number", "minimum": 0},
                                            "maximum": {"type": "number", "minimum": 0},
                                        },
                                    },
                                },
                            },
                        },
                    },
                },
            },
        }
    },
}

#: ``_ltr/_featureset/<set>`` of the same.
PLUGIN_FEATURES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["featureset"],
    "properties": {
        "featureset": {
            "type": "object",
            "required": ["name", "features"],
            "properties": {
                "name": {"type": "string", "minLength": 1},
                "features": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "additionalProperties": False,
                        "required": ["name", "params", "template_language", "template"],
                        "properties": {
                            "name": {"type": "string", "minLength": 1},
                            "params": {"type": "array", "items": {"type": "string"}},
                            "template_language": {"const": "mustache"},
                            "template": {"type": "object", "minProperties": 1, "maxProperties": 1},
                        },
                    },
                },
            },
        }
    },
}

_TEXT_NUMBER = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?$"}


def _norm(name: str, *parameters: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["class", "params"],
        "properties": {
            "class": {"const": f"org.apache.solr.ltr.norm.{name}"},
            "params": {
                "type": "object",
                "additionalProperties": False,
                "required": list(parameters),
                "properties": dict.fromkeys(parameters, _TEXT_NUMBER),
            },
        },
    }


#: ``schema/model-store`` of Solr, for a linear model.
SOLR_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["class", "name", "features", "params"],
    "properties": {
        "class": {"const": "org.apache.solr.ltr.model.LinearModel"},
        "name": {"type": "string", "minLength": 1},
        "store": {"type": "string", "minLength": 1},
        "features": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "norm": {
                        "oneOf": [
                            _norm("StandardNormalizer", "avg", "std"),
                            _norm("MinMaxNormalizer", "min", "max"),
                        ]
                    },
                },
            },
        },
        "params": {
            "type": "object",
            "additionalProperties": False,
            "required": ["weights"],
            "properties": {
                "weights": {"type": "object", "minProperties": 1, "additionalProperties": _NUMBER}
            },
        },
    },
}

#: ``schema/feature-store`` of Solr.
SOLR_FEATURES_SCHEMA: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["store", "name", "class", "params"],
        "properties": {
            "store": {"type": "string", "minLength": 1},
            "name": {"type": "string", "minLength": 1},
            "class": {"type": "string", "pattern": r"^org\.apache\.solr\.ltr\.feature\."},
            "params": {"type": "object"},
        },
    },
}
