"""What ``train``, ``path`` and ``tune`` learn from and select by: files, and what is done to features."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from marginrank.cli.commands.predict import aligned
from marginrank.cli.files.reading import keep_apart, labelled, read_data, with_pairs, with_weights
from marginrank.cli.options import shared as options
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.metrics import Metric, parse_metric


@dataclass(frozen=True)
class TrainingFiles:
    """Data to learn from and data to select on, as they were named on the command line."""

    data: str
    pairs: str | None
    pairs_by: str
    weights: str | None
    eval_set: str | None
    normalize: str
    ignore_unknown: bool
    reading: options.Reading

    @property
    def query_normalization(self) -> Any:
        """What a model of these data must do to the features of each query."""
        return "minmax" if self.normalize == "query" else None

    @property
    def names(self) -> tuple[str | None, ...]:
        """The files that are read."""
        return self.data, self.pairs, self.weights, self.eval_set

    def check(self) -> None:
        """Refuse what cannot work before any file is read."""
        if self.names.count("-") > 1:
            raise click.UsageError("Only one of the inputs can come from standard input.")
        if self.pairs is not None and self.weights is not None:
            raise click.UsageError(
                "--weights weighs labelled rows; give pairs their weights in the pairs file."
            )

    def read(self) -> tuple[RankingData, RankingData | None]:
        """Return the training data, and the validation data with the same columns."""
        rows = read_data(self.data, self.reading)
        if self.weights is not None:
            rows = with_weights(rows, self.weights)
        if self.eval_set is None:
            checked = None
        else:
            found = read_data(self.eval_set, self.reading)
            labelled(found, self.eval_set)
            checked = aligned(found, rows, self.ignore_unknown, self.reading.first_feature)
        if self.normalize == "query":
            rows = rows.normalized_by_query()
            checked = None if checked is None else checked.normalized_by_query()
        return (rows if self.pairs is None else with_pairs(rows, self.pairs, self.pairs_by)), checked


def _scale(context: click.Context, parameter: click.Parameter, value: str) -> str | None:
    return None if value == "none" else value


_OPTIONS: tuple[options.Decorator, ...] = (
    click.option(
        "--scale",
        type=click.Choice(["none", "standard", "minmax"]),
        default="none",
        show_default=True,
        callback=_scale,
        help="Divide the features by their standard deviation or range; folded into the model.",
    ),
    click.option(
        "--normalize",
        type=click.Choice(["none", "query"]),
        default="none",
        show_default=True,
        help="LETOR's min-max within each query; the model remembers it.",
    ),
    click.option("--pairs", type=click.Path(dir_okay=False), help="CSV of winner,loser[,weight[,margin]]."),
    options.pairs_by,
    click.option("--weights", type=click.Path(dir_okay=False), help="One weight a row, one a line."),
    click.option("--validate", "eval_set", type=click.Path(), help="Data to select on, and to report on."),
    options.reading(),
    options.ignore_unknown,
)


def file_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets ``files`` and ``scale``."""

    @functools.wraps(command)
    def wrapped(**parameters: Any) -> Any:
        files = TrainingFiles(**{name: parameters.pop(name) for name in TrainingFiles.__dataclass_fields__})
        files.check()
        return command(files=files, **parameters)

    decorated: Callable[..., Any] = wrapped
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def training_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add also what to select by; the command gets ``metric``, None where none was named."""

    @functools.wraps(command)
    def wrapped(metric: str | None, flavor: str, **parameters: Any) -> Any:
        parsed: Metric | None = None if metric is None else parse_metric(metric, flavor=flavor)
        return command(metric=parsed, **parameters)

    return file_options(options.selection_metric(options.flavor(wrapped)))


def check_outputs(files: TrainingFiles, model: str | None, *others: str | None) -> None:
    """Refuse files that cannot be written, or that are read, before work is done for them."""
    keep_apart((model, *others), files.names)
    if model == "-":
        raise click.UsageError("A model goes to a file; name one with -o.")
    for name in (model, *others):
        if name is not None and name != "-":
            folder = os.path.dirname(os.path.abspath(name))
            if not os.access(folder, os.W_OK):
                raise MarginRankError(f"{name}: the folder is not there, or cannot be written to.")
