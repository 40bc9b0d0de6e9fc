"""Dask arrays and data frames as ranking data: queries are never split over partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.base import is_dask_collection
from dask.delayed import delayed
from numpy.typing import NDArray

from marginrank.data import validation as gate
from marginrank.data.frames import as_frame, frame_values
from marginrank.data.queries import Groups, check_qid, group_rows, offsets, one_query
from marginrank.distributed.cluster import Cluster
from marginrank.distributed.dask_engine import DaskEngine
from marginrank.distributed.labelling import Labelling
from marginrank.distributed.remote_data import RemoteData
from marginrank.distributed.worker import InMemory
from marginrank.exceptions import MarginRankError
from marginrank.storage.engines import RemoteMatrix

_REALS = (np.dtype(np.float32), np.dtype(np.float64))


def is_collection(source: Any) -> bool:
    """Whether something is a Dask array or data frame."""
    return bool(is_dask_collection(source)) and (hasattr(source, "chunks") or hasattr(source, "columns"))


def collection_data(source: Any, given: Labelling, cluster: Cluster) -> RemoteData:
    """Return the data of a Dask array or data frame.

    Labels, ids, weights and pairs come here. Where a query goes on in the next partition, the border moves
    behind it.
    """
    names = None
    if hasattr(source, "columns"):
        source, given, names = _frame_parts(source, given, cluster)
    given = given.computed(cluster)
    sizes = _row_sizes(source)
    n_rows, n_features = int(sizes.sum()), int(source.shape[1])
    if given.qid is None:
        ids, groups, bounds = None, one_query(n_rows), offsets(sizes[sizes > 0])
    else:
        ids = check_qid(given.qid, n_rows)
        groups = _neighbours(ids)
        bounds = _whole_queries(offsets(sizes), groups.query_ptr)
    dtype = source.dtype if source.dtype in _REALS else np.dtype(np.float64)
    X = source.rechunk((tuple(np.diff(bounds).tolist()), (n_features,)))
    blocks = [block for row in X.to_delayed().tolist() for block in row]
    engine = DaskEngine(cluster, [delayed(_block, pure=False)(block, dtype.str) for block in blocks])
    return RemoteData(
        RemoteMatrix(engine, bounds, n_features, dtype),
        queries=given.queries(groups, ids, n_rows),
        **given.preferences(n_rows),
        feature_names=gate.check_feature_names(names, n_features),
    )


class _Columns(NamedTuple):
    """Rows of a partition, and the columns of it that are no features, by what they hold."""

    n_rows: int
    values: dict[str, NDArray[Any]]


def _frame_parts(frame: Any, given: Labelling, cluster: Cluster) -> tuple[Any, Labelling, list[str]]:
    """Return features as an array, what goes along with them, and their names.

    Lengths and columns are those of the blocks that features are made of later. Dask reads several files as
    one partition where few of their columns are asked for, so lengths of another selection of columns would
    be those of other partitions.
    """
    given = _with_ids_column(frame, given)
    features = [name for name in frame.columns if name not in given.columns.values()]
    dtype = _dtype(frame, features)
    blocks = frame.to_delayed()
    read = delayed(_columns, pure=False)
    found = cluster.all_computed([read(block, given.columns) for block in blocks])
    values = delayed(_values, pure=False)
    arrays = [
        da.from_delayed(values(block, features, dtype.str), (one.n_rows, len(features)), dtype)
        for block, one in zip(blocks, found, strict=True)
    ]
    columns = {
        name: np.concatenate([one.values[name] for one in found if one.n_rows] or [np.empty(0)])
        for name in given.columns
    }
    return da.concatenate(arrays), given._replace(**columns), features


def _with_ids_column(frame: Any, given: Labelling) -> Labelling:
    """Return what was given, with the column ``qid``; refuse names that no column has."""
    columns = list(frame.columns)
    if given.qid is None and "qid" in columns:
        given = given._replace(qid="qid")
    elif "qid" in columns and not (isinstance(given.qid, str) and given.qid == "qid"):
        raise MarginRankError(
            "The data frame has a column 'qid' and qid was given as well; drop the column, or leave out qid."
        )
    for name in given.columns.values():
        if name not in columns:
            known = ", ".join(map(str, columns))
            raise MarginRankError(f"The data frame has no column {name!r}; it has {known}.")
    return given


def _dtype(frame: Any, features: Sequence[str]) -> np.dtype[Any]:
    """Return the type of the features; refuse columns that are no numbers, before anything is read."""
    sample = as_frame(frame._meta_nonempty[features])
    assert sample is not None
    if not features:
        raise MarginRankError("The data frame has no column that is left for features.")
    dtype: np.dtype[Any] = frame_values(sample)[0].dtype
    return dtype


def _columns(block: Any, names: dict[str, str]) -> _Columns:
    return _Columns(len(block), {name: np.asarray(block[column]) for name, column in names.items()})


def _values(block: Any, features: list[str], dtype: str) -> NDArray[Any]:
    frame = as_frame(block[features])
    assert frame is not None
    return np.asarray(frame_values(frame)[0], dtype=dtype)


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
    X, _ = gate.check_matrix(X.tocsr() if hasattr(X, "tocsr") else X)
    gate.check_finite(X, None)
    return InMemory(X.astype(dtype, copy=False))
