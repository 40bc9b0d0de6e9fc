"""The only gate for what users pass in: each check returns the clean value or raises one clear sentence.

Rows, pairs and columns are counted from 0 in every message. Nothing here changes the user's arrays, and a
value that is already in the form the kernels take is returned as it is, without a copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import first_nonfinite
from marginrank.data.frames import as_frame, frame_values
from marginrank.data.matrices import in_memory, is_sparse
from marginrank.data.sparse_matrices import as_csr
from marginrank.data.weights import check_ratio
from marginrank.exceptions import MarginRankError, NothingToRankError, ParameterError, WrongTypeError, shown
from marginrank.parameters import as_list, check_number
from marginrank.system.threads import default_threads
from marginrank.types import Matrix, MemoryMatrix, Vector

_REALS = (np.dtype(np.float32), np.dtype(np.float64))
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))
# Beyond this, neighbouring integers fall on the same float64.
_LAST_EXACT_INTEGER = 2**53


def check_matrix(X: Any) -> tuple[MemoryMatrix, tuple[str, ...] | None]:
    """Return X as a C-ordered array or CSR of float32 or float64, and the column names of a frame.

    Entries that a CSR matrix stores twice count as their sum; the matrix returned has them once.
    """
    names = None
    frame = as_frame(X)
    if frame is not None:
        X, names = frame_values(frame)
    if is_sparse(X):
        _check_dimensions(X)
        X = as_csr(X, _real_dtype(X.dtype))
    else:
        X = as_array(X, "X")
        _check_dimensions(X)
        dtype = _real_dtype(X.dtype)
        if X.dtype == object:
            X = objects_to_float(X, "X")
        # Not ascontiguousarray: it keeps unaligned buffers, which the kernels cannot read.
        X = np.require(X, dtype, ["C_CONTIGUOUS", "ALIGNED"])
    if 0 in X.shape:
        missing = "0 sample(s)" if X.shape[0] == 0 else "0 feature(s)"  # the words of scikit-learn
        raise MarginRankError(f"X has {missing} (shape={X.shape}) while a minimum of 1 is required.")
    return X, names


def check_finite(X: Matrix, feature_names: Sequence[str] | None = None) -> None:
    """Raise if X, as ``check_matrix`` returns it, holds NaN or infinity, and say where.

    Of a matrix that does not lie in memory, chunks are checked when they are read.
    """
    if not in_memory(X):
        return
    values = X.data[: X.indptr[-1]] if is_sparse(X) else X.reshape(-1)
    k = first_nonfinite(values, default_threads())
    if k < 0:
        return
    row, column = (_row_of_entry(X.indptr, k), int(X.indices[k])) if is_sparse(X) else divmod(k, X.shape[1])
    where = f"row {row}, column {column if feature_names is None else repr(str(feature_names[column]))}"
    if np.isnan(values[k]):
        raise MarginRankError.saying(
            "X contains NaN (first at {where!s}{:, counted from 0}); marginrank does not impute: fill or "
            "drop missing values first.",
            where=where,
        )
    raise MarginRankError.saying(
        "X contains infinity (first at {where!s}{:, counted from 0}); clip it, or look for a division by "
        "zero or an overflow.",
        where=where,
    )


def check_feature_names(names: Any, n_features: int) -> tuple[str, ...] | None:
    """Return one distinct name per column, or None where there are none."""
    if names is None:
        return None
    listed = as_list(names)
    if listed is None:
        raise ParameterError("feature_names", "a list of names", names)
    clean = tuple(map(_as_name, listed))
    if len(clean) != n_features:
        raise MarginRankError(
            f"feature_names must have one entry per column of X; got {len(clean)} for {n_features} columns."
        )
    if len(set(clean)) < n_features:
        twice = next(name for k, name in enumerate(clean) if name in clean[:k])
        raise MarginRankError(f"feature_names must be distinct; {shown(twice)} occurs more than once.")
    return clean


def _as_name(name: Any) -> str:
    if not isinstance(name, str | Integral | Real):
        raise MarginRankError(f"feature_names must hold strings; got {shown(name)} among them.")
    return name if isinstance(name, str) else shown(name)


def check_comments(comments: Any, n_rows: int) -> NDArray[Any] | None:
    """Return one string per row, as an array of objects, or None where there are none."""
    if comments is None:
        return None
    listed = as_list(comments)
    if listed is None:
        raise ParameterError("comments", "a list of strings, one per row", comments)
    clean = np.fromiter(listed, dtype=object, count=len(listed))
    check_length(len(clean), "comments", "row", n_rows)
    for row, comment in enumerate(clean):
        if not isinstance(comment, str):
            raise MarginRankError(f"comments must hold strings; row {row} holds {shown(comment)}.")
    return clean


def check_labels(y: Any, n_rows: int) -> Vector:
    """Return labels as float64: one finite real number per row."""
    labels = as_array(y, "y")
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.utils import column_or_1d  # not above: files are read without scikit-learn

        labels = column_or_1d(labels, warn=True)
    return _as_vector(labels, "y", "row", n_rows)


def check_only_labels(y: Any) -> Vector:
    """Return labels as float64 where nothing else says how many rows there are."""
    labels = as_array(y, "y")
    if labels.shape[:1] == (0,):
        raise MarginRankError("y must have at least one row; got none.")
    return check_labels(labels, len(labels) if labels.ndim else 1)


def check_numbers(values: Any, name: str) -> Vector:
    """Return finite float64 numbers, one per row, however many there are."""
    numbers = as_array(values, name)
    return _as_vector(numbers, name, "row", len(numbers) if numbers.ndim else 1)


def check_scores(scores: Any, n_rows: int, name: str = "scores") -> Vector:
    """Return predicted scores as float64: one finite real number per row."""
    values = as_array(scores, name)
    if values.ndim == 1 and len(values) != n_rows:
        raise MarginRankError.naming(
            name, f"must have one entry per row of y; got {len(values)} for {n_rows} rows."
        )
    return _as_vector(values, name, "row", n_rows)


def check_offset(offset: Any, n_rows: int, name: str = "offset") -> Vector | None:
    """Return the scores that are added to those of a model, one finite number per row, or None."""
    return None if offset is None else _as_vector(offset, name, "row", n_rows)


def check_weights(sample_weight: Any, n_rows: int) -> Vector | None:
    """Return the row weights as float64, finite and nonnegative and not all zero, or None."""
    if sample_weight is None:
        return None
    return check_amounts(sample_weight, "sample_weight", "row", n_rows)


def check_amounts(values: Any, name: str, unit: str, n: int) -> Vector:
    """Return ``n`` finite, nonnegative weights that are not all zero, one per row, query or pair."""
    weight = _as_vector(values, name, unit, n)
    _check_nonnegative(weight, name, unit)
    if not weight.any():
        raise MarginRankError.naming(
            name, f"is zero for every {unit}; at least one {unit} must have a positive weight."
        )
    check_ratio(weight, name, unit)
    return weight


def nothing_to_rank(n_queries: int) -> NothingToRankError:
    """Return the error for data without a comparable pair (for the one who counted them to raise)."""
    if n_queries == 1:
        return NothingToRankError.saying(
            "All rows have the same label, so there is nothing to rank.",
            "Is {y} constant, or is there one row?",
        )
    return NothingToRankError.saying(
        "No query has two different labels (checked {n_queries:d} queries), so there is nothing to rank.",
        "Is {qid} unique per row, or {y} constant?",
        n_queries=n_queries,
    )


def check_pairs(
    pairs: Any,
    n_rows: int,
    weight: Any = None,
    margin: Any = None,
    names: tuple[str, str] = ("pair_weight", "pair_margin"),
) -> tuple[NDArray[Any], Vector | None, Vector | None]:
    """Return pairs (l, 2) of int32 or int64 row numbers, winner first, with their weights and margins.

    Weights or margins of None mean 1 for every pair. Messages call them by ``names``.
    """
    clean = as_array(pairs, "pairs")
    if clean.size == 0:
        raise NothingToRankError("pairs is empty, so there is nothing to rank.")
    if clean.ndim != 2 or clean.shape[1] != 2:
        raise MarginRankError(f"pairs must have shape (n_pairs, 2), winner first; got shape {clean.shape}.")
    if clean.dtype.kind not in "iu":
        raise MarginRankError(
            f"pairs must hold integers, the row numbers of X; got {clean.dtype}. "
            + (
                "Cast with .astype(int)."
                if clean.dtype.kind == "f"
                else "To name rows by ids, use fit_pairs(X, pairs, ids=...)."
            )
        )
    _check_pair_rows(clean, n_rows)
    if clean.dtype not in _INDICES:
        clean = clean.astype(np.int64)
    clean = np.require(clean, requirements=["C_CONTIGUOUS", "ALIGNED"])
    n_pairs = len(clean)
    if weight is not None:
        weight = check_amounts(weight, names[0], "pair", n_pairs)
    if margin is not None:
        if isinstance(margin, Real):
            margin = np.full(n_pairs, check_number(margin, names[1]))
        margin = _as_vector(margin, names[1], "pair", n_pairs)
        _check_nonnegative(margin, names[1], "pair")
    return clean, weight, margin


def _check_pair_rows(pairs: NDArray[Any], n_rows: int) -> None:
    if pairs.min() < 0 or pairs.max() >= n_rows:
        k = int(np.argmax(((pairs < 0) | (pairs >= n_rows)).any(axis=1)))
        raise MarginRankError(
            f"pairs must hold row numbers of X, from 0 to {n_rows - 1}; pair {k} is "
            f"({pairs[k, 0]}, {pairs[k, 1]})."
        )
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        k = int(np.argmax(same))
        raise MarginRankError(f"A pair must name two different rows; pair {k} is row {pairs[k, 0]} twice.")


def _row_of_entry(indptr: NDArray[Any], k: int) -> int:
    return int(np.searchsorted(indptr, k, side="right")) - 1


def _check_dimensions(X: Any) -> None:
    if X.ndim != 2:
        raise MarginRankError(
            f"X must be 2-D, (rows, features); got {X.ndim}-D of shape {X.shape}. Reshape your data: "
            "X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row."
        )


def _real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "c":
        raise MarginRankError("Complex data not supported: X must hold real numbers.")
    if dtype in _REALS:
        return dtype
    if dtype.kind not in "biufO":
        raise MarginRankError(f"X must hold numbers; got {dtype}. Encode strings and dates first.")
    return np.dtype(np.float32 if dtype == np.float16 else np.float64)


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return the values as an array, whatever regular sequence they are."""
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise MarginRankError.naming(
                name, "has masked entries; marginrank does not impute: fill them first."
            )
        return np.asarray(values.data)
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values)
    except ValueError:  # numpy's words for rows of different lengths help nobody
        raise MarginRankError.naming(
            name, "must be a regular array; got rows of different lengths."
        ) from None


