"""Tables, CSV and Parquet: a column per feature, and columns for label, query, weight and document."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.io.sources import Source, read_source
from marginrank.io.table_cells import Cells, as_ids, as_numbers, as_texts, csv_fault

# Their columns need not be there: a table without them has no such thing.
_OPTIONAL = ("weight", "docid", "comment")
# Roles whose columns hold text, also where it looks like numbers: query 007 is not query 7.
_TEXTS = ("qid", "docid", "comment")


class _Roles(NamedTuple):
    """The column of each role; None where there is none."""

    label: str
    qid: str | None
    weight: str | None
    docid: str | None
    comment: str | None


def load_table(
    source: Source,
    *,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    docid: str | None = "docid",
    comment: str | None = "comment",
    missing: float | None = None,
    format: str | None = None,
) -> RankingData:
    r"""Read a table whose columns are features, but for those named here. Needs ``marginrank[tables]``.

    Parameters
    ----------
    source : path, binary file object or bytes
        CSV (with a header, plain or gzip) or Parquet.
    label, qid : str
        Columns of the labels and of the query ids. ``qid=None`` is one ranking of all rows. Ids of CSV are
        integers where all of them are in their usual spelling, else strings, as in LETOR text.
    weight, docid, comment : str
        Columns of row weights, document ids and remarks. A column of the default name need not be there;
        with None it is a feature. Remarks become ``comments``, document ids ``docid = X`` before them.
    missing : float, optional
        What to read an empty cell of a feature as, say 0.0 or NaN; by default it is an error.
    format : {"csv", "parquet"}, optional
        By default Parquet where the content starts with its magic bytes, else CSV.

    Examples
    --------
    >>> data = load_table(b"price,qid,docid,label\n3.5,a,X1,1\n2.0,a,X2,0\n")
    >>> data.feature_names, data.X.ravel().tolist(), data.qid.tolist(), data.comments.tolist()
    (('price',), [3.5, 2.0], ['a', 'a'], ['docid = X1', 'docid = X2'])
    """
    raw, name = read_source(source)
    wanted = _Roles(label, qid, weight, docid, comment)
    cells = _read(raw, name, format, wanted)
    return _data(cells, wanted, missing)


def table_batches(
    path: str | os.PathLike[str],
    batch_bytes: int,
    *,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    docid: str | None = "docid",
    comment: str | None = "comment",
    missing: float | None = None,
) -> Iterator[RankingData]:
    """Read a Parquet file in batches of about so many bytes; the rest is as in :func:`load_table`."""
    arrow = _pyarrow()
    import pyarrow.parquet as parquet

    name, wanted, rows = os.fspath(path), _Roles(label, qid, weight, docid, comment), 0
    try:
        with parquet.ParquetFile(path) as file:
            step = max(1, batch_bytes // (8 * max(1, len(file.schema_arrow.names))))
            for batch in file.iter_batches(step):
                table = arrow.Table.from_batches([batch])
                yield _data(Cells(table, name, None, rows), wanted, missing)
                rows += table.num_rows
    except arrow.ArrowException as error:
        raise MarginRankError(f"{name}: expected parquet data; pyarrow says: {error}") from None


def _data(cells: Cells, wanted: _Roles, missing: float | None) -> RankingData:
    name, roles = cells.name, _found(cells, wanted)
    if cells.table.num_rows == 0:
        raise MarginRankError(f"{name}: expected at least one row, got none.")
    texts = {role: getattr(roles, role) for role in ("docid", "comment") if getattr(roles, role)}
    names = [column for column in cells.columns if column not in set(roles)]
    if not names:
        raise MarginRankError(f"{name}: expected columns of features, got {cells.shown()}.")
    try:
        return RankingData(
            _matrix(cells, names, missing),
            as_numbers(cells, wanted.label),
            qid=None if wanted.qid is None else as_ids(cells, wanted.qid),
            sample_weight=None if roles.weight is None else as_numbers(cells, roles.weight),
            feature_names=names,
            comments=_comments({role: as_texts(cells, column) for role, column in texts.items()}),
            allow_nonfinite=missing is not None and not np.isfinite(missing),
        )
    except MarginRankError as error:
        told = str(error)
        raise MarginRankError(told if told.startswith(name) else f"{name}: {told}") from None


def dump_table(
    data: RankingData,
    destination: Destination,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
    comment: str = "comment",
    format: str | None = None,
) -> None:
    """Write features, labels, query ids, row weights and comments as a table. Needs ``marginrank[tables]``.

    Features without names are called ``f1``, ``f2``, ...; the format follows the ending of the path.

    Examples
    --------
    >>> file = BytesIO()
    >>> dump_table(RankingData([[0.5], [1.5]], y=[1, 0], qid=["a", "b"]), file, format="csv")
    >>> print(file.getvalue().decode(), end="")
    "label","qid","f1"
    1,"a",0.5
    0,"b",1.5
    """
    arrow = _pyarrow()
    if data.y is None:
        raise MarginRankError("A table has a column of labels, but these data hold pairs and no y.")
    X = data.X if isinstance(data.X, np.ndarray) else _dense(data.X)
    columns: dict[str, Any] = {label: data.y}
    for name, values in ((qid, data.qid), (weight, data.sample_weight), (comment, data.comments)):
        if values is not None:
            columns[name] = values
    names = data.feature_names or tuple(f"f{k + 1}" for k in range(data.n_features))
    if taken := columns.keys() & set(names):
        raise MarginRankError(
            f"The feature {min(taken)!r} has the name of another column; pass another name."
        )
    columns |= dict(zip(names, X.T, strict=True))
    chosen = format or ("parquet" if _is_parquet(destination) else "csv")
    _check_lines(data.comments, chosen)
    try:
        table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    except (arrow.ArrowException, TypeError, UnicodeEncodeError) as error:
        raise MarginRankError(f"A table holds ids of one type, in UTF-8; pyarrow says: {error}") from None
    with open_for_writing(destination) as file:
        file.write(_write(table, chosen))


def _dense(X: Any) -> NDArray[Any]:
    entries = X.copy()
    entries.sum_duplicates()
    entries = entries.tocoo()
    dense = np.zeros(X.shape, dtype=X.dtype)
    dense[entries.row, entries.col] = entries.data  # toarray would add, and 0 + -0 is 0
    return dense


def _check_lines(comments: NDArray[Any] | None, format: str) -> None:
    for row, comment in enumerate(() if comments is None or format != "csv" else comments):
        if "\n" in comment or "\r" in comment:
            raise MarginRankError(
                f"A comment in CSV must be one line; that of row {row} is {comment[:40]!r}."
            )


def _is_parquet(destination: Destination) -> bool:
    return str(destination).lower().endswith((".parquet", ".pq"))


def _found(cells: Cells, wanted: _Roles) -> _Roles:
    """Return the columns that are there; those that must be and are not are an error."""
    for role in _OPTIONAL:
        if getattr(wanted, role) == role and role not in cells.columns:
            absent: dict[str, Any] = {role: None}
            wanted = wanted._replace(**absent)
    for role, column in wanted._asdict().items():
        if column is not None and column not in cells.columns:
            raise MarginRankError(
                f"{cells.name}: expected a column {column!r} for the {role}, "
                f"got {cells.shown()}. "
                f"Pass {role}= the name of the column" + ("." if role == "label" else ", or None.")
            )
    return wanted


def _matrix(cells: Cells, names: list[str], missing: float | None) -> NDArray[Any]:
    columns = [as_numbers(cells, name, missing, feature=True) for name in names]
    dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    X = np.empty((cells.table.num_rows, len(columns)), dtype=dtype)
    for k, column in enumerate(columns):
        X[:, k] = column
    return X


def _comments(texts: dict[str, list[str]]) -> list[str] | None:
    """Return remarks that name the document first, as those of LETOR do."""
    if "docid" not in texts:
        return texts.get("comment")
    named = [f"docid = {name}" if name else "" for name in texts["docid"]]
    if "comment" not in texts:
        return named
    return [f"{name} {rest}".strip(" ") for name, rest in zip(named, texts["comment"], strict=True)]


def _read(raw: bytes | bytearray, name: str, format: str | None, roles: _Roles) -> Cells:
    arrow = _pyarrow()
    chosen = format or ("parquet" if raw[:4] == b"PAR1" else "csv")
    try:
        if _check_format(chosen) == "parquet":
            import pyarrow.parquet as parquet

            return Cells(parquet.read_table(BytesIO(raw)), name, None)
        return Cells(_read_csv(raw, roles), name, raw)
    except (arrow.ArrowException, OSError) as error:
        found = csv_fault(raw, name) if chosen == "csv" else None
        told = MarginRankError(f"{name}: expected {chosen} data; pyarrow says: {error}")
        raise (found or told) from None


def _read_csv(raw: bytes | bytearray, roles: _Roles) -> Any:
    import pyarrow
    from pyarrow import csv

    texts = {getattr(roles, role): pyarrow.string() for role in _TEXTS if getattr(roles, role) is not None}
    # Numbers are float64, never integers: only so -0 keeps its sign.
    header = csv.open_csv(BytesIO(raw)).schema.names
    types = {column: texts.get(column, pyarrow.float64()) for column in header}
    try:
        return csv.read_csv(BytesIO(raw), convert_options=csv.ConvertOptions(column_types=types))
    except pyarrow.ArrowInvalid:  # some cell is no number: all as text, so that it can be found and named
        words = csv.ConvertOptions(column_types=dict.fromkeys(header, pyarrow.string()))
        return csv.read_csv(BytesIO(raw), convert_options=words)


def _write(table: Any, format: str) -> Any:
    memory = BytesIO()
    if _check_format(format) == "parquet":
        import pyarrow.parquet as parquet

        parquet.write_table(table, memory)
    else:
        import pyarrow.csv as csv

        csv.write_csv(table, memory)
    return memory.getbuffer()


def _check_format(format: str) -> str:
    if format not in ("csv", "parquet"):
        raise MarginRankError(f"format must be 'csv' or 'parquet'; got {format!r}.")
    return format


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MarginRankError(
            "Tables need pyarrow, which is not installed: pip install 'marginrank[tables]'."
        ) from None
    return pyarrow
