"""Weights that other programs have learnt, read from their model files: the text of linear models.

A program is a function here and a line in ``PROGRAMS``. Features are numbered from 1 in all of these files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.io.sources import Source
from marginrank.io.text_lines import Piece, text_lines
from marginrank.types import Vector

# A weight for each number up to the largest is kept: a typing error must not take all memory.
_MOST_FEATURES = 10_000_000


class Weights(NamedTuple):
    """What a model file holds: weights by number of the feature, from 1; a constant; the least width."""

    by_number: Mapping[int, float]
    intercept: float
    n_features: int
    about: Mapping[str, Any]

    def dense(self, n_features: int) -> Vector:
        """Return the weights of so many columns."""
        coef = np.zeros(n_features)
        for number, weight in self.by_number.items():
            coef[number - 1] = weight
        return coef


def read_weights(source: Source, program: str) -> Weights:
    """Read the model file of a program of ``PROGRAMS``.

    Examples
    --------
    >>> found = read_weights(b"1:0.5 3:-2.0", "ranklib")
    >>> found.dense(3).tolist(), found.intercept
    ([0.5, 0.0, -2.0], 0.0)
    """
    return PROGRAMS[program](list(text_lines(source)))


#: Models of RankLib that are a weighted sum of features; the others are trees and networks.
_RANKLIB_LINEAR = ("Coordinate Ascent", "Linear Regression", "AdaRank")


def _ranklib(lines: list[Piece]) -> Weights:
    """Coordinate ascent, linear regression (feature 0 is its constant) and AdaRank (features may repeat)."""
    heads = [line for line in lines if line.text.startswith("##")]
    name = heads[0].text.strip("# \t") if heads else None
    if name is not None and name not in _RANKLIB_LINEAR:
        raise heads[0].expected(f"a linear model ({', '.join(_RANKLIB_LINEAR)})", repr(name[:40]))
    body = [line for line in lines if not line.text.startswith("##")]
    if not body:
        raise lines[-1].expected("a line of feature:weight", "comments only")
    if len(body) > 1:
        raise body[1].expected("the end of the file after the line of weights")
    by_number: dict[int, float] = {}
    for number, weight, piece in _entries(body[0].fields(r"[ \t]+"), least=0):
        if number in by_number and name != "AdaRank":
            raise piece.expected("each feature once")
        by_number[number] = by_number.get(number, 0.0) + weight
    intercept = by_number.pop(0, 0.0)
    return Weights(by_number, intercept, max(by_number, default=1), {"model": name or "linear"})


# What a line of the header says, in the comment after its value.
_SVM_HEADER = {
    "kernel type": "kernel",
    "highest feature index": "width",
    "number of support vectors plus 1": "count",
    "threshold b": "threshold",
}


def _svmrank(lines: list[Piece]) -> Weights:
    """SVM^rank, SVM^light and their relatives: support vectors times what they weigh, less a threshold."""
    if not lines[0].text.startswith("SVM"):
        raise lines[0].expected("a model file of SVM^rank, whose first line is 'SVM-rank Version ...'")
    header: dict[str, float] = {}
    vectors: list[Piece] = []
    for k, line in enumerate(lines[1:], 2):
        value, _, comment = line.text.partition("#")
        for words, name in _SVM_HEADER.items():
            if comment.strip().startswith(words):
                header[name] = _number(_part(line, value))
        if "threshold" in header:
            vectors = lines[k:]
            break
    missing = [words for words, name in _SVM_HEADER.items() if name not in header]
    if missing:
        raise lines[-1].expected(f"a line '... # {missing[0]}' above the support vectors", "none")
    if header["kernel"] != 0:
        raise lines[0].expected("a linear kernel (-t 0)", f"kernel type {header['kernel']:g}")
    if len(vectors) != header["count"] - 1:
        raise lines[-1].expected(f"{header['count'] - 1:g} support vectors", f"{len(vectors)}")
    by_number: dict[int, float] = {}
    for line in vectors:
        first, *rest = _part(line, line.text.partition("#")[0]).fields(r"[ \t]+")
        factor = _number(first)
        entries = [piece for piece in rest if not re.match(r"(qid|sid|cost):", piece.text)]
        for number, entry, _ in _entries(entries, least=1):
            by_number[number] = by_number.get(number, 0.0) + factor * entry
    # A threshold of 0 is no intercept of -0.
    intercept = 0.0 - header["threshold"]
    width = _width(header["width"], lines[0])
    return Weights(by_number, intercept, max([width, *by_number]), {"version": lines[0].text[:60]})


_LIBLINEAR_KEYS = ("solver_type", "nr_class", "label", "nr_feature", "bias", "w")


def _liblinear(lines: list[Piece]) -> Weights:
    """LIBLINEAR and its ranking SVM: one weight a line; of two classes, the larger label scores higher."""
    header: dict[str, list[Piece]] = {}
    rows: list[Piece] = []
    for k, line in enumerate(lines, 1):
        key, *values = line.fields(r"[ \t]+")
        if key.text not in _LIBLINEAR_KEYS:
            raise key.expected(f"one of {', '.join(_LIBLINEAR_KEYS)}")
        header[key.text] = values
        if key.text == "w":
            rows = lines[k:]
            break
    for key_name in ("solver_type", "nr_class", "nr_feature", "bias", "w"):
        if key_name not in header or (key_name != "w" and len(header[key_name]) != 1):
            raise lines[-1].expected(f"a line '{key_name} ...' above the weights", "none")
    classes = _number(header["nr_class"][0])
    if classes != 2:
        raise header["nr_class"][0].expected("a model of two classes, of regression or of ranking")
    width, bias = (
        _width(_number(header["nr_feature"][0]), header["nr_feature"][0]),
        _number(header["bias"][0]),
    )
    if len(rows) != width + (bias >= 0):
        raise lines[-1].expected(f"{width + (bias >= 0)} lines of weights", f"{len(rows)}")
    sign = _sign(header.get("label", []))
    weights = [sign * _number(row) for row in rows]
    intercept = 0.0 + bias * weights[width] if bias >= 0 else 0.0
    by_number = {j + 1: weight for j, weight in enumerate(weights[:width]) if weight}
    return Weights(by_number, intercept, width, {"solver_type": header["solver_type"][0].text[:40]})


def _sign(labels: list[Piece]) -> float:
    """Return -1 where LIBLINEAR gives positive values to the smaller of two labels, which it names first."""
    values = [_number(label) for label in labels]
    return -1.0 if len(values) == 2 and values[0] < values[1] else 1.0


#: Programs whose models are read, each from the lines of a file that are not blank.
PROGRAMS: Mapping[str, Callable[[list[Piece]], Weights]] = {
    "ranklib": _ranklib,
    "svmrank": _svmrank,
    "liblinear": _liblinear,
}


def _entries(pieces: Iterable[Piece], least: int) -> Iterable[tuple[int, float, Piece]]:
    """Yield number and value of each ``number:value``."""
    for piece in pieces:
        if not piece.text:
            continue
        before, colon, after = piece.text.partition(":")
        if not colon or not before.isascii() or not before.isdigit():
            raise piece.expected("feature:weight")
        # Of so many digits that Python would refuse to convert them, it is too large anyway.
        number = int(before) if len(before) < 20 else _MOST_FEATURES + 1
        if not least <= number <= _MOST_FEATURES:
            raise piece.expected(f"a feature number from {least} to {_MOST_FEATURES:,}")
        yield number, _number(piece._replace(text=after)), piece


def _number(piece: Piece) -> float:
    value = piece.number()
    if value is None or not np.isfinite(value):
        raise piece.expected("a finite number")
    return value


def _part(line: Piece, text: str) -> Piece:
    return line._replace(text=text.strip(" \t\r"))


def _width(value: float, where: Piece) -> int:
    if value != int(value) or not 1 <= value <= _MOST_FEATURES:
        raise where.expected(f"a number of features from 1 to {_MOST_FEATURES:,}", f"{value:g}")
    return int(value)


def width_of(found: Weights, n_features: int | None) -> int:
    """Return the width of a model of these weights, which is at least theirs."""
    if n_features is None:
        return found.n_features
    largest = max(found.by_number, default=1)
    if n_features < largest:
        raise MarginRankError.saying(
            "The file has a weight for feature {largest:d}, so {n_features} must be at least that; got "
            "{given:d}.",
            largest=largest,
            given=n_features,
        )
    return n_features
