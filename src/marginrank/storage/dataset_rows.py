"""Blocks of rows on their way to a data set on disk: cut, joined, and turned into the arrays of a chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import RankingData
from marginrank.data.matrices import is_sparse
from marginrank.exceptions import MarginRankError
from marginrank.storage.text_arrays import pack_texts, unpack_texts

#: Arrays with one entry per row: X, and of y, qid, sample_weight, query_weight, comments those there are.
Block = dict[str, Any]
Arrays = Mapping[str, NDArray[Any]]

_PLAIN = {"y": "y", "sample_weight": "weight"}
_BY_ROW = ("X", "y", "weight", "query_weight")
_LARGEST_INDEX = 2**31 - 1
_ROWS_AT_ONCE = 4096


def block_of(data: RankingData, positions: slice = slice(None)) -> Block:
    """Return rows of data, by their positions in grouped order."""
    rows: Any = positions if data.order is None else data.order[positions]
    block = {"X": data.X[rows]}
    for name in ("y", "qid", "sample_weight", "comments"):
        if (values := getattr(data, name)) is not None:
            block[name] = values[rows]
    if data.query_weight is not None:
        block["query_weight"] = np.repeat(data.query_weight, np.diff(data.query_ptr))[positions]
    return block


def n_rows(block: Block) -> int:
    """Return the number of rows."""
    return int(block["X"].shape[0])


def cut(block: Block, first: int, last: int) -> Block:
    """Return rows ``first`` to ``last``."""
    return {name: _sliced(values, first, last) for name, values in block.items()}


def _sliced(values: Any, first: int, last: int) -> Any:
    if getattr(values, "format", None) != "csr":
        return values[first:last]
    # scipy's own slice ends the process where memory for it cannot be had; this one copies row pointers only.
    pointers = values.indptr[first : last + 1]
    entries = slice(int(pointers[0]), int(pointers[-1]))
    parts = (values.data[entries], values.indices[entries], pointers - pointers[0])
    return type(values)(parts, shape=(len(pointers) - 1, values.shape[1]))


def take(block: Block, rows: NDArray[Any]) -> Block:
    """Return rows by their numbers."""
    return {name: values[rows] for name, values in block.items()}


def join(blocks: Sequence[Block]) -> Block:
    """Return the rows of blocks that have the same parts as one block, as wide as the widest."""
    if len(blocks) == 1:
        return blocks[0]
    names = sorted({name for block in blocks for name in block})
    return {name: _joined(name, blocks) for name in names}


def _joined(name: str, blocks: Sequence[Block]) -> Any:
    if name == "comments":  # a remark is never needed
        empty = [np.full(n_rows(block), "", dtype=object) for block in blocks]
        return np.concatenate([block.get(name, none) for block, none in zip(blocks, empty, strict=True)])
    parts = [block[name] for block in blocks]
    if name == "qid":
        return joined_ids(parts)
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    shape = (sum(part.shape[0] for part in parts), max(part.shape[1] for part in parts))
    counts = np.concatenate([np.diff(part.indptr) for part in parts])
    stored = [(part.data[: part.indptr[-1]], part.indices[: part.indptr[-1]]) for part in parts]
    data, indices = (np.concatenate(arrays) for arrays in zip(*stored, strict=True))
    return sparse.csr_matrix((data, indices, np.append(0, np.cumsum(counts))), shape=shape)


def dense(X: Any) -> NDArray[Any]:
    """Return a CSR matrix as an array, bit for bit.

    Examples
    --------
    >>> dense(sparse.csr_matrix([[0.0, 2.0], [1.0, 0.0]])).tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    """
    found = np.zeros(X.shape, dtype=X.dtype)
    for first in range(0, X.shape[0], _ROWS_AT_ONCE):
        part = X[first : first + _ROWS_AT_ONCE].copy()
        part.sum_duplicates()
        row = np.repeat(np.arange(first, first + part.shape[0]), np.diff(part.indptr))
        found[row, part.indices] = part.data  # toarray would add, and 0 + -0 is 0
    return found


def row_bytes(block: Block) -> NDArray[np.int64]:
    """Return what the features of each row take on disk."""
    X = block["X"]
    if is_sparse(X):
        return sparse_row_bytes(X.indptr, X.dtype)
    return np.full(X.shape[0], X.shape[1] * X.dtype.itemsize, dtype=np.int64)


def sparse_row_bytes(indptr: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.int64]:
    """Return what rows of a CSR matrix take on disk."""
    sizes: NDArray[np.int64] = np.diff(indptr).astype(np.int64) * (dtype.itemsize + 4) + 4
    return sizes


def run_starts(qid: NDArray[Any]) -> NDArray[np.int64]:
    """Return where runs of equal ids start.

    Examples
    --------
    >>> run_starts(np.array([7, 7, 8, 7])).tolist()
    [0, 2, 3]
    """
    new = np.ones(len(qid), dtype=bool)
    np.not_equal(qid[1:], qid[:-1], out=new[1:])
    return np.flatnonzero(new)


def arrays_of(block: Block) -> dict[str, NDArray[Any]]:
    """Return the arrays that a file of these rows holds."""
    arrays = _feature_arrays(block["X"])
    arrays |= {kept: block[name] for name, kept in _PLAIN.items() if name in block}
    if "qid" in block:
        starts = run_starts(block["qid"])
        arrays["query_sizes"] = np.diff(starts, append=n_rows(block)).astype(np.int64)
        arrays |= _id_arrays(block["qid"][starts])
        if "query_weight" in block:
            arrays["query_weight"] = block["query_weight"][starts]
    if "comments" in block and any(block["comments"]):
        arrays["comments_text"], arrays["comments_ends"] = pack_texts(block["comments"].tolist())
    return arrays


def row_arrays(block: Block) -> dict[str, NDArray[Any]]:
    """Return the arrays of a block without query ids, all of them by rows, for :func:`copied_rows`."""
    weight = {"query_weight": block["query_weight"]} if "query_weight" in block else {}
    return arrays_of(block) | weight


def copied_rows(arrays: Mapping[str, Any], n_features: int, first: int, last: int) -> Block:
    """Return rows ``first`` to ``last`` of what :func:`row_arrays` gave, in memory of their own."""
    own = {name: np.array(values[first:last]) for name, values in arrays.items() if name in _BY_ROW}
    if "X_indptr" in arrays:
        indptr = arrays["X_indptr"][first : last + 1]
        own |= {name: np.array(arrays[name][indptr[0] : indptr[-1]]) for name in ("X_data", "X_indices")}
        own["X_indptr"] = indptr - indptr[0]
    if "comments_ends" in arrays:
        start = int(arrays["comments_ends"][first - 1]) if first else 0
        ends = arrays["comments_ends"][first:last] - start
        own |= {"comments_text": arrays["comments_text"][start : start + ends[-1]], "comments_ends": ends}
    weight = {"query_weight": own["query_weight"]} if "query_weight" in own else {}
    return block_from(own, n_features) | weight


def block_from(arrays: Arrays, n_features: int) -> Block:
    """Return the rows that a file holds."""
    block = {"X": matrix_from(arrays, n_features)}
    block |= {name: arrays[kept] for name, kept in _PLAIN.items() if kept in arrays}
    if "query_sizes" in arrays:
        sizes = arrays["query_sizes"]
        block["qid"] = np.repeat(ids_from(arrays), sizes)
        if "query_weight" in arrays:
            block["query_weight"] = np.repeat(arrays["query_weight"], sizes)
    if "comments_ends" in arrays:
        block["comments"] = unpack_texts(arrays["comments_text"], arrays["comments_ends"], "comments")
    return block


def matrix_from(arrays: Arrays, n_features: int) -> Any:
    """Return the features that a file holds."""
    if "X" in arrays:
        return arrays["X"]
    indptr = arrays["X_indptr"]
    parts = (arrays["X_data"], arrays["X_indices"], indptr)
    X = sparse.csr_matrix((len(indptr) - 1, n_features), dtype=arrays["X_data"].dtype)
    X.data, X.indices, X.indptr = parts  # not by the constructor, which looks through all of them
    return X


def ids_from(arrays: Arrays) -> NDArray[Any]:
    """Return the ids of the queries that a file holds, one for each."""
    if "query_ids" in arrays:
        return arrays["query_ids"]
    return unpack_texts(arrays["query_ids_text"], arrays["query_ids_ends"], "query ids")


def joined_ids(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return ids of several files as one array: integers where all are, else by their spelling."""
    if any(part.dtype == object for part in parts):
        return np.concatenate([spelled(part) for part in parts])
    return np.concatenate(parts)


