"""Dask arrays and data frames as ranking data: queries are never split over partitions."""

from __future__ import annotations

from typing import Any

import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.frames import is_frame
from marginrank.data.labels import LabelledQueries
from marginrank.data.queries import Groups, check_qid, group_rows, offsets, one_query
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.remote_data import RemoteData
from marginrank.distributed.worker import InMemory
from marginrank.exceptions import MarginRankError
from marginrank.storage.engines import RemoteMatrix

_REALS = (np.dtype(np.float32), np.dtype(np.float64))


def is_collection(source: Any) -> bool:
    """Whether something is a Dask array or data frame."""
    return bool(is_dask_collection(source)) and (hasattr(source, "chunks") or hasattr(source, "columns"))


def collection_data(source: Any, y: Any, qid: Any, cluster: Cluster) -> RemoteData:
    """Return the data of a Dask array or data frame.

    Labels and ids come here. Where a query goes on in the next partition, the border moves behind it.
    """
    names = None
    if hasattr(source, "columns"):
        source, y, qid, names = _frame_parts(source, y, qid, cluster)
    y, qid = cluster.computed(y), cluster.computed(qid)
    sizes = _row_sizes(source)
    n_rows, n_features = int(sizes.sum()), int(source.shape[1])
    if qid is None:
        ids, groups, bounds = None, one_query(n_rows), offsets(sizes[sizes > 0])
    else:
        ids = check_qid(qid, n_rows)
        groups = _neighbours(ids)
        bounds = _whole_queries(offsets(sizes), groups.query_ptr)
    dtype = source.dtype if source.dtype in _REALS else np.dtype(np.float64)
    X = source.rechunk((tuple(np.diff(bounds).tolist()), (n_features,)))
    blocks = [block for row in X.to_delayed().tolist() for block in row]
    engine = DaskEngine(cluster, [delayed(_block, pure=False)(block, dtype.str) for block in blocks])
    return RemoteData(
        RemoteMatrix(engine, bounds, n_features, dtype),
        queries=LabelledQueries(groups, None if y is None else gate.check_labels(y, n_rows), ids),
        pairs=None,
        pair_weight=None,
        pair_margin=None,
        feature_names=gate.check_feature_names(names, n_features),
    )


def _frame_parts(frame: Any, y: Any, qid: Any, cluster: Cluster) -> tuple[Any, Any, Any, list[str]]:
    """Return features as an array, labels, ids and names; labels and ids may be columns, by name."""
    columns = list(frame.columns)
    if qid is None and "qid" in columns:
        qid = "qid"
    taken = [name for name in (y, qid) if isinstance(name, str)]
    for name in taken:
        if name not in columns:
            raise MarginRankError(f"The data frame has no column {name!r}; it has {', '.join(columns)}.")
    y, qid = (frame[one] if isinstance(one, str) else one for one in (y, qid))
    features = frame.drop(columns=taken)
    lengths = tuple(cluster.computed(frame.map_partitions(len)))
    return features.to_dask_array(lengths=lengths), y, qid, list(features.columns)


def _row_sizes(X: Any) -> NDArray[np.int64]:
    if getattr(X, "ndim", None) != 2:
        raise MarginRankError(f"X must have rows and columns; got a Dask array of {X.ndim} dimensions.")
    if any(np.isnan(size) for size in (*X.chunks[0], *X.chunks[1])):
        raise MarginRankError("The Dask array has chunks of unknown size; call its compute_chunk_sizes().")
    return np.array(X.chunks[0], dtype=np.int64)


def _neighbours(ids: NDArray[Any]) -> Groups:
    groups = group_rows(ids)
    if groups.order is not None:
        steps = np.flatnonzero(np.diff(groups.order) != 1)
        query = ids[groups.order[steps[:1]]].tolist()[0]
        raise MarginRankError(
            f"The rows of query {query!r} are not next to each other. Sort the data by "
            "query (set_index, or sort_values), or write them with marginrank.write_dataset."
        )
    return groups


def _whole_queries(bounds: NDArray[np.int64], query_ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move each border behind the query that it cuts.

    Examples
    --------
    >>> _whole_queries(np.array([0, 4, 8, 9]), np.array([0, 3, 8, 9])).tolist()
    [0, 8, 9]
    """
    return np.unique(query_ptr[np.searchsorted(query_ptr, bounds)])


def _block(X: Any, dtype: str) -> InMemory:
    """Return the rows of a partition, looked through."""
    if is_frame(X):
        X = np.asarray(X)
    X, _ = gate.check_matrix(X.tocsr() if hasattr(X, "tocsr") else X)
    gate.check_finite(X, None)
    return InMemory(X.astype(dtype, copy=False))
