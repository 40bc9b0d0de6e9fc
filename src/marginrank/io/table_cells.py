"""Columns of a table as arrays; an unreadable cell is named by line or row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError
from marginrank.io.letor_faults import AS_MISSING

_LONGEST = 40


class Cells(NamedTuple):
    """An Arrow table, and where it is from: its file, the text of it if it is CSV, the rows that came before.

    Of CSV that is read in batches there is no text at hand; its ids are text all the same.
    """

    table: Any
    name: str
    text: bytes | bytearray | None
    rows_before: int = 0
    batch_of_csv: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of the columns; each may occur once."""
        names: list[str] = self.table.column_names
        if len(set(names)) < len(names):
            twice = next(name for k, name in enumerate(names) if name in names[:k])
            raise MarginRankError(f"{self.name}: expected columns of different names, got {twice!r} twice.")
        return names

    def parts(self) -> Iterator[Cells]:
        """Return the pieces in which the table lies in memory: joining their columns would copy them.

        Of CSV whose text is at hand there is one, because rows are found in it by their number.
        """
        if self.text is not None:
            yield self
            return
        rows = self.rows_before
        for batch in self.table.to_batches():
            yield self._replace(table=type(self.table).from_batches([batch]), rows_before=rows)
            rows += batch.num_rows

    def shown(self) -> str:
        """Return the names of the first columns, for a sentence."""
        names = [name if name.isprintable() else repr(name) for name in self.columns[:8]]
        return ", ".join(name if len(name) <= _LONGEST else name[:_LONGEST] + "..." for name in names)

    def expected(self, what: str, row: int, column: str, got: Any = None) -> MarginRankError:
        """Return the error that a cell is not what it should be; lines count from 1, rows from 0."""
        if self.text is None:
            place, cell = f"{self.name}, row {self.rows_before + row} (counted from 0)", got
        else:
            line, cell = _line(self.text, row, self.columns.index(column))
            place = f"{self.name}:{line}"
        shown = "an empty cell" if cell in ("", None) else repr(cell)
        if len(shown) > _LONGEST:
            shown = shown[:_LONGEST] + "..."
        return MarginRankError(f"{place}, column {column!r}: expected {what}, got {shown}.")


def as_numbers(
    cells: Cells, column: str, missing: float | None = None, *, feature: bool = False
) -> NDArray[Any]:
    """Return a column of finite numbers; ``missing`` stands for cells that are empty, if it is given."""
    import pyarrow

    values = cells.table[column]
    kind = values.type
    if pyarrow.types.is_string(kind) and cells.text is not None:
        return _numbers_of_texts(cells, column, missing, feature)
    if pyarrow.types.is_boolean(kind):
        values = values.cast(pyarrow.int8())
    elif not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
        advice = " Encode it, or leave it out." if feature else ""
        raise MarginRankError(f"{cells.name}: expected numbers in column {column!r}, got {kind}.{advice}")
    empty = np.asarray(values.is_null()) if values.null_count else None
    numbers: NDArray[Any] = values.to_numpy()  # of Arrow's own memory where it can be, so never changed
    if empty is not None:
        if missing is None:
            raise _empty(cells, int(np.argmax(empty)), column, feature)
        numbers = np.where(empty, missing, numbers.astype(np.float64, copy=False))
    if numbers.dtype.kind == "f" and not (good := np.isfinite(numbers)).all():
        bad = ~good if empty is None else ~(good | empty)
        if bad.any():
            row = int(np.argmax(bad))
            raise cells.expected("a finite number", row, column, float(numbers[row]))
    return numbers


def as_ids(cells: Cells, column: str) -> NDArray[Any]:
    """Return query ids: those of CSV as LETOR text has them, those of Parquet of their own type."""
    import pyarrow

    values = cells.table[column]
    if pyarrow.types.is_dictionary(values.type):  # categories of pandas
        values = values.cast(values.type.value_type)
    from_csv = cells.text is not None or cells.batch_of_csv
    texts: list[str] = values.to_pylist() if from_csv else []
    empty = np.array([not text for text in texts]) if from_csv else np.asarray(values.is_null())
    if empty.any():
        raise cells.expected("a query id", int(np.argmax(empty)), column)
    if not from_csv:
        return np.array(values.to_numpy())
    if all(_is_plain_integer(text) for text in set(texts)):
        return np.array(list(map(int, texts)), dtype=np.int64)
    return np.fromiter(texts, dtype=object, count=len(texts))


def as_texts(cells: Cells, column: str) -> list[str]:
    """Return a column of text; numbers as they are printed, nothing as an empty text."""
    return ["" if value is None else str(value) for value in cells.table[column].to_pylist()]


def csv_fault(text: bytes | bytearray, name: str) -> MarginRankError | None:
    """Return the error for what makes a text no CSV, with its line; None where nothing is found."""
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return MarginRankError(f"{name}:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.")
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = bytes(text[: error.start])
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace")) + 1
        place = f"{name}:{before.count(10) + 1}:{column}"
        return MarginRankError(f"{place}: expected UTF-8 text, got the byte 0x{text[error.start]:02x}.")
    reader = csv.reader(StringIO(decoded, newline=""))
    width = 0
    for fields in reader:
        width = width or len(fields)
        if fields and len(fields) != width:
            return MarginRankError(
                f"{name}:{reader.line_num}: expected {width} cells, as in the header, got {len(fields)}."
            )
    return None if width else MarginRankError(f"{name}: expected a header and rows, got nothing.")


def _empty(cells: Cells, row: int, column: str, feature: bool) -> MarginRankError:
    error = cells.expected("a finite number", row, column)
    if not feature:
        return error
    return MarginRankError(error.sentence.and_then(AS_MISSING))


def _numbers_of_texts(cells: Cells, column: str, missing: float | None, feature: bool) -> NDArray[np.float64]:
    """Return the numbers of a column in which some cell is a word, or raise and say which."""
    from pyarrow.csv import ConvertOptions

    nothing = set(ConvertOptions().null_values)
    numbers = np.empty(cells.table.num_rows)
    for row, text in enumerate(cells.table[column].to_pylist()):
        bare = (text or "").strip()
        if bare in nothing:
            if missing is None:
                raise _empty(cells, row, column, feature)
            numbers[row] = missing
            continue
        try:
            value = float(bare) if bare.isascii() and "_" not in bare else np.nan
        except ValueError:
            raise cells.expected("a number", row, column, text) from None
        if not np.isfinite(value):
            raise cells.expected("a finite number", row, column, text)
        numbers[row] = value
    return numbers


def _is_plain_integer(text: str) -> bool:
    """Whether a text is an int64 in its usual spelling: no sign of plus, no leading zeros."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        return False
    return str(int(text)) == text and -(2**63) <= int(text) < 2**63


def _line(text: bytes | bytearray, row: int, column: int) -> tuple[int, str]:
    """Return the line and the content of a cell of CSV: blank lines are no rows."""
    reader = csv.reader(StringIO(text.decode("utf-8-sig", "surrogateescape"), newline=""))
    rows = (fields for fields in reader if fields)
    next(rows)
    for _ in range(row):
        next(rows)
    fields = next(rows)
    return reader.line_num, fields[column]
