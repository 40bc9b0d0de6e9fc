"""Files of ranking data, each of which a worker reads as one chunk."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from scipy import sparse

from marginrank.data import RankingData
from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import is_sparse, require_memory
from marginrank.data.queries import group_rows, offsets, one_query
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.remote_data import RemoteData
from marginrank.exceptions import MarginRankError
from marginrank.io import read
from marginrank.io.joined import all_or_none, check_alike, ids_of_files
from marginrank.io.parquet_batches import folder_files
from marginrank.io.places import from_anywhere, is_folder, is_there, within
from marginrank.io.tables import load_folder_part
from marginrank.storage.engines import RemoteMatrix
from marginrank.types import MemoryMatrix, SparseMatrix


@dataclass(frozen=True)
class FileChunk:
    """A file of LETOR text or a table.

    Parameters
    ----------
    path : str
        The file, where workers find it, or its URL.
    part_of : pair of str or None
        The folder of Parquet files that it belongs to, and what it is called there.
    n_features : int or None
        Columns of the whole; None for as many as the file has.
    sparse : bool or None
        Whether rows are sparse; None for as they are read.
    reading : tuple of pairs
        Arguments of ``marginrank.io.read``, by name.
    """

    path: str
    part_of: tuple[str, str] | None = None
    n_features: int | None = None
    sparse: bool | None = None
    reading: tuple[tuple[str, Any], ...] = ()

    in_memory = True

    def load(self) -> Any:
        """Return the features."""
        X: MemoryMatrix = require_memory(self.read().X)
        if self.sparse and not is_sparse(X):
            X = cast(SparseMatrix, sparse.csr_matrix(X))
        if self.n_features is None or X.shape[1] == self.n_features:
            return X
        if is_sparse(X):
            return sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], self.n_features))
        wide = np.zeros((X.shape[0], self.n_features), dtype=X.dtype)
        wide[:, : X.shape[1]] = X
        return wide

    def read(self) -> RankingData:
        """Return what is in the file."""
        if not is_there(self.path):
            raise MarginRankError(
                f"{self.path}: a worker finds no such file. Workers on other machines need the files under "
                "the same path: put them on storage that all of them share, or copy them to each."
            )
        if self.part_of is None:
            return read(self.path, **dict(self.reading))
        return load_folder_part(*self.part_of, **dict(self.reading))


class _Content(NamedTuple):
    """Everything of a file but its features."""

    n_rows: int
    n_features: int
    sparse: bool
    dtype: np.dtype[Any]
    y: Any
    qid: Any
    sample_weight: Any
    feature_names: tuple[str, ...] | None
    comments: Any


def file_data(
    paths: Sequence[str | os.PathLike[str]],
    cluster: Cluster,
    *,
    reading: Sequence[Mapping[str, Any]] | None = None,
    comments: bool = False,
    n_features: int = 0,
) -> RemoteData:
    """Return the data of files, a chunk for each, read on the workers.

    Parameters
    ----------
    paths : sequence of paths
        The files, where workers find them, or their URLs; a folder stands for the Parquet files in it.
    cluster : Cluster
        The workers.
    reading : sequence of mappings, optional
        Arguments of ``marginrank.io.read``, for each path.
    comments : bool, default=False
        Whether the comments of rows come here, too.
    n_features : int, default=0
        The least number of columns; those that no file has are 0. Tables have the columns that they have.
    """
    options = [{}] * len(paths) if reading is None else reading
    chunks = [chunk for path, one in zip(paths, options, strict=True) for chunk in _chunks(path, one)]
    names = [chunk.path for chunk in chunks]
    found = cluster.of_all(partial(_content, comments=comments), chunks)
    first = found[0]
    for name, one in zip(names, found, strict=True):
        _check_alike(name, one, first)
    least = n_features if first.feature_names is None else 0
    n_features = max(least, *(one.n_features for one in found))
    is_csr = any(one.sparse for one in found)
    ids = None if first.qid is None else ids_of_files(names, [one.qid for one in found])
    groups = one_query(sum(one.n_rows for one in found)) if ids is None else group_rows(ids)
    engine = DaskEngine(cluster, [replace(one, n_features=n_features, sparse=is_csr) for one in chunks])
    bounds = offsets(np.array([one.n_rows for one in found]))
    return RemoteData(
        RemoteMatrix(engine, bounds, n_features, first.dtype),
        queries=LabelledQueries(
            groups,
            np.concatenate([one.y for one in found]),
            ids,
            all_or_none(names, [one.sample_weight for one in found], "weights"),
        ),
        pairs=None,
        pair_weight=None,
        pair_margin=None,
        feature_names=first.feature_names,
        comments=_all_comments(found),
    )


def _chunks(path: str | os.PathLike[str], reading: Mapping[str, Any]) -> list[FileChunk]:
    """Return the chunk of a file, or those of the Parquet files of a folder."""
    where = from_anywhere(path)
    if not is_folder(where):
        return [FileChunk(where, reading=tuple(sorted(reading.items())))]
    if reading.get("format", "parquet") != "parquet":
        raise MarginRankError(
            f"{path}: expected a file of {reading['format']} data, got a folder; folders hold Parquet."
        )
    given = tuple(sorted((name, value) for name, value in reading.items() if name != "format"))
    return [FileChunk(within(where, file), (where, file), reading=given) for file in folder_files(where)]


def _content(chunk: FileChunk, *, comments: bool) -> _Content:
    data = chunk.read()
    if data.order is not None:
        raise MarginRankError.saying(
            "{path!s}: rows of a query are not next to each other.",
            "Sort the file by query, or let {marginrank.io.convert_to_dataset} regroup it.",
            path=chunk.path,
        )
    if data.y is None or data.pairs is not None or data.query_weight is not None:
        raise MarginRankError(f"{chunk.path}: expected rows with labels, weighted by row or not at all.")
    return _Content(
        n_rows=data.n_rows,
        n_features=data.n_features,
        sparse=is_sparse(data.X),
        dtype=data.X.dtype,
        y=data.y,
        qid=data.qid,
        sample_weight=data.sample_weight,
        feature_names=data.feature_names,
        comments=data.comments if comments else None,
    )


def _all_comments(found: Sequence[_Content]) -> Any:
    if all(one.comments is None for one in found):
        return None
    empty = [np.full(one.n_rows, "", dtype=object) for one in found]
    return np.concatenate(
        [none if one.comments is None else one.comments for one, none in zip(found, empty, strict=True)]
    )


def _check_alike(path: Any, one: _Content, first: _Content) -> None:
    check_alike(path, one, first)
    if one.dtype != first.dtype:
        raise MarginRankError(f"{path}: the columns are not those of the first file.")
