"""Gains: what a row of a label is worth, to NDCG in training and in evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from marginrank.exceptions import MarginRankError, ParameterError
from marginrank.parameters import finite_number
from marginrank.types import Vector

GainName: TypeAlias = Literal["exponential", "linear"]
GAIN_NAMES: tuple[GainName, ...] = ("exponential", "linear")
# 2**label must stay finite, and so must sums of it.
LARGEST_EXPONENT = 1000.0
_WANTED = "'exponential', 'linear', or a dict of labels and their gains, such as {0: 0, 1: 1, 2: 5}"


@dataclass(frozen=True)
class GainTable:
    """The gain of each label, written out.

    Parameters
    ----------
    labels : tuple of float
        Ascending.
    values : tuple of float
        The gain of each: finite, at least 0, and not decreasing.

    Examples
    --------
    >>> table = GainTable.of({2: 5, 0: 0, 1: 1})
    >>> str(table), GainTable.parse("0:0/1:1/2:5") == table
    ('0:0/1:1/2:5', True)
    """

    labels: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def of(cls, gains: Mapping[Any, Any]) -> GainTable:
        """Return the table of a mapping from labels to gains, checked."""
        return cls._checked(gains.items(), gains)

    @classmethod
    def parse(cls, text: str) -> GainTable:
        """Return the table that ``label:gain/label:gain`` describes; commas do as well."""
        entries = []
        for part in text.replace(",", "/").split("/"):
            label, _, gain = part.partition(":")
            try:
                entries.append((float(label), float(gain)))
            except ValueError:
                raise _refused(text) from None
        return cls._checked(entries, text)

    @classmethod
    def _checked(cls, entries: Iterable[tuple[Any, Any]], given: Any) -> GainTable:
        clean = [(finite_number(label), finite_number(gain)) for label, gain in entries]
        known = sorted((label, gain) for label, gain in clean if label is not None and gain is not None)
        labels, values = tuple(label for label, _ in known), tuple(gain for _, gain in known)
        if not known or len(known) < len(clean) or len(set(labels)) < len(labels):
            raise _refused(given)
        if values[0] < 0.0 or any(after < before for before, after in pairwise(values)):
            raise ParameterError("gain", "of at least 0, and not decreasing from label to label", given)
        return cls(labels, values)

    def __str__(self) -> str:
        return "/".join(f"{label:.17g}:{gain:.17g}" for label, gain in self.to_dict().items())

    def to_dict(self) -> dict[float, float]:
        """Return the gain of each label."""
        return dict(zip(self.labels, self.values, strict=True))


Gain: TypeAlias = GainName | GainTable
#: As users write it.
GainSetting: TypeAlias = GainName | Mapping[float, float] | GainTable


def read_gain(gain: Any) -> Gain:
    """Return the gain that a user named, checked.

    Examples
    --------
    >>> read_gain("linear"), str(read_gain({0: 0, 1: 1.5}))
    ('linear', '0:0/1:1.5')
    """
    if isinstance(gain, GainTable):
        return gain
    if isinstance(gain, Mapping):
        return GainTable.of(gain)
    for name in GAIN_NAMES:
        if isinstance(gain, str) and gain == name:
            return name
    raise _refused(gain)


def gains_of(y: Vector, gain: Gain) -> Vector:
    """Return the gain of each row: ``2**label - 1``, the label, or what the table says.

    Examples
    --------
    >>> gains_of(np.array([0.0, 1.0, 3.0]), "exponential").tolist()
    [0.0, 1.0, 7.0]
    """
    if isinstance(gain, GainTable):
        labels = np.array(gain.labels)
        at = np.searchsorted(labels, y).clip(max=len(labels) - 1)
        unknown = np.flatnonzero(labels[at] != y)
        if len(unknown):
            raise MarginRankError.saying(
                "{gain} must have an entry for every label; it has none for {label:g}, at row {row:d}.",
                label=float(y[unknown[0]]),
                row=int(unknown[0]),
            )
        return np.asarray(np.array(gain.values)[at])
    most = LARGEST_EXPONENT if gain == "exponential" else np.inf
    if len(y) and not 0.0 <= y.min() <= y.max() <= most:
        raise MarginRankError.saying(
            "{gain=} needs labels {limits!s}; got labels from {low:g} to {high:g}.",
            "Shift or scale them, name the gain of each label with {gain}, or the lowest good label with "
            "{relevance}.",
            gain=gain,
            limits="of at least 0" if most == np.inf else f"from 0 to {most:g}",
            low=float(y.min()),
            high=float(y.max()),
        )
    return np.asarray(np.exp2(y) - 1.0) if gain == "exponential" else y


def _refused(given: Any) -> ParameterError:
    return ParameterError("gain", _WANTED, given)
