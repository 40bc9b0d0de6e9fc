"""What commands read and write: data by the ending of their name, scores one a line, ``-`` for streams."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank import io as formats
from marginrank.atomic_write import atomic_write
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError


def read_data(path: str, format: str | None = None) -> RankingData:
    """Read ranking data from a file, or from standard input."""
    return formats.read(sys.stdin.buffer if path == "-" else path, format=format)


def with_pairs(data: RankingData, path: str) -> RankingData:
    """Return the rows with the preferences of a file, by row numbers or by the ids in the comments."""
    source = sys.stdin.buffer.read() if path == "-" else path
    ids = formats.docids(data)
    by_id = None not in ids and not _holds_row_numbers(path)
    found = formats.load_pairs(source, ids=ids if by_id else None, n_rows=data.n_rows)
    return RankingData(
        data.X,
        pairs=found.pairs,
        pair_weight=found.weight,
        pair_margin=found.margin,
        feature_names=data.feature_names,
    )


def with_weights(data: RankingData, path: str) -> RankingData:
    """Return the data with a weight for each row, one a line of a file."""
    weight = formats.load_weight(path)
    return RankingData(data.X, data.y, qid=data.qid, sample_weight=weight, feature_names=data.feature_names)


def _holds_row_numbers(path: str) -> bool:
    """Whether winners and losers are whole numbers from the second line on; the first may be a header."""
    if path == "-":
        return True
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.split(",")[:2] for line in list(file)[1:] if line.strip()]
    return bool(lines) and all(field.strip().isdigit() for fields in lines for field in fields)


def read_scores(path: str, n_rows: int) -> NDArray[np.float64]:
    """Read one score a line."""
    text = sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    scores = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            scores.append(float(line))
        except ValueError:
            raise MarginRankError(
                f"{path}:{number}: expected one score, got {line.strip()[:40]!r}."
            ) from None
    if len(scores) != n_rows:
        raise MarginRankError(
            f"{path}: expected one score for each of the {n_rows} rows of the data, got {len(scores)}."
        )
    return np.array(scores)


def write_scores(path: str, scores: Iterable[float]) -> None:
    """Write one score a line, in the shortest form that reads back to the same number."""
    write_text(path, "".join(f"{float(score)!r}\n" for score in scores))


def write_table(path: str, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a CSV file."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all, or to standard output."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    with atomic_write(path) as file:
        file.write(text.encode())
