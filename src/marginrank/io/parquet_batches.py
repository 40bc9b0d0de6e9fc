"""Parquet files, folders of them with hive partitions, and streams of Arrow, a batch of rows at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from marginrank.exceptions import MarginRankError
from marginrank.io.sources import allowed_bytes, open_source, too_large

_ENDINGS = (".parquet", ".pq")


def parquet_batches(path: str, batch_bytes: int, max_expansion: float) -> Iterator[tuple[Any, float]]:
    """Yield batches of a file of about so many bytes, and the share of the rows that has been read."""
    import pyarrow.parquet as parquet

    with open_source(path) as raw, parquet.ParquetFile(raw) as file:
        check_cells(file.metadata, os.fstat(raw.fileno()).st_size, path, max_expansion)
        step, rows = max(1, batch_bytes // (8 * max(1, len(file.schema_arrow.names)))), 0
        for batch in file.iter_batches(step):
            rows += batch.num_rows
            yield batch, rows / file.metadata.num_rows


def check_cells(metadata: Any, n_bytes: int, name: str, max_expansion: float) -> None:
    """Refuse Parquet with far more cells than bytes: a column of equal cells takes next to nothing there."""
    if 8 * metadata.num_rows * metadata.num_columns > allowed_bytes(n_bytes, max_expansion):
        raise too_large(name, "cells", max_expansion)


def folder_batches(
    folder: str, batch_bytes: int, max_expansion: float, named: Collection[str | None]
) -> Iterator[tuple[Any, float]]:
    """Yield batches of all Parquet files below a folder, in the order of their paths.

    Keys of hive partitions (``year=2026``) are columns only where they are named: they say where a row lies,
    and are no features.
    """
    import pyarrow
    from pyarrow import dataset

    files = _files(folder)
    found = dataset.dataset(
        files, format="parquet", partitioning=dataset.partitioning(flavor="hive"), partition_base_dir=folder
    )
    first: list[str] | None = None
    for k, fragment in enumerate(sorted(found.get_fragments(), key=lambda one: files.index(one.path))):
        keys = dataset.get_partition_keys(fragment.partition_expression)
        for batch, share in _named(folder, parquet_batches(fragment.path, batch_bytes, max_expansion)):
            for key, value in keys.items():
                if key in named and key not in batch.schema.names:
                    batch = batch.append_column(key, pyarrow.array([str(value)] * batch.num_rows))
            names = batch.schema.names
            first = names if first is None else first
            if sorted(names) != sorted(first):
                odd = sorted(set(names) ^ set(first))
                raise MarginRankError(
                    f"{folder}: expected the same columns in all Parquet files; {odd[0]!r} is in one only of "
                    f"{os.path.relpath(files[0], folder)} and {os.path.relpath(fragment.path, folder)}."
                )
            yield batch.select(first), (k + share) / len(files)


def _named(folder: str, batches: Iterator[tuple[Any, float]]) -> Iterator[tuple[Any, float]]:
    """Yield batches; errors name the folder, too, which is what the caller gave."""
    try:
        yield from batches
    except MarginRankError as error:
        raise error.about(f"{folder}: ") from None


def _files(folder: str) -> list[str]:
    """Return the Parquet files below a folder, without those that other programs keep for themselves."""
    found = [
        str(path)
        for path in sorted(Path(folder).rglob("*"))
        if path.name.lower().endswith(_ENDINGS)
        and path.is_file()
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise MarginRankError(f"{folder}: expected Parquet files (.parquet, .pq) in the folder, got none.")
    return found


def arrow_stream(source: Any) -> Iterator[Any] | None:
    """Return the record batches of a reader, a DuckDB relation or a polars lazy frame; None for others."""
    module = type(source).__module__.partition(".")[0]
    if module == "polars" and hasattr(source, "collect"):
        if not hasattr(source, "collect_batches"):
            raise MarginRankError(
                "This release of polars does not give a lazy frame in pieces as source: write it with "
                "sink_parquet, and convert that file."
            )
        return (batch for part in source.collect_batches() for batch in part.to_arrow().to_batches())
    reader: Iterator[Any] | None = None
    if module == "pyarrow" and hasattr(source, "read_next_batch"):
        reader = iter(source)
    elif module in ("duckdb", "_duckdb") and hasattr(source, "__arrow_c_stream__"):
        import pyarrow

        reader = iter(pyarrow.RecordBatchReader.from_stream(source))
    elif module in ("duckdb", "_duckdb") and hasattr(source, "fetch_arrow_reader"):
        reader = iter(source.fetch_arrow_reader())
    return reader
