"""The squared norm: ``alpha/2 ||w||^2``, the penalty of all published rankers here."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from marginrank.rounding import TINY, upward
from marginrank.types import Vector


@dataclass(frozen=True)
class SquaredNorm:
    """``P(w) = alpha/2 ||w||^2``.

    Examples
    --------
    >>> penalty, w = SquaredNorm(), np.array([1.0, -2.0])
    >>> penalty.value(w, alpha=0.5), penalty.smallest_subgradient(w, np.zeros(2), alpha=0.5)
    (1.25, array([ 0.5, -1. ]))
    >>> penalty.minimizer(np.array([1.0, 0.0]), alpha=0.5)
    array([2., 0.])
    """

    name = "squared_norm"
    smooth = True
    is_squared_norm = True

    def modulus(self, alpha: float) -> float:
        """Return alpha."""
        return alpha

    def value(self, w: Vector, alpha: float) -> float:
        """Return ``alpha/2 ||w||^2``."""
        return 0.5 * alpha * float(w @ w)

    def slope(self, w: Vector, direction: Vector, alpha: float) -> float:
        """Return ``alpha w.direction``."""
        return alpha * float(np.dot(w, direction))

    def hvp(self, w: Vector, v: Vector, alpha: float) -> Vector:
        """Return ``alpha v``."""
        del w
        return alpha * v

    def smallest_subgradient(self, w: Vector, gradient: Vector, alpha: float) -> Vector:
        """Return ``gradient + alpha w``."""
        return gradient + alpha * w

    def allowed_step(self, w: Vector, direction: Vector, gradient: Vector) -> Vector:
        """Return the direction."""
        del w, gradient
        return direction

    def step_to(self, w: Vector, target: Vector) -> Vector:
        """Return the difference."""
        return target - w

    def nearest(self, w: Vector) -> Vector:
        """Return ``w``."""
        return w

    def farthest(self, value: float, alpha: float) -> float:
        """Return ``sqrt(2 value / alpha)``."""
        return sqrt(2.0 * value / alpha)

    def conjugate(self, z: Vector, alpha: float, error: Vector | float = 0.0) -> float:
        """Return ``||z||^2 / (2 alpha)``, rounded upward, for the longest vector within the error of z."""
        length = longest(z, error)
        return upward(length * length / (2.0 * alpha))

    def minimizer(self, z: Vector, alpha: float) -> Vector:
        """Return ``z / alpha``."""
        return z / alpha

    def minimizer_slope(self, z: Vector, alpha: float) -> Vector:
        """Return ``1 / alpha`` for every entry."""
        return np.full(len(z), 1.0 / alpha)


def longest(z: Vector, error: Vector | float) -> float:
    """Return what the length of a vector is at most whose entries are within ``error`` of those of ``z``.

    Examples
    --------
    >>> longest(np.array([2.0, 0.0]), np.array([1.0, 4.0])) >= 5.0
    True
    """
    if isinstance(error, float) and error == 0.0:
        return upward(sqrt(float(z @ z)), len(z) + 4.0)
    entries = np.abs(z) + error
    tiny = TINY if np.any(np.asarray(error) > 0.0) else 0.0
    return upward(float(np.linalg.norm(entries)), len(entries) + 4.0) + tiny
