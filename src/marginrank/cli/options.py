"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from marginrank.metrics import FLAVORS

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
jobs: Decorator = click.option(
    "-j", "--jobs", type=int, default=None, help="Threads; by default all processors."
)
flavor: Decorator = click.option(
    "--flavor",
    type=click.Choice(list(FLAVORS)),
    default="standard",
    show_default=True,
    help="Whose conventions the metrics follow.",
)
metric: Decorator = click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    default=("ndcg@10",),
    show_default=True,
    help="A metric, such as ndcg@10, map, mrr, p@5, auc; may be repeated.",
)
ignore_unknown: Decorator = click.option(
    "--ignore-unknown", is_flag=True, help="Leave out features that the model does not know."
)
