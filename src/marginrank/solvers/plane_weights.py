"""Which mixture of cutting planes proves most: weights on the simplex, for any penalty.

Planes ``R(w) >= a_k.w + b_k`` with weights ``theta`` prove that the optimum is at least

    D(theta) = b.theta - P*(-sum_k theta_k a_k),

which is concave, with the gradient ``b_k + a_k.w`` for ``w`` the minimiser of the mixture. For the squared
norm its maximum is one quadratic programme over the Gram matrix of the planes. For another penalty it is
quadratic as long as the same coefficients are free, so a few such programmes, each with a line search, lead
there. Any weights prove a bound, so none of this has to be exact.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import simplex_qp
from marginrank.solvers.penalties import Penalty
from marginrank.types import Vector

# Nearly parallel planes make the pairwise steps short; later calls continue from where this one stopped.
MAX_QP_STEPS = 1_000
_MAX_ROUNDS = 30
_MAX_HALVINGS = 30
# A coefficient on a face of the penalty may leave it in the next round, so it counts a little.
_ON_A_FACE = 1e-2


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
    value, w, z = _mixture(theta, slopes, offsets, penalty, alpha)
    for _ in range(_MAX_ROUNDS):
        gradient = offsets + slopes @ w
        mean = float(gradient @ theta)
        if float(gradient.max()) - mean <= precision:  # D is concave: no mixture is better than that
            return
        some = np.flatnonzero((theta > 0.0) | (gradient > mean))
        target = np.zeros_like(theta)
        target[some] = _model_maximum(
            theta[some], slopes[some], gradient[some], penalty.minimizer_slope(z, alpha), precision
        )
        step = 1.0
        for _ in range(_MAX_HALVINGS):
            trial = (1.0 - step) * theta + step * target
            found, w_there, z_there = _mixture(trial, slopes, offsets, penalty, alpha)
            if found > value:
                break
            step *= 0.5
        else:
            return
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
    theta: Vector, slopes: NDArray[np.float64], gradient: Vector, free: Vector, precision: float
) -> Vector:
    """Return the weights at which the quadratic model of ``D`` about ``theta`` is largest."""
    weight = np.maximum(free, _ON_A_FACE * float(free.max(initial=0.0)))
    curvature = (slopes * weight) @ slopes.T
    target = theta.copy()
    simplex_qp(curvature, gradient + curvature @ theta, 1.0, target, 0.5 * precision, MAX_QP_STEPS)
    target /= target.sum()
    return target
