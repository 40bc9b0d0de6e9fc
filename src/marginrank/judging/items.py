"""Items to be judged: rows of a CSV file, with numbers to learn from and fields to look at."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError, ParameterError, shown_path

#: Pictures that are shown, by ending. No SVG: it is a program, too.
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_FIELD_LIMIT = 1_000_000
# A line of the file of answers holds these between commas.
_NOT_IN_IDS = set(',"\r\n')


@dataclass(frozen=True, eq=False)
class Items:
    """What is judged.

    Parameters
    ----------
    ids : list of str
        The name of each in the file of answers.
    X : ndarray of shape (n_items, n_features)
        What is learned from.
    feature_names : tuple of str
        Its columns.
    fields : list of list of (str, str)
        What people look at: names and texts.
    pictures : list of Path or None
        A file for each, where there is a column of them.
    """

    ids: list[str]
    X: NDArray[np.float64]
    feature_names: tuple[str, ...]
    fields: list[list[tuple[str, str]]]
    pictures: list[Path] | None


def read_items(
    path: str,
    *,
    id_column: str | None = None,
    image_column: str | None = None,
    features: tuple[str, ...] = (),
) -> Items:
    """Read items from a CSV file with a header.

    Columns of numbers are learned from, unless ``features`` names those that are; all but the pictures are
    shown. Without ``id_column`` the column ``id``, or else the number of the row from 0, names an item.
    """
    header, rows = _cells(path)
    for name, column in (("id_column", id_column), ("image_column", image_column)):
        if column is not None and column not in header:
            raise ParameterError(name, f"one of the columns {', '.join(header)}", column)
    if image_column is None and "image" in header:
        image_column = "image"
    if id_column is None and "id" in header:
        id_column = "id"
    others = [name for name in header if name not in (id_column, image_column)]
    X, names = _features(path, header, rows, others, features)
    place = {name: k for k, name in enumerate(header)}
    ids = [str(k) if id_column is None else row[place[id_column]] for k, row in enumerate(rows)]
    _check_ids(path, ids)
    pictures = None if image_column is None else _pictures(path, [row[place[image_column]] for row in rows])
    fields = [[(name, row[place[name]]) for name in others] for row in rows]
    return Items(ids, X, names, fields, pictures)


def _cells(path: str) -> tuple[list[str], list[list[str]]]:
    shown = shown_path(path)
    csv.field_size_limit(_FIELD_LIMIT)
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file) if line]
    except UnicodeDecodeError:
        raise MarginRankError(f"{shown}: expected text in UTF-8, got other bytes.") from None
    except csv.Error as error:
        raise MarginRankError(f"{shown}: not a CSV file: {error}.") from None
    if len(lines) < 3:
        raise MarginRankError(f"{shown}: expected a header and two items or more, got {len(lines)} lines.")
    header = [name.strip() for name in lines[0]]
    if len(set(header)) < len(header) or "" in header:
        raise MarginRankError(f"{shown}: expected a header with a name of its own for each column.")
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(header):
            raise MarginRankError(
                f"{shown}: expected {len(header)} fields in item {number - 1}, got {len(line)}."
            )
    return header, lines[1:]


def _features(
    path: str, header: list[str], rows: list[list[str]], others: list[str], wanted: tuple[str, ...]
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    for name in wanted:
        if name not in header:
            raise ParameterError("features", f"among the columns {', '.join(header)}", name)
    columns: dict[str, list[float]] = {}
    for name in wanted or others:
        values = [_number(row[header.index(name)]) for row in rows]
        known = [value for value in values if value is not None]
        if len(known) == len(values):
            columns[name] = known
        elif wanted:
            k = values.index(None)
            got = rows[k][header.index(name)][:40]
            raise MarginRankError(
                f"{shown_path(path)}: expected a number in column {name} of item {k + 1}, got {got!r}."
            )
    if not columns:
        raise MarginRankError(
            f"{shown_path(path)}: expected a column of numbers to learn from, got none; a cell that is empty "
            "or not a number makes a column one to look at only."
        )
    return np.array(list(columns.values())).T.copy(), tuple(columns)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) and "_" not in text else None


def _check_ids(path: str, ids: list[str]) -> None:
    seen: dict[str, int] = {}
    for k, name in enumerate(ids, 1):
        if not name or set(name) & _NOT_IN_IDS or name != name.strip() or not name.isprintable():
            raise MarginRankError(
                f"{shown_path(path)}: expected an id without commas, quotes and outer blanks for item {k}, "
                f"got {name[:40]!r}."
            )
        if name in seen:
            raise MarginRankError(
                f"{shown_path(path)}: expected an id of its own for each item; {seen[name]} and {k} are "
                f"both called {name[:40]!r}."
            )
        seen[name] = k


def _pictures(path: str, names: list[str]) -> list[Path]:
    """Return the files, which lie in the folder of the items or below: nothing else is ever sent."""
    folder = Path(os.path.realpath(path)).parent
    found: list[Any] = []
    for k, name in enumerate(names, 1):
        file = Path(os.path.realpath(folder / name))
        if not file.is_relative_to(folder) or file.suffix.lower() not in PICTURES or not file.is_file():
            raise MarginRankError(
                f"{shown_path(path)}: expected a picture ({', '.join(PICTURES)}) in the folder of the items "
                f"or below for item {k}, got {name[:60]!r}."
            )
        found.append(file)
    return found
