"""Models over data that lie on workers: rows are scored where they are, and only scores travel."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from distributed import Client, get_worker
from numpy.typing import NDArray

from marginrank.data.matrices import column_extremes
from marginrank.distributed.cluster import connected
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.remote_data import RemoteData
from marginrank.distributed.sources import remote_data
from marginrank.exceptions import MarginRankError
from marginrank.model import RankingModel, align_width
from marginrank.model.columns import named_columns
from marginrank.types import Vector


def predict(
    model: RankingModel,
    source: Any,
    client: Client | str | None = None,
    *,
    ignore_unknown: bool = False,
    timeout: float = 600.0,
    retries: int = 5,
    mmap: bool = True,
    verify: bool = True,
) -> NDArray[np.float64]:
    """Return the scores that a model gives to rows on workers, in the order of the rows.

    Parameters
    ----------
    model : RankingModel
        Any model, also of a kernel; a file of one is opened by ``RankingModel.load``.
    source : path or DiskDataset, list of paths, Dask array or Dask data frame
        As in ``DaskRanker.fit``. It may be narrower than the model: further columns are 0.
    client : distributed.Client or str, optional
        The cluster, or the address of its scheduler. By default processes on this machine.
    ignore_unknown : bool, default=False
        Leave out columns that the model does not know; they are an error otherwise.
    timeout : float, default=600
        Seconds that the pass over the data, or waiting for a worker, may take.
    retries : int, default=5
        How often a pass that failed is repeated.
    mmap, verify : bool, default=True
        Whether workers map chunks on disk into memory, and compare them with their checksums.

    Returns
    -------
    ndarray of shape (n_rows,)
        Scores; those of ``model.predict``, bit for bit.

    Examples
    --------
    >>> import tempfile
    >>> from distributed import Client
    >>> from marginrank import RankingModel, write_dataset
    >>> from marginrank.distributed import predict
    >>> folder = tempfile.mkdtemp() + "/a.mrd"
    >>> _ = write_dataset(folder, [[1.0, 2.0], [3.0, 4.0]], [0, 1], qid=[1, 1])
    >>> with Client(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     print(predict(RankingModel([2.0, 1.0]), folder, client))
    [ 4. 10.]
    """
    with connected(client, timeout, retries) as cluster:
        data = remote_data(source, cluster, mmap=mmap, verify=verify)
        return model_scores(model, data, ignore_unknown=ignore_unknown)


def model_scores(
    model: RankingModel, data: RemoteData, *, ignore_unknown: bool = False
) -> NDArray[np.float64]:
    """Return the scores that a model gives to data on workers."""
    return scores_and_extremes(model, data, ignore_unknown=ignore_unknown, extremes=False)[0]


def scores_and_extremes(
    model: RankingModel, data: RemoteData, *, ignore_unknown: bool = False, extremes: bool = True
) -> tuple[NDArray[np.float64], tuple[Vector, Vector]]:
    """Return scores, and the least and largest value of each column of the model, in one pass."""
    normalizes = model.query_normalization is not None
    if normalizes and data.qid is None and data.X.n_chunks > 1:
        raise MarginRankError(
            "The model normalises within queries, and these data are one ranking in several chunks; write "
            "them as one chunk."
        )
    if model.mapping is not None and isinstance(data.X.engine, DaskEngine):
        data.X.engine.check_maps()
    names = None if model.feature_names is None else data.feature_names
    score = partial(_scores, model=model, names=names, ignore_unknown=ignore_unknown, extremes=extremes)
    blocks = data.X.map_blocks(score, along=data.qid if normalizes else None)
    parts, ends = zip(*(answer for _, _, answer in blocks), strict=True)
    low, high = (np.array([end[side] for end in ends]) for side in (0, 1))
    return np.concatenate(parts), (low.min(axis=0), high.max(axis=0))


def _scores(
    X: Any,
    qid: Any,
    *,
    model: RankingModel,
    names: tuple[str, ...] | None,
    ignore_unknown: bool,
    extremes: bool,
) -> tuple[NDArray[np.float64], tuple[Vector, Vector]]:
    n_jobs = int(get_worker().state.nthreads)
    if names is not None:
        assert model.feature_names is not None
        wide = named_columns(X, names, model.feature_names, model.features_used)
    else:
        wide = align_width(X, model.n_features, ignore_unknown=ignore_unknown)
    ends = column_extremes(wide) if extremes else (np.zeros(0), np.zeros(0))
    return model.predict(wide, qid, n_jobs=n_jobs), ends
