"""Parquet files, folders of them with hive partitions, and streams of Arrow, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from marginrank.data.id_columns import is_pandas_index
from marginrank.exceptions import MarginRankError, shown_path
from marginrank.io.places import file_size, files_below, open_place, within
from marginrank.io.sources import allowed_bytes, too_large

_ENDINGS = (".parquet", ".pq")
_MAGIC = b"PAR1"
# What Hive calls a partition whose key is NULL.
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def parquet_batches(path: str, batch_bytes: int, max_expansion: float) -> Iterator[tuple[Any, float]]:
    """Yield batches of a file of about so many bytes, and the share of the rows that has been read."""
    import pyarrow.parquet as parquet

    with open_place(path) as raw, parquet.ParquetFile(raw) as file:
        check_cells(file.metadata, file_size(path), path, max_expansion)
        step, rows = max(1, batch_bytes // (8 * max(1, len(file.schema_arrow.names)))), 0
        for batch in file.iter_batches(step):
            rows += batch.num_rows
            yield batch, rows / file.metadata.num_rows


def check_cells(metadata: Any, n_bytes: int, name: str, max_expansion: float) -> None:
    """Refuse Parquet with far more cells than bytes: a column of equal cells takes next to nothing there."""
    if 8 * metadata.num_rows * metadata.num_columns > allowed_bytes(n_bytes, max_expansion):
        raise too_large(name, "cells", max_expansion)


def folder_batches(
    folder: str,
    files: Sequence[str],
    batch_bytes: int,
    max_expansion: float,
    named: Collection[str | None],
) -> Iterator[tuple[Any, float]]:
    """Yield batches of some of the Parquet files of a folder, one file after the other.

    Keys of hive partitions (``year=2026``) are columns only where they are named: they say where a row lies,
    and are no features. So is the index of pandas, which some files of a folder have and others have not.
    """
    import pyarrow

    first: list[str] | None = None
    for k, file in enumerate(files):
        keys = _hive_keys(file)
        for batch, share in _named(folder, parquet_batches(within(folder, file), batch_bytes, max_expansion)):
            for key, value in keys.items():
                if key in named and key not in batch.schema.names:
                    values = pyarrow.array([value] * batch.num_rows, pyarrow.string())
                    batch = batch.append_column(key, values)
            names = [name for name in batch.schema.names if name in named or not is_pandas_index(name)]
            first = names if first is None else first
            if sorted(names) != sorted(first):
                odd = sorted(set(names) ^ set(first))
                raise MarginRankError(
                    f"{folder}: expected the same columns in all Parquet files; {odd[0]!r} is in one only of "
                    f"{files[0]} and {file}."
                )
            yield batch.select(first), (k + share) / len(files)


def folder_files(folder: str) -> list[str]:
    """Return the Parquet files of a folder, as they are written relative to it, in the order of their paths.

    Files that other programs keep for themselves begin with ``_`` or ``.``; pyarrow passes over them, too.
    Any other file must be Parquet, whatever its name: what is passed over without a word is missed by nobody.
    """
    found = [
        file
        for file in files_below(folder)
        if not any(part.startswith((".", "_")) for part in PurePosixPath(file).parts)
    ]
    if not found:
        raise MarginRankError(f"{folder}: expected Parquet files (.parquet, .pq) in the folder, got none.")
    for file in found:
        if not file.lower().endswith(_ENDINGS) and not _is_parquet(within(folder, file)):
            raise MarginRankError.saying(
                "{folder!s}: expected nothing but Parquet files in the folder, got {file!s}.",
                "Take it out, or begin its name with an underscore, and it is left alone.",
                "What is to be read of it must be Parquet, or be named alone.",
                folder=folder,
                file=shown_path(file),
            )
    return found


def _is_parquet(path: str) -> bool:
    with open_place(path) as file:
        return bool(file.read(len(_MAGIC)) == _MAGIC)


def _hive_keys(file: str) -> dict[str, str | None]:
    """Return the keys of the folders that a file lies in, and their values as they are written.

    Examples
    --------
    >>> _hive_keys("year=2026/day=07/part.parquet"), _hive_keys("query=a%2Fb/part.parquet")
    ({'year': '2026', 'day': '07'}, {'query': 'a/b'})
    """
    pairs = [part.partition("=") for part in PurePosixPath(file).parts[:-1]]
    return {unquote(key): None if value == _NOTHING else unquote(value) for key, sign, value in pairs if sign}


def _named(folder: str, batches: Iterator[tuple[Any, float]]) -> Iterator[tuple[Any, float]]:
    """Yield batches; errors name the folder, too, which is what the caller gave."""
    try:
        yield from batches
    except MarginRankError as error:
        raise error.about(f"{folder}: ") from None


def arrow_stream(source: Any) -> Callable[[int], Iterator[Any]] | None:
    """Return what gives record batches of at most so many bytes; None for what is no stream.

    Streams are Arrow's readers, DuckDB's relations and polars' lazy frames.
    """
    module = type(source).__module__.partition(".")[0]
    if module == "polars" and hasattr(source, "collect"):
        if not hasattr(source, "collect_batches"):
            raise MarginRankError(
                "This release of polars does not give a lazy frame in pieces as source: write it with "
                "sink_parquet, and convert that file."
            )
        return lambda n_bytes: _cut(_of_polars(source, n_bytes), n_bytes)
    if module == "pyarrow" and hasattr(source, "read_next_batch"):
        return lambda n_bytes: _cut(source, n_bytes)
    # Its __arrow_c_stream__ makes the whole result first.
    reading = getattr(source, "to_arrow_reader", None) or getattr(source, "fetch_arrow_reader", None)
    if module in ("duckdb", "_duckdb") and reading is not None:
        return lambda n_bytes: _cut(reading(_rows_of(n_bytes, source.columns)), n_bytes)
    return None


def _of_polars(source: Any, n_bytes: int) -> Iterator[Any]:
    for part in source.collect_batches(chunk_size=_rows_of(n_bytes, source.collect_schema().names())):
        yield from part.to_arrow().to_batches()


def _rows_of(n_bytes: int, columns: list[str]) -> int:
    return max(1, n_bytes // (8 * max(1, len(columns))))


def _cut(batches: Iterable[Any], n_bytes: int) -> Iterator[Any]:
    """Yield batches of whole rows of at most so many bytes: whoever makes them may not ask what is wanted."""
    for batch in batches:
        step = max(1, n_bytes * batch.num_rows // max(1, batch.nbytes))
        for first in range(0, batch.num_rows, step):
            yield batch.slice(first, step)
