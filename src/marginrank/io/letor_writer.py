"""Writing :class:`~marginrank.data.RankingData` as LETOR/SVMlight text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import write_letor_features
from marginrank.data import RankingData, check_data
from marginrank.data.matrices import is_sparse
from marginrank.data.validation import check_comments
from marginrank.exceptions import MarginRankError, shown
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.parameters import check_flag

_ROWS_AT_ONCE = 4096


def dump_letor(
    data: RankingData, destination: Destination, *, comments: Any = None, zero_based: bool = False
) -> None:
    """Write rows as LETOR/SVMlight text that :func:`load_letor` reads back bit for bit.

    Parameters
    ----------
    data : RankingData
        Its X, y, qid and comments are written; weights and pairs have files of their own.
    destination : path or binary file object
        A path is written under a temporary name and renamed, so that there is never half a file.
    comments : sequence of str, optional
        What to write after ``#`` in each row, instead of ``data.comments``.
    zero_based : bool, default=False
        Whether indices start at 0 instead of 1.

    See Also
    --------
    load_letor : The way back.

    Notes
    -----
    Numbers are written with the fewest digits that read back as the same number; data of float32 need
    ``load_letor(..., dtype="float32")``. Zeros are left out, but for the last feature of the first row,
    which keeps the number of columns. Ids come back as strings unless all are integers.

    Examples
    --------
    >>> from io import BytesIO
    >>> from marginrank import RankingData, dump_letor
    >>> data = RankingData([[0.5, 0.0], [0.0, 0.1]], y=[1, 0], qid=["a", "a"])
    >>> file = BytesIO()
    >>> dump_letor(data, file, comments=["docid = X", "docid = Y"])
    >>> print(file.getvalue().decode(), end="")
    1 qid:a 1:0.5 2:0 #docid = X
    0 qid:a 2:0.1 #docid = Y
    """
    zero_based = check_flag(zero_based, "zero_based")
    check_data(data)
    if data.y is None:
        raise MarginRankError("LETOR text has a label in each row, but these data hold pairs and no y.")
    if data.query_ids is not None:
        _id_texts(data.query_ids)
    given = None if comments is None else check_comments(comments, data.n_rows)
    row = 0
    with open_for_writing(destination) as file:
        for piece in data.chunks():
            remarks = piece.comments if given is None else given[row : row + piece.n_rows]
            _check_remarks(remarks, row)
            write_rows(piece, remarks, file, zero_based=zero_based, keep_width=row == 0)
            row += piece.n_rows


def write_rows(
    data: RankingData, remarks: NDArray[Any] | None, file: IO[bytes], *, zero_based: bool, keep_width: bool
) -> None:
    """Write rows that are in memory to an open file; ``keep_width`` where they are the first."""
    assert data.y is not None
    labels, ids = list(map(number_text, data.y.tolist())), None
    if data.query_ids is not None:
        texts = np.repeat(_id_texts(data.query_ids), np.diff(data.query_ptr))
        ids = data.in_original_order(texts)
    for start, features in _feature_blocks(data.X, 0 if zero_based else 1, keep_width=keep_width):
        lines = []
        for row, text in enumerate(features, start):
            head = labels[row] if ids is None else f"{labels[row]} qid:{ids[row]}"
            tail = f" #{remarks[row]}\n" if remarks is not None and remarks[row] else "\n"
            lines += [
                head.encode("utf-8", "surrogateescape"),
                text,
                tail.encode("utf-8", "surrogateescape"),
            ]
        file.write(b"".join(lines))


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same float64; whole numbers without ``.0``.

    Examples
    --------
    >>> number_text(2.0), number_text(0.1), number_text(-0.0)
    ('2', '0.1', '-0')
    """
    return repr(value).removesuffix(".0")


def id_text(value: Any, forbidden: str = "", name: str = "qid") -> str:
    r"""Return a query or document id as one word of text, or raise where it is none.

    Examples
    --------
    >>> id_text(101), id_text("a\u00a0b")
    ('101', 'a\xa0b')
    """
    text = shown(value) if isinstance(value, int) else str(value) if value is not None else ""
    if not text or not set(text).isdisjoint(" \t\r\n\0" + forbidden):
        but = "".join(f", {character!r}" for character in forbidden)
        raise MarginRankError(
            f"Ids in text files ({name}) must be one word without blanks{but} and NUL; got {shown(value)}."
        )
    return text


def _id_texts(ids: NDArray[Any]) -> NDArray[Any]:
    """Return the ids of queries as text; different ids must stay different."""
    texts = np.fromiter((id_text(q, "#") for q in ids.tolist()), dtype=object, count=len(ids))
    if len(set(texts)) < len(texts):
        first: dict[str, Any] = {}
        for query, text in zip(ids.tolist(), texts, strict=True):
            if text in first:
                raise MarginRankError(f"Queries {first[text]!r} and {query!r} are both written as {text!r}.")
            first[text] = query
    return texts


def _check_remarks(remarks: NDArray[Any] | None, first: int) -> None:
    for row, remark in enumerate(() if remarks is None else remarks, first):
        if "\n" in remark or "\0" in remark or remark.endswith("\r"):
            raise MarginRankError(
                f"A comment must be one line without NUL; that of row {row} is {remark[:40]!r}."
            )


def _feature_blocks(X: Any, first_index: int, *, keep_width: bool) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the number of a first row and the features of some rows from there on, as text."""
    for start in range(0, X.shape[0], _ROWS_AT_ONCE):
        data, columns, ptr = _entries(X[start : start + _ROWS_AT_ONCE], keep_width=keep_width and start == 0)
        ends = np.empty(len(ptr) - 1, dtype=np.int64)
        text = write_letor_features(data, columns, ptr, first_index, ends)
        bounds = [0, *ends.tolist()]
        yield start, [text[a:b] for a, b in pairwise(bounds)]


def _entries(X: Any, *, keep_width: bool) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Return values, columns and row offsets of what is to be written of some rows."""
    if is_sparse(X):
        X = X.copy()
        X.sum_duplicates()
        data, columns = X.data, X.indices.astype(np.int64)
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    else:
        data = X.ravel()
        rows, columns = np.divmod(np.arange(data.size, dtype=np.int64), X.shape[1])
    kept = (data != 0) | np.signbit(data)
    if keep_width:
        last = np.flatnonzero((rows == 0) & (columns == X.shape[1] - 1))
        if len(last):
            kept[last] = True
        else:
            at = int(np.searchsorted(rows, 1))
            data, kept = np.insert(data, at, 0.0), np.insert(kept, at, True)
            rows, columns = np.insert(rows, at, 0), np.insert(columns, at, X.shape[1] - 1)
    ptr = np.concatenate(([0], np.cumsum(np.bincount(rows[kept], minlength=X.shape[0])))).astype(np.int64)
    return np.ascontiguousarray(data[kept]), np.ascontiguousarray(columns[kept]), ptr
