"""A penalty that the library does not have: it shows that solvers and certificates ask the penalty alone."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from marginrank.rounding import upward


@dataclass(frozen=True)
class BoundedElasticNet:
    """``alpha (1 - r)/2 ||w||^2 + alpha r ||w||_1`` with r the ``l1_ratio``, from ``low`` to ``high``."""

    l1_ratio: float = 0.5
    low: float = -np.inf
    high: float = np.inf

    name = "bounded_elastic_net"
    smooth = False
    is_squared_norm = False

    def modulus(self, alpha):
        return alpha * (1.0 - self.l1_ratio)

    def value(self, w, alpha):
        if np.any((w < self.low) | (w > self.high)):
            return np.inf
        return 0.5 * self.modulus(alpha) * float(w @ w) + alpha * self.l1_ratio * float(np.abs(w).sum())

    def slope(self, w, direction, alpha):
        kinks = np.where(w == 0.0, np.abs(direction), np.sign(w) * direction)
        return float(self.modulus(alpha) * (w @ direction) + alpha * self.l1_ratio * kinks.sum())

    def hvp(self, w, v, alpha):
        raise AssertionError("nobody asks for the Hessian of a penalty that is not smooth")

    def smallest_subgradient(self, w, gradient, alpha):
        smooth, kink = gradient + self.modulus(alpha) * w, alpha * self.l1_ratio
        found = np.where(w == 0.0, self._soft(smooth, kink), smooth + kink * np.sign(w))
        found = np.where(w <= self.low, np.minimum(found, 0.0), found)
        return np.where(w >= self.high, np.maximum(found, 0.0), found)

    def allowed_step(self, w, direction, gradient):
        held = (w == 0.0) | (w <= self.low) | (w >= self.high)
        target = w + np.where(held & (direction * gradient >= 0.0), 0.0, direction)
        return self.step_to(w, self.nearest(np.where(target * w < 0.0, 0.0, target)))

    def step_to(self, w, target):
        step = target - w
        outside = (w + step < self.low) | (w + step > self.high)
        return np.where(outside, np.nextafter(step, 0.0), step)

    def nearest(self, w):
        return np.clip(w, self.low, self.high)

    def farthest(self, value, alpha):
        return sqrt(2.0 * value / self.modulus(alpha))

    def conjugate(self, z, alpha, error=0.0):
        ends = [self._terms(z - error, alpha), self._terms(z + error, alpha)]  # convex: largest at an end
        return upward(float(np.maximum(*ends).sum()), 4.0 * len(z) + 16.0)

    def minimizer(self, z, alpha):
        return self.nearest(self._soft(z, alpha * self.l1_ratio) / self.modulus(alpha))

    def minimizer_slope(self, z, alpha):
        w = self.minimizer(z, alpha)
        free = (w != 0.0) & (w > self.low) & (w < self.high)
        return np.where(free, 1.0 / self.modulus(alpha), 0.0)

    def _terms(self, z, alpha):
        w = self.minimizer(z, alpha)
        return z * w - 0.5 * self.modulus(alpha) * w * w - alpha * self.l1_ratio * np.abs(w)

    @staticmethod
    def _soft(z, kink):
        return np.sign(z) * np.maximum(np.abs(z) - kink, 0.0)
