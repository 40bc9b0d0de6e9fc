"""From what a user has to ranking data whose features lie on workers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from marginrank.data import RankingData
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.collections import collection_data, is_collection
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.disk_chunks import disk_chunks
from marginrank.distributed.file_chunks import file_data
from marginrank.distributed.remote_data import RemoteData
from marginrank.engines import RemoteMatrix
from marginrank.exceptions import MarginRankError
from marginrank.io import DiskDataset, open_dataset
from marginrank.io.dataset_manifest import chunk_rows
from marginrank.queries import offsets


def remote_data(source: Any, y: Any, qid: Any, cluster: Cluster, *, mmap: bool, verify: bool) -> RemoteData:
    """Return the data of a source, its features on the workers."""
    if isinstance(source, str | os.PathLike):
        source = open_dataset(source, mmap=mmap, verify=verify)
    if isinstance(source, DiskDataset):
        if y is not None or qid is not None:
            raise MarginRankError("A data set on disk carries y and qid; do not pass them again.")
        return _from_disk(source, cluster, mmap=mmap, verify=verify)
    if isinstance(source, list) and source and all(isinstance(one, str | os.PathLike) for one in source):
        if y is not None or qid is not None:
            raise MarginRankError("The files carry y and qid; do not pass them again.")
        return file_data(source, cluster)
    if is_collection(source):
        return collection_data(source, y, qid, cluster)
    raise MarginRankError(
        "DaskRanker takes the path of a data set on disk (.mrd), a list of files, or a Dask array or data "
        f"frame; got {type(source).__name__}. Data in memory need no cluster: pass them to the ranker "
        "itself, or write them with marginrank.write_dataset."
    )


def _from_disk(data: DiskDataset, cluster: Cluster, *, mmap: bool, verify: bool) -> RemoteData:
    manifest, chunks = disk_chunks(Path(data.path), mapped=mmap, verify=verify)
    bounds = offsets(np.array([chunk_rows(chunk) for chunk in manifest.chunks]))
    engine = DaskEngine(cluster, chunks)
    return RemoteData.like(data, RemoteMatrix(engine, bounds, manifest.n_features, np.dtype(manifest.dtype)))


def evaluation_data(eval_set: Any, cluster: Cluster, *, mmap: bool, verify: bool) -> Any:
    """Return validation sets with those on disk on the workers, and those in memory as they are."""
    if isinstance(eval_set, list):
        return [evaluation_data(one, cluster, mmap=mmap, verify=verify) for one in eval_set]
    if isinstance(eval_set, str | os.PathLike | DiskDataset):
        return remote_data(eval_set, None, None, cluster, mmap=mmap, verify=verify)
    if eval_set is None or isinstance(eval_set, RankingData | tuple):
        return eval_set
    raise MarginRankError(
        "eval_set must be the path of a data set on disk, a RankingData, (X, y), or a list of these; got "
        f"{type(eval_set).__name__}."
    )
