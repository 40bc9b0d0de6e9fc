"""The sentences of the library in the words of the command line: options in place of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from marginrank.exceptions import Sentence

# What is not an option, but has another name here than in Python.
_WORDS = {
    "pass": "give",
    "Pass": "Give",
    "a file object": "- for standard input",
    "y": "the label",
    "qid": "the query id",
    "sample_weight": "the weight",
    "query_weight": "the weight of queries",
    "write_dataset": "marginrank convert",
    "marginrank.io.convert_to_dataset": "marginrank convert",
    "KernelRankSVM": "marginrank train",
}
# How a parameter that is None in Python is typed.
_NONE = {"scale": "none", "cv": "leave_query_out"}


class OptionWords:
    """The words of a command: parameters of Python by the options that set them.

    An option names the parameter in its declaration, as in ``"--components", "n_components"``.

    Examples
    --------
    >>> command = click.Command("train", params=[click.Option(["--components", "n_components"])])
    >>> words = OptionWords(command)
    >>> words.name("n_components"), words.setting("n_components", 9, "9"), words.name("no_such")
    ('--components', '--components 9', None)
    """

    def __init__(self, command: click.Command) -> None:
        self._options = {
            str(one.name): max(one.opts, key=len) for one in command.params if isinstance(one, click.Option)
        }

    def name(self, parameter: str) -> str | None:
        """Return the option that sets a parameter, or what it is called here."""
        return _WORDS.get(parameter) or self._options.get(parameter)

    def setting(self, parameter: str, value: Any, text: str) -> str | None:
        """Return the option with its value, as it is typed."""
        option = self._options.get(parameter)
        if value is None and option is not None and parameter in _NONE:
            return f"{option} {_NONE[parameter]}"
        if value is None:
            return self._options.get(f"no_{parameter}")
        if option is None:
            return None
        if isinstance(value, bool):
            return option if value else f"no {option}"
        if isinstance(value, Mapping):
            return " ".join(f"{option} {key}={weight:g}" for key, weight in value.items())
        return f"{option} {value if isinstance(value, str) or value != value else text}"


def in_options(message: object, command: click.Command) -> str:
    """Return what an error or a warning says, in the words of a command."""
    said = message.args[0] if isinstance(message, Exception) and len(message.args) == 1 else message
    return Sentence.of(said).render(OptionWords(command))
