"""TREC files: qrels (judgements) and runs (ranked lists)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.data.validation import check_numbers
from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.io.destinations import Destination, write_lines
from marginrank.io.letor_writer import id_text, number_text
from marginrank.io.sources import Source
from marginrank.io.text_lines import counted, text_lines
from marginrank.parameters import as_list

_BLANKS = r"[ \t]+"  # str.split() would also cut ids at the blanks of other alphabets


class Qrels(NamedTuple):
    r"""Judgements, one per line of the file; higher labels are better.

    Examples
    --------
    >>> from marginrank.io import load_qrels
    >>> found = load_qrels(b"101 0 doc7 2\n101 0 doc9 0\n")
    >>> found.qid.tolist(), found.docid.tolist(), found.label.tolist()
    (['101', '101'], ['doc7', 'doc9'], [2.0, 0.0])
    """

    qid: NDArray[Any]
    docid: NDArray[Any]
    label: NDArray[np.float64]


class Run(NamedTuple):
    r"""Ranked lists, one document per line of the file; higher scores are better.

    Examples
    --------
    >>> from marginrank.io import load_run
    >>> found = load_run(b"101 Q0 doc9 1 0.8 mine\n101 Q0 doc7 2 0.5 mine\n")
    >>> found.docid.tolist(), found.score.tolist(), found.tag
    (['doc9', 'doc7'], [0.8, 0.5], 'mine')
    """

    qid: NDArray[Any]
    docid: NDArray[Any]
    score: NDArray[np.float64]
    tag: str


def load_qrels(source: Source) -> Qrels:
    r"""Read TREC judgements: ``qid iteration docid label``, one a line.

    Examples
    --------
    >>> load_qrels(b"101 0 doc7 2\n101 0 doc9 0\n").label
    array([2., 0.])
    """
    rows = _rows(source, "qid iteration docid label", label=3)
    return Qrels(_strings(rows, 0), _strings(rows, 2), _numbers(rows, 3))


def load_run(source: Source) -> Run:
    r"""Read a TREC run: ``qid Q0 docid rank score tag``, one a line. Ranks follow from the scores.

    Examples
    --------
    >>> run = load_run(b"101 Q0 doc7 1 3.5 mine\n101 Q0 doc9 2 1.25 mine\n")
    >>> run.docid.tolist(), run.score.tolist(), run.tag
    (['doc7', 'doc9'], [3.5, 1.25], 'mine')
    """
    rows = _rows(source, "qid Q0 docid rank score tag", score=4)
    return Run(_strings(rows, 0), _strings(rows, 2), _numbers(rows, 4), rows[0][5])


def dump_qrels(qid: Sequence[Any], docid: Sequence[Any], label: Any, destination: Destination) -> None:
    r"""Write TREC judgements: ``qid 0 docid label``, one a line.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_qrels([101, 101], ["doc7", "doc9"], [2, 0], file)
    >>> file.getvalue()
    b'101 0 doc7 2\n101 0 doc9 0\n'
    """
    columns = _columns(qid, docid, label, "label")
    write_lines(destination, (f"{q} 0 {d} {number_text(v)}" for q, d, v in zip(*columns, strict=True)))


def dump_run(
    qid: Sequence[Any],
    docid: Sequence[Any],
    score: Any,
    destination: Destination,
    *,
    tag: str = "marginrank",
) -> None:
    """Write a TREC run: ``qid Q0 docid rank score tag``, queries in order of appearance, best score first.

    Documents with equal scores keep their order.

    Examples
    --------
    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> dump_run([101, 101], ["doc7", "doc9"], [0.5, 1.5], file)
    >>> print(file.getvalue().decode(), end="")
    101 Q0 doc9 1 1.5 marginrank
    101 Q0 doc7 2 0.5 marginrank
    """
    if not isinstance(tag, str):
        raise ParameterError("tag", "a word", tag)
    tag = id_text(tag, name="tag")
    by_query: dict[str, list[tuple[str, float]]] = {}
    for query, document, value in zip(*_columns(qid, docid, score, "score"), strict=True):
        by_query.setdefault(query, []).append((document, value))
    write_lines(
        destination,
        (
            f"{query} Q0 {document} {rank} {number_text(value)} {tag}"
            for query, documents in by_query.items()
            for rank, (document, value) in enumerate(sorted(documents, key=lambda item: -item[1]), 1)
        ),
    )


def _rows(source: Source, layout: str, **number: int) -> list[list[Any]]:
    names = layout.split()
    ((name, column),) = number.items()
    rows: list[list[Any]] = []
    seen: dict[tuple[str, str], int] = {}
    for line in text_lines(source):
        fields = line.fields(_BLANKS)
        if len(fields) != len(names):
            raise line.expected(f"'{layout}'", counted(len(fields), "field"))
        value = fields[column].number()
        if value is None or not np.isfinite(value):
            raise fields[column].expected(f"a {name} (a finite number)")
        key = (fields[0].text, fields[2].text)
        if key in seen:
            again = f"{key[1]!r} of query {key[0]!r} again (first in line {seen[key]})"
            raise fields[2].expected("each document once in a query", again)
        seen[key] = line.line
        row: list[Any] = [field.text for field in fields]
        row[column] = value
        rows.append(row)
    return rows


def _columns(qid: Any, docid: Any, values: Any, name: str) -> tuple[list[str], list[str], list[float]]:
    queries, documents = _listed(qid, "qid"), _listed(docid, "docid")
    numbers = check_numbers(values, name)
    if not len(queries) == len(documents) == len(numbers):
        raise MarginRankError(
            f"qid, docid and {name} must have one entry per row; "
            f"got {len(queries)}, {len(documents)} and {len(numbers)}."
        )
    return (
        [id_text(query, name="qid") for query in queries],
        [id_text(document, name="docid") for document in documents],
        numbers.tolist(),
    )


def _listed(ids: Any, name: str) -> list[Any]:
    found = as_list(ids)
    if found is None:
        raise ParameterError(name, "a list of ids, one per row", ids)
    return found


def _strings(rows: list[list[Any]], column: int) -> NDArray[Any]:
    return np.fromiter((row[column] for row in rows), dtype=object, count=len(rows))


def _numbers(rows: list[list[Any]], column: int) -> NDArray[np.float64]:
    return np.array([row[column] for row in rows], dtype=np.float64)
