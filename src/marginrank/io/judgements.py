"""Judgements of several raters, as Quepid exports them: one label for each document of a query."""

from __future__ import annotations

import csv
import io
from collections import Counter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.io.destinations import Destination, write_lines
from marginrank.io.letor_writer import id_text, number_text
from marginrank.io.sources import Source, read_text
from marginrank.parameters import check_choice

Combine = Literal["mean", "majority"]
COMBINATIONS = ("mean", "majority")

_QUERIES = ("query", "query text", "query_text")
_DOCUMENTS = ("docid", "doc_id", "doc id")
_RATING = "rating"
_RATERS = ("rater", "judge", "user", "username")


class Judgements(NamedTuple):
    r"""A label for each document of a query, in order of first appearance, and how far raters agree.

    Attributes
    ----------
    qid, docid : ndarray of str
        Query, as it was typed, and document.
    label : ndarray of float
        Mean or most frequent rating.
    n_ratings : int
        Ratings that there were.
    agreement : float
        Of two ratings of the same document, how often they are equal; NaN where no document has two.
    alpha : float
        Krippendorff's alpha for intervals: 1 for agreement, 0 for that of chance; NaN where it is undefined.

    Examples
    --------
    >>> from marginrank.io import load_judgements
    >>> found = load_judgements(b"query,docid,rating\nred,d1,2\nred,d1,2\nred,d2,0\n")
    >>> found.docid.tolist(), found.label.tolist(), found.agreement
    (['d1', 'd2'], [2.0, 0.0], 1.0)
    """

    qid: NDArray[Any]
    docid: NDArray[Any]
    label: NDArray[np.float64]
    n_ratings: int
    agreement: float
    alpha: float


def load_judgements(source: Source, *, combine: Combine = "mean") -> Judgements:
    r"""Read judgements as Quepid exports them, and make one label of the ratings of a document.

    Parameters
    ----------
    source : path, binary file object or bytes
        CSV with the columns ``query`` and ``docid`` (or ``Query Text`` and ``Doc ID``), and either a column
        ``rating``, a row for each rating, or a column for each rater, whose empty cells are no rating.
    combine : {"mean", "majority"}, default="mean"
        The mean of the ratings, or the most frequent one; of several the lowest.

    Returns
    -------
    Judgements
        Documents without a rating are left out.

    Examples
    --------
    >>> found = load_judgements(b"query,docid,ann,bob\nstar wars,1,3,2\nstar wars,2,0,\n")
    >>> found.qid.tolist(), found.docid.tolist(), found.label.tolist(), found.n_ratings
    (['star wars', 'star wars'], ['1', '2'], [2.5, 0.0], 3)
    """
    check_choice("combine", combine, COMBINATIONS)
    text, name = read_text(source)
    by_document: dict[tuple[str, str], list[float]] = {}
    for query, document, ratings in _rows(text, name):
        by_document.setdefault((query, document), []).extend(ratings)
    rated = {key: ratings for key, ratings in by_document.items() if ratings}
    if not rated:
        raise MarginRankError(f"{name}: expected ratings, got none.")
    label = _majority if combine == "majority" else _mean
    agreement, alpha = _agreement(list(rated.values()))
    return Judgements(
        np.array([query for query, _ in rated], dtype=object),
        np.array([document for _, document in rated], dtype=object),
        np.array([label(ratings) for ratings in rated.values()]),
        sum(map(len, rated.values())),
        agreement,
        alpha,
    )


