"""What a model file holds, for people and for machines."""

from __future__ import annotations

import os
from typing import Any, cast

import click
import numpy as np

from marginrank.cli.output.printing import counted, print_facts, print_json, print_table
from marginrank.explanation.margins import names_of
from marginrank.export.base import ExportedModel
from marginrank.model import RankingModel
from marginrank.model.file_format import MAGIC

_SHOWN = 8
_ROWS = 60
#: What is known of training, in the words of the fitted attributes.
_TRAINING = ("alpha", "objective", "lower_bound", "gap", "n_iter", "n_pairs", "n_queries", "scale")


def is_model(path: str) -> bool:
    """Whether a path is a model file, by its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def model_report(model: RankingModel) -> dict[str, Any]:
    """Return all that is known of a model as plain values."""
    names, metadata = names_of(cast("ExportedModel", model)), model.metadata
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


def show_model(model: RankingModel, as_json: bool) -> None:
    """Print what a model is."""
    report = model_report(model)
    if as_json:
        print_json(report)
        return
    print_facts(_facts(report))
    if model.column_statistics is not None:
        click.echo()
        _print_ranges(model)


def _used(model: RankingModel) -> Any:
    """Return which columns the scores can depend on."""
    if model.mapping is None:
        return model.coef != 0.0
    return np.ones(model.n_features, dtype=bool)


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
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
    return facts


_COUNTS = (("queries", "query"), ("pairs", "pair"))


def _certificate(training: dict[str, Any]) -> list[tuple[str, str]]:
    gap, objective, bound = (training.get(name) for name in ("gap", "objective", "lower_bound"))
    if gap is None or objective is None or bound is None:
        return [("certificate", "none")]
    return [("certificate", f"objective {objective:.6g}, no model is below {bound:.6g} (gap {gap:.2g})")]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{len(names):,}: {', '.join(names[:_SHOWN])}{more}"


def _print_ranges(model: RankingModel) -> None:
    """Print a line for each column: weight, range, share of zeros."""
    statistics = model.column_statistics
    assert statistics is not None
    names, linear = names_of(cast("ExportedModel", model)), model.mapping is None
    shown = list(range(model.n_features))[:_ROWS]
    rows = [
        (
            names[j],
            *([f"{model.coef[j]:.4g}"] if linear else []),
            f"{statistics.low[j]:.4g}",
            f"{statistics.high[j]:.4g}",
            f"{100 * statistics.zeros[j]:.1f}%",
        )
        for j in shown
    ]
    print_table("", ("feature", *(["weight"] if linear else []), "lowest", "highest", "zeros"), rows)
    if len(shown) < model.n_features:
        click.echo(f"and {model.n_features - len(shown):,} more features; --json has all")
