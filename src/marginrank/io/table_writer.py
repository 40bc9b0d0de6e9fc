"""Writing :class:`~marginrank.data.RankingData` as a table, CSV or Parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData, check_data
from marginrank.data.matrices import in_memory, is_sparse, require_memory
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.io.tables import check_columns, check_table_format, pyarrow_module
from marginrank.storage.dataset_rows import dense, spelled

# Values of a piece of data on disk, which is dense on its way.
_VALUES = 8 << 20


def dump_table(
    data: RankingData,
    destination: Destination,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
    comment: str = "comment",
    format: str | None = None,
) -> None:
    """Write features, labels, query ids, row weights and comments as a table. Needs ``marginrank[tables]``.

    Features without names are called ``f1``, ``f2``, ...; the format follows the ending of the path.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_table(RankingData([[0.5], [1.5]], y=[1, 0], qid=["a", "b"]), file, format="csv")
    >>> print(file.getvalue().decode(), end="")
    "label","qid","f1"
    1,"a",0.5
    0,"b",1.5
    """
    check_data(data)
    arrow = pyarrow_module()
    if data.y is None:
        raise MarginRankError("A table has a column of labels, but these data hold pairs and no y.")
    ending = "parquet" if _is_parquet(destination) else "csv"
    chosen = check_table_format(ending if format is None else format)
    names = data.feature_names or tuple(f"f{k + 1}" for k in range(data.n_features))
    texts = data.query_ids is not None and data.query_ids.dtype == object
    roles = {"label": label, "qid": qid, "weight": weight, "comment": comment}
    check_columns(roles, needed=tuple(roles))
    parts = (
        _columns(piece, roles, names, texts=texts, remarks=data.has_comments, format=chosen)
        for piece in _pieces(data)
    )
    try:
        tables = (arrow.table({name: arrow.array(values) for name, values in part.items()}) for part in parts)
        first = next(tables)  # before the file is touched
        with open_for_writing(destination) as file, _writer(file, first.schema, chosen) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)
    except (arrow.ArrowException, TypeError, UnicodeEncodeError) as error:
        raise MarginRankError(f"A table holds ids of one type, in UTF-8; pyarrow says: {error}") from None


def _pieces(data: RankingData) -> Iterator[RankingData]:
    """Return rows in memory: all at once where they lie there, else some millions of values at a time."""
    if in_memory(data.X):
        yield data
        return
    step = max(1, _VALUES // data.n_features)
    for chunk in data.chunks():
        for first in range(0, chunk.n_rows, step):
            yield chunk.subset(np.arange(first, min(first + step, chunk.n_rows)))


def _columns(
    data: RankingData,
    roles: dict[str, str],
    names: tuple[str, ...],
    *,
    texts: bool,
    remarks: bool,
    format: str,
) -> dict[str, Any]:
    """Return the columns of rows in memory; ids as text and remarks where any row of the table has them."""
    ids, comments = data.qid, data.comments
    if ids is not None and texts and ids.dtype != object:
        ids = spelled(ids)
    if remarks and comments is None:
        comments = np.full(data.n_rows, "", dtype=object)
    _check_lines(comments, format)
    parts = {"label": data.y, "qid": ids, "weight": data.sample_weight, "comment": comments}
    columns = {roles[role]: values for role, values in parts.items() if values is not None}
    if taken := columns.keys() & set(names):
        raise MarginRankError(
            f"The feature {min(taken)!r} has the name of another column; pass another name."
        )
    rows = require_memory(data.X)
    X = dense(rows) if is_sparse(rows) else rows
    return columns | dict(zip(names, X.T, strict=True))


def _check_lines(comments: NDArray[Any] | None, format: str) -> None:
    for row, comment in enumerate(() if comments is None or format != "csv" else comments):
        if "\n" in comment or "\r" in comment:
            raise MarginRankError(
                f"A comment in CSV must be one line; that of row {row} is {comment[:40]!r}."
            )


def _is_parquet(destination: Destination) -> bool:
    if not isinstance(destination, str | os.PathLike):
        return False
    return os.fspath(destination).lower().endswith((".parquet", ".pq"))


def _writer(file: IO[bytes], schema: Any, format: str) -> Any:
    if format == "parquet":
        import pyarrow.parquet as parquet

        return parquet.ParquetWriter(_Sink(file), schema)
    import pyarrow.csv as csv

    return csv.CSVWriter(_Sink(file), schema)


class _Sink:
    """A file that pyarrow may write to and close as it likes, and that need not know where it is."""

    closed = False

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._at = file, 0

    def write(self, content: Any) -> int:
        self._file.write(content)
        self._at += len(content)
        return len(content)

    def tell(self) -> int:
        return self._at

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Leave the file open: whoever opened it closes it."""
