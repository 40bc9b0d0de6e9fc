"""Ranking data on disk: written in constant memory, opened without reading, trained on chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.io.dataset_sources import (
    BlockSource,
    DatasetSource,
    DataSource,
    LetorSource,
    StreamSource,
    TableSource,
)
from marginrank.io.parquet_batches import arrow_stream
from marginrank.io.places import local_place, place
from marginrank.parameters import check_choice, check_count, check_flag
from marginrank.storage.dataset_stage import ChunkLimits
from marginrank.storage.dataset_writer import WritingState, write_chunks
from marginrank.storage.disk_dataset import DiskDataset
from marginrank.storage.row_source import RowSource

#: What the features of a chunk take at most, by default.
CHUNK_BYTES = 256 << 20


def write_dataset(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    chunk_rows: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    overwrite: bool = False,
    resume: bool = False,
    progress: Callable[[WritingState], None] | None = None,
    **parts: Any,
) -> DiskDataset:
    """Write ranking data to a folder, from which rankers train without having it in memory.

    Parameters
    ----------
    path : path
        The folder, by custom with the ending ``.mrd``. It appears when all of it is written.
    X : array-like, sparse matrix, data frame, RankingData, or iterator of blocks
        The features. A block is a :class:`~marginrank.RankingData`, a mapping of its arguments, or
        ``(X, y)`` or ``(X, y, qid)``; its pairs count rows from its first one. Rows of a query may come in
        any place, in several blocks too.
    y : array-like of shape (n_rows,), optional
        Labels.
    chunk_rows : int, optional
        The most rows of a chunk.
    chunk_bytes : int, default=268,435,456
        The most bytes that the features of a chunk take. Chunks end with a query; a larger query gets a chunk
        of its own. Without query ids they end anywhere.
    overwrite : bool, default=False
        Whether to replace a data set that is there.
    resume : bool, default=False
        Go on with a writing that was stopped, from the same rows and with the same options. An iterator must
        give all of its blocks again.
    progress : callable, optional
        Called with a ``WritingState`` after each block: rows and chunks that were written, and the share of
        the rows that this is, where it is known.
    **parts
        The other arguments of :class:`~marginrank.RankingData`: ``qid``, ``group``, ``pairs``,
        ``sample_weight`` and so on.

    Returns
    -------
    DiskDataset
        The data set, open.

    Notes
    -----
    Holds one chunk and one block in memory, a set of the query ids, and explicit pairs. Rows of scattered
    queries are regrouped by an external sort, which writes the data twice more; row numbers of pairs follow.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> blocks = (([[q + 0.1], [q + 0.7]], [0, 1], [q, q]) for q in range(3))
    >>> write_dataset(f"{folder}/train.mrd", blocks, chunk_rows=4)
    DiskDataset(n_rows=6, n_features=1, n_queries=3, n_chunks=2, dense float64)
    """
    folder = _folder(path)
    _check_writing(overwrite, resume, progress)
    if isinstance(X, Iterator):
        if y is not None or parts:
            raise MarginRankError(
                "X gives blocks, which carry y, qid and the other parts; do not pass them again."
            )
        source: RowSource = BlockSource(X)
    elif isinstance(X, DiskDataset) and y is None and not parts:
        source = DatasetSource(X)
    else:
        source = DataSource(_whole(X, y, parts))
    limits = _check_limits(chunk_rows, chunk_bytes)
    write_chunks(folder, source, limits, dense=False, overwrite=overwrite, resume=resume, progress=progress)
    return open_dataset(folder)


def convert_to_dataset(
    source: Any,
    path: str | os.PathLike[str],
    *,
    format: str = "letor",
    dense: bool | str = "auto",
    chunk_rows: int | None = None,
    chunk_bytes: int = CHUNK_BYTES,
    overwrite: bool = False,
    resume: bool = False,
    progress: Callable[[WritingState], None] | None = None,
    **options: Any,
) -> DiskDataset:
    r"""Write a file of ranking data as a data set, a piece at a time.

    Parameters
    ----------
    source : path, URL, pyarrow RecordBatchReader, DuckDB relation or polars LazyFrame
        LETOR text or CSV, plain or gzip, Parquet, a folder of Parquet files, or another data set; behind a
        URL, such as ``s3://bucket/train.parquet``, whatever fsspec reads. What is neither is read as the
        columns of a table, a batch at a time; ``format`` says nothing about it.
    path : path
        The folder to write.
    format : {"letor", "csv", "parquet", "mrd"}, default="letor"
        What the source is.
    dense : bool or "auto", default="auto"
        Whether the features of text are stored dense; "auto" where at least half of the entries are not zero.
    chunk_rows, chunk_bytes, overwrite, resume, progress
        As in :func:`write_dataset`. A conversion of text resumes at the piece where it was interrupted.
    **options
        Of the reader: ``n_features``, ``zero_based``, ``max_feature``, ``missing``, ``dtype``,
        ``max_expansion`` and ``n_jobs`` of :func:`load_letor`; those of :func:`load_table`.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with open(f"{folder}/train.txt", "w") as file:
    ...     _ = file.write("1 qid:7 1:0.5\n0 qid:7 2:1\n")
    >>> convert_to_dataset(f"{folder}/train.txt", f"{folder}/train.mrd")
    DiskDataset(n_rows=2, n_features=2, n_queries=1, n_chunks=1, dense float64)
    """
    check_choice("format", format, ("letor", "csv", "parquet", "mrd"))
    check_choice("dense", dense, (True, False, "auto"))
    stream = arrow_stream(source)
    if stream is None:
        source = place(source)
    folder = _folder(path)
    _check_writing(overwrite, resume, progress)
    limits = _check_limits(chunk_rows, chunk_bytes)
    reader: RowSource
    if stream is not None:
        reader, dense = StreamSource(stream, **options), False
    elif format == "mrd":
        reader, dense = DatasetSource(open_dataset(source)), False
    elif format == "letor":
        reader = LetorSource(source, **options)
    else:
        reader = TableSource(source, format, **options)
    write_chunks(folder, reader, limits, dense=dense, overwrite=overwrite, resume=resume, progress=progress)
    return open_dataset(folder)


def open_dataset(path: str | os.PathLike[str], *, verify: bool = True) -> DiskDataset:
    """Open a data set that :func:`write_dataset` wrote.

    Labels, ids, weights and pairs are read; the features stay on disk.

    Parameters
    ----------
    path : path
        The folder.
    verify : bool, default=True
        Compare each chunk with its checksum when it is first used.

    Returns
    -------
    DiskDataset
        To train on, to predict for, to look at.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = write_dataset(f"{folder}/train.mrd", [[0.1], [0.7], [0.3]], [0, 1, 0], qid=[1, 1, 2])
    >>> data = open_dataset(f"{folder}/train.mrd")
    >>> from marginrank import RankSVM
    >>> RankSVM().fit(data).score(data)
    1.0
    """
    return DiskDataset(_folder(path), verify=check_flag(verify, "verify"))


def _folder(path: str | os.PathLike[str]) -> Path:
    """Return the folder of a data set: chunks are read in place, and written before they get their names."""
    return Path(local_place(path, "path", "a data set on disk (.mrd) lies on a disk, so copy it there"))


def _whole(X: Any, y: Any, parts: dict[str, Any]) -> RankingData:
    if not isinstance(X, RankingData):
        data = RankingData(X, y, **parts)
    elif y is not None or parts:
        raise MarginRankError("RankingData carries y, qid and the other parts; do not pass them again.")
    else:
        data = X
    if data.allow_nonfinite:
        gate.check_finite(data.X, data.feature_names)
    return data


def _check_writing(overwrite: Any, resume: Any, progress: Any) -> None:
    check_flag(overwrite, "overwrite")
    check_flag(resume, "resume")
    if progress is not None and not callable(progress):
        raise ParameterError("progress", "a function or None", progress)


def _check_limits(chunk_rows: Any, chunk_bytes: Any) -> ChunkLimits:
    for name, value in (("chunk_rows", chunk_rows), ("chunk_bytes", chunk_bytes)):
        if value is None and name == "chunk_rows":
            continue
        check_count(value, name, most=2**63 - 1)
    return ChunkLimits(None if chunk_rows is None else int(chunk_rows), int(chunk_bytes))
