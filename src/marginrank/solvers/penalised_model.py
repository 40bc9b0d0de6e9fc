"""Where a quadratic model of the risk and a penalty with kinks or bounds are least together.

A step of quasi-Newton that is only cut off where it crosses a kink or a bound leaves the others where they
should be had it not been cut off: where a box holds hundreds of weights, such steps gained next to nothing.
Here the model itself is minimised within the penalty, by projected Newton steps (Bertsekas, SIAM J. Control
Optim. 20, 1982) among the coefficients that are free. No step looks at X.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from marginrank.solvers.compact_hessian import CompactHessian
from marginrank.solvers.penalties import Penalty
from marginrank.types import Vector

_MAX_STEPS = 30
# The last one, a whole step, gains less than this part of what all of them gained.
_ENOUGH = 0.1
# A step that is a minimum of its line as it is, but for rounding, is taken; where the penalty bends it so far
# that less of it is better, shorter ones are tried until they gain less.
_WHOLE = 0.99
_SHORTER = 0.3
_FALLING = 0.9
_MAX_TRIALS = 12


class _Move(NamedTuple):
    """A step of the model, its product with the Hessian, its gain, and which part of a whole step it is."""

    step: Vector
    product: Vector
    gain: float
    part: float


def model_step(
    penalty: Penalty, alpha: float, hessian: CompactHessian, w: Vector, gradient: Vector, smallest: Vector
) -> Vector:
    """Return the step from ``w`` to about the minimiser of the model; 0 where none leads down.

    Parameters
    ----------
    penalty : Penalty
        With kinks or bounds.
    alpha : float
        Its strength.
    hessian : CompactHessian
        Of the risk and the modulus of the penalty.
    w : ndarray of shape (n_features,)
        Coefficients that the penalty allows.
    gradient : ndarray of shape (n_features,)
        Of the same, at ``w``.
    smallest : ndarray of shape (n_features,)
        The smallest subgradient of the objective at ``w``.
    """
    modulus = penalty.modulus(alpha)
    here, product, total = w, np.zeros_like(w), 0.0
    for _ in range(_MAX_STEPS):
        risk_gradient = gradient + product - modulus * here
        if product.any():
            smallest = penalty.smallest_subgradient(here, risk_gradient, alpha)
        move = _best_move(penalty, alpha, hessian, here, risk_gradient, smallest)
        if move is None:
            break
        here, product = penalty.nearest(here + move.step), product + move.product
        total += move.gain
        if move.part >= _WHOLE and move.gain <= _ENOUGH * total:
            break
    return penalty.step_to(w, here)


def _best_move(
    penalty: Penalty,
    alpha: float,
    hessian: CompactHessian,
    w: Vector,
    risk_gradient: Vector,
    smallest: Vector,
) -> _Move | None:
    """Return the best step on the way along Newton's direction, bent where the penalty cuts it off."""
    free = smallest != 0.0
    if not free.any():
        return None
    # What a kink or a bound holds has the subgradient 0: it stays, and others move as if it were not there.
    direction = -hessian.solve(smallest, free)
    best: _Move | None = None
    length = 1.0
    for _ in range(_MAX_TRIALS):
        step = penalty.allowed_step(w, length * direction, smallest)
        slope = float(risk_gradient @ step) + penalty.slope(w, step, alpha)
        # What is cut off may make a long step lead up; a short one leads down.
        if slope < 0.0:
            move = _shortened(hessian, step, slope)
            if length == 1.0 and move.part >= _WHOLE:
                return move
            if best is None or move.gain > best.gain:
                best = move._replace(part=length * move.part)
            elif move.gain < _FALLING * best.gain:
                break
        length *= _SHORTER
    return best


def _shortened(hessian: CompactHessian, step: Vector, slope: float) -> _Move:
    """Return the part of a step that gains most; on the way the penalty has no kink."""
    product = hessian.times(step)
    curvature = float(step @ product)
    part = min(1.0, -slope / curvature) if curvature > 0.0 else 1.0
    gain = -part * slope - 0.5 * part * part * curvature
    return _Move(part * step, part * product, gain, part)
