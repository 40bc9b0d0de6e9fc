"""Lines of small text files, and the fields in them, each of which knows its file, line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from marginrank.exceptions import MarginRankError
from marginrank.io.sources import Source, read_text

_LONGEST = 40


class Piece(NamedTuple):
    """A line without the blanks around it, or a field of one, and where it starts; all count from 1."""

    text: str
    name: str
    line: int
    column: int

    @property
    def place(self) -> str:
        """``name:line:column``."""
        return f"{self.name}:{self.line}:{self.column}"

    def fields(self, separator: str) -> list[Piece]:
        """Return the fields between separators (a regular expression), without the blanks around them.

        Examples
        --------
        >>> [(field.text, field.column) for field in Piece("a, bc", "f", 1, 1).fields(",")]
        [('a', 1), ('bc', 4)]
        """
        starts = [0, *(match.end() for match in re.finditer(separator, self.text))]
        ends = [*(match.start() for match in re.finditer(separator, self.text)), len(self.text)]
        return [
            _stripped(self.text[a:b], self.name, self.line, self.column + a)
            for a, b in zip(starts, ends, strict=True)
        ]

    def expected(self, what: str, got: str | None = None) -> MarginRankError:
        """Return the error that something else was expected here.

        Examples
        --------
        >>> str(Piece("x", "f.csv", 2, 5).expected("a weight"))
        "f.csv:2:5: expected a weight, got 'x'."
        """
        if got is None:
            got = repr(self.text if len(self.text) <= _LONGEST else self.text[:_LONGEST] + "...")
        return MarginRankError(f"{self.place}: expected {what}, got {got}.")

    def number(self) -> float | None:
        """Return the number, or None: what Python reads, without its underscores and foreign digits."""
        if "_" in self.text or not self.text.isascii():
            return None
        try:
            return float(self.text)
        except ValueError:
            return None


def text_lines(source: Source) -> Iterator[Piece]:
    """Yield each line that is not blank; one must be there."""
    text, name = read_text(source)
    empty = True
    for number, line in enumerate(text.split("\n"), 1):
        piece = _stripped(line, name, number, 1)
        if piece.text:
            empty = False
            yield piece
    if empty:
        raise MarginRankError(f"{name}: expected at least one line, got none.")


def counted(n: int, what: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "field"), counted(3, "field")
    ('1 field', '3 fields')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _stripped(text: str, name: str, line: int, column: int) -> Piece:
    bare = text.lstrip(" \t\r")
    return Piece(bare.rstrip(" \t\r"), name, line, column + len(text) - len(bare))
