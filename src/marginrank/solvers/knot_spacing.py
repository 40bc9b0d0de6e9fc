"""Where to solve along an interval of alphas, and the models between."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Vector

# How far the knots lie apart at eps = 1e-3; what models between them miss grows with the distance. Farther
# apart they need as many solutions between them, closer each one costs its start.
# More planes than are needed let them lie farther apart.
_FACTOR, _FACTOR_WITH_PLANES, _GROWTH = 1.6, 1.9, 1.0 / 6.0
# At large alpha a model is hardly more than the gradient at zero over alpha, and a start is often all that a
# solution takes. At small alpha starts are worse, and models between knots need knots of their own. By this
# much for each decade, steps are longer than their mean at the upper end and shorter at the lower one: on
# film reviews that saves a tenth of the passes at eps = 1e-3, anything from 0.05 to 0.15 about the same. With
# few features, where steps cost about the same everywhere, it does not pay.
_PER_DECADE, _LARGEST = 0.1, 0.5


def knots_between(alpha_max: float, alpha_min: float, steps: int, *, even: bool) -> Vector:
    """Return ``steps + 1`` alphas from ``alpha_max`` to ``alpha_min``, both exact.

    Their ratios are all the same, or fall on the way down.

    Examples
    --------
    >>> alphas = knots_between(1.0, 1e-4, 4, even=False)
    >>> (alphas[:-1] / alphas[1:]).round(1)
    array([20. , 12.6,  7.9,  5. ])
    """
    part = np.linspace(0.0, 1.0, steps + 1)
    if not even:
        decades = float(np.log10(alpha_max / alpha_min))
        part += min(_PER_DECADE * decades, _LARGEST) * part * (1.0 - part)
    alphas: Vector = alpha_max * (alpha_min / alpha_max) ** part
    alphas[0], alphas[-1] = alpha_max, alpha_min
    return alphas


def steps_between(alpha_max: float, alpha_min: float, eps: float, *, with_planes: bool = False) -> int:
    """Return in how many steps a path goes down, if none needs another one between.

    Examples
    --------
    >>> steps_between(1.0, 1e-4, eps=1e-3), steps_between(1.0, 1e-4, eps=1e-2)
    (20, 14)
    >>> steps_between(1.0, 1e-4, eps=1e-3, with_planes=True)
    15
    """
    distance = np.log(_FACTOR_WITH_PLANES if with_planes else _FACTOR) * (eps / 1e-3) ** _GROWTH
    return int(np.ceil(np.log(alpha_max / alpha_min) / distance - 1e-9))


def mixed(knots: Vector, stored: NDArray[np.float64], alphas: Vector) -> NDArray[np.float64]:
    """Return what models between knots have, given what those at the knots have: coefficients, or scores.

    Parameters
    ----------
    knots : ndarray of shape (n_knots,)
        The alphas of the knots, descending.
    stored : ndarray of shape (n_knots, ...)
        One entry for each.
    alphas : ndarray of shape (n_alphas,)
        Where ``alpha`` times the entry shall be linear in alpha between two knots.

    Examples
    --------
    >>> mixed(np.array([2.0, 1.0]), np.array([[1.0], [4.0]]), np.array([2.0, 1.5, 1.0]))
    array([[1.],
           [2.],
           [4.]])
    """
    above = np.clip(np.searchsorted(-knots, -alphas, side="right") - 1, 0, max(len(knots) - 2, 0))
    below = np.minimum(above + 1, len(knots) - 1)
    high, low = knots[above], knots[below]
    width = np.where(high > low, high - low, 1.0)
    share = np.where(high > low, (alphas - low) / width, 1.0)
    least = np.where(alphas > 0.0, alphas, 1.0)  # at alpha = 0 there is a knot, or nothing
    a = np.where(high == alphas, share, share * high / least)
    b = np.where(low == alphas, 1.0 - share, (1.0 - share) * low / least)
    shape = (len(alphas),) + (1,) * (stored.ndim - 1)
    return np.asarray(a.reshape(shape) * stored[above] + b.reshape(shape) * stored[below])
