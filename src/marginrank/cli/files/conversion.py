"""What ``convert`` reads and writes: ranking data, and files about their rows, joined to them.

Everything that is read becomes one :class:`Content`, and everything is written from one, so that a new kind
of file is one reader and one writer, not one for each pair of kinds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from marginrank import io as formats
from marginrank.cli.files.reading import (
    known_docids,
    read_data,
    read_pairs,
    read_scores,
    source_of,
    write_scores,
)
from marginrank.cli.options.reading import Reading
from marginrank.data import RankingData
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError
from marginrank.io.formats import source_format as read_as
from marginrank.io.judgements import listed_queries
from marginrank.io.places import file_name
from marginrank.io.side_files import with_group, with_weight

_PARTS = {
    "labels": "y",
    "query ids": "qid",
    "row weights": "sample_weight",
    "query weights": "query_weight",
    "pairs": "pairs",
    "comments": "comments",
    "feature names": "feature_names",
}


@dataclass(frozen=True)
class Content:
    """Ranking data, scores of their rows where there are any, and the part that the source was about."""

    data: RankingData
    scores: NDArray[np.float64] | None = None
    about: str = "features"
    judgements: formats.Judgements | None = None

    def parts(self) -> list[str]:
        """Return what there is, in words."""
        held = [part for part, name in _PARTS.items() if self._has(name)]
        if self.data.feature_names == tuple(f"f{k + 1}" for k in range(self.data.n_features)):
            held.remove("feature names")  # what tables call features that have none
        return ["features", *held, *(["scores"] if self.scores is not None else [])]

    def _has(self, name: str) -> bool:
        return self.data.has_comments if name == "comments" else getattr(self.data, name) is not None


class _Kind(NamedTuple):
    """A kind of file: its endings, what it holds, and who adds it to rows, if it holds none itself."""

    endings: tuple[str, ...]
    holds: frozenset[str]
    add: Callable[..., Content] | None


def read_content(
    path: str, reading: Reading, data: str | None, *, pairs_by: str, unjudged: float | None, combine: str
) -> Content:
    """Read a file, and the data that it is about where it holds none itself."""
    kind = source_format(path, reading)
    add = FILE_KINDS[kind].add
    if add is None:
        if data is not None:
            raise click.UsageError(f"{path} is read as {kind}, which holds its own rows; leave out --data.")
        return Content(read_data(path, replace(reading, format=kind)))
    if data is None:
        lists = (
            " Without --data they become qrels, or a list in LETOR text (--to letor)."
            if kind == "quepid"
            else ""
        )
        raise click.UsageError(
            f"{path} is read as {kind}, which holds no features; name the rows with --data.{lists}"
        )
    if path == data == "-":
        raise click.UsageError("Only one of the inputs can come from standard input.")
    rows = read_data(data, replace(reading, format=None))
    return add(rows, path, data_path=data, pairs_by=pairs_by, unjudged=unjudged, combine=combine)


def source_format(path: str, reading: Reading) -> str:
    """Return the format that a source is read as."""
    if reading.format or path == "-":
        return reading.format or "letor"
    return format_named(path) or read_as(path)


def lost_parts(content: Content, kind: str) -> list[str]:
    """Return what a kind of file cannot hold of some content; an error if nothing of the matter remains."""
    holds = FILE_KINDS[kind].holds
    if content.about not in holds and content.about != "features":
        raise MarginRankError(
            f"{kind} files cannot hold {content.about}; convert to one of "
            f"{', '.join(name for name, known in FILE_KINDS.items() if content.about in known.holds)}."
        )
    if FILE_KINDS[kind].add:  # small on purpose: nobody expects the features in a file about rows
        return []
    lost = [part for part in content.parts() if part not in holds]
    if kind == "lightgbm" and content.data.qid is not None:
        lost.append("the names of queries (their sizes are kept)")
    return lost


def write_content(content: Content, path: str, kind: str, *, pairs_by: str, tag: str) -> None:
    """Write what a kind of file holds of some content."""
    data, target = content.data, sys.stdout.buffer if path == "-" else path
    if kind in formats.FORMATS:
        formats.write(data, target, format=kind)
    elif kind == "scores":
        write_scores(path, _scores(content))
    elif kind == "run":
        formats.dump_run(*_documents(data), _scores(content), target, tag=tag)
    elif kind == "qrels":
        if data.y is None:
            raise MarginRankError("These data hold pairs and no labels, so there are no qrels to write.")
        formats.dump_qrels(*_documents(data), data.y, target)
    elif kind == "pairs":
        formats.dump_pairs(data, target, ids=formats.docids(data) if pairs_by == "docid" else None)
    elif kind == "group":
        formats.dump_group(data, target)
    else:
        weight = data.sample_weight if data.sample_weight is not None else data.query_weight
        if weight is None:
            raise MarginRankError("These data hold no weights to write.")
        formats.dump_weight(weight, target)


def format_named(path: str) -> str | None:
    """Return the format that the ending of a path stands for, or None.

    Examples
    --------
    >>> format_named("a.run.gz"), format_named("train.txt.query"), format_named("train.txt")
    ('run', 'group', 'letor')
    """
    name = file_name(path).lower().removesuffix(".gz")
    found = (key for key, known in FILE_KINDS.items() if known.add and name.endswith(known.endings))
    return next(found, None) or formats.format_of(path)


def _add_scores(data: RankingData, path: str, **_: Any) -> Content:
    return Content(data, read_scores(path, data.n_rows), "scores")


def _add_run(data: RankingData, path: str, **_: Any) -> Content:
    run = formats.load_run(source_of(path))
    return Content(data, _joined(data, path, run.qid, run.docid, run.score, "score", None), "scores")


def _add_qrels(data: RankingData, path: str, *, unjudged: float | None, **_: Any) -> Content:
    qrels = formats.load_qrels(source_of(path))
    labels = _joined(data, path, qrels.qid, qrels.docid, qrels.label, "judgement", unjudged)
    return Content(rebuilt(data, qid=data.qid, y=labels), about="labels")


def _add_judgements(
    data: RankingData, path: str, *, data_path: str, unjudged: float | None, combine: Any, **_: Any
) -> Content:
    found = formats.load_judgements(source_of(path), combine=combine)
    known: dict[str, str] = {}
    if (
        data_path != "-" and read_as(data_path) == "letor"
    ):  # whose ids have no blanks: a list names its queries
        known = listed_queries(data_path)
    queries = [known.get(" ".join(query.split()), query) for query in found.qid.tolist()]
    labels = _joined(data, path, queries, found.docid, found.label, "judgement", unjudged)
    return Content(rebuilt(data, qid=data.qid, y=labels), about="labels", judgements=found)


def _add_pairs(data: RankingData, path: str, *, pairs_by: str, **_: Any) -> Content:
    found = read_pairs(data, path, pairs_by)
    parts = {"pairs": found.pairs, "pair_weight": found.weight, "pair_margin": found.margin}
    return Content(rebuilt(data, qid=data.qid, **parts), about="pairs")


def _add_group(data: RankingData, path: str, **_: Any) -> Content:
    if data.qid is not None:
        raise MarginRankError(f"The rows have query ids already, so the sizes in {path} say nothing new.")
    return Content(with_group(data, source_of(path), path), about="query ids")


def _add_weight(data: RankingData, path: str, **_: Any) -> Content:
    weighted = with_weight(data, source_of(path), path)
    return Content(weighted, about="query weights" if weighted.sample_weight is None else "row weights")


def _documents(data: RankingData) -> tuple[list[Any], list[str]]:
    """Return the query and the document of each row; TREC files need both."""
    if data.qid is None:
        raise MarginRankError("TREC files name queries, but these rows have no query ids.")
    ids = known_docids(data)
    if ids is None:
        row = formats.docids(data).index(None)
        raise MarginRankError(
            f"TREC files name documents, but row {row} (counted from 0) has no document id: a comment "
            "'#docid = ...' in LETOR text, a column docid in a table."
        )
    return data.qid.tolist(), ids


def _scores(content: Content) -> NDArray[np.float64]:
    if content.scores is None:
        raise MarginRankError(
            "Ranking data hold no scores; convert scores or a run, and name the rows with --data."
        )
    return content.scores


def _joined(
    data: RankingData, path: str, qid: Any, docid: Any, values: Any, what: str, default: float | None
) -> NDArray[np.float64]:
    """Return a value for each row from a file that names query and document; say what has no row."""
    by_name = dict(zip(zip(qid, docid, strict=True), values.tolist(), strict=True))
    queries, documents = _documents(data)
    keys = [(str(query), document) for query, document in zip(queries, documents, strict=True)]
    for row, (query, document) in enumerate(keys):
        if default is None and (query, document) not in by_name:
            advice = " To give such rows a label, use --unjudged." if what == "judgement" else ""
            raise MarginRankError(
                f"{path}: expected a {what} for each row of the data, got none for document {document!r} of "
                f"query {query!r} (row {row}, counted from 0).{advice}"
            )
    if unknown := len(by_name.keys() - set(keys)):
        noun = f"{what}s are" if unknown > 1 else f"{what} is"
        click.echo(f"Warning: {unknown:,} {noun} of documents that the data do not have.", err=True)
    return np.array([by_name.get(key, default) for key in keys], dtype=np.float64)


_ROWS = {"features", "labels", "query ids", "comments"}
#: Every kind of file that ``convert`` knows, by its name.
FILE_KINDS: dict[str, _Kind] = {
    "letor": _Kind((), frozenset(_ROWS), None),
    "lightgbm": _Kind((), frozenset(_ROWS | {"row weights"}), None),
    "npz": _Kind((), frozenset({"features", *_PARTS}), None),
    "mrd": _Kind((), frozenset({"features", *_PARTS}), None),
    "csv": _Kind((), frozenset(_ROWS | {"row weights", "feature names"}), None),
    "parquet": _Kind((), frozenset(_ROWS | {"row weights", "feature names"}), None),
    "qrels": _Kind((".qrels",), frozenset({"labels"}), _add_qrels),
    "quepid": _Kind((".quepid", ".quepid.csv"), frozenset(), _add_judgements),
    "run": _Kind((".run",), frozenset({"scores"}), _add_run),
    "scores": _Kind((".scores",), frozenset({"scores"}), _add_scores),
    "pairs": _Kind((".pairs",), frozenset({"pairs"}), _add_pairs),
    "group": _Kind((".query", ".group"), frozenset({"query ids"}), _add_group),
    "weight": _Kind((".weight",), frozenset({"row weights", "query weights"}), _add_weight),
}
