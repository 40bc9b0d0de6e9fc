"""Frames that hold no values yet, and columns of vectors: what users have, as frames of numbers in memory."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from marginrank.data.frames import as_frame
from marginrank.exceptions import MarginRankError

_LAZY_IN_MEMORY = ("polars", "duckdb")


def collected(X: Any) -> Any:
    """Return X with its values in memory, and a column for each entry of vectors; arrays as they are.

    Polars' lazy frames and DuckDB's relations are run; Arrow's record batch readers and data sets are read.
    A column ``title`` of vectors (embeddings: polars Array or List, Arrow lists, pandas lists or arrays)
    becomes ``title_0``, ``title_1`` and so on, in its place.

    Examples
    --------
    >>> import pandas as pd
    >>> collected(pd.DataFrame({"price": [1.0, 2.0], "title": [[0.1, 0.2], [0.3, 0.4]]})).columns.tolist()
    ['price', 'title_0', 'title_1']
    """
    if X is None or isinstance(X, np.ndarray | list | tuple):
        return X
    X = _in_memory(X)
    frame = as_frame(X)
    if frame is None:
        return X
    vectors = [name for name in frame.columns if _holds_vectors(frame, name)]
    return _expanded(frame, vectors) if vectors else X


def _in_memory(X: Any) -> Any:
    if type(X).__module__.partition(".")[0] == "pyarrow":
        if hasattr(X, "read_all"):  # a RecordBatchReader
            return X.read_all()
        return X.to_table() if hasattr(X, "to_table") and hasattr(X, "get_fragments") else X
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        return X  # refused in a sentence by whoever looks at the columns
    if isinstance(frame, nw.LazyFrame) and frame.implementation.name.lower() in _LAZY_IN_MEMORY:
        return frame.collect().to_native()
    return X


def _holds_vectors(frame: nw.DataFrame[Any], name: str) -> bool:
    dtype = frame.schema[name]
    if isinstance(dtype, nw.List | nw.Array):
        return True
    if dtype != nw.Object or not len(frame):
        return False
    return isinstance(frame[name].to_list()[0], list | tuple | np.ndarray)


def _expanded(frame: nw.DataFrame[Any], vectors: list[str]) -> Any:
    columns: dict[str, Any] = {}
    for name in frame.columns:
        if name not in vectors:
            columns[name] = frame[name].to_native()
            continue
        matrix = _matrix(frame[name], name)
        for k in range(matrix.shape[1]):
            if f"{name}_{k}" in frame.columns:
                raise MarginRankError(
                    f"Column {name!r} of X holds vectors, whose entries would be called {name}_0, {name}_1, "
                    f"..., but X has a column {name}_{k} already; rename one of them."
                )
            columns[f"{name}_{k}"] = np.ascontiguousarray(matrix[:, k])
    module = nw.get_native_namespace(frame)
    native = frame.to_native()
    if module.__name__ == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns, **({"index": native.index} if hasattr(native, "index") else {}))


def _matrix(series: Any, name: str) -> NDArray[Any]:
    """Return the vectors of a column as rows."""
    rows = series.to_list()
    if not rows:
        raise MarginRankError(
            f"Column {name!r} of X holds vectors, but X has no rows, so their length is unknown. A reader of "
            "record batches gives its rows only once; make a new one."
        )
    missing = next((k for k, row in enumerate(rows) if row is None or np.ndim(row) == 0), None)
    if missing is not None:
        raise MarginRankError(f"Column {name!r} of X holds vectors, but none at row {missing}.")
    lengths = {len(row) for row in rows}
    if len(lengths) != 1:
        few, most = min(lengths), max(lengths)
        raise MarginRankError(
            f"Column {name!r} of X holds vectors of different lengths, {few} to {most}; embeddings have as "
            "many numbers in each row."
        )
    inner = getattr(series.dtype, "inner", None)
    single = inner == nw.Float32 or (len(rows) and getattr(rows[0], "dtype", None) == np.float32)
    try:
        matrix = np.array(rows, dtype=np.float32 if single else np.float64)
    except (TypeError, ValueError):
        raise MarginRankError(
            f"Column {name!r} of X holds lists of something else than numbers; encode it or drop it."
        ) from None
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise MarginRankError(f"Column {name!r} of X holds no vectors of numbers; encode it or drop it.")
    return matrix
