"""Data frames as users have them: features, and columns for labels, query ids, weights and names of rows."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError, did_you_mean, shown


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return X if it is a data frame (pandas, polars or Arrow), else None."""
    if isinstance(X, np.ndarray | list | tuple) or is_sparse(X):
        return None  # narwhals would ask a dozen libraries whether it is theirs
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise MarginRankError("The columns of X must have distinct names; some occur twice.") from None
    if isinstance(frame, nw.LazyFrame):
        how = "compute" if frame.implementation.is_dask() else "collect"
        raise MarginRankError(f"X is a lazy frame, which holds no values yet; pass X.{how}().")
    return frame if isinstance(frame, nw.DataFrame) else None


def is_frame(X: Any) -> bool:
    """Whether X is a data frame: pandas, polars or Arrow."""
    return as_frame(X) is not None


def take_columns(X: Any, name: str = "X", **given: Any) -> tuple[Any, dict[str, Any]]:
    """Replace names of columns by their values, and take these columns out of a frame.

    Parameters
    ----------
    X : object
        A frame; anything else passes through.
    name : str
        What it is called.
    **given
        Arguments, some of which may be names of columns of X.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"price": [3.0, 1.0], "stars": [4, 2], "query": ["a", "b"]})
    >>> features, given = take_columns(frame, y="stars", qid="query", sample_weight=None)
    >>> list(features.columns), list(given["y"]), list(given["qid"]), given["sample_weight"]
    (['price'], [4, 2], ['a', 'b'], None)
    """
    named = {key: column for key, column in given.items() if isinstance(column, str)}
    if not named:
        return X, given
    frame = as_frame(X)
    for key, column in named.items():
        if frame is None:
            raise MarginRankError.naming(
                key, f"is {shown(column)}; a name stands for a column of {name}, which is no data frame here."
            )
        if column not in frame.columns:
            near = did_you_mean(column, frame.columns)
            raise MarginRankError.naming(key, f"is {shown(column)}, but {name} has no such column.{near}")
    assert frame is not None
    values = {key: frame[column].to_native() for key, column in named.items()}
    return frame.drop(*set(named.values())).to_native(), {**given, **values}


def split_frame(X: Any, qid: Any = None, group: Any = None) -> tuple[Any, Any]:
    """Take the ``qid`` column out of a data frame.

    Returns the features and the query ids in effect: the column's where X is a frame that has one, else
    ``qid`` as given. Anything but a frame passes through.

    Examples
    --------
    >>> import pandas as pd
    >>> features, qid = split_frame(pd.DataFrame({"price": [3.0, 1.0], "qid": ["a", "b"]}))
    >>> list(features.columns), list(qid)
    (['price'], ['a', 'b'])
    """
    frame = as_frame(X)
    if frame is None or "qid" not in frame.columns:
        return X, qid
    if qid is not None or group is not None:
        given = "qid" if qid is not None else "group"
        raise MarginRankError(
            f"X has a column 'qid' and {given} was given as well; drop the column, or leave out {given}."
        )
    return frame.drop("qid").to_native(), frame["qid"].to_native()


def without_columns(X: Any, columns: Any) -> Any:
    """Return X without some of its columns, as far as it is a frame that has them."""
    frame = as_frame(X)
    here = [] if frame is None else [column for column in columns if column in frame.columns]
    return frame.drop(*here).to_native() if frame is not None and here else X


def frame_values(frame: nw.DataFrame[Any]) -> tuple[Any, tuple[str, ...] | None]:
    """Return the numbers of a frame as one matrix, and its column names if they are all strings."""
    schema = frame.schema
    names = tuple(schema) if all(isinstance(name, str) for name in schema) else None
    native = frame.to_native()
    if schema and hasattr(native, "sparse"):  # pandas offers the accessor only where every column is sparse
        return native.sparse.to_coo(), names
    for name, dtype in schema.items():
        if not (dtype.is_numeric() or dtype == nw.Boolean):
            raise MarginRankError(
                f"Column {name!r} of X holds {dtype} values, but features must be numbers; "
                "encode it or drop it."
            )
    small = len(schema) > 0 and all(dtype == nw.Float32 for dtype in schema.values())
    booleans = [name for name, dtype in schema.items() if dtype == nw.Boolean]
    if booleans:  # else pandas goes through an array of Python objects
        frame = frame.with_columns(nw.col(*booleans).cast(nw.Float64))
    return np.asarray(frame.to_numpy(), dtype=np.float32 if small else np.float64), names
