"""Cutting planes of the risk and the lower bound that they prove.

Every (sub)gradient ``a`` of the risk at ``w'`` gives a plane ``R(w) >= a.w + b``, ``b = R(w') - a.w'``. The
planes do not depend on ``alpha``. With weights ``theta`` on the simplex,

    min_w R(w) + alpha/2 ||w||^2  >=  b.theta - ||sum_k theta_k a_k||^2 / (2 alpha),

and the best ``theta`` is a small quadratic programme over the Gram matrix of the planes.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import simplex_qp
from marginrank.solvers.base import Vector

_T = TypeVar("_T", bound=np.generic)

# Nearly parallel planes make the pairwise steps short; later calls continue from where this one stopped.
_MAX_QP_STEPS = 1_000
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)


class CuttingPlanes:
    """A lower model of the risk that grows by one plane per gradient.

    Parameters
    ----------
    alpha : float
        Weight of ``||w||^2 / 2``.
    n_features : int
        Length of ``w``.
    capacity : int, default=200
        Above this many planes, those that have carried no weight for the longest time are dropped.

    Attributes
    ----------
    level, length : float
        The last bound in parts: the same planes prove ``level - length^2 / (2 alpha)`` at every other alpha.

    Notes
    -----
    The plane ``R(w) >= 0`` is always there, because losses are nonnegative. A new plane costs one product
    with the stored ones.
    """

    def __init__(self, alpha: float, n_features: int, capacity: int = 200) -> None:
        self.alpha = alpha
        self._capacity = max(capacity, 2)
        size = min(16, self._capacity)
        self._slopes: NDArray[np.float64] = np.zeros((size, n_features))
        self._offsets: Vector = np.zeros(size)
        self._gram: NDArray[np.float64] = np.zeros((size, size))
        self._theta: Vector = np.zeros(size)
        self._theta[0] = 1.0
        self._last_active: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._mean_slope: Vector = np.zeros(n_features)
        self._clock = 0
        self._n = 1
        self.level = 0.0
        self.length = 0.0

    def __len__(self) -> int:
        return self._n

    @property
    def theta(self) -> Vector:
        """The weights of the planes in the current bound."""
        return self._theta[: self._n].copy()

    def add(self, slope: Vector, offset: float) -> None:
        """Add the plane ``R(w) >= slope.w + offset``."""
        if self._n == len(self._offsets):
            self._make_room()
        n = self._n
        self._slopes[n] = slope
        products = self._slopes[: n + 1] @ slope
        self._gram[n, : n + 1] = products
        self._gram[: n + 1, n] = products
        self._offsets[n] = offset
        self._theta[n] = 0.0
        self._last_active[n] = self._clock
        self._n = n + 1

    def bound(self, precision: float) -> float:
        """Return a lower bound of the optimum, at most ``precision`` below the best of these planes.

        It is computed from the weights and the planes themselves: the Gram matrix, whose entries cancel badly
        when features differ much in scale, only chooses the weights. So it holds even where the quadratic
        programme was left early.
        """
        n = self._n
        theta, gram, offsets = self._theta[:n], self._gram[:n, :n], self._offsets[:n]
        simplex_qp(gram, offsets, self.alpha, theta, precision, _MAX_QP_STEPS)
        theta /= theta.sum()
        self._clock += 1
        self._last_active[:n][theta > 0.0] = self._clock
        active = np.flatnonzero(theta)
        self._mean_slope = theta[active] @ self._slopes[active]
        # What rounding may have taken from the mean slope and from the offsets is not claimed. It matters
        # for huge features, whose slopes cancel: 1e-16 of 1e15, squared, over alpha, is not small.
        lengths = np.sqrt(np.diagonal(gram))
        self.length = float(np.linalg.norm(self._mean_slope)) + _ROUNDING * float(theta @ lengths)
        self.level = float(offsets @ theta) - _ROUNDING * float(np.abs(offsets) @ theta)
        return self.level - self.length * self.length / (2.0 * self.alpha)

    def minimizer(self) -> Vector:
        """Return the minimiser of the model ``max_k (a_k.w + b_k) + alpha/2 ||w||^2`` for the last bound."""
        return self._mean_slope / -self.alpha

    def _make_room(self) -> None:
        if self._n >= self._capacity and self._drop_idle():
            return
        size = 2 * self._n if self._n >= self._capacity else min(2 * self._n, self._capacity)
        self._slopes = _grown(self._slopes, (size, self._slopes.shape[1]))
        self._gram = _grown(self._gram, (size, size))
        self._offsets = _grown(self._offsets, (size,))
        self._theta = _grown(self._theta, (size,))
        self._last_active = _grown(self._last_active, (size,))

    def _drop_idle(self) -> bool:
        """Drop the longest idle quarter of the planes; False if all of them carry weight."""
        idle = np.flatnonzero(self._theta[: self._n] == 0.0)
        idle = idle[idle > 0]
        if not len(idle):
            return False
        oldest = idle[np.argsort(self._last_active[idle], kind="stable")][: max(1, self._capacity // 4)]
        keep = np.setdiff1d(np.arange(self._n), oldest)
        n = len(keep)
        self._gram[:n, :n] = self._gram[np.ix_(keep, keep)]
        for array in (self._offsets, self._theta, self._last_active):
            array[:n] = array[keep]
        # One row at a time and downward, so that no second copy of all planes is needed.
        for new, old in enumerate(keep):
            if new != old:
                self._slopes[new] = self._slopes[old]
        self._n = n
        return True


def _grown(array: NDArray[_T], shape: tuple[int, ...]) -> NDArray[_T]:
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger
