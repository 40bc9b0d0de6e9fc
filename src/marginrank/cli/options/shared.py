"""Options that several commands share, and values of options that are more than a word or a number."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from marginrank.cli.command import MOST_USED, Decorator, option
from marginrank.cli.near_misses import did_you_mean
from marginrank.exceptions import MarginRankError
from marginrank.gains import GAIN_NAMES, GainTable, read_gain
from marginrank.losses.structured import STRUCTURED_TARGETS
from marginrank.metrics import FLAVORS, parse_metric
from marginrank.training.selection import DEFAULT_METRIC


def _check_jobs(context: click.Context, parameter: click.Parameter, value: int | None) -> int | None:
    if value == 0:
        raise click.BadParameter("must not be 0; use -1 for all processors.")
    return value


def _check_metrics(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    # Before any file is read: a misspelt metric should not cost a training.
    for value in values:
        try:
            parse_metric(value, flavor=context.params.get("flavor", "standard"))
        except MarginRankError as error:
            raise click.BadParameter(str(error)) from None
    return values


def check_metric(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a metric that there is none of, before any file is read."""
    return value if value is None else _check_metrics(context, parameter, (value,))[0]


as_json: Decorator = option(
    "--json", "as_json", group="Output", is_flag=True, help="Print JSON for machines."
)
jobs: Decorator = option(
    "-j",
    "--jobs",
    "n_jobs",
    group=MOST_USED,
    type=int,
    callback=_check_jobs,
    help="Threads; by default all processors.",
)
flavor: Decorator = option(
    "--flavor",
    group="Search and validation",
    type=click.Choice(list(FLAVORS)),
    default="standard",
    show_default=True,
    is_eager=True,
    help="Whose conventions the metrics follow.",
)
metric: Decorator = option(
    "-m",
    "--metric",
    "metrics",
    group=MOST_USED,
    metavar="METRIC",
    multiple=True,
    default=("ndcg@10",),
    show_default=True,
    callback=_check_metrics,
    help="A metric, such as ndcg@10, map, mrr, p@5, auc; may be repeated.",
)
selection_metric: Decorator = option(
    "-m",
    "--metric",
    group=MOST_USED,
    metavar="METRIC",
    callback=check_metric,
    help=f"What to select by, such as ndcg@10, map or auc.  [default: {DEFAULT_METRIC}, or the target]",
)
ignore_unknown: Decorator = option(
    "--ignore-unknown", group="Data", is_flag=True, help="Leave out features that the model does not know."
)
pairs_by: Decorator = option(
    "--pairs-by",
    group="Data",
    type=click.Choice(["auto", "row", "docid"]),
    default="auto",
    show_default=True,
    help="Whether pairs hold row numbers from 0 or document ids.",
)


#: Where a trained model goes.
model_file: Decorator = option(
    "-o",
    "--output",
    group=MOST_USED,
    required=True,
    type=click.Path(dir_okay=False),
    help="The model file (.mrk).",
)


def seed(of: str, *, group: str = "Solver", drawn: bool = False) -> Decorator:
    """Return ``--seed`` of what a command draws; with ``drawn``, another seed each time is the default."""
    return option(
        "--seed",
        "random_state",
        group=group,
        type=click.IntRange(0, 2**32 - 1),
        default=None if drawn else 0,
        show_default=not drawn,
        help=f"Seed of {of}." + ("  [default: another each time]" if drawn else ""),
    )


test_seed: Decorator = seed("the resampling tests", group="Test")
resamples: Decorator = option(
    "--resamples",
    "n_resamples",
    group="Test",
    type=click.IntRange(2, 10_000_000),
    default=9999,
    show_default=True,
    help="Resamples of each test.",
)
#: What structured rankers can be trained for.
TARGETS = tuple(sorted({name for name, _ in STRUCTURED_TARGETS}))


def positive_or(*words: str) -> Any:
    """Return a callback that takes a positive number, or one of some words."""
    wanted = " nor ".join(["a positive number", *map(repr, words)])

    def callback(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is None or value in words:
            return value
        number = _number(value)
        if number is None:
            meant = did_you_mean(value, words)
            raise click.BadParameter(f"{value!r} is neither {wanted}.{meant}")
        return number

    return callback


def folds_or(*words: str) -> Any:
    """Return a callback that takes a number of folds, or one of some words."""
    wanted = " nor ".join(["a whole number of at least 2 folds", *map(repr, words)])

    def callback(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is None or value in words:
            return value
        try:
            return click.IntRange(min=2)(value, parameter, context)
        except click.BadParameter:
            meant = did_you_mean(value, words)
            raise click.BadParameter(f"{value!r} is neither {wanted}.{meant}") from None

    return callback


def grid(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Return a grid from numbers with commas between, or from ``from:to:count`` in equal ratios."""
    if value is None:
        return None
    ends = value.split(":")
    numbers = [_number(part) for part in (ends[:2] if len(ends) > 1 else value.split(","))]
    given = [number for number in numbers if number is not None]
    if len(given) == len(numbers) and len(ends) == 1:
        return tuple(given)
    if len(given) == 2 and len(ends) == 3 and ends[2].isdigit() and int(ends[2]) >= 2:
        values = np.geomspace(given[0], given[1], int(ends[2]))
        return tuple(float(f"{alpha:.6g}") for alpha in values)
    raise click.BadParameter(
        f"{value!r} is neither positive numbers with commas between, such as 1e-4,1e-3,1e-2, nor "
        "from:to:count, such as 1e-6:1:13."
    )


def targets(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return one target as it was written, or several with their weights."""
    if not values:
        return None
    if len(values) == 1 and "=" not in values[0]:
        return _target(values[0])
    split = [value.rpartition("=") if "=" in value else (value, "=", "1") for value in values]
    return {_target(name): _positive(weight) for name, _, weight in split}


def _target(name: str) -> str:
    try:
        known = parse_metric(name).name in TARGETS
    except MarginRankError:
        known = False
    if not known:
        meant = did_you_mean(name.partition("@")[0], TARGETS)
        raise click.BadParameter(
            f"{name!r} is none of {', '.join(TARGETS)}, with a cut-off if you like.{meant}"
        )
    return name


def _positive(text: str) -> float:
    number = _number(text)
    if number is None:
        raise click.BadParameter(f"{text!r} is not a positive number.")
    return number


def _number(text: str) -> float | None:
    """Return a positive number; None for everything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0.0 < number < float("inf") else None


def gains(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Return the name of a gain, or the gain of each label from ``0:0,1:1,2:5``."""
    if value is None:
        return None
    try:
        return GainTable.parse(value).to_dict() if ":" in value else read_gain(value)
    except MarginRankError:
        raise click.BadParameter(
            f"{value!r} is neither {' nor '.join(GAIN_NAMES)} nor gains of labels as in 0:0,1:1,2:5, of at "
            "least 0 and not decreasing."
        ) from None
