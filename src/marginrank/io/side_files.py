"""Side files of LightGBM and XGBoost: one number a line, next to the file of the rows.

``train.txt.query`` and ``train.txt.group`` hold the sizes of consecutive queries, ``train.txt.weight`` a
weight per row (LightGBM) or per query (XGBoost).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData, check_data
from marginrank.data.ranking_data import rebuilt
from marginrank.data.validation import check_numbers
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import Destination, write_lines
from marginrank.io.letor_writer import number_text
from marginrank.io.places import is_file, place
from marginrank.io.sources import Source
from marginrank.io.text_lines import text_lines
from marginrank.parameters import check_path

_LARGEST_INT64 = 2**63 - 1


class UnreadWeightsWarning(UserWarning):
    """Weights stand in a file of their own, which is not read."""


def load_group(source: Source) -> NDArray[np.int64]:
    r"""Read the sizes of consecutive queries, one a line: LightGBM's ``.query``, XGBoost's ``.group``.

    Examples
    --------
    >>> load_group(b"3\n2\n")
    array([3, 2])
    """
    sizes = []
    for line in text_lines(source):
        # Python refuses to read integers of thousands of digits.
        digits = line.text.isascii() and line.text.isdigit() and len(line.text) < 20
        if not digits or not 1 <= int(line.text) <= _LARGEST_INT64:
            raise line.expected("the size of a query (an integer from 1)")
        sizes.append(int(line.text))
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
    check_data(data)
    if data.order is not None:
        raise MarginRankError.saying(
            "Sizes describe queries whose rows are next to each other, but these rows are not grouped; sort "
            "the rows by query first.",
            "{data.subset(data.order)} does that.",
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
    for line in text_lines(source):
        weight = line.number()
        if weight is None or not 0 <= weight < np.inf:
            raise line.expected("a weight (a finite number from 0)")
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
    values = check_numbers(weight, "weight")
    write_lines(destination, map(number_text, values.tolist()))


def with_side_files(data: RankingData, path: str | os.PathLike[str]) -> RankingData:
    r"""Return the data with the query sizes and weights of the side files next to ``path``.

    Looks for ``path.query`` or ``path.group`` where the rows have no qid, and for ``path.weight``: one per
    row, or one per query.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from marginrank import RankingData
    >>> file = Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = Path(f"{file}.query").write_text("2\n1\n")
    >>> with_side_files(RankingData([[0.0], [1.0], [2.0]], [0, 1, 2]), file).n_queries
    2
    """
    check_path(path, "path")
    check_data(data)
    sizes = [f"{place(path)}{ending}" for ending in (".query", ".group")]
    found = [side for side in sizes if is_file(side)]
    if data.qid is None and found:
        data = with_group(data, found[0], found[0])
    weight = f"{place(path)}.weight"
    return with_weight(data, weight, weight) if is_file(weight) else data


def with_group(data: RankingData, source: Source, name: str) -> RankingData:
    """Return the data with queries of the sizes that a file has; ``name`` is for the sentences."""
    group = load_group(source)
    if group.sum() != data.n_rows:
        raise MarginRankError(
            f"{name}: expected sizes that sum to the {data.n_rows} rows of the data, got {group.sum()}."
        )
    return rebuilt(data, qid=np.repeat(np.arange(len(group)), group))


def with_weight(data: RankingData, source: Source, name: str) -> RankingData:
    """Return the data with the weights of a file: one per row, or one per query."""
    values = load_weight(source)
    if len(values) == data.n_rows:
        return rebuilt(data, qid=data.qid, sample_weight=values)
    if len(values) == data.n_queries and data.qid is not None:
        return rebuilt(data, qid=data.qid, query_weight=values)
    raise MarginRankError(
        f"{name}: expected a weight for each of {data.n_rows} rows or {data.n_queries} queries, "
        f"got {len(values)}."
    )


def unused_side_files(path: str | os.PathLike[str], *, has_qid: bool) -> list[str]:
    """Return the side files of a text of rows that would change what it means if they were read.

    The sizes of queries say nothing new where the rows have ids; they are not named then.
    """
    endings = (".weight",) if has_qid else (".query", ".group", ".weight")
    sides = (f"{place(path)}{ending}" for ending in endings)
    return [side for side in sides if is_file(side)]
