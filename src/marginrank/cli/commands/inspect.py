"""``marginrank inspect``: the data doctor, and what is in a model."""

from __future__ import annotations

from dataclasses import replace

import click

from marginrank.cli.command import Command
from marginrank.cli.files.reading import read_data
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.model_facts import is_model, show_model
from marginrank.cli.output.printing import (
    bytes_for_people,
    print_facts,
    print_json,
    seconds_for_people,
)
from marginrank.inspection import Inspection
from marginrank.inspection import inspect as inspect_data
from marginrank.model import RankingModel
from marginrank.report.facts import data_facts


@click.command(cls=Command)
@click.argument("data")
@reading_options()
@options.jobs
@options.as_json
def inspect(data: str, reading: Reading, n_jobs: int | None, as_json: bool) -> None:
    """Look through DATA before training on it, or say what a model is.

    Reports sizes, labels, the pairs that count, queries without any, duplicated rows, constant and badly
    scaled features, and an estimate of the memory and time that training takes, also with --alpha auto (by a
    search over a sample). Of a model file: what it is,
    its certificate, the features that it uses and those that it does not, and the ranges that it was trained
    on.

    \b
    Examples:
      marginrank inspect train.txt.gz
      marginrank inspect model.mrk
    """
    if is_model(data):
        show_model(RankingModel.load(data), as_json)
        return
    found = _as_files_count(inspect_data(read_data(data, reading), n_jobs=n_jobs), reading.first_feature)
    if as_json:
        print_json(found.to_dict())
    else:
        print_facts(_facts(found))


def _as_files_count(found: Inspection, first: int) -> Inspection:
    """Return what was found with features numbered as in the file, not as in Python."""
    constant, odd = (
        [name + first if isinstance(name, int) else name for name in names]
        for names in (found.constant_features, found.badly_scaled_features)
    )
    return replace(found, constant_features=constant, badly_scaled_features=odd)


def _facts(found: Inspection) -> list[tuple[str, str]]:
    return [
        *data_facts(found),
        ("to train", f"{_time(found)}, and {bytes_for_people(found.memory_bytes)} besides the data"),
        *_search(found),
        *_advice(found),
    ]


def _time(found: Inspection) -> str:
    low, high = map(seconds_for_people, found.train_seconds)
    if low == high or low.startswith("less"):
        return high if high.startswith("less") else f"up to {high}"
    return f"{low.removesuffix(' s')} to {high}"


def _search(found: Inspection) -> list[tuple[str, str]]:
    if found.search_seconds is None:
        return []
    seconds = seconds_for_people(found.search_seconds)
    return [("with --alpha auto", seconds if seconds.startswith("less") else f"about {seconds}")]


def _advice(found: Inspection) -> list[tuple[str, str]]:
    advice = []
    if found.n_pairs == 0:
        advice.append(("nothing to rank", "no query has two different labels; is the query id right?"))
    if found.badly_scaled_features:
        advice.append(("advice", "keep --scale auto, or train with --scale standard"))
    return advice
