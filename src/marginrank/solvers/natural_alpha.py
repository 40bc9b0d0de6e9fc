"""The alpha at which penalty and risk are of one size, from the gradient at zero."""

from __future__ import annotations

import numpy as np

from marginrank.designs.base import Design
from marginrank.losses.base import Loss
from marginrank.types import Vector

_LEAST_SQUARE = 1e-290


def natural_alpha(design: Design, loss: Loss) -> float:
    """Return the alpha at which a step along the gradient at zero brings the margins to about 1.

    That is their order of magnitude, for every loss whose pairs pull by about 1 at zero: the hinge by 1, its
    square by 2, the logistic loss by 1/2. Above this alpha the model is hardly more than that gradient; it
    follows the units of X. What may be the rounding
    of the product, because the terms of a column cancel out, counts as nothing.

    Returns
    -------
    float
        0 where no column pulls in any direction.
    """
    slope = loss.at(np.zeros(loss.n_rows)).gradient
    gradient, rounding = design.adjoint(slope), design.rounding()
    unit = 0.5 * np.finfo(np.float64).eps * rounding.adjoint_steps * float(np.abs(slope).sum())
    gradient = np.where(np.abs(gradient) > unit * rounding.column, gradient, 0.0)
    return squared_length(gradient)


def squared_length(gradient: Vector) -> float:
    """Return ``|g|^2``; it is an error if it is too large or too small for the decades about it.

    Examples
    --------
    >>> squared_length(np.array([3.0, 4.0]))
    25.0
    """
    with np.errstate(over="ignore"):
        square = float(gradient @ gradient)
    if gradient.any() and not _LEAST_SQUARE < square < 1.0 / _LEAST_SQUARE:
        raise FloatingPointError(f"The gradient at zero has the squared length {square:g}.")
    return square
