"""From what a user has to ranking data whose features lie on workers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from marginrank.data.queries import offsets
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.collections import collection_data, is_collection
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.disk_chunks import DiskChunk, disk_chunks
from marginrank.distributed.file_chunks import file_data
from marginrank.distributed.labelling import Labelling
from marginrank.distributed.remote_data import RemoteData
from marginrank.exceptions import MarginRankError
from marginrank.io import DiskDataset, format_of
from marginrank.io.places import is_file, is_folder, is_there, is_url, local_place, within
from marginrank.model import align_width
from marginrank.storage.dataset_manifest import MANIFEST, chunk_rows
from marginrank.storage.engines import RemoteMatrix

#: Nothing but rows, or rows that carry what goes along with them.
NOTHING = Labelling()


def remote_data(
    source: Any, cluster: Cluster, given: Labelling = NOTHING, *, mmap: bool, verify: bool
) -> RemoteData:
    """Return the data of a source, its features on the workers."""
    _check_paths(source)
    if is_folder_of_files(source):
        source = [source]
    if is_on_disk(source):
        data = source if isinstance(source, DiskDataset) else opened_lean(source, verify=verify)
        found = from_disk(data, cluster, mmap=mmap, verify=verify)
        return given.computed(cluster).along(found, "A data set on disk carries")
    if is_files(source):
        return given.computed(cluster).along(file_data(source, cluster), "The files carry")
    if is_collection(source):
        return collection_data(source, given, cluster)
    raise MarginRankError(
        "DaskRanker takes the path of a data set on disk (.mrd) or of a folder of Parquet files, a list of "
        f"files, or a Dask array or data frame; got {type(source).__name__}. Data in memory need no cluster: "
        "pass them to the ranker itself, or write them with marginrank.write_dataset."
    )


def is_on_disk(source: Any) -> bool:
    """Whether something is a data set on disk, or the path of one."""
    return isinstance(source, str | os.PathLike | DiskDataset)


def is_folder_of_files(source: Any) -> bool:
    """Whether something is the path or the URL of a folder that is no data set on disk."""
    return _is_path(source) and format_of(source) != "mrd" and is_folder(source) and not _has_manifest(source)


def _has_manifest(path: Any) -> bool:
    return not is_url(path) and is_there(within(path, MANIFEST))


def _is_path(one: Any) -> bool:
    return isinstance(one, str | os.PathLike)


def is_files(source: Any) -> bool:
    """Whether something is a list of paths."""
    return isinstance(source, list) and bool(source) and all(map(_is_path, source))


def _check_paths(source: Any) -> None:
    """Refuse a file where a data set on disk is expected, and the other way round."""
    if _is_path(source) and is_file(source):
        raise MarginRankError(
            f"{source}: a file, where the folder of a data set on disk (.mrd) was expected. Put it into a "
            "list, and each file becomes a chunk; or convert it, by marginrank.io.convert_to_dataset."
        )
    if _is_path(source) and is_url(source) and not is_there(source):
        raise MarginRankError(f"{source}: there is no such file or folder.")
    if isinstance(source, list):
        for one in source:
            if _is_path(one) and (format_of(one) == "mrd" or _has_manifest(one)):
                raise MarginRankError(
                    f"{one}: a data set on disk stands alone, not in a list with others; write one of all."
                )


def opened_lean(path: str | os.PathLike[str], *, verify: bool) -> DiskDataset:
    """Return a data set on disk whose labels stay there: workers read them, and this process if it must."""
    folder = local_place(path, "path", "a data set on disk (.mrd) lies on a disk, so copy it there")
    return DiskDataset(Path(folder), verify=verify, lean=True)


def from_disk(
    data: DiskDataset, cluster: Cluster, *, mmap: bool, verify: bool, n_features: int | None = None
) -> RemoteData:
    """Return a data set on disk, its features on the workers.

    Parameters
    ----------
    data : DiskDataset
        The data set.
    cluster : Cluster
        The workers.
    mmap, verify : bool
        Whether workers map chunks into memory, and compare them with their checksums.
    n_features : int, optional
        Another width: further columns are 0, and those beyond are left out.
    """
    manifest, chunks = disk_chunks(Path(data.path), mapped=mmap, verify=verify)
    bounds = offsets(np.array([chunk_rows(chunk) for chunk in manifest.chunks]))
    width = manifest.n_features if n_features is None else n_features
    same = width == manifest.n_features
    engine = DaskEngine(cluster, chunks if same else [_OfWidth(chunk, width) for chunk in chunks])
    return RemoteData.like(data, RemoteMatrix(engine, bounds, width, np.dtype(manifest.dtype)))


@dataclass(frozen=True)
class _OfWidth:
    """A chunk on disk in another width.

    Parameters
    ----------
    chunk : DiskChunk
        The chunk.
    n_features : int
        Its columns from now on.
    """

    chunk: DiskChunk
    n_features: int

    in_memory = True

    @property
    def fingerprint(self) -> str:
        """The checksum of the file, and the width."""
        return f"{self.chunk.fingerprint}/{self.n_features}"

    def load(self) -> Any:
        """Return the features."""
        return align_width(self.chunk.load(), self.n_features, ignore_unknown=True)
