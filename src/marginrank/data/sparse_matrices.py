"""Sparse matrices as users have them: checked before anything is read through their indices, and made CSR."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank._kernels import first_bad_row
from marginrank.exceptions import MarginRankError
from marginrank.system.threads import default_threads
from marginrank.types import SparseMatrix

_INDICES = (np.dtype(np.int32), np.dtype(np.int64))
_ENTRIES_AT_ONCE = 1 << 22


def as_csr(X: Any, dtype: np.dtype[Any]) -> SparseMatrix:
    """Return any sparse matrix as CSR of a float type, with plain arrays and no entry stored twice.

    It is X itself where that is so.
    """
    if X.format == "csc":
        _plain(X)  # converting one that points outside would write outside
    X = _plain(X.tocsr())
    return summed(X.astype(dtype, copy=False))


def _plain(X: Any) -> Any:
    """Return CSR or CSC with arrays as the kernels take them, after all of them were checked."""
    _check_lengths(X)
    arrays = (X.data, X.indices, X.indptr)
    plain = all(a.flags.c_contiguous and a.flags.aligned for a in arrays)
    if not (plain and X.indices.dtype == X.indptr.dtype and X.indices.dtype in _INDICES):
        X = type(X)(tuple(map(np.array, arrays)), shape=X.shape)  # scipy settles the index types
    _check_indices(X)
    return X


def _check_lengths(X: Any) -> None:
    n_lines = X.shape[0 if X.format == "csr" else 1]
    indptr = X.indptr
    if len(indptr) != n_lines + 1 or indptr[0] != 0 or indptr[-1] > min(len(X.indices), len(X.data)):
        ends = f"from {indptr[0]} to {indptr[-1]} " if len(indptr) else ""
        raise MarginRankError(
            f"X is not a valid {X.format.upper()} matrix: indptr must have {n_lines + 1} entries from 0 to "
            f"the number of stored values; got {len(indptr)} {ends}with {len(X.data)} values and "
            f"{len(X.indices)} indices."
        )


def _check_indices(X: Any) -> None:
    lines, others = ("row", "column") if X.format == "csr" else ("column", "row")
    n_others = X.shape[1 if X.format == "csr" else 0]
    line = first_bad_row(X.indices[: X.indptr[-1]], X.indptr, n_others, default_threads())
    if line < 0:
        return
    invalid = f"X is not a valid {X.format.upper()} matrix:"
    if X.indptr[line + 1] < X.indptr[line]:
        raise MarginRankError(f"{invalid} indptr falls at {lines} {line}.")
    if X.indptr[line + 1] > X.indptr[-1]:
        raise MarginRankError(f"{invalid} indptr goes beyond its last entry at {lines} {line}.")
    indices = X.indices[X.indptr[line] : X.indptr[line + 1]]
    index = indices[(indices < 0) | (indices >= n_others)][0]
    raise MarginRankError(
        f"{invalid} {lines} {line} has {others} index {index}, but there are {n_others} {others}s."
    )


def summed(X: SparseMatrix) -> SparseMatrix:
    """Return X itself where no entry is stored twice, else a copy in which those entries are one.

    Rows may be unsorted; that alone is no reason for a copy.

    Notes
    -----
    One look at the column numbers where rows are sorted; where they are not, they are sorted aside, some
    millions of entries at a time.

    Examples
    --------
    >>> from scipy import sparse
    >>> twice = sparse.csr_array(([1.0, 2.0, 5.0], [0, 0, 1], [0, 3]), shape=(1, 2))
    >>> summed(twice).data.tolist(), twice.nnz
    ([3.0, 5.0], 3)
    """
    if not _has_duplicates(X):
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


def _has_duplicates(X: Any) -> bool:
    # A matrix made of the same arrays: a flag that was set before the caller changed them is not believed.
    same = type(X)((X.data, X.indices, X.indptr), shape=X.shape, copy=False)
    if same.has_canonical_format:
        return False
    first = 0
    while first < X.shape[0]:
        last = int(np.searchsorted(X.indptr, X.indptr[first] + _ENTRIES_AT_ONCE, side="right")) - 1
        last = min(max(last, first + 1), X.shape[0])
        part = X.indices[X.indptr[first] : X.indptr[last]]
        row = np.repeat(np.arange(last - first), np.diff(X.indptr[first : last + 1]))
        order = np.lexsort((part, row))
        part, row = part[order], row[order]
        if np.any((part[1:] == part[:-1]) & (row[1:] == row[:-1])):
            return True
        first = last
    return False
