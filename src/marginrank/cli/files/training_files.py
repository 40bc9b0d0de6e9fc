"""What ``train``, ``path`` and ``tune`` learn from and select by: files, and what is done to features."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from marginrank.cli.command import MOST_USED, Decorator, option, with_options
from marginrank.cli.files.columns import aligned
from marginrank.cli.files.reading import (
    keep_apart,
    labelled,
    read_data,
    read_files,
    with_pairs,
    with_weights,
)
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.exceptions import MarginRankError, Sentence, shown_path
from marginrank.io import format_of
from marginrank.io.places import is_file
from marginrank.io.side_files import UnreadWeightsWarning
from marginrank.metrics import Metric, parse_metric


@dataclass(frozen=True)
class TrainingFiles:
    """Data to learn from and data to select on, as they were named on the command line."""

    data: tuple[str, ...]
    pairs: str | None
    pairs_by: str
    weights: str | None
    eval_set: str | None
    normalize: str
    ignore_unknown: bool
    reading: Reading

    @property
    def query_normalization(self) -> Any:
        """What a model of these data must do to the features of each query."""
        return "minmax" if self.normalize == "query" else None

    @property
    def names(self) -> tuple[str | None, ...]:
        """The files that are read."""
        return *self.data, self.pairs, self.weights, self.eval_set

    def check(self) -> None:
        """Refuse what cannot work before any file is read."""
        if self.names.count("-") > 1:
            raise click.UsageError("Only one of the inputs can come from standard input.")
        if self.pairs is not None and self.weights is not None:
            raise click.UsageError(
                "--weights weighs labelled rows; give pairs their weights in the pairs file."
            )
        if self.weights is None and self.pairs is None and self.reading.format is None:
            self._warn_of_weights()

    def _warn_of_weights(self) -> None:
        """Warn of weights beside LETOR text, where ``marginrank clicks`` puts them, that are not read."""
        for path in self.data:
            beside = f"{path}.weight"
            if path != "-" and format_of(path) == "letor" and is_file(beside):
                warnings.warn(
                    Sentence(
                        "{beside!s} lies beside {path!s}, and its weights are not read.",
                        "Take them with {format='lightgbm'} or {weights}; {format='letor'} leaves them out.",
                        beside=shown_path(beside),
                        path=shown_path(path),
                    ),
                    stacklevel=2,
                )

    def _read_rows(self) -> RankingData:
        """Return the training rows; ``check`` has warned of weights that are not read."""
        with warnings.catch_warnings():
            if self.pairs is None:
                warnings.simplefilter("ignore", UnreadWeightsWarning)
            return read_files(self.data, self.reading)

    def _check_disk(self, kernel: bool) -> None:
        if kernel:
            raise MarginRankError(
                "--kernel does not train over data on disk; name a file that fits into memory, or leave out "
                "--kernel."
            )
        if self.normalize == "query":
            raise MarginRankError(
                "Data on disk are not normalised within queries; leave out --normalize, or convert files "
                "that are normalised already."
            )

    def read(self, *, kernel: bool = False) -> tuple[RankingData, RankingData | None]:
        """Return the training data, and the validation data with the same columns."""
        rows = self._read_rows()
        if not in_memory(rows.X):
            self._check_disk(kernel)
        if self.weights is not None:
            rows = with_weights(rows, self.weights)
        if self.eval_set is None:
            validation = None
        else:
            found = read_data(self.eval_set, self.reading)
            labelled(found, self.eval_set)
            validation = aligned(found, rows, self.ignore_unknown, self.reading.first_feature)
        if self.normalize == "query":
            rows = rows.normalized_by_query()
            validation = None if validation is None else validation.normalized_by_query()
        return (rows if self.pairs is None else with_pairs(rows, self.pairs, self.pairs_by)), validation


_VALIDATE: Decorator = option(
    "--validate",
    "eval_set",
    group=MOST_USED,
    type=click.Path(),
    help="Validation data: to select on, and to report on.",
)
normalize: Decorator = option(
    "--normalize",
    group="Data",
    type=click.Choice(["none", "query"]),
    default="none",
    show_default=True,
    help="LETOR's min-max within each query; the model remembers it.",
)
weights: Decorator = option(
    "--weights", group="Data", type=click.Path(dir_okay=False), help="One weight a row, one a line."
)
_DATA: tuple[Decorator, ...] = (
    normalize,
    option(
        "--pairs",
        group="Data",
        type=click.Path(dir_okay=False),
        help="Learn from a CSV of winner,loser[,weight[,margin]] in place of labels.",
    ),
    options.pairs_by,
    weights,
    options.ignore_unknown,
    reading_options(),
)


def file_options(metric: Decorator) -> Decorator:
    """Return what adds the options, and one for the metric; the command gets ``files``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**parameters: Any) -> Any:
            fields = TrainingFiles.__dataclass_fields__
            files = TrainingFiles(**{name: parameters.pop(name) for name in fields})
            files.check()
            return command(files=files, **parameters)

        return with_options(_VALIDATE, metric, *_DATA, options.flavor)(wrapped)

    return decorate


def labelled_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of labelled rows alone; the command gets ``files``."""

    @functools.wraps(command)
    def wrapped(**parameters: Any) -> Any:
        given = {name: parameters.pop(name) for name in ("data", "weights", "normalize", "reading")}
        files = TrainingFiles(pairs=None, pairs_by="auto", eval_set=None, ignore_unknown=False, **given)
        files.check()
        return command(files=files, **parameters)

    return with_options(normalize, weights, reading_options())(wrapped)


def training_files(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add also what to select by; the command gets ``metric``, None where none was named."""

    @functools.wraps(command)
    def wrapped(metric: str | None, flavor: str, **parameters: Any) -> Any:
        parsed: Metric | None = None if metric is None else parse_metric(metric, flavor=flavor)
        return command(metric=parsed, **parameters)

    return file_options(options.selection_metric)(wrapped)


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
