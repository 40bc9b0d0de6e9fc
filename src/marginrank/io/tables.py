"""Reading tables, CSV and Parquet: a column per feature, others for label, query, weight and document."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.data.id_columns import is_pandas_index, warn_of_id_columns
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.io.parquet_batches import check_cells, folder_batches, folder_files, parquet_batches
from marginrank.io.places import file_size, is_folder, open_place, place
from marginrank.io.sources import Source, allowed_bytes, read_source, too_large
from marginrank.io.table_cells import Cells, as_ids, as_numbers, as_texts, csv_fault
from marginrank.parameters import check_choice, check_missing

# Their columns need not be there: a table without them has no such thing.
_OPTIONAL = ("weight", "docid", "comment")
# Roles whose columns hold text, also where it looks like numbers: query 007 is not query 7.
_TEXTS = ("qid", "docid", "comment")
_GZIP = b"\x1f\x8b"
_FOLDER_BATCH = 64 << 20
_BLOCK_ROWS = 512


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
    max_expansion: float = 200,
) -> RankingData:
    r"""Read a table whose columns are features, but for those named here. Needs ``marginrank[tables]``.

    Parameters
    ----------
    source : path, URL, binary file object or bytes
        CSV (with a header, plain or gzip) or Parquet; or a folder of Parquet files, whose hive partitions
        (``year=2026``) are columns only where they are named here.
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
    max_expansion : float, default=200
        The most that gzip may expand, and the cells of Parquet at 8 bytes each, as a multiple of the size of
        the file; 16 MiB are always allowed.

    Examples
    --------
    >>> data = load_table(b"price,qid,docid,label\n3.5,a,X1,1\n2.0,a,X2,0\n")
    >>> data.feature_names, data.X.ravel().tolist(), data.qid.tolist(), data.comments.tolist()
    (('price',), [3.5, 2.0], ['a', 'a'], ['docid = X1', 'docid = X2'])
    """
    missing = check_missing(missing)
    if format is not None:
        check_table_format(format)
    wanted = _roles(label=label, qid=qid, weight=weight, docid=docid, comment=comment)
    if isinstance(source, str | os.PathLike) and is_folder(source):
        name = place(source)
        _check_folder(name, format)
        return _data(_read_folder(name, folder_files(name), wanted, max_expansion), wanted, missing)
    raw, name = read_source(source, max_expansion=max_expansion)
    cells = _read(raw, name, format, wanted, max_expansion)
    return _data(cells, wanted, missing)


def load_folder_part(
    folder: str,
    file: str,
    *,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    docid: str | None = "docid",
    comment: str | None = "comment",
    missing: float | None = None,
    max_expansion: float = 200,
) -> RankingData:
    """Read one of the Parquet files of a folder, with the keys of its partition; see :func:`load_table`."""
    wanted = _roles(label=label, qid=qid, weight=weight, docid=docid, comment=comment)
    cells = _read_folder(folder, [file], wanted, max_expansion)
    return _data(cells, wanted, check_missing(missing))


def table_batches(
    path: str | os.PathLike[str],
    batch_bytes: int,
    *,
    format: str,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    docid: str | None = "docid",
    comment: str | None = "comment",
    missing: float | None = None,
    max_expansion: float = 200,
) -> Iterator[tuple[RankingData, float]]:
    """Read a file in batches of about so many bytes; the rest is as in :func:`load_table`.

    Each batch comes with the share of the file that has been read.
    """
    arrow = pyarrow_module()
    missing = check_missing(missing)
    wanted = _roles(label=label, qid=qid, weight=weight, docid=docid, comment=comment)
    name, rows = place(path), 0
    try:
        for batch, share in _batches(name, batch_bytes, check_table_format(format), wanted, max_expansion):
            if batch.num_rows:
                table = arrow.Table.from_batches([batch])
                yield _data(Cells(table, name, None, rows, format == "csv"), wanted, missing), share
                rows += table.num_rows
    except UnicodeDecodeError as error:
        raise _not_utf8(name, error) from None
    except (arrow.ArrowException, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system, not about the content
        raise _unreadable(name, format, error) from None


def stream_batches(
    batches: Iterator[Any],
    *,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    docid: str | None = "docid",
    comment: str | None = "comment",
    missing: float | None = None,
) -> Iterator[RankingData]:
    """Read a stream of Arrow's record batches; the rest is as in :func:`load_table`."""
    arrow = pyarrow_module()
    missing = check_missing(missing)
    wanted, rows = _roles(label=label, qid=qid, weight=weight, docid=docid, comment=comment), 0
    for batch in batches:
        if batch.num_rows:
            table = arrow.Table.from_batches([batch])
            yield _data(Cells(table, "source", None, rows, False), wanted, missing)
            rows += table.num_rows


