"""Side files of LightGBM and XGBoost: one number a line, beside the file of the rows.

``train.txt.query`` and ``train.txt.group`` hold the sizes of consecutive queries, ``train.txt.weight`` a
weight per row (LightGBM) or per query (XGBoost).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import Destination, write_lines
from marginrank.io.letor_writer import number_text
from marginrank.io.sources import Source, read_text

_LARGEST_INT64 = 2**63 - 1
_KEPT = (
    *("sample_weight", "query_weight", "pairs", "pair_weight", "pair_margin"),
    *("feature_names", "comments", "allow_nonfinite"),
)


def load_group(source: Source) -> NDArray[np.int64]:
    r"""Read the sizes of consecutive queries, one a line: LightGBM's ``.query``, XGBoost's ``.group``.

    Examples
    --------
    >>> load_group(b"3\n2\n")
    array([3, 2])
    """
    sizes = []
    for place, line in numbered_lines(source):
        digits = line.isascii() and line.isdigit()
        if not digits or not 1 <= int(line) <= _LARGEST_INT64:
            raise MarginRankError(f"{place}: expected the size of a query (an integer from 1), got {line!r}.")
        sizes.append(int(line))
    return np.array(sizes, dtype=np.int64)


def dump_group(data: RankingData, destination: Destination) -> None:
    r"""Write the sizes of the queries, one a line; the rows of each query must be next to each other.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_group(RankingData([[1], [2], [3]], y=[0, 1, 1], qid=["a", "a", "b"]), file)
    >>> file.getvalue()
    b'2\n1\n'
    """
    if data.order is not None:
        raise MarginRankError(
            "Sizes describe queries whose rows are next to each other, but these rows are not grouped; "
            "write data.subset(data.order)."
        )
    write_lines(destination, np.diff(data.query_ptr).tolist())


def load_weight(source: Source) -> NDArray[np.float64]:
    r"""Read weights, one a line: LightGBM's ``.weight`` (a row each) or XGBoost's (a query each).

    Examples
    --------
    >>> load_weight(b"1\n0.5\n")
    array([1. , 0.5])
    """
    weights = []
    for place, line in numbered_lines(source):
        weight = parse_float(line)
        if weight is None or not 0 <= weight < np.inf:
            raise MarginRankError(f"{place}: expected a weight (a finite number from 0), got {line!r}.")
        weights.append(weight)
    return np.array(weights, dtype=np.float64)


def dump_weight(weight: Any, destination: Destination) -> None:
    r"""Write weights, one a line: ``data.sample_weight`` or ``data.query_weight``.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_weight([1.0, 0.25], file)
    >>> file.getvalue()
    b'1\n0.25\n'
    """
    values = np.asarray(weight, dtype=np.float64)
    if values.ndim != 1:
        raise MarginRankError(f"weight must be 1-D, one number a line; got shape {values.shape}.")
    write_lines(destination, map(number_text, values.tolist()))


def with_side_files(data: RankingData, path: str | os.PathLike[str]) -> RankingData:
    """Return the data with the query sizes and weights of the side files that lie beside ``path``.

    Looks for ``path.query`` or ``path.group`` where the rows have no qid, and for ``path.weight``: one per
    row, or one per query.
    """
    group, qid = None, data.qid
    found = [
        side for ending in (".query", ".group") if (side := Path(f"{os.fspath(path)}{ending}")).is_file()
    ]
    if qid is None and found:
        group = load_group(found[0])
        if group.sum() != data.n_rows:
            raise MarginRankError(
                f"{found[0]}: expected sizes that sum to the {data.n_rows} rows of {path}, got {group.sum()}."
            )
    weight = Path(f"{os.fspath(path)}.weight")
    if group is None and not weight.is_file():
        return data
    result = rebuilt(data, qid=qid, group=group)
    return _weighted(result, weight, qid, group) if weight.is_file() else result


def _weighted(data: RankingData, side: Path, qid: Any, group: Any) -> RankingData:
    values = load_weight(side)
    if len(values) == data.n_rows:
        return rebuilt(data, qid=qid, group=group, sample_weight=values)
    if len(values) == data.n_queries and data.qid is not None:
        return rebuilt(data, qid=qid, group=group, query_weight=values)
    raise MarginRankError(
        f"{side}: expected a weight for each of {data.n_rows} rows or {data.n_queries} queries, "
        f"got {len(values)}."
    )


def rebuilt(data: RankingData, **changed: Any) -> RankingData:
    """Return the data with some of their parts replaced, and validated again."""
    kept = {name: getattr(data, name) for name in _KEPT}
    return RankingData(data.X, **({"y": data.y} | kept | changed))


def numbered_lines(source: Source) -> Iterator[tuple[str, str]]:
    """Yield ``name:line`` and the stripped text of each line that is not blank; one must be there."""
    text, name = read_text(source)
    empty = True
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip(" \t\r"):
            empty = False
            yield f"{name}:{number}", stripped
    if empty:
        raise MarginRankError(f"{name}: expected at least one line, got none.")


def parse_float(text: str) -> float | None:
    """Return a number, or None: what Python reads, without its underscores and foreign digits."""
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None
