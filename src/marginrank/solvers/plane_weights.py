"""Which mixture of cutting planes proves most: weights on the simplex, for any penalty.

Planes ``R(w) >= a_k.w + b_k`` with weights ``theta`` prove that the optimum is at least

    D(theta) = b.theta - P*(-sum_k theta_k a_k),

which is concave, with the gradient ``b_k + a_k.w`` for ``w`` the minimiser of the mixture. For the squared
norm its maximum is one quadratic programme over the Gram matrix of the planes. For another penalty it is
quadratic as long as the same coefficients are free, so a few such programmes, each with a line search, lead
there. Any weights prove a bound, so none of this has to be exact.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import simplex_qp
from marginrank.solvers.penalties import Penalty
from marginrank.types import Vector

# Nearly parallel planes make the pairwise steps short; later calls continue from where this one stopped.
MAX_QP_STEPS = 1_000
_MAX_ROUNDS = 30
_MAX_TRIALS = 12
# A coefficient on a face of the penalty may leave it on the way, so it counts for a part of a free one. If
# all of them count as free, the model lies below D, and its maximum is never worse; but steps are short then.
_ON_A_FACE = 1e-2
_LEAST_ON_A_FACE = 1e-5
_GROWTH = 8.0
# A step that gains less of what the model promised was too bold.
_GOOD_GAIN = 0.25
# A line search ends where D is so much flatter than at its start.
_FLAT = 1e-3


def improve_weights(
    theta: Vector,
    slopes: NDArray[np.float64],
    offsets: Vector,
    penalty: Penalty,
    alpha: float,
    precision: float,
) -> None:
    """Move weights of planes toward the maximum of ``D``, up to ``precision``, in place.

    Parameters
    ----------
    theta : ndarray of shape (n_planes,)
        Weights, not negative, with the sum 1.
    slopes : ndarray of shape (n_planes, n_features)
        Slopes of the planes.
    offsets : ndarray of shape (n_planes,)
        Their values at ``w = 0``.
    penalty : Penalty
        What the objective adds to the risk.
    alpha : float
        Its strength.
    precision : float
        What the maximum may exceed the result by.
    """
    mixture = partial(_mixture, slopes=slopes, offsets=offsets, penalty=penalty, alpha=alpha)
    value, w, z = mixture(theta)
    newest = np.zeros_like(theta)
    newest[-1] = 1.0
    alone, w_alone, z_alone = mixture(newest)
    if alone > value:
        theta[:] = newest
        value, w, z = alone, w_alone, z_alone
    on_a_face = _ON_A_FACE
    for _ in range(_MAX_ROUNDS):
        gradient = offsets + slopes @ w
        mean = float(gradient @ theta)
        if float(gradient.max()) - mean <= precision:  # D is concave: no mixture is better than that
            return
        some = np.flatnonzero((theta > 0.0) | (gradient > mean))
        weight = penalty.minimizer_slope(z, alpha)
        weight = np.maximum(weight, on_a_face / penalty.modulus(alpha))
        target = np.zeros_like(theta)
        target[some], promised = _model_maximum(theta[some], slopes[some], gradient[some], weight, precision)
        step = _longest_rise(theta, target, z, slopes, offsets, penalty, alpha)
        trial = np.maximum((1.0 - step) * theta + step * target, 0.0)
        trial /= trial.sum()
        found, w_there, z_there = mixture(trial)
        is_good = found - value >= _GOOD_GAIN * promised
        if not found > value and on_a_face >= 1.0:
            return
        on_a_face = max(on_a_face / _GROWTH, _LEAST_ON_A_FACE) if is_good else min(on_a_face * _GROWTH, 1.0)
        if found > value:
            theta[:] = trial
            value, w, z = found, w_there, z_there


def _mixture(
    theta: Vector, slopes: NDArray[np.float64], offsets: Vector, penalty: Penalty, alpha: float
) -> tuple[float, Vector, Vector]:
    """Return ``D(theta)``, the minimiser there, and minus the mean slope."""
    z = -(theta @ slopes)
    w = penalty.minimizer(z, alpha)
    return float(offsets @ theta) - float(z @ w) + penalty.value(w, alpha), w, z


def _model_maximum(
    theta: Vector, slopes: NDArray[np.float64], gradient: Vector, weight: Vector, precision: float
) -> tuple[Vector, float]:
    """Return the weights at which the quadratic model of ``D`` about ``theta`` is largest, and its gain."""
    curvature = (slopes * weight) @ slopes.T
    target = theta.copy()
    simplex_qp(curvature, gradient + curvature @ theta, 1.0, target, 0.5 * precision, MAX_QP_STEPS)
    target /= target.sum()
    move = target - theta
    return target, float(gradient @ move) - 0.5 * float(move @ curvature @ move)


def _longest_rise(
    theta: Vector,
    target: Vector,
    z: Vector,
    slopes: NDArray[np.float64],
    offsets: Vector,
    penalty: Penalty,
    alpha: float,
) -> float:
    """Return the step from ``theta`` to ``target``, or beyond it within the simplex, along which ``D`` rises.

    ``D`` is concave, so its slope falls along the way; each look at it costs the features once, not times the
    planes.
    """
    move = target - theta
    level, change = float(offsets @ move), -(move @ slopes)

    def slope(step: float) -> float:
        return level - float(change @ penalty.minimizer(z + step * change, alpha))

    low, high, at_low, at_high = 0.0, 1.0, slope(0.0), slope(1.0)
    enough = _FLAT * at_low
    if not at_low > 0.0:
        return 1.0
    if at_high > enough:
        falling = move < 0.0
        farthest = float((theta[falling] / -move[falling]).min(initial=np.inf)) if falling.any() else 1.0
        low, high, at_low = 1.0, farthest, at_high
        if not high > 1.0 or (at_high := slope(high)) >= 0.0:
            return max(high, 1.0)
    elif at_high >= 0.0:
        return 1.0
    for _ in range(_MAX_TRIALS):
        middle = 0.5 * (low + high)
        part = at_low / (at_low - at_high)
        # The secant leads to the kink between two pieces; halves make sure that the ends meet.
        guess = low + (high - low) * min(max(part, 0.05), 0.95)
        for step in (guess, middle):
            if not low < step < high:
                continue
            found = slope(step)
            if found >= 0.0:
                low, at_low = step, found
            else:
                high, at_high = step, found
        if at_low <= enough:
            break
    return low if low > 0.0 else high
