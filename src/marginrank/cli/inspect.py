"""``marginrank inspect``: the data doctor."""

from __future__ import annotations

import click

from marginrank.cli import options
from marginrank.cli.files import read_data
from marginrank.cli.output import bytes_for_people, print_facts, print_json, seconds_for_people
from marginrank.inspection import Inspection
from marginrank.inspection import inspect as inspect_data

_SHOWN = 8


@click.command()
@click.argument("data")
@options.format_name
@options.jobs
@options.as_json
def inspect(data: str, format: str | None, jobs: int | None, as_json: bool) -> None:
    """Look through DATA before training on it.

    Reports sizes, labels, the pairs that count, queries without any, duplicated rows, constant and badly
    scaled features, and an estimate of the memory and time that training takes.

    \b
    Example:
      marginrank inspect train.txt.gz
    """
    found = inspect_data(read_data(data, format), n_jobs=jobs)
    if as_json:
        print_json(found.to_dict())
    else:
        print_facts(_facts(found))


def _facts(found: Inspection) -> list[tuple[str, str]]:
    idle = found.n_single_row_queries + found.n_constant_queries
    return [
        ("rows", f"{found.n_rows:,}"),
        ("queries", f"{found.n_queries:,} (longest: {found.longest_query:,} rows)"),
        ("features", f"{found.n_features:,} ({found.storage}, {found.stored_share:.1%} not zero)"),
        ("labels", _labels(found)),
        ("pairs that count", f"{found.n_pairs:,}"),
        (
            "queries without pairs",
            f"{idle:,} ({found.n_single_row_queries:,} with one row, "
            f"{found.n_constant_queries:,} with one label)",
        ),
        ("duplicated rows", f"{found.n_duplicated_rows:,}"),
        ("constant features", _names(found.constant_features)),
        ("badly scaled features", _names(found.badly_scaled_features)),
        (
            "to train",
            f"about {seconds_for_people(found.train_seconds)} and {bytes_for_people(found.memory_bytes)} "
            "besides the data",
        ),
        *_advice(found),
    ]


def _labels(found: Inspection) -> str:
    if "distinct" in found.labels:
        return "{distinct:,} distinct, {lowest:g} to {highest:g}".format(**found.labels)
    return ", ".join(f"{label}: {count:,}" for label, count in found.labels.items())


def _names(names: list[str | int]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    # Files count their features from 1.
    shown = (str(name + 1) if isinstance(name, int) else name for name in names[:_SHOWN])
    return f"{len(names):,}: {', '.join(shown)}{more}"


def _advice(found: Inspection) -> list[tuple[str, str]]:
    advice = []
    if found.n_pairs == 0:
        advice.append(("nothing to rank", "no query has two different labels; is the query id right?"))
    if found.badly_scaled_features:
        advice.append(("advice", "train with --scale standard"))
    return advice
