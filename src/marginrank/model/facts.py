"""What is said of a model, in names and values: by ``marginrank inspect``, in reports and in notebooks."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.explanation.importance import feature_weights
from marginrank.explanation.margins import names_of
from marginrank.explanation.results import largest
from marginrank.export.base import ExportedModel
from marginrank.figures import counted
from marginrank.markup import Markup, facts, joined, named, table, visible

_SHOWN = 8
_WEIGHTS = 10
#: What is known of training, in the words of the fitted attributes.
_TRAINING = ("alpha", "objective", "lower_bound", "gap", "n_iter", "n_pairs", "n_queries", "scale", "offset")
_COUNTS = (("queries", "query"), ("pairs", "pair"))


def model_html(model: ExportedModel) -> Markup:
    """Return the face of a model in a notebook: its facts, and its largest weights."""
    rows = [(name, named(value, 200)) for name, value in model_facts(model_report(model))]
    return joined([facts(rows), _weights_html(model)])


def _weights_html(model: ExportedModel) -> Markup:
    if model.mapping is not None:
        return Markup("")
    try:
        sizes, head = feature_weights(model).effects, "weight x deviation"
    except MarginRankError:  # no statistics of the columns
        sizes, head = np.asarray(model.coef), ""
    names = names_of(model)
    heads = ["feature", "weight", *([head] if head else [])]
    rows = [
        [named(names[j], 40), f"{model.coef[j]:.4g}", *([f"{sizes[j]:+.4g}"] if head else [])]
        for j in largest(sizes, _WEIGHTS)
    ]
    return table(heads, rows)


def model_report(model: Any, names: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return all that is known of a model as plain values; columns by these names, or its own."""
    names, metadata = names or names_of(model), model.metadata
    used = _used(model)
    statistics = model.column_statistics
    ranges = None
    if statistics is not None:
        ranges = {
            name: {"low": statistics.low[j], "high": statistics.high[j], "zeros": statistics.zeros[j]}
            for j, name in enumerate(names)
        }
    return {
        "kind": model.kind,
        "estimator": metadata.get("estimator"),
        "library_version": metadata.get("library_version"),
        "imported_from": metadata.get("imported_from"),
        "parameters": metadata.get("parameters"),
        "query_normalization": model.query_normalization,
        "intercept": model.intercept,
        "n_features": model.n_features,
        "n_coefficients": len(model.coef),
        "feature_map": None if model.feature_map is None else type(model.feature_map).__name__,
        "features_used": [name for name, one in zip(names, used, strict=True) if one],
        "features_not_used": [name for name, one in zip(names, used, strict=True) if not one],
        "training": {name: metadata[name] for name in _TRAINING if name in metadata},
        "n_training_rows": None if statistics is None else statistics.n_rows,
        "ranges": ranges,
    }


def _used(model: Any) -> Any:
    """Return which columns the scores can depend on."""
    if model.mapping is None:
        return model.coef != 0.0
    return np.ones(model.n_features, dtype=bool)


def model_facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what people read of a ``model_report``."""
    source = report["estimator"] or report["imported_from"] or "made by hand"
    version = f", marginrank {report['library_version']}" if report["library_version"] else ""
    facts = [("model", f"{report['kind']}: {source}{version}")]
    if report["feature_map"]:
        facts.append(
            ("feature map", f"{report['feature_map']}, {counted(report['n_coefficients'], 'feature')}")
        )
    if report["query_normalization"]:
        facts.append(("normalisation", f"{report['query_normalization']} within queries"))
    used, idle = report["features_used"], report["features_not_used"]
    facts.append(("features", f"{report['n_features']:,}, {len(used):,} in use"))
    if idle:
        facts.append(("features not used", _listed(idle)))
    training = report["training"]
    if training.get("alpha") is not None:
        facts.append(("alpha", f"{training['alpha']:g}"))
    facts += _certificate(training)
    rows = report["n_training_rows"]
    counts = [counted(rows, "row")] if rows else []
    counts += [counted(training[f"n_{noun}"], word) for noun, word in _COUNTS if training.get(f"n_{noun}")]
    if counts:
        facts.append(("trained on", ", ".join(counts)))
    if training.get("scale"):
        facts.append(("scale", f"{training['scale']}, folded into the model"))
    if training.get("offset"):
        facts.append(("offset", "trained on top of other scores; add them to those of the model"))
    return facts


def _certificate(training: dict[str, Any]) -> list[tuple[str, str]]:
    gap, objective, bound = (training.get(name) for name in ("gap", "objective", "lower_bound"))
    if gap is None or objective is None or bound is None:
        return [("certificate", "none")]
    return [("certificate", f"objective {objective:.6g}, no model is below {bound:.6g} (gap {gap:.2g})")]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,}: {', '.join(map(visible, names[:_SHOWN]))}{more}"
