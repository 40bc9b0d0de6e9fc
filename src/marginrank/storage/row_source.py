"""What a data set is written from: rows in pieces, from wherever they come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from marginrank.storage.dataset_rows import Block

_PIECE = 16 << 20
_LEAST_PIECE = 1 << 20


class Piece(NamedTuple):
    """A block of rows, and where the source has it; None where it must begin anew to find it."""

    block: Block
    position: Any


class RowSource(Protocol):
    """Rows that can be read in pieces, and read again from a known position."""

    @property
    def widening(self) -> bool:
        """Whether later pieces may have more columns."""

    @property
    def identity(self) -> dict[str, Any]:
        """What tells whether this is still the source that an interrupted writing began with."""

    @property
    def share(self) -> float | None:
        """The part that was read so far; None where the whole is unknown."""

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names of the columns, known once the first piece was read."""

    def pieces(self, position: Any, size: int) -> Iterator[Piece]:
        """Return the rows from a position on, in pieces of about so many bytes; None is the beginning."""

    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return explicit pairs by the numbers that rows have in the pieces."""


def piece_bytes(chunk_bytes: int) -> int:
    """Return about what a piece of a source takes: with small chunks, less than what makes reading fast."""
    return min(_PIECE, max(_LEAST_PIECE, chunk_bytes // 4))
