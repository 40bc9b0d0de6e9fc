"""Reading LETOR/SVMlight text into :class:`~marginrank.data.RankingData`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank._kernels import LetorRowsF32, LetorRowsF64
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError, ParameterError, Sentence, warn
from marginrank.io.letor_faults import Limits, letor_error
from marginrank.io.side_files import UnreadWeightsWarning, unused_side_files
from marginrank.io.sources import Source, read_source
from marginrank.parameters import check_choice, check_count, check_flag, check_float_dtype, check_missing
from marginrank.system.threads import resolve_threads

_BOM = b"\xef\xbb\xbf"
_LARGEST_INDEX = 2**31 - 1


def load_letor(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    max_feature: int = 10_000_000,
    allow_nonfinite: bool = False,
    missing: float | None = None,
    dtype: Any = np.float64,
    dense: bool | str = "auto",
    max_bytes: int | None = None,
    max_expansion: float = 200,
    n_jobs: int | None = None,
) -> RankingData:
    r"""Read LETOR/SVMlight text: ``label [qid:id] index:value ... [# comment]``, one row a line.

    Anything that is not exactly that is an error that names file, line and column.

    Parameters
    ----------
    source : path, binary file object or bytes
        Plain or gzip, recognised by the content; UTF-8, with or without a byte order mark. Lines end in LF or
        CRLF.
    n_features : int, optional
        Number of columns, so that files with different last features fit together; by default the largest
        index of the file. A larger index is an error.
    zero_based : bool, default=False
        Whether indices start at 0 instead of 1.
    max_feature : int, default=10,000,000
        The largest index to believe; protects from a typing error that asks for all the memory.
    allow_nonfinite : bool, default=False
        Whether to read ``nan`` and ``inf`` as values. Such data can be looked at and written, not trained on.
    missing : float, optional
        What to read the value ``NULL`` as, say 0.0 or NaN; by default it is an error.
    dtype : {float64, float32}, default=float64
        Type of the values.
    dense : bool or "auto", default="auto"
        Whether X is an array or CSR; "auto" is an array where at least half of the entries are not zero.
    max_bytes : int, optional
        The most bytes of text to read.
    max_expansion : float, default=200
        The most that gzip may expand, as a multiple of the size of the file; 16 MiB are always allowed.
    n_jobs : int, optional
        Threads; None uses those the process may run on. The result does not depend on it.

    Returns
    -------
    RankingData
        ``qid`` is int64 where every id is an integer in its usual spelling, else strings; None, one ranking
        of all rows, where no row has one. ``comments`` has what follows ``#`` in each row; None where there
        is nothing.

    See Also
    --------
    dump_letor : The way back.

    Notes
    -----
    Side files of LightGBM next to a path are not read; a warning names those that would change the
    meaning of the rows, and ``marginrank.io.read(path, format="lightgbm")`` reads them.

    O(size of the text). Takes the text and the numbers in memory at the same time.

    Examples
    --------
    >>> from marginrank import load_letor
    >>> data = load_letor(b"2 qid:10 1:0.5 3:1.25 #docid = A\n0 qid:10 2:0.75 #docid = B\n")
    >>> data
    RankingData(n_rows=2, n_features=3, n_queries=1, dense float64)
    >>> data.y.tolist(), data.qid.tolist(), data.comments.tolist()
    ([2.0, 0.0], [10, 10], ['docid = A', 'docid = B'])
    >>> load_letor(b"2 qid:10 0:0.5\n")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    marginrank.exceptions.MarginRankError: <bytes>:1:10: expected a feature '<index>:<value>' with ...
    """
    limits = _check_limits(n_features, max_feature, zero_based)
    nothing = _check_missing(missing)
    kind = _check_dtype(dtype)
    check_choice("dense", dense, (True, False, "auto"))
    allow_nonfinite = check_flag(allow_nonfinite, "allow_nonfinite")
    n_threads = resolve_threads(n_jobs)
    text, name = read_source(source, max_bytes=max_bytes, max_expansion=max_expansion)
    rows = _parse(text, name, limits, (allow_nonfinite, nothing), kind, n_threads)
    width = rows.last_column + 1 if n_features is None else int(n_features)
    if width == 0:
        raise MarginRankError(f"{name}: expected features '<index>:<value>', got none in any row.")
    if dense == "auto":
        dense = 2 * rows.n_entries >= rows.n_rows * width
    _warn_of_side_files(source, rows.has_qid)
    return RankingData(
        (_dense if dense else _csr)(rows, width, kind, n_threads),
        _labels(rows),
        qid=_qid(rows),
        comments=_objects(rows.comments()) if rows.has_comments else None,
        allow_nonfinite=allow_nonfinite or (nothing is not None and not np.isfinite(nothing)),
    )


def _warn_of_side_files(source: Source, has_qid: bool) -> None:
    """Say that side files are not read here: without a word, all rows would be one ranking."""
    if not isinstance(source, str | os.PathLike):
        return
    for side in unused_side_files(source, has_qid=has_qid):
        warn(
            Sentence(
                "{side!s} lies beside {source!s} and is not used; to use it, read with {format='lightgbm'}.",
                side=side,
                source=os.fspath(source),
            ),
            UnreadWeightsWarning if side.endswith(".weight") else UserWarning,
        )


class LetorReading:
    r"""How to read a text in pieces of whole lines, where all of it does not fit into memory.

    Parameters
    ----------
    n_features, zero_based, max_feature, missing, dtype, n_jobs
        As in :func:`load_letor`.

    Examples
    --------
    >>> reading = LetorReading()
    >>> rows = reading.parse(b"2 qid:10 1:0.5\n", "train.txt", lines_before=5)
    >>> reading.block(rows)["y"]
    array([2.])
    """

    def __init__(
        self,
        *,
        n_features: int | None = None,
        zero_based: bool = False,
        max_feature: int = 10_000_000,
        missing: float | None = None,
        dtype: Any = np.float64,
        n_jobs: int | None = None,
    ) -> None:
        self.limits = _check_limits(n_features, max_feature, zero_based)
        self._missing, self._kind = _check_missing(missing), _check_dtype(dtype)
        if self._missing is not None and not np.isfinite(self._missing):
            raise ParameterError("missing", "a finite number for data to train on", missing)
        self._n_threads = resolve_threads(n_jobs)

    def parse(self, text: bytes, name: str, lines_before: int) -> LetorRowsF32 | LetorRowsF64:
        """Return the rows of a piece; it may have none."""
        values = (False, self._missing)
        return _parse_piece(text, name, self.limits, values, self._kind, self._n_threads, lines_before)

    def block(self, rows: Any) -> dict[str, Any]:
        """Return the arrays of the rows of a piece; X is CSR and as wide as its largest index."""
        width = self.limits.n_features or max(1, rows.last_column + 1)
        parts = {"X": _csr(rows, width, self._kind, self._n_threads), "y": _labels(rows), "qid": _qid(rows)}
        if rows.has_comments:
            parts["comments"] = _objects(rows.comments())
        return {name: values for name, values in parts.items() if values is not None}


def _parse(
    text: bytes | bytearray,
    name: str,
    limits: Limits,
    values: tuple[bool, float | None],
    kind: np.dtype[Any],
    n_threads: int,
) -> LetorRowsF32 | LetorRowsF64:
    rows = _parse_piece(text, name, limits, values, kind, n_threads, 0)
    if rows.n_rows == 0:
        raise MarginRankError(f"{name}: expected at least one row, got none.")
    return rows


def _parse_piece(
    text: bytes | bytearray,
    name: str,
    limits: Limits,
    values: tuple[bool, float | None],
    kind: np.dtype[Any],
    n_threads: int,
    lines_before: int,
) -> LetorRowsF32 | LetorRowsF64:
    if not lines_before and text.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MarginRankError(f"{name}:1:1: expected UTF-8 text, got UTF-16; save the file as UTF-8.")
    start = len(_BOM) if not lines_before and text.startswith(_BOM) else 0
    first, last = 0 if limits.zero_based else 1, limits.max_feature
    if limits.n_features is not None:
        last = min(last, limits.n_features - 1 + first)
    parser = LetorRowsF32 if kind == np.float32 else LetorRowsF64
    rows = parser(np.frombuffer(text, dtype=np.uint8), start, first, last, *values, n_threads)
    if rows.problem[0]:
        raise letor_error(text, name, rows.problem, limits, lines_before)
    return rows


def _labels(rows: Any) -> NDArray[np.float64]:
    labels = np.empty(rows.n_rows)
    rows.labels(labels)
    return labels


def _qid(rows: Any) -> NDArray[Any] | None:
    if not rows.has_qid:
        return None
    if not rows.qids_are_integers:
        return _objects(rows.qids())
    ids = np.empty(rows.n_rows, dtype=np.int64)
    rows.integer_qids(ids)
    return ids


def _objects(values: list[str]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object, count=len(values))


def _dense(rows: Any, width: int, kind: np.dtype[Any], n_threads: int) -> NDArray[Any]:
    X = np.zeros((rows.n_rows, width), dtype=kind)
    rows.dense(X, n_threads)
    return X


def _csr(rows: Any, width: int, kind: np.dtype[Any], n_threads: int) -> sparse.csr_matrix:
    index = np.int32 if rows.n_entries <= _LARGEST_INDEX else np.int64
    data, indices = np.empty(rows.n_entries, dtype=kind), np.empty(rows.n_entries, dtype=index)
    indptr = np.empty(rows.n_rows + 1, dtype=index)
    rows.csr(data, indices, indptr, n_threads)
    return sparse.csr_matrix((data, indices, indptr), shape=(rows.n_rows, width), copy=False)


def _check_limits(n_features: Any, max_feature: Any, zero_based: Any) -> Limits:
    for value, name in ((n_features, "n_features"), (max_feature, "max_feature")):
        if value is None and name == "n_features":
            continue
        check_count(value, name, most=_LARGEST_INDEX)
    zero_based = check_flag(zero_based, "zero_based")
    return Limits(None if n_features is None else int(n_features), int(max_feature), zero_based)


def _check_missing(missing: Any) -> float | None:
    if missing is None:
        return None
    return check_missing(missing)


def _check_dtype(dtype: Any) -> np.dtype[Any]:
    return check_float_dtype(dtype)
