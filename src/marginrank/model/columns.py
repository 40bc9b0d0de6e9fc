"""Which columns a model takes from the data it meets: by name in frames, by number in matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.frames import is_frame
from marginrank.data.matrices import csr_like, is_sparse
from marginrank.data.queries import check_qid, group_rows
from marginrank.data.query_normalization import minmax_by_query
from marginrank.exceptions import MarginRankError
from marginrank.parameters import check_count, check_flag
from marginrank.types import Matrix, MemoryMatrix, Rows

_NAMED_AT_MOST = 5
_MOST_FEATURES = 2**31 - 1


def model_matrix(
    X: Any, n_features: int, feature_names: Sequence[str] | None, used: Rows | None = None
) -> Matrix:
    """Return the columns that a model was trained on, as the kernels take them.

    Frames and named ``RankingData`` are matched by name, if the model has names; other columns of a frame
    are left aside. Everything else must have the model's width.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or RankingData
        The features.
    n_features : int
        The width of the model.
    feature_names : sequence of str or None
        The names of its columns.
    used : ndarray of int, optional
        Numbers of the columns that the model uses, where these are not all. Of a frame no others are looked
        at, and of named data no others need be there; they are 0.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [3.0], "bm25": [0.5], "title": ["x"]})
    >>> model_matrix(frame, 2, ["bm25", "age"]).tolist()
    [[0.5, 3.0]]
    """
    n_features = check_count(n_features, "n_features", most=_MOST_FEATURES)
    if isinstance(X, RankingData):
        matrix, names = X.X, X.feature_names
        if names is not None and feature_names is not None:
            matrix = named_columns(matrix, names, feature_names, used)
        _check_width(matrix, n_features)
        if X.allow_nonfinite:
            gate.check_finite(matrix, feature_names or names)
        return matrix
    if feature_names is not None and is_frame(X):
        frame = nw.from_native(X, eager_only=True)
        wanted = list(feature_names) if used is None else [feature_names[k] for k in used]
        _positions(frame.columns, wanted)  # narwhals would name what is missing in many lines
        if used is not None and not wanted:
            return np.zeros((len(frame), n_features))
        X = frame.select(wanted).to_native()
    else:
        used = None
    matrix, names = gate.check_matrix(X)
    if used is None:
        _check_width(matrix, n_features)
    gate.check_finite(matrix, names)
    return matrix if used is None else widened_columns(matrix, used, n_features)


def widened_columns(X: MemoryMatrix, columns: Rows, n_features: int) -> MemoryMatrix:
    """Return a matrix whose columns stand at these numbers among ``n_features``, the others being 0.

    Examples
    --------
    >>> import numpy as np
    >>> widened_columns(np.array([[5.0, 7.0]]), np.array([2, 0]), 4)
    array([[7., 0., 5., 0.]])
    """
    shape = (X.shape[0], n_features)
    if is_sparse(X):
        parts = (X.data, columns.astype(X.indices.dtype)[X.indices], X.indptr)
        return gate.check_matrix(sparse.csr_matrix(parts, shape=shape))[0]
    wide = np.zeros(shape, dtype=X.dtype)
    wide[:, columns] = X
    return wide


def align_width(X: Any, n_features: int, *, ignore_unknown: bool = False) -> MemoryMatrix:
    """Return X with ``n_features`` columns, for files whose width differs from that of the model.

    The width of a sparse text file is its largest feature number, so a test file is often narrower or wider
    than the training file. Columns that are missing are 0. Columns beyond the model's that hold values are
    an error, unless they may be ignored.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_rows, any)
        The features.
    n_features : int
        The width of the model.
    ignore_unknown : bool, default=False
        Drop columns that the model does not know.

    Returns
    -------
    ndarray or CSR matrix of shape (n_rows, n_features)
        X itself where the width is right. A wider CSR matrix shares its arrays with X.

    Examples
    --------
    >>> import numpy as np
    >>> align_width([[1.0, 2.0]], 3)
    array([[1., 2., 0.]])
    >>> align_width([[1.0, 2.0]], 1, ignore_unknown=True)
    array([[1.]])
    """
    rows, _ = gate.check_matrix(X)
    n_features = check_count(n_features, "n_features", most=_MOST_FEATURES)
    check_flag(ignore_unknown, "ignore_unknown")
    width = rows.shape[1]
    if width == n_features:
        return rows
    if width > n_features:
        unknown = [] if ignore_unknown else unknown_columns(rows, n_features).tolist()
        if unknown:
            raise MarginRankError.saying(
                "X has values in columns that the model does not know: {unknown!s}, counted from 0, where "
                "the model has {n_features:d} (n_features). Is it the right model?",
                "To drop them, {pass} {ignore_unknown=True}.",
                unknown=_listed(unknown),
                n_features=n_features,
            )
        kept: MemoryMatrix = rows[:, :n_features]
        return kept if is_sparse(kept) else np.ascontiguousarray(kept)
    if is_sparse(rows):
        return csr_like(rows, rows.data, shape=(rows.shape[0], n_features))
    wider = np.zeros((rows.shape[0], n_features), dtype=rows.dtype)
    wider[:, :width] = rows
    return wider


def unknown_columns(X: MemoryMatrix, n_features: int) -> NDArray[np.int64]:
    """Return the columns of X from ``n_features`` on that hold a value other than 0, counted from 0.

    Parameters
    ----------
    X : ndarray or CSR matrix
        The features.
    n_features : int
        The width of the model.

    Examples
    --------
    >>> import numpy as np
    >>> unknown_columns(np.array([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]]), 1).tolist()
    [2]
    """
    if is_sparse(X):
        used = X.indices[: X.indptr[-1]][X.data[: X.indptr[-1]] != 0]
        return np.unique(used[used >= n_features]).astype(np.int64)
    return n_features + np.flatnonzero((X[:, n_features:] != 0).any(axis=0))


def normalized_rows(X: Matrix, qid: Any) -> NDArray[Any]:
    """Return rows with each column scaled to [0, 1] within each query, for a model that does so."""
    if qid is None:
        raise MarginRankError.saying(
            "The model normalises features within queries, so predict needs {qid}.",
            "{Pass} {qid=...}, or the same id for every row if they are one query.",
        )
    groups = group_rows(check_qid(qid, X.shape[0]))
    return minmax_by_query(X, groups.query_ptr, groups.order)


def named_columns(X: Matrix, names: Sequence[str], wanted: Sequence[str], used: Rows | None = None) -> Matrix:
    """Return the columns of these names, in their order; X itself where it has no others.

    Parameters
    ----------
    X : ndarray, CSR matrix or ChunkedMatrix
        The features.
    names, wanted : sequence of str
        The names of its columns, and those that a model was trained on.
    used : ndarray of int, optional
        Numbers of those that the model uses; where X lacks others, they are 0.

    Examples
    --------
    >>> import numpy as np
    >>> named_columns(np.array([[1.0, 2.0]]), ["a", "b"], ["b"])
    array([[2.]])
    >>> named_columns(np.array([[1.0, 2.0]]), ["a", "b"], ["c", "b"], used=np.array([1]))
    array([[0., 2.]])
    """
    if tuple(names) == tuple(wanted):
        return X
    if used is None or set(wanted) <= set(names):
        return gate.check_matrix(X[:, _positions(names, wanted)])[0]
    positions = _positions(names, [wanted[k] for k in used])
    if not positions:
        return np.zeros((X.shape[0], len(wanted)))
    return widened_columns(gate.check_matrix(X[:, positions])[0], used, len(wanted))


def _positions(names: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where the wanted columns are."""
    place = {name: k for k, name in enumerate(names)}
    missing = [repr(name) for name in wanted if name not in place]
    if missing:
        raise MarginRankError(
            f"X lacks columns that the model was trained on: {_listed(missing)}. "
            "Their order does not matter, and other columns may be there."
        )
    return [place[name] for name in wanted]


def _check_width(X: Matrix, n_features: int) -> None:
    if X.shape[1] != n_features:
        raise MarginRankError(
            f"X has {X.shape[1]} features, but RankingModel is expecting {n_features} features as input. "
            "For files of another width, see align_width."
        )


def _listed(items: Sequence[object]) -> str:
    shown = ", ".join(str(item) for item in items[:_NAMED_AT_MOST])
    more = len(items) - _NAMED_AT_MOST
    return shown + (f" and {more} more" if more > 0 else "")
