"""What cutting planes prove along a whole path: straight lines below ``alpha * optimum``.

With a fixed mixture of planes the optimum at every alpha is at least ``level - length^2 / (2 alpha)``. Times
alpha that is a straight line in alpha. A model for which ``alpha * w`` is linear in alpha has a value that,
times alpha, is convex (``alpha R(u / alpha) + ||u||^2 / 2`` is jointly convex), so it lies below its chords.
Hence "the model is within eps" between two alphas is a comparison of straight lines, and what a set of lines
leaves open between them is one interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from marginrank.rounding import UNIT, upward
from marginrank.types import Vector

# Operations on the way to a point of a line.
_STEPS = 8.0


class Node(NamedTuple):
    """Where the value of a path was computed: ``alpha`` times the objective is at most ``product``."""

    alpha: float
    product: float


class LowerLines:
    """Lines below ``alpha * optimum``, growing by one for each bound that was computed.

    Examples
    --------
    >>> lines = LowerLines()
    >>> lines.add(alpha=1.0, level=1.5, length=1.0, n_active=3)
    >>> lines.at(np.array([1.0, 2.0]))
    array([1. , 2.5])
    """

    def __init__(self) -> None:
        self._table: NDArray[np.float64] = np.zeros((1, 4))  # risks are never negative
        self._table[0, 0] = 1.0

    @property
    def alphas(self) -> Vector:
        """For which alpha each line was computed; the first is the line 0."""
        return self._table[:, 0]

    @property
    def n_active(self) -> NDArray[np.int64]:
        """Number of planes that make each line."""
        return self._table[:, 3].astype(np.int64)

    def add(self, alpha: float, level: float, length: float, n_active: int) -> None:
        """Add the line of a bound ``level - length^2 / (2 alpha)``."""
        self._table = np.vstack([self._table, [alpha, level, upward(0.5 * length * length), n_active]])

    def at(self, alphas: Vector) -> Vector:
        """Return the highest line at each alpha, rounded downward."""
        rise, fall = np.multiply.outer(alphas, self._table[:, 1]), self._table[:, 2]
        found: Vector = np.max(rise - fall - _STEPS * UNIT * (np.abs(rise) + fall), axis=1)
        return found

    def prove(self, node: Node, eps: float) -> bool:
        """Whether the value at a node is within eps of the optimum."""
        highest = self.at(np.array([node.alpha]))[0]
        return bool((1.0 - eps) * node.product <= highest)

    def hole(self, below: Node, above: Node, eps: float) -> tuple[float, float] | None:
        """Return the part between two nodes in which the chord is not known to be within eps, if any."""
        open_below = self._open(below, eps)
        open_above = self._open(above, eps)
        if np.any((open_below <= 0.0) & (open_above <= 0.0)):
            return None
        low, high = below.alpha, above.alpha
        from_below, from_above = open_below <= 0.0, open_above <= 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = low + (high - low) * (open_below / (open_below - open_above))
        low = float(np.max(crossing[from_below], initial=low))
        high = float(np.min(crossing[from_above], initial=high))
        return (low, high) if low < high else None

    def _open(self, node: Node, eps: float) -> Vector:
        """Return by how much each line misses what it should reach at a node."""
        rise, fall = node.alpha * self._table[:, 1], self._table[:, 2]
        line = rise - fall - _STEPS * UNIT * (np.abs(rise) + fall)
        return np.asarray((1.0 - eps) * node.product - line)


def on_chord(alpha: float, below: Node, above: Node) -> Node:
    """Return the point of the chord between two nodes at one alpha."""
    share = (alpha - below.alpha) / (above.alpha - below.alpha)
    return Node(alpha, below.product + share * (above.product - below.product))


def middle(hole: tuple[float, float]) -> float:
    """Return the geometric mean of two alphas, whose product may overflow."""
    return float(np.sqrt(hole[0]) * np.sqrt(hole[1]))
