"""The registry of file formats: by name, or by the ending of the file."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from marginrank.data import RankingData, check_data
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError
from marginrank.io.dataset import open_dataset, write_dataset
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.io.letor import load_letor
from marginrank.io.letor_writer import dump_letor
from marginrank.io.npz import dump_npz, load_npz
from marginrank.io.places import file_name, is_folder, open_place, place
from marginrank.io.side_files import dump_group, dump_weight, with_side_files
from marginrank.io.sources import Source
from marginrank.io.table_writer import dump_table
from marginrank.io.tables import load_table
from marginrank.parameters import check_choice, check_path
from marginrank.storage.disk_dataset import DiskDataset


class Format(NamedTuple):
    """A way to store a RankingData: who reads it, who writes it, and how its files end.

    Examples
    --------
    >>> from marginrank.io import FORMATS
    >>> ".letor" in FORMATS["letor"].endings
    True
    """

    read: Callable[..., RankingData]
    write: Callable[..., None]
    endings: tuple[str, ...]


def _read_with_side_files(source: Source, **options: Any) -> RankingData:
    if not isinstance(source, str | os.PathLike):
        return load_letor(source, **options)
    with open_place(source) as file:  # a file object: load_letor looks for no side files
        data = load_letor(file, **options)
    return with_side_files(data, source)


def _write_lightgbm(data: RankingData, destination: Destination, **options: Any) -> None:
    """Write rows as text without ids, and LightGBM's side files."""
    if not isinstance(destination, str | os.PathLike):
        raise MarginRankError("The format 'lightgbm' writes side files, so it needs a path to write to.")
    path = place(destination, "destination")
    if data.query_weight is not None:
        raise MarginRankError.saying(
            "LightGBM has weights of rows, not of queries; these data have {query_weight}."
        )
    if data.sample_weight is None and Path(f"{path}.weight").exists():
        # Not removed: it may be the only copy of something.
        raise MarginRankError(
            f"{path}.weight is there already and would be read as the weights of these data, "
            "which have none; remove it or write elsewhere."
        )
    if data.y is None:
        raise MarginRankError(
            "LightGBM's files have a label in each row, but these data hold pairs and no y."
        )
    bare = rebuilt(data, qid=None, sample_weight=None, pairs=None, pair_weight=None, pair_margin=None)
    with ExitStack() as files:  # all of them take their places at the end, or none does
        opened = {
            ending: files.enter_context(open_for_writing(f"{path}{ending}"))
            for ending in ("", ".query", *([] if data.sample_weight is None else [".weight"]))
        }
        dump_group(data, opened[".query"])
        if data.sample_weight is not None:
            dump_weight(data.sample_weight, opened[".weight"])
        dump_letor(bare, opened[""], **options)


def _read_dataset(source: Source, **options: Any) -> DiskDataset:
    return open_dataset(_folder(source), **options)


def _write_dataset(data: RankingData, destination: Destination, **options: Any) -> None:
    write_dataset(_folder(destination), data, **options)


def _folder(path: Any) -> str | os.PathLike[str]:
    if not isinstance(path, str | os.PathLike):
        raise MarginRankError("A data set on disk (.mrd) is a folder: expected its path, got a stream.")
    return path


#: Every format that ``read`` and ``write`` know.
FORMATS: dict[str, Format] = {
    "letor": Format(load_letor, dump_letor, (".txt", ".letor", ".svm", ".svmlight", ".dat", ".libsvm")),
    "lightgbm": Format(_read_with_side_files, _write_lightgbm, ()),
    "npz": Format(load_npz, dump_npz, (".npz",)),
    "csv": Format(partial(load_table, format="csv"), partial(dump_table, format="csv"), (".csv",)),
    "parquet": Format(
        partial(load_table, format="parquet"), partial(dump_table, format="parquet"), (".parquet", ".pq")
    ),
    "mrd": Format(_read_dataset, _write_dataset, (".mrd",)),
}


def read(path: Source, format: str | None = None, **options: Any) -> RankingData:
    """Read a file in the named format, or in that of its ending; ``.gz`` may follow the ending.

    Other endings, and file objects, are taken for LETOR text. ``options`` go to the reader of the format.

    Examples
    --------
    >>> from marginrank.io import read
    >>> read(b"1 qid:1 1:0.5", format="letor")
    RankingData(n_rows=1, n_features=1, n_queries=1, dense float64)
    """
    return FORMATS[_name(path, format, reading=True)].read(path, **options)


def write(data: RankingData, path: Destination, format: str | None = None, **options: Any) -> None:
    r"""Write a file in the named format, or in that of its ending. ``options`` go to its writer.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> write(RankingData([[0.5]], y=[1], qid=[7]), file, format="letor")
    >>> file.getvalue()
    b'1 qid:7 1:0.5\n'
    """
    check_data(data)
    FORMATS[_name(path, format, reading=False)].write(data, path, **options)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """Return the name of the format that the ending of a path stands for, or None.

    Examples
    --------
    >>> format_of("train.TXT.gz"), format_of("table.pq"), format_of("notes.doc")
    ('letor', 'parquet', None)
    """
    name = file_name(check_path(path, "path")).lower().removesuffix(".gz")
    return next((key for key, known in FORMATS.items() if name.endswith(known.endings or "\n")), None)


def source_format(path: str | os.PathLike[str]) -> str:
    """Return the format that a path is read as: of its ending; else Parquet for folders, and LETOR text."""
    return format_of(path) or ("parquet" if is_folder(path) else "letor")


def _name(path: Any, format: str | None, *, reading: bool) -> str:
    if format is None:
        found = format_of(path) if isinstance(path, str | os.PathLike) else None
        if found is None and not reading:
            raise MarginRankError.saying(
                "The ending of path, {path!r}, stands for no format; {pass} {format=FORMAT}, one of "
                "{known!s}.",
                path=path,
                known=", ".join(FORMATS),
            )
        if found is None and isinstance(path, str | os.PathLike):
            return source_format(path)
        return found or "letor"
    check_choice("format", format, FORMATS)
    return format