def _batches(
    name: str, batch_bytes: int, format: str, roles: _Roles, max_expansion: float
) -> Iterator[tuple[Any, float]]:
    if is_folder(name):
        _check_folder(name, format)
        return folder_batches(name, folder_files(name), batch_bytes, max_expansion, roles)
    if format == "parquet":
        return parquet_batches(name, batch_bytes, max_expansion)
    return _csv_batches(name, batch_bytes, roles, max_expansion)


def _check_folder(name: str, format: str | None) -> None:
    if format not in (None, "parquet"):
        raise MarginRankError(
            f"{name}: expected a file of {format} data, got a folder; folders hold Parquet."
        )


def _read_folder(name: str, files: list[str], roles: _Roles, max_expansion: float) -> Cells:
    arrow = pyarrow_module()
    try:
        found = [batch for batch, _ in folder_batches(name, files, _FOLDER_BATCH, max_expansion, roles)]
        if not found:
            raise MarginRankError(f"{name}: expected at least one row, got none.")
        tables = [arrow.Table.from_batches([batch]) for batch in found]
        return Cells(arrow.concat_tables(tables, promote_options="permissive"), name, None)
    except (arrow.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # of the system, not about the content
        raise _unreadable(name, "parquet", error) from None


def _csv_batches(
    path: str, batch_bytes: int, roles: _Roles, max_expansion: float
) -> Iterator[tuple[Any, float]]:
    from pyarrow import csv

    reading = csv.ReadOptions(block_size=batch_bytes, use_threads=False)
    with open_place(path) as raw:
        zipped = raw.read(2) == _GZIP
        raw.seek(0)
        header = csv.open_csv(gzip.GzipFile(fileobj=raw) if zipped else raw, read_options=reading)
        types = _csv_types(header.schema.names, roles)
    size = file_size(path)
    allowed = allowed_bytes(size, max_expansion)
    with open_place(path) as raw:
        file: Any = gzip.GzipFile(fileobj=raw) if zipped else raw
        with csv.open_csv(file, reading, None, csv.ConvertOptions(column_types=types)) as batches:
            for batch in batches:
                if zipped and file.tell() > allowed:
                    raise too_large(path, "gzip data", max_expansion)
                yield batch, raw.tell() / size


def _data(cells: Cells, wanted: _Roles, missing: float | None) -> RankingData:
    name, roles = cells.name, _found(cells, wanted)
    if cells.table.num_rows == 0:
        raise MarginRankError(f"{name}: expected at least one row, got none.")
    texts = {role: getattr(roles, role) for role in ("docid", "comment") if getattr(roles, role)}
    names = [column for column in cells.columns if column not in roles and not is_pandas_index(column)]
    if not names:
        raise MarginRankError(f"{name}: expected columns of features, got {cells.shown()}.")
    warn_of_id_columns(names)
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
        reason = str(error)
        raise MarginRankError(reason if reason.startswith(name) else f"{name}: {reason}") from None


def _found(cells: Cells, wanted: _Roles) -> _Roles:
    """Return the columns that are there; those that must be and are not are an error."""
    for role in _OPTIONAL:
        if getattr(wanted, role) == role and role not in cells.columns:
            absent: dict[str, Any] = {role: None}
            wanted = wanted._replace(**absent)
    for role, column in wanted._asdict().items():
        if column is not None and column not in cells.columns:
            raise MarginRankError.saying(
                "{name!s}: expected a column {column!r} for the {role!s}, got {found!s}.",
                f"Name it with {{{role}=COLUMN}}.",
                *([] if role == "label" else [f"If there is none, {{pass}} {{{role}=None}}."]),
                name=cells.name,
                column=column,
                role=role,
                found=cells.shown(),
            )
    return wanted


def _matrix(cells: Cells, names: list[str], missing: float | None) -> NDArray[Any]:
    columns = [cells.table[name] for name in names]
    single = all(str(column.type) == "float" and not column.null_count for column in columns)
    X = np.empty((cells.table.num_rows, len(names)), dtype=np.float32 if single else np.float64)
    done = 0
    for part in cells.parts():
        _fill(X[done : done + part.table.num_rows], part, names, missing)
        done += part.table.num_rows
    return X


def _fill(X: NDArray[Any], cells: Cells, names: list[str], missing: float | None) -> None:
    columns = [as_numbers(cells, name, missing, feature=True) for name in names]
    for first in range(0, len(X), _BLOCK_ROWS):  # which the cache holds while column after column is written
        rows = slice(first, first + _BLOCK_ROWS)
        for k, column in enumerate(columns):
            X[rows, k] = column[rows]


def _comments(texts: dict[str, list[str]]) -> list[str] | None:
    """Return remarks that name the document first, as those of LETOR do."""
    if "docid" not in texts:
        return texts.get("comment")
    named = [f"docid = {name}" if name else "" for name in texts["docid"]]
    if "comment" not in texts:
        return named
    return [f"{name} {rest}".strip(" ") for name, rest in zip(named, texts["comment"], strict=True)]


def _read(
    raw: bytes | bytearray, name: str, format: str | None, roles: _Roles, max_expansion: float
) -> Cells:
    arrow = pyarrow_module()
    chosen = format or ("parquet" if raw[:4] == b"PAR1" else "csv")
    try:
        if check_table_format(chosen) == "parquet":
            import pyarrow.parquet as parquet

            check_cells(parquet.read_metadata(BytesIO(raw)), len(raw), name, max_expansion)
            return Cells(parquet.read_table(BytesIO(raw)), name, None)
        return Cells(_read_csv(raw, roles), name, raw)
    except UnicodeDecodeError as error:
        raise ((csv_fault(raw, name) if chosen == "csv" else None) or _not_utf8(name, error)) from None
    except (arrow.ArrowException, OSError) as error:
        found = csv_fault(raw, name) if chosen == "csv" else None
        raise (found or _unreadable(name, chosen, error)) from None


def _unreadable(name: str, format: str, error: Exception) -> MarginRankError:
    words = " ".join(str(error).split())  # they may be several lines
    return MarginRankError(f"{name}: expected {format} data; pyarrow says: {words}")


def _not_utf8(name: str, error: UnicodeDecodeError) -> MarginRankError:
    byte = error.object[error.start]
    return MarginRankError(f"{name}: expected UTF-8 text, got the byte {byte:#04x}; save the file as UTF-8.")


def _read_csv(raw: bytes | bytearray, roles: _Roles) -> Any:
    import pyarrow
    from pyarrow import csv

    header = csv.open_csv(BytesIO(raw)).schema.names
    types = _csv_types(header, roles)
    try:
        return csv.read_csv(BytesIO(raw), convert_options=csv.ConvertOptions(column_types=types))
    except pyarrow.ArrowInvalid:  # some cell is no number: all as text, so that it can be found and named
        words = csv.ConvertOptions(column_types=dict.fromkeys(header, pyarrow.string()))
        return csv.read_csv(BytesIO(raw), convert_options=words)


def _csv_types(header: list[str], roles: _Roles) -> dict[str, Any]:
    import pyarrow

    texts = {getattr(roles, role): pyarrow.string() for role in _TEXTS if getattr(roles, role) is not None}
    # Numbers are float64, never integers: only so -0 keeps its sign.
    return {column: texts.get(column, pyarrow.float64()) for column in header}


def check_table_format(format: str) -> str:
    """Return the name of a format of tables, or raise."""
    check_choice("format", format, ("csv", "parquet"))
    return format


def check_columns(names: Mapping[str, Any], *, needed: Collection[str] = ()) -> None:
    """Raise unless the names of columns are strings, or None but for those that are needed."""
    for role, column in names.items():
        if not _is_name(column) and not (column is None and role not in needed):
            raise ParameterError(role, "the name of a column", column)


def _is_name(column: Any) -> bool:
    """Whether this is a word that a file of a table can hold, in UTF-8."""
    return isinstance(column, str) and column != "" and not any("\ud800" <= c <= "\udfff" for c in column)


def _roles(**names: Any) -> _Roles:
    check_columns(names, needed=("label",))
    return _Roles(**names)


def pyarrow_module() -> Any:
    """Return pyarrow, which is an extra."""
    try:
        import pyarrow
    except ImportError:
        raise MarginRankError(
            "Tables need pyarrow, which is not installed: pip install 'marginrank[tables]'."
        ) from None
    return pyarrow
