"""Commands whose options stand in groups, and which say the sentences of the library in their own words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import click

from marginrank.cli.near_misses import did_you_mean, long_option
from marginrank.cli.words import in_options
from marginrank.exceptions import MarginRankError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

MOST_USED = "Most used"
#: The groups of options in the help of a command, from what people look for first.
GROUPS = (
    MOST_USED,
    "Data",
    "Format of the data",
    "Model",
    "Structured ranking (--target)",
    "Kernels (--kernel)",
    "Search and validation",
    "Solver",
    "Test",
    "Workers",
    "Data sets on disk (.mrd)",
    "Output",
)


# Of the names of options; the same in all groups.
_COLUMN = 28


class DataError(click.ClickException):
    """Data or files cannot be used: a sentence, and an exit code other than that of misuse."""

    exit_code = 1


class Option(click.Option):
    """An option that knows its group in the help."""

    def __init__(self, *arguments: Any, group: str, **settings: Any) -> None:
        if group not in GROUPS:
            raise ValueError(f"group must be one of {', '.join(GROUPS)}; got {group!r}.")
        kind = settings.get("type")
        if isinstance(kind, click.IntRange | click.FloatRange):  # not "INTEGER RANGE": the help has the range
            settings.setdefault("metavar", "INTEGER" if isinstance(kind, click.IntRange) else "NUMBER")
        super().__init__(*arguments, **settings)
        self.group = group

    def type_cast_value(self, context: click.Context, value: Any) -> Any:
        """Return the value; one that is none of the choices is asked whether it is the nearest."""
        try:
            return super().type_cast_value(context, value)
        except click.BadParameter as error:
            if isinstance(self.type, click.Choice) and isinstance(value, str):
                meant = did_you_mean(value, map(str, self.type.choices))
                raise click.BadParameter(f"{error.message}{meant}", ctx=context, param=self) from None
            raise


class Command(click.Command):
    """A command with its options in groups."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Read the command line; ``-alpha`` is asked whether it is ``--alpha``."""
        written = list(arguments)
        try:
            return super().parse_args(context, arguments)
        except click.NoSuchOption as error:
            known = [name for one in self.get_params(context) for name in one.opts]
            meant = "" if error.option_name.startswith("--") else long_option(written, known)
            if meant:
                raise click.UsageError(f"No such option {error.option_name!r}.{meant}", context) from None
            raise

    def invoke(self, context: click.Context) -> Any:
        """Run the command; errors and warnings name its options."""
        warnings.showwarning = self._show_warning
        try:
            return super().invoke(context)
        except MarginRankError as error:
            raise DataError(in_options(error, self)) from error

    def _show_warning(self, message: Warning | str, *_: object, **__: object) -> None:
        """Print a warning as a sentence: where in our code it was raised says nothing to a person."""
        click.echo(f"Warning: {in_options(message, self)}", err=True)

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options group by group."""
        records: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(context):
            record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
            if record is not None:  # --help has no group of its own
                group = parameter.group if isinstance(parameter, Option) else GROUPS[-1]
                records[group].append((record[0].ljust(_COLUMN), record[1]))
        for group, found in records.items():
            if found:
                with formatter.section(group):
                    formatter.write_dl(found, col_max=_COLUMN)


def option(*names: str, group: str, **settings: Any) -> Decorator:
    """Return what adds an option to a command.

    Parameters
    ----------
    *names : str
        As it is typed, and the parameter of Python that it sets where that has another name.
    group : str
        Where it stands in the help, one of ``GROUPS``.
    **settings
        As for ``click.option``.
    """
    return click.option(*names, cls=Option, group=group, **settings)


def with_options(*options: Decorator) -> Decorator:
    """Return what adds several options to a command, in their order."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(options):
            function = one(function)
        return function

    return add


def spelled(parameter: str) -> str:
    """Return the option of the running command that sets a parameter, as it is typed."""
    options = {one.name: one.opts for one in click.get_current_context().command.params}
    return max(options[parameter], key=len)
