"""Cutting planes of the risk and the lower bound that they prove.

Every (sub)gradient ``a`` of the risk at ``w'`` gives a plane ``R(w) >= a.w + b``, ``b = R(w') - a.w'``. The
planes depend neither on the penalty nor on ``alpha``. With weights ``theta`` on the simplex and the conjugate
``P*`` of the penalty,

    min_w R(w) + P(w)  >=  b.theta - P*(-sum_k theta_k a_k),

which is ``b.theta - ||sum_k theta_k a_k||^2 / (2 alpha)`` for the squared norm. The best ``theta`` is a small
quadratic programme then, over the Gram matrix of the planes; ``plane_weights`` has it for other penalties.
Planes are known up to their rounding, and so is this sum; :mod:`marginrank.rounding` says how the bound holds
all the same.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import simplex_qp
from marginrank.rounding import UNIT, PlaneRounding, upward
from marginrank.solvers.base import Point, SmoothedPoint
from marginrank.solvers.penalties import SQUARED_NORM, Penalty
from marginrank.solvers.penalties.squared_norm import longest
from marginrank.solvers.plane_weights import MAX_QP_STEPS, improve_weights
from marginrank.solvers.weights_from_slopes import improve_from_slopes
from marginrank.types import Rows, Vector

_T = TypeVar("_T", bound=np.generic)


class CuttingPlanes:
    """A lower model of the risk that grows by one plane per gradient.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    n_features : int
        Length of ``w``.
    penalty : Penalty, default=SquaredNorm()
        What the objective adds to the risk.
    capacity : int, default=200
        Above this many planes, those that have carried no weight for the longest time are dropped.

    Attributes
    ----------
    level : float
        The last bound without the penalty: the same mixture of planes proves ``level - P*`` of its slope at
        every other alpha.
    unrounded : float
        What the last bound would be if nothing were rounded.
    columns : ndarray of shape (n_features,) or None
        In what the errors of slopes are measured, by entry; None is 1.

    Notes
    -----
    The plane ``R(w) >= 0`` is always there, because losses are nonnegative. A new plane costs one product
    with the stored ones.
    """

    def __init__(
        self,
        alpha: float,
        n_features: int,
        penalty: Penalty = SQUARED_NORM,
        capacity: int = 200,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self._capacity = max(capacity, 2)
        size = min(16, self._capacity)
        self._slopes: NDArray[np.float64] = np.zeros((size, n_features))
        self._offsets: Vector = np.zeros(size)
        self._gram: NDArray[np.float64] = np.zeros((size, size))
        self._theta: Vector = np.zeros(size)
        self._theta[0] = 1.0
        self._last_active: NDArray[np.int64] = np.zeros(size, dtype=np.int64)
        self._taken_off: Vector = np.zeros(size)
        self._errors: Vector = np.zeros(size)
        self._lengths: Vector = np.zeros(size)
        self._mean_slope: Vector = np.zeros(n_features)
        self._mean_error: Vector | float = 0.0
        self.columns: Vector | None = None
        self._clock = 0
        self._n = 1
        self.level = 0.0
        self.unrounded = 0.0

    def __len__(self) -> int:
        return self._n

    @property
    def theta(self) -> Vector:
        """The weights of the planes in the current bound."""
        return self._theta[: self._n].copy()

    @property
    def length(self) -> float:
        """What the length of the mean slope of the last bound is at most; the squared norm needs no more."""
        return longest(self._mean_slope, self._mean_error)

    def add(self, slope: Vector, offset: float, rounding: PlaneRounding | None = None) -> None:
        """Add the plane ``R(w) >= slope.w + offset``, which is known up to a rounding."""
        if self._n == len(self._offsets):
            self._make_room()
        n = self._n
        self._slopes[n] = slope
        products = self._slopes[: n + 1] @ slope
        self._gram[n, : n + 1] = products
        self._gram[: n + 1, n] = products
        rounding = PlaneRounding() if rounding is None else rounding
        self._offsets[n] = offset - rounding.offset
        self._taken_off[n] = rounding.offset
        self._errors[n] = rounding.slope
        # Without columns every entry is measured in 1.
        self._lengths[n] = np.abs(slope).max() if rounding.length is None else rounding.length
        self._theta[n] = 0.0
        self._last_active[n] = self._clock
        self._n = n + 1

    def cut(self, point: Point) -> None:
        """Add the plane of a point."""
        slope = point.risk_gradient
        self.add(slope, point.risk - float(slope @ point.w), point.plane_rounding)

    def cut_below(self, point: SmoothedPoint) -> None:
        """Add the plane of a point of a smoothed risk, which is one of the risk itself."""
        self.add(point.risk_gradient, *point.plane)

    def cut_scores(self, objective: Any, plane: Any) -> None:
        """Add what a plane of the loss (:class:`ScorePlane`) says about the coefficients of an objective."""
        self.add(*objective.plane_of(plane))

    def bound(self, precision: float) -> float:
        """Return a lower bound of the optimum, at most ``precision`` below the best of these planes.

        It is computed from the weights and the planes themselves: the Gram matrix, whose entries cancel badly
        when features differ much in scale, only chooses the weights. So it holds even where the quadratic
        programme was left early.
        """
        n = self._n
        theta, offsets = self._theta[:n], self._offsets[:n]
        self._choose_weights(theta, offsets, precision)
        theta /= theta.sum()
        self._clock += 1
        self._last_active[:n][theta > 0.0] = self._clock
        active = np.flatnonzero(theta)
        steps = len(active) + 4.0
        # The weights must not exceed 1 together; what is missing goes to the plane 0.
        weights = theta[active] * (1.0 - 2.0 * (n + 4.0) * UNIT)
        self._mean_slope = weights @ self._slopes[active]
        self._mean_error = self._error_of_mean(weights, active, steps)
        offsets = offsets[active]
        level = float(weights @ offsets)
        unrounded = self.penalty.conjugate(-self._mean_slope, self.alpha)
        mixture = level + float(weights @ self._taken_off[active]) - unrounded
        self.unrounded = max(mixture, self._newest_unrounded())
        self.level = level - 2.0 * steps * UNIT * float(weights @ np.abs(offsets))
        conjugate = self.penalty.conjugate(-self._mean_slope, self.alpha, self._mean_error)
        return self.level - conjugate - 2.0 * UNIT * (abs(self.level) + conjugate)

    def _newest_unrounded(self) -> float:
        """Return what the newest plane alone would prove if nothing were rounded.

        Where rounding takes away what planes prove, the weights fall on the plane 0, and a mixture does not
        show what they would have proved.
        """
        newest = self._n - 1
        offset = float(self._offsets[newest] + self._taken_off[newest])
        return offset - self.penalty.conjugate(-self._slopes[newest], self.alpha)

    def _choose_weights(self, theta: Vector, offsets: Vector, precision: float) -> None:
        """Change the weights of the planes to those that prove most, up to ``precision``."""
        n = self._n
        if self.penalty.is_squared_norm:
            gram = self._gram[:n, :n]
            simplex_qp(gram, offsets, self.alpha, theta, precision, MAX_QP_STEPS)
            # So much of what it takes for the bound may be rounding of the Gram matrix.
            lost = n * UNIT * float(gram.diagonal()[theta > 0.0].max()) / self.alpha
            if precision < lost < np.inf:
                improve_from_slopes(theta, self._slopes[:n], offsets, self.alpha, precision)
        else:
            improve_weights(theta, self._slopes[:n], offsets, self.penalty, self.alpha, precision)

    def _error_of_mean(self, weights: Vector, active: NDArray[np.int64], steps: float) -> Vector | float:
        """Return how far the entries of the mean slope may be off."""
        error = float(weights @ self._errors[active]) + steps * UNIT * float(weights @ self._lengths[active])
        if not np.isfinite(error):
            return float(np.inf)
        return upward(error, steps) * (1.0 if self.columns is None else self.columns)

    def minimizer(self) -> Vector:
        """Return the minimiser of the model ``max_k (a_k.w + b_k) + P(w)`` for the last bound."""
        return self.penalty.minimizer(-self._mean_slope, self.alpha)

    def _make_room(self) -> None:
        if self._n >= self._capacity and self._drop_idle():
            return
        size = 2 * self._n if self._n >= self._capacity else min(2 * self._n, self._capacity)
        self._slopes = _grown(self._slopes, (size, self._slopes.shape[1]))
        self._gram = _grown(self._gram, (size, size))
        self._offsets = _grown(self._offsets, (size,))
        self._theta = _grown(self._theta, (size,))
        self._last_active = _grown(self._last_active, (size,))
        self._taken_off = _grown(self._taken_off, (size,))
        self._errors = _grown(self._errors, (size,))
        self._lengths = _grown(self._lengths, (size,))

    def _drop_idle(self) -> bool:
        """Drop the longest idle quarter of the planes; False if all of them carry weight."""
        idle = np.flatnonzero(self._theta[: self._n] == 0.0)
        idle = idle[idle > 0]
        if not len(idle):
            return False
        oldest = idle[np.argsort(self._last_active[idle], kind="stable")][: max(1, self._capacity // 4)]
        self._keep(np.setdiff1d(np.arange(self._n), oldest))
        return True

    def _keep(self, keep: Rows) -> None:
        """Keep some planes, of ascending numbers, and drop the others."""
        n = len(keep)
        self._gram[:n, :n] = self._gram[np.ix_(keep, keep)]
        for array in (self._offsets, self._theta, self._last_active):
            array[:n] = array[keep]
        for array in (self._taken_off, self._errors, self._lengths):
            array[:n] = array[keep]
        # One row at a time and downward, so that no second copy of all planes is needed.
        for new, old in enumerate(keep):
            if new != old:
                self._slopes[new] = self._slopes[old]
        self._n = n


def _grown(array: NDArray[_T], shape: tuple[int, ...]) -> NDArray[_T]:
    larger = np.zeros(shape, dtype=array.dtype)
    larger[tuple(slice(length) for length in array.shape)] = array
    return larger
