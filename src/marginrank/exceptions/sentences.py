"""Sentences that know the parameters they name, and values as messages show them."""

from __future__ import annotations

import ast
import reprlib
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from string import Formatter
from typing import Any, Protocol, Self

_LONGEST = 80


class Words(Protocol):
    """How a front end writes parameters; None for those that it does not have.

    Examples
    --------
    >>> class Options:
    ...     def name(self, parameter):
    ...         return f"--{parameter}"
    ...     def setting(self, parameter, value, text):
    ...         return f"--{parameter} {value}"
    >>> Sentence("Nothing was found.", "Use a larger {eps}.").render(Options())
    'Nothing was found. Use a larger --eps.'
    """

    def name(self, parameter: str) -> str | None:
        """Return what a parameter is called."""

    def setting(self, parameter: str, value: Any, text: str) -> str | None:
        """Return how a parameter is set to a value, which Python writes as ``text``."""


class _PythonWords:
    """Parameters as they are called in Python."""

    def name(self, parameter: str) -> str:
        return parameter

    def setting(self, parameter: str, value: Any, text: str) -> str:
        return f"{parameter}={text}"


_PYTHON = _PythonWords()


class Sentence(str):
    """A message in the words of Python, which knows the parameters in it: other front ends name their own.

    In the template ``{alpha}`` names a parameter, and ``{alpha='auto'}`` sets one; ``{alpha=}`` and
    ``{alpha=:g}`` show the value that was passed by keyword. A field with a conversion or a format, as in
    ``{path!s}`` or ``{n:d}``, is a value that belongs to no parameter. ``{:, counted from 0}`` is for other
    front ends only.

    Parameters
    ----------
    template : str
        What was expected, and what came.
    *remedies : str
        What to do, templates as well. A front end leaves out those that name what it does not have.
    **values
        What the fields show.

    Examples
    --------
    >>> Sentence("No model within {eps=:g} was found.", "Use a larger {eps}.", eps=1e-3)
    'No model within eps=0.001 was found. Use a larger eps.'
    """

    template: str
    remedies: tuple[str, ...]
    values: dict[str, Any]

    def __new__(cls, template: str, /, *remedies: str, **values: Any) -> Self:
        """Make the sentence of a template."""
        parts = [_render(part, values, _PYTHON) for part in (template, *remedies)]
        sentence = super().__new__(cls, " ".join(part for part in parts if part))
        sentence.template, sentence.remedies, sentence.values = template, remedies, values
        unused = values.keys() - {field.value for field in sentence._fields()}
        if unused:
            raise TypeError(f"No field of {template!r} shows {', '.join(sorted(unused))}.")
        return sentence

    def __getnewargs_ex__(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        return (self.template, *self.remedies), self.values

    @classmethod
    def of(cls, message: object) -> Sentence:
        """Return a message as a sentence; one that is none yet names no parameters."""
        return message if isinstance(message, Sentence) else cls(_escaped(str(message)))

    def after(self, beginning: str) -> Sentence:
        """Return the sentence with something before it."""
        first = Sentence.of(beginning)
        return Sentence(first.template + self.template, *self.remedies, **first.values, **self.values)

    def and_then(self, *remedies: str, **values: Any) -> Sentence:
        """Return the sentence with more remedies."""
        return Sentence(self.template, *self.remedies, *remedies, **self.values, **values)

    @property
    def parameters(self) -> frozenset[str]:
        """The parameters that it names."""
        return frozenset(field.parameter for field in self._fields() if field.parameter)

    def render(self, words: Words) -> str:
        """Return the sentence as a front end says it."""
        first = _render(self.template, self.values, words) or _render(
            self.template, self.values, _Mixed(words)
        )
        remedies = (_render(remedy, self.values, words) for remedy in self.remedies)
        return " ".join([str(first), *(remedy for remedy in remedies if remedy is not None)])

    @property
    def advice(self) -> tuple[str, ...]:
        """Its remedies, in the words of Python."""
        return tuple(str(_render(remedy, self.values, _PYTHON)) for remedy in self.remedies)

    def _fields(self) -> Iterator[_Field]:
        for part in (self.template, *self.remedies):
            yield from (field for _, field in _parsed(part) if field is not None)


class _Mixed:
    """The words of a front end, and those of Python for what it does not have."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def name(self, parameter: str) -> str:
        return self._words.name(parameter) or _PYTHON.name(parameter)

    def setting(self, parameter: str, value: Any, text: str) -> str:
        return self._words.setting(parameter, value, text) or _PYTHON.setting(parameter, value, text)


class _Field:
    """A field of a template: a parameter, a parameter that is set, or a value.

    Examples
    --------
    >>> field = _Field("alpha=", ".3g", None)
    >>> field.parameter, field.value, field.render({"alpha": 1 / 3}, _PYTHON)
    ('alpha', 'alpha', 'alpha=0.333')
    """

    def __init__(self, field: str, format: str, conversion: str | None) -> None:
        name, sets, self._literal = field.partition("=")
        self._name = name
        self._sets, self._format, self._conversion = bool(sets), format, conversion
        is_value = bool(name) and not sets and bool(format or conversion)
        #: The parameter that is named, if any.
        self.parameter = "" if is_value else name
        #: The value that is shown, if any.
        self.value = name if is_value or (sets and not self._literal) else ""

    def render(self, values: dict[str, Any], words: Words) -> str | None:
        """Return what stands in its place."""
        if not self._name:
            return "" if words is _PYTHON else self._format
        if not self._sets:
            return words.name(self.parameter) if self.parameter else self._shown(values[self.value])
        if self.value:
            value = values[self.value]
            return words.setting(self.parameter, value, self._shown(value))
        return words.setting(self.parameter, _value(self._literal), self._literal)

    def _shown(self, value: Any) -> str:
        if self._conversion == "s":
            value = str(value)
        elif self._conversion == "r" or not self._format:
            return shown(value)
        return format(value, self._format)


def _value(literal: str) -> Any:
    try:
        return ast.literal_eval(literal)
    except (SyntaxError, ValueError):  # a word that stands for a value, such as COLUMN
        return float("nan") if literal == "float('nan')" else literal


def _parsed(template: str) -> Iterator[tuple[str, _Field | None]]:
    for text, field, format, conversion in Formatter().parse(template):
        yield text, None if field is None else _Field(field, format or "", conversion)


def _render(template: str, values: dict[str, Any], words: Words) -> str | None:
    """Return a template in the words of a front end; None where it has no word for something."""
    parts: list[str] = []
    for text, field in _parsed(template):
        word = "" if field is None else field.render(values, words)
        if word is None:
            return None
        parts += [text, word]
    return "".join(parts)


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def shown(value: Any) -> str:
    """Return a value as a message shows it: on one line and not long, whatever its own ``repr`` does.

    Examples
    --------
    >>> shown("hinge"), shown([1, 2]), shown(10**400)
    ("'hinge'", '[1, 2]', 'an integer of about 401 digits')
    >>> import numpy as np
    >>> shown(np.eye(2))
    'an array of shape (2, 2)'
    """
    text = _short.repr(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and ("\n" in text or "..." in text):
        kind = "array" if type(value).__name__ == "ndarray" else type(value).__name__
        return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind} of shape {shape}"
    text = " ".join(text.split())
    return text if len(text) <= 2 * _LONGEST else f"{text[: 2 * _LONGEST - 4]} ..."


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the nearest of the known words, after a blank; nothing where none is near.

    Examples
    --------
    >>> did_you_mean("trian", ["train", "tune"]), did_you_mean("Auto", ["auto"]), did_you_mean("x", ["train"])
    (" Did you mean 'train'?", " Did you mean 'auto'?", '')
    """
    by_plain = {str(one).lower(): one for one in known}
    near = get_close_matches(word.lower(), by_plain, n=1)
    return f" Did you mean {shown(by_plain[near[0]])}?" if near else ""


def shown_path(path: str) -> str:
    r"""Return a path as a message shows it: as it is written, unless it would break the line.

    Examples
    --------
    >>> shown_path("data/train.txt"), shown_path("two\nlines")
    ('data/train.txt', "'two\\nlines'")
    """
    return path if path.isprintable() and len(path) <= 4 * _LONGEST else shown(path)


class _Short(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        if x.bit_length() > 256:  # Python itself refuses to write out very long ones
            return f"an integer of about {int(x.bit_length() * 0.30103) + 1} digits"
        return repr(x)


_short = _Short()
_short.maxstring = _short.maxother = _LONGEST
_short.maxlist = _short.maxtuple = _short.maxset = _short.maxfrozenset = _short.maxdict = 8
