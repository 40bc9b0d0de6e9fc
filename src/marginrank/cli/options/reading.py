"""How data are read: options, and the arguments of the library's readers that they become."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from marginrank.cli.command import Decorator, Option, option, spelled, with_options
from marginrank.io import FORMATS

_GROUP = "Format of the data"
_KINDS = {"LETOR text": ("letor", "lightgbm"), "tables": ("csv", "parquet"), ".npz": ("npz",)}


class ReadingOption(Option):
    """An option that is an argument of the readers of some kinds of files."""

    def __init__(self, *arguments: Any, kinds: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.kinds = kinds


def _option(*names: str, kinds: tuple[str, ...], **settings: Any) -> Decorator:
    return click.option(*names, cls=ReadingOption, group=_GROUP, kinds=kinds, **settings)


#: The second name is the argument of the readers, where it is not that of the option.
_OPTIONS = (
    _option(
        "--missing",
        kinds=("LETOR text", "tables"),
        type=float,
        help="Read NULL, and empty cells of tables, as this number.",
    ),
    _option(
        "--zero-based",
        kinds=("LETOR text",),
        is_flag=True,
        default=None,
        help="Features of LETOR text are counted from 0, not 1.",
    ),
    _option(
        "--max-feature",
        kinds=("LETOR text",),
        type=click.IntRange(min=1),
        help="Largest feature number of LETOR text to believe.  [default: 10,000,000]",
    ),
    _option(
        "--max-expansion",
        kinds=("LETOR text", "tables", ".npz"),
        type=click.FloatRange(min=1),
        help="The most that a packed file may expand, as a multiple of its size.  [default: 200]",
    ),
    _option(
        "--label-column",
        "label",
        kinds=("tables",),
        metavar="NAME",
        help="Column of a table with the labels.  [default: label]",
    ),
    _option(
        "--qid-column",
        "qid",
        kinds=("tables",),
        metavar="NAME",
        help="Column of a table with the query ids.  [default: qid]",
    ),
    _option(
        "--no-qid",
        kinds=("tables",),
        is_flag=True,
        default=None,
        help="A table without query ids: one ranking of all rows.",
    ),
    _option(
        "--weight-column",
        "weight",
        kinds=("tables",),
        metavar="NAME",
        help="Column of a table with row weights.  [default: weight, if there]",
    ),
    _option(
        "--docid-column",
        "docid",
        kinds=("tables",),
        metavar="NAME",
        help="Column of a table with document ids.  [default: docid, if there]",
    ),
)


@dataclass(frozen=True)
class Reading:
    """How to read data, as asked for on the command line.

    Parameters
    ----------
    format : str or None
        None for that of the ending.
    given : dict
        Arguments of the readers, each with the kinds of files that have it.
    """

    format: str | None
    given: dict[str, tuple[Any, tuple[str, ...]]]

    @property
    def first_feature(self) -> int:
        """The number of the first feature, as the files count them."""
        return 0 if "zero_based" in self.given else 1

    def arguments(self, path: str, format: str) -> dict[str, Any]:
        """Return the arguments of the reader of a format; an option that it does not know is misuse."""
        for name, (_, kinds) in self.given.items():
            if not any(format in _KINDS[kind] for kind in kinds):
                raise click.UsageError(
                    f"{spelled(name)} is for {' and '.join(kinds)}, but {path} is read as {format}."
                )
        arguments = {name: value for name, (value, _) in self.given.items()}
        return arguments if arguments.pop("no_qid", None) is None else {**arguments, "qid": None}


def reading_options(
    *names: str,
    formats: Sequence[str] = tuple(FORMATS),
    help: str = "Format of the data, if the ending does not tell.",
) -> Decorator:
    """Return what adds the options of everything that reads data; the command gets one ``reading``."""
    format = option(*(names or ("--format",)), "format", group=_GROUP, type=click.Choice(formats), help=help)

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def wrapped(format: str | None, **parameters: Any) -> Any:
            given = {}
            for one in click.get_current_context().command.params:
                if isinstance(one, ReadingOption):
                    value = parameters.pop(str(one.name))
                    if value is not None:
                        given[str(one.name)] = (value, one.kinds)
            if {"qid", "no_qid"} <= given.keys():
                raise click.UsageError("--qid-column and --no-qid contradict each other.")
            return command(reading=Reading(format, given), **parameters)

        return with_options(format, *_OPTIONS)(wrapped)

    return decorate