def objects_to_float(values: NDArray[Any], name: str) -> Vector:
    """Return an array of Python's numbers as float64."""
    for k, value in enumerate(values.flat):
        if not isinstance(value, Real):
            place = k // values.shape[1] if values.ndim == 2 else k
            raise WrongTypeError(
                f"{name} must hold numbers; entry {place} holds {shown(value)}, where the argument must be "
                "neither a string nor another object, but a number."
            )
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise MarginRankError.naming(
            name, "holds integers that float64 cannot hold; scale it down first."
        ) from None


def check_length(length: int, name: str, unit: str, n: int) -> None:
    """Raise unless there is one entry per row, query or pair."""
    if length != n:
        unit, units = (
            ("row of X", "rows") if unit == "row" else (unit, "queries" if unit == "query" else "pairs")
        )
        raise MarginRankError.naming(name, f"must have one entry per {unit}; got {length} for {n} {units}.")


def _check_nonnegative(values: Vector, name: str, unit: str) -> None:
    if values.min() < 0:
        k = int(np.argmax(values < 0))
        raise MarginRankError.naming(name, f"must be at least 0; got {values[k]:g} at {unit} {k}.")


def _as_vector(values: Any, name: str, unit: str, n: int) -> Vector:
    """Return finite float64 numbers, one per row, query or pair."""
    values = as_array(values, name)
    if values.ndim != 1:
        raise MarginRankError.naming(name, f"must be 1-D, one entry per {unit}; got shape {values.shape}.")
    check_length(len(values), name, unit, n)
    kind = values.dtype.kind
    if kind == "c":
        raise MarginRankError(f"Complex data not supported: {name} must hold real numbers.")
    if kind not in "biufO":
        raise MarginRankError.naming(
            name, f"must hold numbers; got {values.dtype}. Encode strings and dates first."
        )
    if kind == "O":
        values = objects_to_float(values, name)
    clean = np.require(values, np.float64, ["C_CONTIGUOUS", "ALIGNED"])
    k = first_nonfinite(clean, default_threads())
    if k >= 0:
        what = "NaN" if np.isnan(clean[k]) else "infinity"
        raise MarginRankError.saying(
            f"{{{name}}} contains {what} (first at {unit} {k}{{:, counted from 0}}); every {unit} needs a "
            "finite number."
        )
    if kind in "iu" and np.abs(clean).max(initial=0.0) > _LAST_EXACT_INTEGER:
        raise MarginRankError.naming(
            name, "holds integers beyond 2**53, which float64 cannot tell apart; subtract a constant first."
        )
    return clean
