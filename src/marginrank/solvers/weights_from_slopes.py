"""Which mixture of cutting planes proves most, where the Gram matrix of their slopes has no digits left.

With columns of very different units, all planes are steep along a few coefficients, the best mixture is flat
there, and the Gram matrix of the slopes knows the other coefficients only after its last digit. A QR factor
of the slopes squares nothing and knows them. One plane at a time enters, and Newton steps on the planes that
carry weight lead to the best mixture of these: slower than the quadratic programme, and right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular

from marginrank.rounding import TINY, UNIT
from marginrank.types import Rows, Vector

# A plane enters in each; more than a few are needed only where the start is far from the best mixture.
_MAX_ROUNDS = 30


def improve_from_slopes(
    theta: Vector, slopes: NDArray[np.float64], offsets: Vector, alpha: float, precision: float
) -> None:
    """Move weights of planes toward the largest bound for the squared norm, up to ``precision``, in place.

    Parameters
    ----------
    theta : ndarray of shape (n_planes,)
        Weights, not negative, with the sum 1.
    slopes : ndarray of shape (n_planes, n_features)
        Slopes of the planes.
    offsets : ndarray of shape (n_planes,)
        Their values at ``w = 0``.
    alpha : float
        Strength of the penalty.
    precision : float
        What the largest bound may exceed the result by.

    Examples
    --------
    >>> theta, slopes = np.array([1.0, 0.0, 0.0]), np.array([[0.0, 0.0], [1e9, 1e-2], [-1e9, 1e-2]])
    >>> improve_from_slopes(theta, slopes, np.array([0.0, 1.0, 1.0]), 1e-2, 1e-9)
    >>> theta.round(6)
    array([0. , 0.5, 0.5])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        before = _bound(theta, slopes, offsets, alpha)
        for _ in range(_MAX_ROUNDS):
            active = np.flatnonzero(theta)
            w = _lowest(theta[active], slopes[active], offsets[active], alpha)
            heights = offsets + slopes @ w
            highest = int(np.argmax(heights))
            # The bound is concave in the weights, heights are its slope: no mixture is better than that.
            if not heights[highest] - heights @ theta > precision:
                return
            active = np.union1d(active, highest)
            found = _best_of(theta[active], slopes[active], offsets[active], alpha)
            after = _bound(found, slopes[active], offsets[active], alpha)
            if not after > before:
                return
            theta[active], before = found, after


def _bound(theta: Vector, slopes: NDArray[np.float64], offsets: Vector, alpha: float) -> float:
    """Return what weights prove."""
    mean = theta @ slopes
    return float(offsets @ theta) - float(mean @ mean) / (2.0 * alpha)


def _lowest(theta: Vector, slopes: NDArray[np.float64], offsets: Vector, alpha: float) -> Vector:
    """Return where planes and penalty are lowest, of planes that all carry weight.

    The last digits of the weights move it along steep columns. But planes that carry weight are equally high
    there, which no digit of the weights takes away.
    """
    w: Vector = -(theta @ slopes) / alpha
    pivot = int(np.argmax(theta))
    heights = offsets + slopes @ w
    others = np.delete(np.arange(len(theta)), pivot)
    w -= _Differences(slopes, pivot, others).at_height(heights[others] - heights[pivot])
    return w


def _best_of(theta: Vector, slopes: NDArray[np.float64], offsets: Vector, alpha: float) -> Vector:
    """Return the weights at which some planes prove most, by Newton steps; all but the last end a weight."""
    theta, left = theta.copy(), np.arange(len(theta))
    while len(left) > 1:
        pivot = int(left[np.argmax(theta[left])])
        others = left[left != pivot]
        heights = offsets - slopes @ (theta @ slopes) / alpha
        rise = heights[others] - heights[pivot]
        differences = _Differences(slopes, pivot, others)
        move = differences.way_up(rise, alpha)
        slope, turn = float(move @ rise), move @ differences.rows
        if not slope > 0.0:
            break
        direction = np.zeros(len(theta))
        direction[others], direction[pivot] = move, -move.sum()
        falling = np.flatnonzero(direction < 0.0)
        ends = theta[falling] / -direction[falling]
        first = int(np.argmin(ends))
        size = min(slope * alpha / max(float(turn @ turn), TINY), ends[first])
        theta = np.maximum(theta + size * direction, 0.0)
        if size < ends[first]:
            break
        theta[falling[first]] = 0.0
        left = left[left != falling[first]]
    theta /= theta.sum()
    return theta


class _Differences:
    """Slopes of some planes less that of one, and what their QR factorisation solves.

    A change of the weights of these planes, which the one makes up for, changes the mean slope by a
    combination of the rows.
    """

    def __init__(self, slopes: NDArray[np.float64], pivot: int, others: Rows) -> None:
        self.rows = slopes[others] - slopes[pivot]
        # Entries keep their digits, however small, if large ones come first.
        self._order = np.argsort(-np.abs(self.rows).max(axis=0, initial=0.0), kind="stable")
        if not len(others):
            self._rank = 0
            return
        columns = self.rows[:, self._order].T
        self._basis, self._factor, self._pivots = qr(
            columns, mode="economic", pivoting=True, check_finite=False
        )
        lost = 4.0 * len(others) * UNIT * np.linalg.norm(self.rows, axis=1)[self._pivots]
        diagonal = np.abs(np.diagonal(self._factor))
        # The rest depends on those before, up to rounding.
        self._rank = int(np.argmin(np.append(diagonal > lost[: len(diagonal)], False)))

    def at_height(self, heights: Vector) -> Vector:
        """Return the shortest vector whose products with independent rows are these."""
        found = np.zeros(len(self._order))
        if self._rank:
            basis = self._basis[:, : self._rank]
            found[self._order] = basis @ self._solved(heights[self._pivots[: self._rank]], transposed=True)
        return found

    def way_up(self, rise: Vector, alpha: float) -> Vector:
        """Return the Newton step of the weights for a slope of the bound.

        Where rows depend on one another, it is the way uphill that leaves the mean slope as it is.
        """
        n, rank = len(rise), self._rank
        if rank == 0:
            return rise
        up, move = rise[self._pivots], np.zeros(n)
        if rank < n:
            # Each dependent row is made up for by the independent ones.
            makes_up = self._solved(self._factor[:rank, rank:])
            dependent = up[rank:] - makes_up.T @ up[:rank]
            move[self._pivots] = np.append(-makes_up @ dependent, dependent)
        if not move @ rise > 0.0:
            step = alpha * self._solved(self._solved(up[:rank], transposed=True))
            move[self._pivots] = np.append(step, np.zeros(n - rank))
        return move

    def _solved(self, right: NDArray[np.float64], transposed: bool = False) -> NDArray[np.float64]:
        square = self._factor[: self._rank, : self._rank]
        found: NDArray[np.float64] = solve_triangular(
            square, right, trans="T" if transposed else "N", check_finite=False
        )
        return found
