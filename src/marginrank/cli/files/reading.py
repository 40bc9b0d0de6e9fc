"""What commands read and write: data by the ending of their name, scores one a line, ``-`` for streams."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from marginrank import io as formats
from marginrank.cli import interrupts
from marginrank.cli.options.reading import Reading
from marginrank.data import RankingData
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError, shown_path
from marginrank.io.destinations import open_for_writing
from marginrank.io.formats import source_format
from marginrank.io.joined import joined
from marginrank.io.places import is_there, place
from marginrank.io.text_lines import text_lines


def read_data(path: str, reading: Reading) -> RankingData:
    """Read ranking data from a file, or from standard input."""
    format = reading.format or ("letor" if path == "-" else source_format(path))
    arguments = reading.arguments(path, format)
    return formats.read(sys.stdin.buffer if path == "-" else path, format=format, **arguments)


def read_files(paths: Sequence[str], reading: Reading) -> RankingData:
    """Read ranking data from one file, or from several that lie in memory one after the other."""
    if len(paths) == 1:
        return read_data(paths[0], reading)
    if list(paths).count("-") > 1:
        raise MarginRankError("Only one of the inputs can come from standard input.")
    for path in paths:
        if path != "-" and (reading.format or formats.format_of(path)) == "mrd":
            raise MarginRankError(
                f"{path}: an .mrd folder stands alone; name it alone, or files that are read into memory."
            )
    return joined(paths, [read_data(path, reading) for path in paths])


def keep_apart(outputs: Iterable[str | None], inputs: Iterable[str | None]) -> None:
    """Refuse to replace a file that is read."""
    read = [path for path in map(place, filter(None, inputs)) if os.path.exists(path)]
    for output in map(place, filter(None, outputs)):
        if os.path.isfile(output):
            for path in read:
                if os.path.samefile(output, path):
                    raise MarginRankError(
                        f"{output}: the result would replace a file that is read; write elsewhere."
                    )


def check_files(**paths: str | None) -> None:
    """Refuse options that name files which are not there, by the parameters that they set."""
    for parameter, path in paths.items():
        if path is not None and path != "-" and not is_there(path):
            raise MarginRankError.naming(
                parameter, f"must be a file; there is none called {shown_path(path)}."
            )


def source_of(path: str) -> str | bytes:
    """Return what the readers of small files take: the path, or the content of standard input."""
    return sys.stdin.buffer.read() if path == "-" else path


def read_names(path: str) -> list[str]:
    """Read names of features, one a line; their numbers may stand before them, as in ``1<tab>bm25``."""
    lines = [line.text for line in text_lines(source_of(path))]
    numbered = [line.split(maxsplit=1) for line in lines]
    if all(len(one) == 2 and one[0] == str(k) for k, one in enumerate(numbered, 1)):
        return [name for _, name in numbered]
    return lines


def labelled(data: RankingData, path: str) -> NDArray[np.float64]:
    """Return the labels of data that must have them."""
    if data.y is None:
        raise MarginRankError(f"{path}: expected labels to measure against, got none.")
    return np.asarray(data.y)  # of data on workers they may be elsewhere


def known_docids(data: RankingData) -> list[str] | None:
    """Return the document ids in the comments, if every row has one."""
    ids = formats.docids(data)
    return None if None in ids else [str(name) for name in ids]


def read_pairs(data: RankingData, path: str, by: str) -> formats.Pairs:
    """Read preferences between the rows of data; ``by`` is "row", "docid" or "auto"."""
    source = source_of(path)
    ids = known_docids(data)
    if by == "docid" and ids is None:
        raise MarginRankError(
            "Not every row has a document id that pairs could refer to: a comment '#docid = ...' in LETOR "
            "text, a column docid in a table."
        )
    by_id = by == "docid" or (by == "auto" and _pairs_are_ids(source, path, ids, data.n_rows))
    return formats.load_pairs(source, ids=ids if by_id else None, n_rows=data.n_rows)


def with_pairs(data: RankingData, path: str, by: str) -> RankingData:
    """Return the rows with the preferences of a file in place of their labels."""
    found = read_pairs(data, path, by)
    unlabelled = {"y": None, "sample_weight": None, "query_weight": None}
    pairs = {"pairs": found.pairs, "pair_weight": found.weight, "pair_margin": found.margin}
    return rebuilt(data, qid=data.qid, **unlabelled, **pairs)


def with_weights(data: RankingData, path: str) -> RankingData:
    """Return the data with a weight for each row, one a line of a file."""
    weight = formats.load_weight(source_of(path))
    if len(weight) != data.n_rows:
        raise MarginRankError(
            f"{path}: expected one weight for each of the {data.n_rows} rows of the data, got {len(weight)}."
        )
    return rebuilt(data, qid=data.qid, sample_weight=weight)


def _pairs_are_ids(source: str | bytes, path: str, ids: list[str] | None, n_rows: int) -> bool:
    """Whether winners and losers are document ids; an error where they could be row numbers as well."""
    if ids is None:
        return False
    lines = [[field.text for field in line.fields(",")[:2]] for line in text_lines(source)]
    if [field.lower() for field in lines[0]] == ["winner", "loser"]:
        lines = lines[1:]
    fields = {field for line in lines for field in line}
    are_ids = fields <= set(ids)
    if are_ids and all(field.isdigit() and int(field) < n_rows for field in fields):
        raise MarginRankError(
            f"{path}: winners and losers can be read as row numbers and as document ids; "
            "say which with --pairs-by row or --pairs-by docid."
        )
    return are_ids or not all(field.isdigit() for field in fields)


def is_model(path: str) -> bool:
    """Whether a path names a model, by its ending."""
    return path.lower().endswith(".mrk")


def check_places(data: Iterable[str], order: str) -> None:
    """Refuse a model in the place of data; ``order`` is the right one, as the help says it."""
    for path in data:
        if is_model(path):
            raise click.UsageError(f"{path} is a model, where data are expected; the order is {order}.")


def read_scores(path: str, n_rows: int) -> NDArray[np.float64]:
    """Read one score a line."""
    scores = []
    for line in text_lines(source_of(path)):
        score = line.number()
        if score is None or not np.isfinite(score):
            raise line.expected("one finite score")
        scores.append(score)
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
    with interrupts.orderly(writes=True), open_for_writing(path) as file:
        file.write(text.encode("utf-8", "surrogateescape"))
