"""A place where a mistake can be made, its name, and which places a run takes.

Names have the file, the function and the code, never a line, so that they survive changes elsewhere:
``solvers/certificate.py Certificate.observe: _upper(point) < best -> _upper(point) <= best``. Of equal code
in one function the second has ``#2``.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Which places are taken depends on it and on their names alone.
SEED = "marginrank-1"
#: What can be wrong at a place.
KINDS = ("comparison", "sign", "off by one", "dropped term", "skipped check")


@dataclass(frozen=True)
class Place:
    """In a function of a file, ``right`` becomes ``wrong``; ``number`` counts equal places from 1."""

    file: str
    function: str
    kind: str
    right: str
    wrong: str
    number: int = 1

    @property
    def name(self) -> str:
        """What reports and lists call it."""
        again = f" #{self.number}" if self.number > 1 else ""
        return f"{self.file} {self.function}: {self.right} -> {self.wrong}{again}"

    @property
    def rank(self) -> str:
        """Where it stands in the order from which a run takes the first."""
        return hashlib.sha256(f"{SEED} {self.name}".encode()).hexdigest()


def numbered(places: Iterable[Place]) -> list[Place]:
    """Return places in the order of the file, those that are equal with their numbers."""
    seen: Counter[Place] = Counter()
    found = []
    for place in places:
        seen[place] += 1
        found.append(replace(place, number=seen[place]))
    return found


def drawn(places: Iterable[Place], n_places: int) -> list[Place]:
    """Return as many places as a room has, at random but the same ones in every run.

    Kinds take turns: additions and comparisons would leave no room for checks. A place keeps its rank when
    code elsewhere changes, so a change of the library exchanges few of them.
    """
    by_kind: dict[str, list[Place]] = {kind: [] for kind in KINDS}
    for place in sorted(places, key=lambda place: place.rank):
        by_kind[place.kind].append(place)
    taken: list[Place] = []
    while len(taken) < n_places and any(by_kind.values()):
        for kind in KINDS:
            if by_kind[kind] and len(taken) < n_places:
                taken.append(by_kind[kind].pop(0))
    return taken
