"""The elastic net within bounds: L1 makes coefficients exactly 0, bounds keep their signs and sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.rounding import TINY, UNIT, upward
from marginrank.types import Mask, Vector

# Roundings of one term of the conjugate, generously.
_TERM = 16.0
# A step to a bound may end short of it by so much of the bound.
_LAST_DIGITS = 8.0 * UNIT


@dataclass(frozen=True, eq=False)
class ElasticNet:
    """``alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)`` for ``low <= w <= high``, infinite elsewhere.

    A coefficient whose bounds are equal is not penalised: that would add a constant, which only makes gaps
    relative to something else.

    Parameters
    ----------
    l1_ratio : float, default=0.5
        At least 0 and below 1, because cutting planes prove nothing without a square.
    low, high : float or ndarray of shape (n_features,)
        Bounds, for all coefficients or for each; infinite where there is none.

    Examples
    --------
    >>> penalty = ElasticNet(0.5, low=-1.0)
    >>> penalty.value(np.array([2.0, 0.0]), alpha=1.0)
    2.0
    >>> penalty.minimizer(np.array([1.5, 0.3, -8.0]), alpha=1.0)
    array([ 2.,  0., -1.])
    """

    l1_ratio: float = 0.5
    low: Vector | float = -np.inf
    high: Vector | float = np.inf

    name = "elastic_net"
    smooth = False
    is_squared_norm = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ElasticNet) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[float, bytes, bytes]:
        return self.l1_ratio, np.asarray(self.low).tobytes(), np.asarray(self.high).tobytes()

    @cached_property
    def _free(self) -> NDArray[np.bool_]:
        """Which coefficients are not fixed."""
        return np.asarray(np.asarray(self.low) < np.asarray(self.high))

    @cached_property
    def _fixed_length(self) -> float:
        """The squared length of the fixed coefficients."""
        low = np.asarray(self.low)
        return float(np.sum(np.square(np.where(self._free, 0.0, low))))

    def modulus(self, alpha: float) -> float:
        """Return ``alpha (1 - l1_ratio)``."""
        return alpha * (1.0 - self.l1_ratio)

    def kink(self, alpha: float) -> float:
        """Return ``alpha l1_ratio``: the slope of a coefficient on either side of 0."""
        return alpha * self.l1_ratio

    def value(self, w: Vector, alpha: float) -> float:
        """Return the penalty; infinity outside the bounds."""
        if np.any(w < self.low) or np.any(w > self.high):
            return np.inf
        w = self._penalised(w)
        return 0.5 * self.modulus(alpha) * float(w @ w) + self.kink(alpha) * float(np.abs(w).sum())

    def _penalised(self, w: Vector) -> Vector:
        return w if self._free.all() else np.where(self._free, w, 0.0)

    def slope(self, w: Vector, direction: Vector, alpha: float) -> float:
        """Return the derivative along a direction; at a kink, that of the side it leads to."""
        w, direction = self._penalised(w), self._penalised(direction)
        kinks = np.where(w == 0.0, np.abs(direction), np.sign(w) * direction)
        return self.modulus(alpha) * float(w @ direction) + self.kink(alpha) * float(kinks.sum())

    def hvp(self, w: Vector, v: Vector, alpha: float) -> Vector:
        """Return the curvature between the kinks times ``v``."""
        del w
        return self.modulus(alpha) * self._penalised(v)

    def smallest_subgradient(self, w: Vector, gradient: Vector, alpha: float) -> Vector:
        """Return the shortest subgradient: 0 where a kink or a bound holds a coefficient."""
        smooth, kink = gradient + self.modulus(alpha) * w, self.kink(alpha)
        found = np.where(w == 0.0, _soft(smooth, kink), smooth + kink * np.sign(w))
        at_low, at_high = self._at_bounds(w)
        found = np.where(at_low, np.minimum(found, 0.0), found)
        return np.where(self._free, np.where(at_high, np.maximum(found, 0.0), found), 0.0)

    def _at_bounds(self, w: Vector) -> tuple[Mask, Mask]:
        """Return which coefficients are at the lower and the upper bound, or short of it by rounding."""
        low, high = self._nearly
        return w <= low, w >= high

    @cached_property
    def _nearly(self) -> tuple[Vector, Vector]:
        """What counts as the bounds after rounding, each moved inward by its last digits."""
        low, high = (np.asarray(end, dtype=np.float64) for end in (self.low, self.high))
        inward = [np.where(np.isfinite(end), _LAST_DIGITS * np.abs(end), 0.0) for end in (low, high)]
        return low + inward[0], high - inward[1]

    def allowed_step(self, w: Vector, direction: Vector, gradient: Vector) -> Vector:
        """Return a step that ends at 0 where it would cross it, and at a bound where it would leave."""
        held = np.logical_or(*self._at_bounds(w))
        if self.l1_ratio > 0.0:
            held |= w == 0.0
        target = w + np.where(held & (direction * gradient >= 0.0), 0.0, direction)
        if self.l1_ratio > 0.0:
            target = np.where(target * w < 0.0, 0.0, target)
        return self.step_to(w, self.nearest(target))

    def step_to(self, w: Vector, target: Vector) -> Vector:
        """Return the difference, shorter by its last digit where the sum would round beyond a bound."""
        step = target - w
        beyond = (w + step < self.low) | (w + step > self.high)
        return np.where(beyond, np.nextafter(step, 0.0), step)

    def nearest(self, w: Vector) -> Vector:
        """Return the coefficients cut off at the bounds."""
        return np.clip(w, self.low, self.high)

    def farthest(self, value: float, alpha: float) -> float:
        """Return the length at which the squares alone have this value."""
        return sqrt(2.0 * value / self.modulus(alpha) + self._fixed_length)

    def conjugate(self, z: Vector, alpha: float, error: Vector | float = 0.0) -> float:
        """Return the sum of the conjugates of the terms, rounded upward.

        Each is convex, so within the error it is largest at an end. Strengths are rounded downward and bounds
        outward, which makes it larger; what the sums of a term round, in it and in where it is largest, is
        less than so many units of the sizes of its parts.
        """
        if not np.all(np.isfinite(error)):
            return float(np.inf)
        ends = [self._terms(z - error, alpha), self._terms(z + error, alpha)] if np.any(error) else None
        terms = self._terms(z, alpha) if ends is None else np.maximum(*ends)
        rounding = 2.0 * (len(terms) + 4.0) * UNIT * float(np.abs(terms).sum())
        return float(terms.sum()) + rounding + (0.0 if ends is None else TINY)

    def _terms(self, z: Vector, alpha: float) -> Vector:
        """Return for each entry what ``max_w z w - p(w)`` is at most."""
        down = 1.0 - 4.0 * UNIT
        square, kink = self.modulus(alpha) * down, self.kink(alpha) * down
        # The size of z is rounded upward, because its sum with an error was rounded.
        size = np.abs(z) * (1.0 + 4.0 * UNIT)
        beyond = np.maximum(size - kink, 0.0)
        inside = np.copysign(beyond / square, z)
        w = np.where(self._free, inside, np.copysign(np.inf, z))
        w = np.clip(w, np.nextafter(self.low, -np.inf), np.nextafter(self.high, np.inf))
        charged = self._penalised(np.abs(w))
        product, cost = np.copysign(size, z) * w, charged * (0.5 * square * charged + kink)
        clipped = product - cost + _TERM * UNIT * (np.abs(product) + cost)
        is_inside = self._free & (w == inside)
        return np.where(is_inside, upward(0.5, _TERM) * beyond * np.abs(inside), clipped)

    def largest_alpha(self, gradient: Vector) -> float:
        """Return the largest alpha at which a coefficient leaves 0; infinity where a bound keeps one off it.

        Parameters
        ----------
        gradient : ndarray of shape (n_features,)
            Of the risk where every coefficient is as near to 0 as its bounds allow.

        Examples
        --------
        >>> ElasticNet(0.5, low=0.0).largest_alpha(np.array([3.0, -1.0]))
        2.0
        """
        if (
            self.l1_ratio == 0.0
            or np.any(self._free & (np.asarray(self.low) > 0.0))
            or np.any(self._free & (np.asarray(self.high) < 0.0))
        ):
            return float(np.inf)
        low, high = np.asarray(self.low), np.asarray(self.high)
        pull = np.maximum(np.where(high > 0.0, -gradient, 0.0), np.where(low < 0.0, gradient, 0.0))
        pull = np.where(self._free, pull, 0.0)
        return max(float(pull.max(initial=0.0)), 0.0) / self.l1_ratio

    def minimizer(self, z: Vector, alpha: float) -> Vector:
        """Return ``z`` without its kink, divided by the modulus and cut off at the bounds."""
        return self.nearest(_soft(z, self.kink(alpha)) / self.modulus(alpha))

    def minimizer_slope(self, z: Vector, alpha: float) -> Vector:
        """Return ``1 / modulus`` for the entries that are neither 0 nor at a bound."""
        w = self.minimizer(z, alpha)
        between = (w > self.low) & (w < self.high)
        moves = between & (w != 0.0) if self.l1_ratio > 0.0 else between
        return np.where(moves, 1.0 / self.modulus(alpha), 0.0)


def _soft(z: Vector, kink: float) -> Vector:
    # The sum makes 0 of minus 0.
    return np.copysign(np.maximum(np.abs(z) - kink, 0.0), z) + 0.0