def dump_judgements(judgements: Judgements, destination: Destination) -> None:
    r"""Write judgements as a list in LETOR text, to which features are still to be added.

    A line is ``label qid:number #docid = document``, without features; lines of comments at the top tell the
    query of each number. Search engines' tools for logging features know such lists.

    Parameters
    ----------
    judgements : Judgements
        As :func:`load_judgements` returns them.
    destination : path or binary file object
        A path is written under a temporary name and renamed, so that there is never half a file.

    Examples
    --------
    >>> from io import BytesIO
    >>> from marginrank.io import dump_judgements, load_judgements
    >>> file = BytesIO()
    >>> dump_judgements(load_judgements(b"query,docid,rating\nstar wars,11,3\nstar wars,12,0\n"), file)
    >>> print(file.getvalue().decode(), end="")
    # qid:1: star wars
    3 qid:1 #docid = 11
    0 qid:1 #docid = 12
    """
    if not isinstance(judgements, Judgements):
        raise ParameterError("judgements", "what load_judgements returns", judgements)
    numbers = {query: k for k, query in enumerate(dict.fromkeys(judgements.qid.tolist()), 1)}
    lines = [f"# qid:{number}: {' '.join(query.split())}" for query, number in numbers.items()]
    rows = zip(judgements.qid.tolist(), judgements.docid.tolist(), judgements.label.tolist(), strict=True)
    for query, document, label in sorted(rows, key=lambda row: numbers[row[0]]):
        lines.append(f"{number_text(label)} qid:{numbers[query]} #docid = {id_text(document, name='docid')}")
    write_lines(destination, lines)


def listed_queries(source: Source) -> dict[str, str]:
    r"""Return the ids of queries by their text, from the comments at the top of a list of judgements.

    Examples
    --------
    >>> listed_queries(b"# qid:1: star wars\n3 qid:1 1:0.5 #docid = 11\n")
    {'star wars': '1'}
    """
    queries: dict[str, str] = {}
    for line in read_text(source)[0].splitlines():
        if not line.startswith("#"):
            break
        number, colon, query = line.removeprefix("# qid:").partition(": ")
        if line.startswith("# qid:") and colon:
            queries[query.strip()] = number
    return queries


def _rows(text: str, name: str) -> Any:
    """Yield query, document and the ratings of each line."""
    lines = csv.reader(io.StringIO(text, newline=""))
    header = [cell.strip().lower() for cell in next(lines, [])]
    place = {cell: k for k, cell in reversed(list(enumerate(header)))}
    query = next((place[cell] for cell in _QUERIES if cell in place), None)
    document = next((place[cell] for cell in _DOCUMENTS if cell in place), None)
    if query is None or document is None:
        raise MarginRankError(
            f"{name}:1: expected a header with the columns query and docid, got {header[:8]}."
        )
    if _RATING in place:
        columns = [place[_RATING]]
    else:
        columns = [k for k in range(len(header)) if k not in (query, document)]
    if not columns:
        raise MarginRankError(f"{name}:1: expected a column rating, or one for each rater; got neither.")
    try:
        for cells in lines:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{name}:{lines.line_num}"
            if len(cells) != len(header):
                raise MarginRankError(f"{where}: expected {len(header)} cells, got {len(cells)}.")
            ratings = [_rating(cells[k], where) for k in columns if cells[k].strip()]
            yield cells[query].strip(), cells[document].strip(), ratings
    except csv.Error as error:
        raise MarginRankError(f"{name}:{lines.line_num}: expected CSV; {error}.") from None


def _rating(cell: str, where: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number) or "_" in cell:
        raise MarginRankError(f"{where}: expected a rating, a number, got {cell[:40]!r}.")
    return number


def _mean(ratings: list[float]) -> float:
    return sum(ratings) / len(ratings)


def _majority(ratings: list[float]) -> float:
    counts = Counter(ratings)
    most = max(counts.values())
    return min(rating for rating, count in counts.items() if count == most)


def _agreement(rated: list[list[float]]) -> tuple[float, float]:
    """Return the share of equal pairs of ratings of a document, and Krippendorff's alpha."""
    several = [np.array(ratings) for ratings in rated if len(ratings) > 1]
    if not several:
        return float("nan"), float("nan")
    equal = sum((np.sum(r[:, None] == r[None, :]) - len(r)) / 2 for r in several)
    pairs = sum(len(r) * (len(r) - 1) / 2 for r in several)
    # Squared differences within documents, and among all ratings; both as means over pairs.
    together = np.concatenate(several)
    within = sum(2.0 * len(r) * np.sum((r - r.mean()) ** 2) / (len(r) - 1) for r in several) / len(together)
    among = 2.0 * np.sum((together - together.mean()) ** 2) / (len(together) - 1)
    alpha = 1.0 - within / among if among > 0.0 else float("nan")
    return float(equal / pairs), float(alpha)
