"""Several files of ranking data as one: their rows one after the other, and what must be alike for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from marginrank.data import RankingData
from marginrank.data.matrices import csr_like, is_sparse, require_memory
from marginrank.exceptions import MarginRankError


def joined(names: Sequence[str], parts: Sequence[RankingData]) -> RankingData:
    """Return the rows of several files of labelled data, in memory, in the order of the files.

    A query lies in one file: whether the same id in two of them is the same query, nobody can tell. Files may
    differ in width, as sparse text does; what they lack is 0.

    Parameters
    ----------
    names : sequence of str
        What messages call the parts: the names of the files.
    parts : sequence of RankingData
        What is in them.

    Examples
    --------
    >>> a = RankingData([[1.0, 2.0], [3.0, 4.0]], y=[0, 1], qid=["u", "u"])
    >>> b = RankingData([[5.0], [6.0]], y=[1, 0], qid=["v", "v"])
    >>> both = joined(["a.txt", "b.txt"], [a, b])
    >>> both.X.tolist(), both.qid.tolist()
    ([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0], [6.0, 0.0]], ['u', 'u', 'v', 'v'])
    """
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    for name, part in zip(names, parts, strict=True):
        if part.pairs is not None or part.y is None:
            raise MarginRankError(f"{name}: expected rows with labels, as in the other files; got pairs.")
        check_alike(name, part, first)
    ids = None if first.qid is None else ids_of_files(names, [part.qid for part in parts])
    return RankingData(
        _rows([require_memory(part.X) for part in parts]),
        np.concatenate([part.y for part in parts if part.y is not None]),
        qid=ids,
        sample_weight=all_or_none(names, [part.sample_weight for part in parts], "weights"),
        query_weight=all_or_none(names, [part.query_weight for part in parts], "weights of queries"),
        feature_names=first.feature_names,
        comments=_comments(parts),
    )


def check_alike(name: Any, part: Any, first: Any) -> None:
    """Refuse a file that cannot stand with the first one."""
    if (part.qid is None) != (first.qid is None):
        raise MarginRankError(f"{name}: some files have query ids and some have none; all must or none.")
    if part.feature_names != first.feature_names:
        raise MarginRankError(f"{name}: the columns are not those of the first file.")


def ids_of_files(names: Sequence[Any], ids: Sequence[Any]) -> NDArray[Any]:
    """Return the ids of all rows; a query must not go on in, or come again in, another file.

    Examples
    --------
    >>> ids_of_files(["a.txt", "b.txt"], [np.array([1, 1]), np.array([2])]).tolist()
    [1, 1, 2]
    """
    if len({one.dtype.kind for one in ids}) > 1:  # 7 and "7" are written alike
        ids = [one.astype(str) for one in ids]
    seen: dict[Any, Any] = {}
    for name, of_file in zip(names, ids, strict=True):
        for query in dict.fromkeys(of_file.tolist()):
            if query in seen:
                raise MarginRankError(
                    f"Query {query!r} is in {seen[query]} and in {name}; a query must be in one file. If it "
                    "is the same query, put the files into one; if not, give the queries different ids."
                )
            seen[query] = name
    return np.concatenate(ids)


def all_or_none(names: Sequence[Any], parts: Sequence[Any], what: str) -> Any:
    """Return values of all files one after the other; None where no file has any."""
    missing = [name for name, part in zip(names, parts, strict=True) if part is None]
    if missing and len(missing) < len(parts):
        raise MarginRankError(f"{missing[0]}: some files have {what} and some have none; all must or none.")
    return None if missing else np.concatenate(parts)


def _rows(parts: Sequence[Any]) -> Any:
    width = max(X.shape[1] for X in parts)
    wide: list[Any] = [
        csr_like(X, X.data, shape=(X.shape[0], width)) if is_sparse(X) else _padded(X, width) for X in parts
    ]
    if any(map(is_sparse, wide)):
        rows: list[Any] = [sparse.csr_matrix(X) for X in wide]
        return sparse.vstack(rows, format="csr")
    return np.concatenate(wide)


def _padded(X: Any, width: int) -> Any:
    return X if X.shape[1] == width else np.pad(X, ((0, 0), (0, width - X.shape[1])))


def _comments(parts: Sequence[RankingData]) -> Any:
    if all(part.comments is None for part in parts):
        return None
    return [c for part in parts for c in ([""] * part.n_rows if part.comments is None else part.comments)]
