"""Pair files: CSV rows ``winner,loser[,weight[,margin]]``, by row numbers or document ids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData, check_data
from marginrank.exceptions import MarginRankError, ParameterError, shown
from marginrank.io.destinations import Destination, write_lines
from marginrank.io.letor_writer import number_text
from marginrank.io.sources import Source
from marginrank.io.text_lines import Piece, counted, text_lines
from marginrank.parameters import as_list, check_count

_HEADER = ("winner", "loser", "weight", "margin")
# What marginrank judge writes: who answered what to which kind of question is not for training.
_JUDGED = ("winner", "loser", "weight", "answer", "question", "rater")
_DOCID = re.compile(r"\s*docid\s*=\s*(\S+)")


class Pairs(NamedTuple):
    """Preferences: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``; a weight or margin of None means 1.

    Examples
    --------
    >>> import numpy as np
    >>> found = Pairs(np.array([[1, 0]]), weight=np.array([2.0]), margin=None)
    >>> found.pairs.tolist(), found.weight.tolist()
    ([[1, 0]], [2.0])
    """

    pairs: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    margin: NDArray[np.float64] | None


def docids(data: RankingData) -> list[str | None]:
    """Return the document id of each row from its comment ``docid = X``; None where it has none.

    Examples
    --------
    >>> docids(RankingData([[1], [2]], y=[0, 1], comments=["docid = GX-1 inc = 1", ""]))
    ['GX-1', None]
    """
    check_data(data)
    if data.comments is None:
        return [None] * data.n_rows
    found = map(_DOCID.match, data.comments)
    return [None if match is None else match[1] for match in found]


def load_pairs(
    source: Source, *, ids: Sequence[str | None] | None = None, n_rows: int | None = None
) -> Pairs:
    r"""Read preferences: ``winner,loser[,weight[,margin]]``, one a line, with or without that header.

    The answers of ``marginrank judge`` are read as they are.

    Parameters
    ----------
    source : path, binary file object or bytes
        Plain or gzip.
    ids : sequence of str or None, optional
        The document id of each row, as :func:`docids` gives them: winners and losers are then ids. By
        default they are row numbers from 0.
    n_rows : int, optional
        Number of rows, so that a row number beyond them is an error that names its line.

    Examples
    --------
    >>> load_pairs(b"winner,loser,weight\n0,2,0.5\n1,2,1\n")
    Pairs(pairs=array([[0, 2],
           [1, 2]]), weight=array([0.5, 1. ]), margin=None)
    >>> load_pairs(b"B,A\n", ids=["A", "B"]).pairs
    array([[1, 0]])
    """
    rows = None if ids is None else _rows_by_id(_names(ids))
    if n_rows is not None:
        n_rows = check_count(n_rows, "n_rows")
    pairs: list[tuple[int, int]] = []
    numbers: list[list[float]] = []
    width = numbered = 0
    for line in text_lines(source):
        fields = line.fields(",")
        if not width:
            names = tuple(field.text.lower() for field in fields)
            if names == _JUDGED:
                width, numbered = len(names), 3
                continue
            width = numbered = _check_width(line, fields)
            if names == _HEADER[:width]:
                continue
        if len(fields) != width:
            raise line.expected(f"{width} fields, as in the first line", str(len(fields)))
        winner, loser = (_row(field, rows, n_rows) for field in fields[:2])
        if winner == loser:
            raise fields[1].expected("two different rows", f"{fields[1].text!r} twice")
        pairs.append((winner, loser))
        numbers.append([_number(*item) for item in zip(_HEADER[2:], fields[2:numbered], strict=False)])
    if not pairs:
        raise line.expected("pairs after the header", "none")
    columns: list[Any] = [*np.array(numbers, dtype=np.float64).T, None, None]
    return Pairs(np.array(pairs, dtype=np.int64), columns[0], columns[1])


def dump_pairs(
    data: RankingData, destination: Destination, *, ids: Sequence[str | None] | None = None
) -> None:
    """Write the preferences of the data, by row numbers, or by document ids where these are given.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_pairs(RankingData([[1], [2]], pairs=[[1, 0]], pair_margin=[2.5]), file)
    >>> print(file.getvalue().decode())
    winner,loser,weight,margin
    1,0,1,2.5
    <BLANKLINE>
    """
    check_data(data)
    if data.pairs is None:
        raise MarginRankError("These data hold no pairs to write.")
    names = range(data.n_rows) if ids is None else _check_ids(ids, data)
    columns: list[Any] = [[names[row] for row in side] for side in data.pairs.T.tolist()]
    if data.pair_weight is not None or data.pair_margin is not None:
        columns.append(_texts(data.pair_weight, len(data.pairs)))
    if data.pair_margin is not None:
        columns.append(_texts(data.pair_margin, len(data.pairs)))
    lines = (",".join(map(str, fields)) for fields in zip(*columns, strict=True))
    write_lines(destination, [",".join(_HEADER[: len(columns)]), *lines])


def _texts(values: NDArray[np.float64] | None, n: int) -> list[str]:
    return ["1"] * n if values is None else list(map(number_text, values.tolist()))


def _check_width(line: Piece, fields: list[Piece]) -> int:
    if not 2 <= len(fields) <= 4:
        raise line.expected("'winner,loser[,weight[,margin]]'", counted(len(fields), "field"))
    return len(fields)


def _row(field: Piece, rows: Mapping[str, int] | None, n_rows: int | None) -> int:
    if rows is not None:
        row = rows.get(field.text)
        if row is None:
            raise field.expected("the document id of a row")
        if row < 0:
            raise field.expected("the id of one row", f"{field.text!r}, which several rows have")
        return row
    is_number = field.text.isascii() and field.text.isdigit() and len(field.text) < 19
    if not is_number or (n_rows is not None and int(field.text) >= n_rows):
        last = "" if n_rows is None else f" to {n_rows - 1}"
        raise field.expected(f"a row number from 0{last}")
    return int(field.text)


def _number(name: str, field: Piece) -> float:
    value = field.number()
    if value is None or not 0 <= value < np.inf:
        raise field.expected(f"a {name} (a finite number from 0)")
    return value


def _rows_by_id(ids: Sequence[str | None]) -> dict[str, int]:
    """Return the row of each id, -1 where several rows have it."""
    rows: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name is not None:
            rows[name] = -1 if name in rows else row
    return rows


def _names(ids: Any) -> list[str | None]:
    """Return ids that are strings, or None where a row has none."""
    found = as_list(ids)
    if found is None or not all(name is None or isinstance(name, str) for name in found):
        raise ParameterError("ids", "a list of strings, or None for a row without", ids)
    return found


def _check_ids(given: Any, data: RankingData) -> list[str]:
    ids = _names(given)
    if len(ids) != data.n_rows:
        raise MarginRankError(f"ids must have one entry per row; got {len(ids)} for {data.n_rows} rows.")
    rows = _rows_by_id(ids)
    assert data.pairs is not None
    for row in np.unique(data.pairs).tolist():
        name = ids[row]
        if name is None or rows[name] < 0 or set(name) & set(",\n\r") or name != name.strip():
            raise MarginRankError(
                f"ids must give row {row} an id of its own without ',' to be written; it has {shown(name)}."
            )
    return [str(name) for name in ids]
