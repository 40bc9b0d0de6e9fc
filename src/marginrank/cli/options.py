"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from marginrank.exceptions import MarginRankError
from marginrank.io import FORMATS
from marginrank.metrics import FLAVORS, parse_metric


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


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
jobs: Decorator = click.option(
    "-j", "--jobs", type=int, default=None, callback=_check_jobs, help="Threads; by default all processors."
)
flavor: Decorator = click.option(
    "--flavor",
    type=click.Choice(list(FLAVORS)),
    default="standard",
    show_default=True,
    is_eager=True,
    help="Whose conventions the metrics follow.",
)
metric: Decorator = click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    default=("ndcg@10",),
    show_default=True,
    callback=_check_metrics,
    help="A metric, such as ndcg@10, map, mrr, p@5, auc; may be repeated.",
)
format_name: Decorator = click.option(
    "--format",
    type=click.Choice(list(FORMATS)),
    help="Format of the data, where the ending does not tell.",
)
ignore_unknown: Decorator = click.option(
    "--ignore-unknown", is_flag=True, help="Leave out features that the model does not know."
)
