"""Tables, CSV and Parquet, with a column for the label and, where there is one, the query and the weight."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import narwhals as nw
import numpy as np

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import Destination, open_for_writing
from marginrank.io.sources import Source, read_source


def load_table(
    source: Source,
    *,
    label: str = "label",
    qid: str | None = "qid",
    weight: str | None = "weight",
    format: str | None = None,
) -> RankingData:
    r"""Read a table whose columns are features, but for those named here. Needs ``marginrank[tables]``.

    Parameters
    ----------
    source : path, binary file object or bytes
        CSV (with a header, plain or gzip) or Parquet.
    label, qid, weight : str
        Columns of the labels, the query ids and the row weights. ``qid=None`` is one ranking of all rows. A
        column ``weight`` need not be there; with ``weight=None`` it is a feature.
    format : {"csv", "parquet"}, optional
        By default Parquet where the content starts with its magic bytes, else CSV.

    Examples
    --------
    >>> data = load_table(b"price,qid,label\n3.5,a,1\n2.0,a,0\n")
    >>> data.feature_names, data.X.ravel().tolist(), data.qid.tolist()
    (('price',), [3.5, 2.0], ['a', 'a'])
    """
    raw, name = read_source(source)
    table = _read(raw, name, format)
    frame = nw.from_native(table, eager_only=True)
    if weight == "weight" and weight not in frame.columns:
        weight = None
    special = {"label": label, "qid": qid, "weight": weight}
    for role, column in special.items():
        if column is not None and column not in frame.columns:
            raise MarginRankError(
                f"{name}: expected a column {column!r} for the {role}, got {', '.join(frame.columns[:8])}. "
                f"Pass {role}= the name of the column" + ("." if role == "label" else ", or None.")
            )
    features = frame.drop(*(column for column in special.values() if column is not None))
    try:
        return RankingData(
            features.to_native(),
            frame[label].to_numpy(),
            qid=None if qid is None else _ids(frame[qid]),
            sample_weight=None if weight is None else frame[weight].to_numpy(),
        )
    except MarginRankError as error:
        raise MarginRankError(f"{name}: {error}") from None


def dump_table(
    data: RankingData,
    destination: Destination,
    *,
    label: str = "label",
    qid: str = "qid",
    weight: str = "weight",
    format: str | None = None,
) -> None:
    """Write features, labels, query ids and row weights as a table. Needs ``marginrank[tables]``.

    Features without names are called ``f1``, ``f2``, ...; the format follows the ending of the path.

    Examples
    --------
    >>> file = BytesIO()
    >>> dump_table(RankingData([[0.5], [1.5]], y=[1, 0], qid=["a", "b"]), file, format="csv")
    >>> print(file.getvalue().decode(), end="")
    "label","qid","f1"
    1,"a",0.5
    0,"b",1.5
    """
    arrow = _pyarrow()
    if data.y is None:
        raise MarginRankError("A table has a column of labels, but these data hold pairs and no y.")
    X = data.X if isinstance(data.X, np.ndarray) else data.X.toarray()
    columns: dict[str, Any] = {label: data.y}
    if data.qid is not None:
        columns[qid] = data.qid
    if data.sample_weight is not None:
        columns[weight] = data.sample_weight
    names = data.feature_names or tuple(f"f{k + 1}" for k in range(data.n_features))
    if taken := columns.keys() & set(names):
        raise MarginRankError(
            f"The feature {min(taken)!r} has the name of another column; pass another name."
        )
    columns |= dict(zip(names, X.T, strict=True))
    try:
        table = arrow.table({name: arrow.array(values) for name, values in columns.items()})
    except (arrow.ArrowException, TypeError) as error:
        raise MarginRankError(f"A table holds ids of one type; pyarrow says: {error}") from None
    chosen = format or ("parquet" if _is_parquet(destination) else "csv")
    with open_for_writing(destination) as file:
        file.write(_write(table, chosen))


def _is_parquet(destination: Destination) -> bool:
    return str(destination).lower().endswith((".parquet", ".pq"))


def _read(raw: bytes | bytearray, name: str, format: str | None) -> Any:
    arrow = _pyarrow()
    chosen = format or ("parquet" if raw[:4] == b"PAR1" else "csv")
    try:
        if _check_format(chosen) == "parquet":
            import pyarrow.parquet as parquet

            return parquet.read_table(BytesIO(raw))
        import pyarrow.csv as csv

        return csv.read_csv(BytesIO(raw))
    except (arrow.ArrowException, OSError) as error:
        raise MarginRankError(f"{name}: expected {chosen} data; pyarrow says: {error}") from None


def _write(table: Any, format: str) -> Any:
    memory = BytesIO()
    if _check_format(format) == "parquet":
        import pyarrow.parquet as parquet

        parquet.write_table(table, memory)
    else:
        import pyarrow.csv as csv

        csv.write_csv(table, memory)
    return memory.getbuffer()


def _check_format(format: str) -> str:
    if format not in ("csv", "parquet"):
        raise MarginRankError(f"format must be 'csv' or 'parquet'; got {format!r}.")
    return format


def _ids(column: nw.Series[Any]) -> Any:
    values = column.to_numpy()
    return values if values.dtype.kind != "U" else values.astype(object)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MarginRankError(
            "Tables need pyarrow, which is not installed: pip install 'marginrank[tables]'."
        ) from None
    return pyarrow
