"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from marginrank.cli.command import spelled
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


def _check_metric(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    return value if value is None else _check_metrics(context, parameter, (value,))[0]


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
jobs: Decorator = click.option(
    "-j",
    "--jobs",
    "n_jobs",
    type=int,
    default=None,
    callback=_check_jobs,
    help="Threads; by default all processors.",
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
selection_metric: Decorator = click.option(
    "-m",
    "--metric",
    default=None,
    callback=_check_metric,
    help="What to select by, such as ndcg@10, map or auc.  [default: pairwise_error, or the target]",
)
ignore_unknown: Decorator = click.option(
    "--ignore-unknown", is_flag=True, help="Leave out features that the model does not know."
)
pairs_by: Decorator = click.option(
    "--pairs-by",
    type=click.Choice(["auto", "row", "docid"]),
    default="auto",
    show_default=True,
    help="Whether pairs hold row numbers from 0 or document ids.",
)


@dataclass(frozen=True)
class Reading:
    """How to read data: what was asked for on the command line; None and False where nothing was."""

    format: str | None = None
    missing: float | None = None
    zero_based: bool = False
    max_feature: int | None = None
    max_expansion: float | None = None
    label: str | None = None
    qid: str | None = None
    weight: str | None = None
    docid: str | None = None
    no_qid: bool = False

    @property
    def first_feature(self) -> int:
        """The number of the first feature, as the files count them."""
        return 0 if self.zero_based else 1

    def arguments(self, path: str, format: str) -> dict[str, Any]:
        """Return the arguments of the reader of a format; an option that it does not know is misuse."""
        known = _KNOWN.get(format, {})
        values = {field: getattr(self, field) for field in (*_TEXT, *_TABLE, "no_qid")}
        # By identity: 0 is a value for what is missing.
        asked = {field: value for field, value in values.items() if value is not None and value is not False}
        for field in asked:
            if field not in known and not (field == "no_qid" and known is _TABLE):
                kinds = (("LETOR text", _TEXT), ("tables", _TABLE), (".npz", _ARRAYS))
                meant = " and ".join(kind for kind, fields in kinds if field in fields) or "tables"
                raise click.UsageError(f"{spelled(field)} is for {meant}, but {path} is read as {format}.")
        arguments = {known[field]: value for field, value in asked.items() if field in known}
        return arguments | ({"qid": None} if self.no_qid else {})


_ARRAYS = {"max_expansion": "max_expansion"}
_TEXT = {"missing": "missing", "zero_based": "zero_based", "max_feature": "max_feature", **_ARRAYS}
_TABLE = {
    "missing": "missing",
    "label": "label",
    "qid": "qid",
    "weight": "weight",
    "docid": "docid",
    **_ARRAYS,
}
_KNOWN = {"letor": _TEXT, "lightgbm": _TEXT, "csv": _TABLE, "parquet": _TABLE, "npz": _ARRAYS}
_READING = (
    click.option("--missing", type=float, help="Read NULL, and empty cells of tables, as this number."),
    click.option("--zero-based", is_flag=True, help="Features of LETOR text are counted from 0, not 1."),
    click.option(
        "--max-feature",
        type=click.IntRange(min=1),
        help="Largest feature number of LETOR text to believe.  [default: 10,000,000]",
    ),
    click.option(
        "--max-expansion",
        type=click.FloatRange(min=1),
        help="The most that a packed file may expand, as a multiple of its size.  [default: 200]",
    ),
    click.option("--label-column", "label", help="Column of a table with the labels.  [default: label]"),
    click.option("--qid-column", "qid", help="Column of a table with the query ids.  [default: qid]"),
    click.option("--no-qid", is_flag=True, help="A table without query ids: one ranking of all rows."),
    click.option(
        "--weight-column", "weight", help="Column of a table with row weights.  [default: weight, if there]"
    ),
    click.option(
        "--docid-column", "docid", help="Column of a table with document ids.  [default: docid, if there]"
    ),
)


def reading(
    *names: str,
    formats: Sequence[str] = tuple(FORMATS),
    help: str = "Format of the data, if the ending does not tell.",
) -> Decorator:
    """Return what adds the options of everything that reads data; the command gets one ``reading``."""
    format = click.option(*(names or ("--format",)), "format", type=click.Choice(formats), help=help)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(**parameters: Any) -> Any:
            asked = {name: parameters.pop(name) for name in Reading.__dataclass_fields__}
            if asked["no_qid"] and asked["qid"]:
                raise click.UsageError("--qid-column and --no-qid contradict each other.")
            return command(reading=Reading(**asked), **parameters)

        for option in reversed((format, *_READING)):
            wrapped = option(wrapped)
        return wrapped

    return decorate