def spelled(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as strings."""
    return np.fromiter(map(str, ids.tolist()), dtype=object, count=len(ids))


def id_kind(ids: NDArray[Any]) -> str:
    """Return what ids are: "integer", "text", "float" or "date"; others cannot be kept in files."""
    kinds = {"b": "integer", "i": "integer", "u": "integer", "U": "text", "f": "float", "M": "date"}
    if ids.dtype.kind == "O" and all(isinstance(value, str) for value in ids):
        return "text"
    if ids.dtype.kind in kinds and not (ids.dtype.kind == "u" and ids.max() > np.iinfo(np.int64).max):
        return kinds[ids.dtype.kind]
    raise MarginRankError(
        "Data sets on disk hold query ids that are 64-bit integers, floats, dates or strings; got "
        f"{ids[0]!r}. Turn them into strings first."
    )


def _feature_arrays(X: Any) -> dict[str, NDArray[Any]]:
    if not is_sparse(X):
        return {"X": X}
    stored = int(X.indptr[-1])
    index = np.int32 if max(stored, X.shape[1]) <= _LARGEST_INDEX else np.int64
    start = int(X.indptr[0])
    return {
        "X_data": X.data[start:stored],
        "X_indices": X.indices[start:stored].astype(index, copy=False),
        "X_indptr": (X.indptr - start).astype(index, copy=False),
    }


def _id_arrays(ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    if ids.dtype.kind in "OU":
        text, ends = pack_texts(spelled(ids).tolist())
        return {"query_ids_text": text, "query_ids_ends": ends}
    kinds: dict[str, Any] = {"f": np.float64, "M": ids.dtype}
    return {"query_ids": ids.astype(kinds.get(ids.dtype.kind, np.int64), copy=False)}
