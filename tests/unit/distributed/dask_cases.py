"""Data and engines that the tests over a cluster share."""

import numpy as np
from scipy import sparse

from marginrank import RankingData
from marginrank.data.queries import offsets
from marginrank.distributed import RemoteData
from marginrank.distributed.disk_chunks import disk_chunks
from marginrank.io import open_dataset
from marginrank.storage.dataset_manifest import chunk_rows
from marginrank.storage.engines import RemoteMatrix, SerialEngine


def ranking_data(*, queries=True, csr=False, n_rows=480, **more):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 6)) * (rng.random((n_rows, 6)) < 0.7)
    y = np.round(X @ [2.0, -1.0, 0.5, 0.0, 0.0, 0.0] + rng.normal(size=n_rows))
    qid = np.repeat(np.arange(n_rows // 10), 10) if queries else None
    return RankingData(sparse.csr_matrix(X) if csr else X, y, qid=qid, **more)


def serially(path):
    """Return a data set on disk through the serial engine."""
    manifest, chunks = disk_chunks(path, mapped=True, verify=True)
    bounds = offsets(np.array([chunk_rows(chunk) for chunk in manifest.chunks]))
    engine = SerialEngine(lambda k: chunks[k].load())
    X = RemoteMatrix(engine, bounds, manifest.n_features, np.dtype(manifest.dtype))
    return RemoteData.like(open_dataset(path), X)
