"""Conjugate gradients for a quadratic risk, at every strength of regularisation at once.

The systems ``(H + alpha I) w = c`` of all alphas share one Krylov space: started at zero, their residuals
stay multiples of one another. So one product with ``H`` per iteration serves all of them, and only vectors
are updated for each (Jegerlehner, hep-lat/9612014; Frommer and Maass, SIAM J. Sci. Comput. 20, 1999).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank.rounding import UNIT
from marginrank.solvers.conjugate_gradients import (
    LAST_DIGITS,
    ConjugateGradients,
    Equations,
    products,
    squares,
)
from marginrank.types import Array, Vector


class ShiftedCG(ConjugateGradients):
    """Conjugate gradients from zero for a grid of alphas.

    Parameters
    ----------
    equations : Equations
        What to solve.
    alphas : ndarray of shape (n_alphas,)
        Strengths of the regularisation, in any order; 0 is allowed.
    tol : float
        A system is solved when its gap is at most this, and its residual at most this part of the right side,
        so that validation figures, which a gap says little about, are those of the solution. At
        ``alpha = 0``, where nothing bounds the optimum, the residual decides alone.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    carried : ndarray of shape (n_alphas, n_targets, n_carried)
        What goes along with the iterates.
    low : ndarray of shape (n_alphas, n_targets, n_features)
        Means of the iterates at which the optimum is bounded from below.

    Notes
    -----
    Values follow from ``J(w) = constant - (c + r)'w / 2`` for the residual ``r``. The bounds are those of
    Gauss-Radau quadrature with the node ``alpha``, which no eigenvalue of the system is below (Meurant and
    Tichy, Numerical Algorithms 82, 2019): exact where arithmetic is. For ``alpha = 0`` the bound is 0.

    The same bounds are ``J(v) - ||r(v)||^2 / (2 alpha)`` at a point v of the Krylov space: the quadrature is
    the largest of these. Its residual is orthogonal to that space in the inner product of ``H``, and so it is
    ``sum_i t_i r_i / sum_i t_i`` over the residuals of the iterates, with ``t_i = p_i(alpha) / ||r_i||^2``,
    ``r_i = p_i(H + alpha) c``: the kernel polynomial. So v is a running mean of the iterates. One product
    with X at the end makes of it a bound that holds in any arithmetic.
    """

    def __init__(self, equations: Equations, alphas: Vector, *, tol: float, max_iter: int) -> None:
        super().__init__(equations, alphas, tol=tol, max_iter=max_iter)
        n_alphas, (n_targets, n_features) = len(self.alphas), equations.right_side.shape
        self._n = n_features
        self._seed = int(np.argmin(self.alphas))
        self._shift = (self.alphas - self.alphas[self._seed])[:, None]
        # Every vector has its carried part behind it, so that one update moves both.
        shape = (n_alphas, n_targets, n_features + equations.n_carried)
        self._iterate = np.zeros(shape)
        self._residual = self._extended(equations.right_side.copy())
        self._direction = np.repeat(self._residual[None], n_alphas, axis=0)
        self._squared = squares(equations.right_side)
        if np.any((self._squared == 0.0) & equations.right_side.any(axis=1)):
            raise FloatingPointError("The right side of the normal equations squares to 0.")
        self._size = np.sqrt(self._squared)
        self._zeta = np.ones((n_alphas, n_targets))
        self._ratio = np.ones((n_alphas, n_targets))
        self._step, self._beta = np.ones(n_targets), np.zeros(n_targets)
        with np.errstate(divide="ignore"):
            self._radau = np.repeat(1.0 / self.alphas[:, None], n_targets, axis=1)
        self.low = np.zeros((n_alphas, n_targets, n_features))
        self._errors = np.full(n_alphas, np.inf)  # what values are above the optimum at most
        self._residual_there = np.ones((n_alphas, n_targets))
        self._direction_there = np.ones((n_alphas, n_targets))
        with np.errstate(divide="ignore"):
            self._mass = np.repeat(1.0 / self._squared[None], n_alphas, axis=0)
        self._update_certificates()

    @property
    def w(self) -> Array:
        """The iterates, one for each alpha."""
        return self._iterate[..., : self._n]

    @property
    def carried(self) -> Array:
        """What goes along with the iterates."""
        return self._iterate[..., self._n :]

    def _solved(self) -> NDArray[np.bool_]:
        part = self._zeta * np.sqrt(self._squared)
        # At a large alpha w = 0 is nearly optimal, and orders nothing. Below the last digits recurrences
        # go on to shrink, and iterates do not move any more.
        is_small, is_least = (np.all(part <= least * self._size, axis=1) for least in (self._tol, UNIT))
        digits = LAST_DIGITS * float(self._equations.constant.sum())
        is_closed = self._errors <= self._tol * np.maximum(self.values, digits)
        return np.asarray((is_small & (is_closed | (self.alphas == 0.0))) | is_least)

    def _advance(self) -> None:
        seed = self._direction[self._seed, :, : self._n]
        product = self._equations.product(np.ascontiguousarray(seed))
        product += self.alphas[self._seed] * seed
        curvature = products(seed, product)
        # A target that is solved exactly has no direction left; the others continue without it.
        moving = (self._squared > 0.0) & (curvature > 0.0)
        step = np.where(moving, self._squared / np.where(moving, curvature, 1.0), 0.0)
        residual = self._residual[:, : self._n] - step[:, None] * product
        squared = np.where(moving, squares(residual), 0.0)
        beta = np.where(moving, squared / np.where(moving, self._squared, 1.0), 0.0)
        ratio = self._ratios(step)
        self._residual = self._extended(residual)
        self._move(step, beta, ratio, squared)
        self._squared, self._step, self._beta, self._ratio = squared, step, beta, ratio
        self.iteration += 1
        self._update_certificates()

    def _ratios(self, step: Vector) -> Array:
        """Return by what the residuals of the shifted systems shrink against that of the seed."""
        before = np.where(self._step > 0.0, self._step, 1.0)
        slack = step * self._beta * (1.0 - self._ratio)
        ratio: Array = before / (slack + before * (1.0 + self._shift * step))
        return ratio

    def _move(self, step: Vector, beta: Vector, ratio: Array, squared: Vector) -> None:
        """Update iterates, directions and the Gauss-Radau coefficients of every system that moves."""
        own_step, own_beta = step * ratio, beta * ratio**2
        self._zeta = self._zeta * ratio
        for k in np.flatnonzero(self.active):
            self._iterate[k] += own_step[k, :, None] * self._direction[k]
        for k in np.flatnonzero(self.active | (np.arange(len(self.alphas)) == self._seed)):
            self._direction[k] *= own_beta[k, :, None]
            self._direction[k] += self._zeta[k, :, None] * self._residual
        alpha = self.alphas[:, None]
        self._average(own_step, own_beta, self._zeta**2 * squared)
        with np.errstate(invalid="ignore", divide="ignore"):
            left = self._radau - own_step
            radau = left / (alpha * left + own_beta)
            simple = 1.0 / alpha
        self._radau = np.where((left > 0.0) & (radau > 0.0) & np.isfinite(radau), radau, simple)

    def _average(self, own_step: Array, own_beta: Array, squared: Array) -> None:
        """Take the new iterates into the points at which optima are bounded; see the notes of the class."""
        there = self._residual_there - own_step * self.alphas[:, None] * self._direction_there
        self._residual_there = np.maximum(there, 0.0)
        self._direction_there = self._residual_there + own_beta * self._direction_there
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            weight = self._residual_there / squared
            mass = self._mass + weight
            share = np.where(squared > 0.0, weight / mass, 1.0)
        share = np.where(np.isfinite(share), share, 0.0)
        for k in np.flatnonzero(self.active):
            self.low[k] += share[k, :, None] * (self.w[k] - self.low[k])
            self._mass[k] = mass[k]

    def _update_certificates(self) -> None:
        equations = self._equations
        residual = self._residual[:, : self._n]
        for k in np.flatnonzero(self.active):
            pull = equations.right_side + self._zeta[k, :, None] * residual
            self.values[k] = float(equations.constant.sum() - 0.5 * np.einsum("ij,ij->", pull, self.w[k]))
            error = float(np.sum(0.5 * self._radau[k] * self._zeta[k] ** 2 * self._squared))
            if np.isfinite(error):
                self._errors[k] = error
                self.bounds[k] = min(max(self.bounds[k], self.values[k] - error), self.values[k])

    def _extended(self, vectors: Array) -> Array:
        if not self._equations.n_carried:
            return vectors
        return np.concatenate([vectors, self._equations.carried(vectors)], axis=1)
