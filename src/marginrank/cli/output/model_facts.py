"""What a model file holds, for people and for machines."""

from __future__ import annotations

import os
from typing import cast

import click

from marginrank.cli.output.printing import print_facts, print_json, print_table
from marginrank.explanation.margins import names_of
from marginrank.export.base import ExportedModel
from marginrank.model import RankingModel
from marginrank.model.facts import model_facts, model_report
from marginrank.model.file_format import MAGIC

_ROWS = 60


def is_model(path: str) -> bool:
    """Whether a path is a model file, by its first bytes."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def show_model(model: RankingModel, as_json: bool) -> None:
    """Print what a model is."""
    report = model_report(cast("ExportedModel", model))
    if as_json:
        print_json(report)
        return
    print_facts(model_facts(report))
    if model.column_statistics is not None:
        click.echo()
        _print_ranges(model)


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
