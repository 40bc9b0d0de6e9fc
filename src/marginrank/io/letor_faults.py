"""Sentences about what the native parser found: file, line and column, what was expected, what came."""

from __future__ import annotations

from typing import NamedTuple

from marginrank.exceptions import MarginRankError, Sentence

_LONGEST = 40
#: What to do about a value that is not there.
AS_MISSING = "To read it as missing, {pass} {missing=0.0} or {missing=float('nan')}."
_FEATURE = "expected a feature '<index>:<value>'"


class Limits(NamedTuple):
    """The arguments of the reader that its error messages depend on."""

    n_features: int | None
    max_feature: int
    zero_based: bool


def letor_error(
    text: bytes | bytearray, name: str, problem: tuple[int, int, int], limits: Limits, lines_before: int = 0
) -> MarginRankError:
    """Return the error for a problem that the parser found at bytes ``begin`` to ``end`` of the text.

    The text may be a piece of a file, which has ``lines_before`` lines before it.
    """
    fault, begin, end = problem
    token = bytes(text[begin:end]).decode("utf-8", "backslashreplace")
    if len(token) > _LONGEST:
        token = token[:_LONGEST] + "..."
    where = place(text, name, begin, lines_before)
    return MarginRankError(Sentence.of(_sentence(fault, token, limits)).after(f"{where}: "))


def place(text: bytes | bytearray, name: str, at: int, lines_before: int = 0) -> str:
    """Return ``name:line:column`` of a byte; lines and columns count from 1, columns in characters."""
    line = lines_before + text.count(b"\n", 0, at) + 1
    start = text.rfind(b"\n", 0, at) + 1
    before = bytes(text[start:at]).decode("utf-8", "replace")
    return f"{name}:{line}:{len(before.removeprefix(chr(0xFEFF))) + 1}"


def _sentence(fault: int, token: str, limits: Limits) -> str:
    got = f"got {token!r}" if token else "got the end of the row"
    index, _, value = token.partition(":")
    if fault == 13:
        return _index_above(index, limits)
    if fault == 12:
        return Sentence.of(f"{_FEATURE} with an index from 1, {got}.").and_then(
            "If the indices of this file start at 0, {pass} {zero_based=True}."
        )
    start = 0 if limits.zero_based else 1
    sentences = {
        1: "expected text, got a NUL byte; is this a binary file?",
        2: f"expected a label (a real number), {got}.",
        3: f"expected a label that float64 can hold, {got}.",
        4: f"expected a finite label, {got}.",
        5: f"expected 'qid:<id>' after the label, as in the rows before, {got}.",
        6: f"expected 'qid:<id>' directly after the label, {got} behind a feature.",
        7: f"expected an id after 'qid:', {got}.",
        8: f"{_FEATURE}, got a second id {token!r}.",
        9: f"{_FEATURE}, {got}.",
        10: f"{_FEATURE} with an integer index, {got}.",
        11: f"{_FEATURE} with an index from {start}, {got}.",
        14: f"expected each feature once in a row, got {index} a second time ({token!r}).",
        15: f"expected a number after '{index}:', got nothing.",
        16: f"expected a number after '{index}:', got {value!r}.",
        17: f"expected a number within range after '{index}:', got {value!r}.",
        18: Sentence.of(f"expected a finite number after '{index}:', got {value!r}.").and_then(
            "To read it, {pass} {allow_nonfinite=True}."
        ),
        19: Sentence.of(f"expected a number after '{index}:', got 'NULL'.").and_then(AS_MISSING),
        20: f"{_FEATURE}, as the rows before have no qid, {got}.",
    }
    return sentences[fault]


def _index_above(index: str, limits: Limits) -> str:
    last = None if limits.n_features is None else limits.n_features - limits.zero_based
    if last is not None and last <= limits.max_feature:
        return (
            f"expected feature indices up to {last}, as n_features={limits.n_features}, got {index}. "
            "Raise n_features, or leave it out."
        )
    return Sentence(
        "expected feature indices up to {max_feature=}, got {index!s}.",
        "If the file is right, raise {max_feature}.",
        max_feature=limits.max_feature,
        index=index,
    )
