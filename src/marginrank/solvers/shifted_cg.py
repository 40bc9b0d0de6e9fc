"""Conjugate gradients for a quadratic risk, at every strength of regularisation at once.

The systems ``(H + alpha I) w = c`` of all alphas share one Krylov space: started at zero, their residuals
stay multiples of one another. So one product with ``H`` per iteration serves all of them, and only vectors
are updated for each (Jegerlehner, hep-lat/9612014; Frommer and Maass, SIAM J. Sci. Comput. 20, 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Array, Vector


class Equations(Protocol):
    """``(H + alpha I) w = c`` for one or several right sides, the gradient of a quadratic objective.

    Along with every vector ``v`` goes the product of a fixed matrix with it (``carried``): the scores of
    validation rows follow each iterate at the price of one product per iteration.
    """

    right_side: Array  # (n_targets, n_features)
    constant: Array  # (n_targets,): the risk at w = 0
    n_carried: int

    def product(self, vectors: Array) -> Array:
        """Return ``H v`` for each row."""

    def carried(self, vectors: Array) -> Array:
        """Return what goes along with each row, of shape (n_targets, n_carried)."""


class ShiftedCG:
    """Conjugate gradients from zero for a grid of alphas.

    Parameters
    ----------
    equations : Equations
        What to solve.
    alphas : ndarray of shape (n_alphas,)
        Strengths of the regularisation, in any order; 0 is allowed.
    tol : float
        A system is solved when its residual is at most this fraction of the right side.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    iteration : int
        Iterations so far, of one product with H each.
    w : ndarray of shape (n_alphas, n_targets, n_features)
        The iterates.
    carried : ndarray of shape (n_alphas, n_targets, n_carried)
        What goes along with the iterates.
    active : ndarray of bool, shape (n_alphas,)
        Which systems still move; the others are solved or were frozen.
    iterations : ndarray of int64, shape (n_alphas,)
        After how many iterations each of the others was.
    low : ndarray of shape (n_alphas, n_targets, n_features)
        Means of the iterates at which the optimum is bounded from below.
    values, bounds : ndarray of shape (n_alphas,)
        The objectives, summed over the targets, and lower bounds of their optima, but for rounding.

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
        self._equations = equations
        self.alphas = np.asarray(alphas, dtype=np.float64)
        self._tol = tol
        self._max_iter = max_iter
        self.iteration = 0
        self._observed = -1
        n_alphas, (n_targets, n_features) = len(self.alphas), equations.right_side.shape
        self._n = n_features
        self._seed = int(np.argmin(self.alphas))
        self._shift = (self.alphas - self.alphas[self._seed])[:, None]
        # Every vector has its carried part behind it, so that one update moves both.
        shape = (n_alphas, n_targets, n_features + equations.n_carried)
        self._iterate = np.zeros(shape)
        self._residual = self._extended(equations.right_side.copy())
        self._direction = np.repeat(self._residual[None], n_alphas, axis=0)
        self._squared = _squares(equations.right_side)
        if np.any((self._squared == 0.0) & equations.right_side.any(axis=1)):
            raise FloatingPointError("The right side of the normal equations squares to 0.")
        self._goal = tol * np.sqrt(self._squared)
        self._zeta = np.ones((n_alphas, n_targets))
        self._ratio = np.ones((n_alphas, n_targets))
        self._step, self._beta = np.ones(n_targets), np.zeros(n_targets)
        with np.errstate(divide="ignore"):
            self._radau = np.repeat(1.0 / self.alphas[:, None], n_targets, axis=1)
        self.low: Array = np.zeros((n_alphas, n_targets, n_features))
        self._residual_there = np.ones((n_alphas, n_targets))
        self._direction_there = np.ones((n_alphas, n_targets))
        with np.errstate(divide="ignore"):
            self._mass = np.repeat(1.0 / self._squared[None], n_alphas, axis=0)
        self.active = np.ones(n_alphas, dtype=bool)
        self.iterations = np.zeros(n_alphas, dtype=np.int64)
        self.values = np.full(n_alphas, float(equations.constant.sum()))
        self.bounds = np.zeros(n_alphas)
        self._update_certificates()

    @property
    def w(self) -> Array:
        """The iterates, one for each alpha."""
        return self._iterate[..., : self._n]

    @property
    def carried(self) -> Array:
        """What goes along with the iterates."""
        return self._iterate[..., self._n :]

    def freeze(self, which: NDArray[np.bool_]) -> None:
        """Let these systems stay where they are."""
        self.iterations[self.active & which] = self.iteration
        self.active &= ~which

    def run(
        self, observe: Callable[[ShiftedCG], bool | None], *, upto: int | None = None, last: float = np.inf
    ) -> str:
        """Iterate until no system moves; a run that ended may be continued.

        Parameters
        ----------
        observe : callable
            Called with this object at the start and after each iteration, when ``active`` says which systems
            have just moved; it may freeze systems, and stops the run by returning True.
        upto : int, optional
            The system that shall be solved, rather than all of them.
        last : float, default=inf
            The iteration after which to stop in any case.

        Returns
        -------
        str
            "converged", "max_iter", "limit", "stopped", or "interrupted" after Ctrl-C.
        """
        waited_for = slice(None) if upto is None else upto
        try:
            while True:
                if self._observed < self.iteration:
                    stopped = observe(self)
                    self._observed = self.iteration
                    self.freeze(self._solved())
                    if stopped:
                        return "stopped"
                if not np.any(self.active[waited_for]):
                    return "converged"
                if self.iteration >= self._max_iter:
                    return "max_iter"
                if self.iteration >= last:
                    return "limit"
                self._advance()
        except KeyboardInterrupt:
            return "interrupted"

    def _solved(self) -> NDArray[np.bool_]:
        return np.asarray(np.all(self._zeta * np.sqrt(self._squared) <= self._goal, axis=1))

    def _advance(self) -> None:
        seed = self._direction[self._seed, :, : self._n]
        product = self._equations.product(np.ascontiguousarray(seed))
        product += self.alphas[self._seed] * seed
        curvature = _products(seed, product)
        # A target that is solved exactly has no direction left; the others continue without it.
        moving = (self._squared > 0.0) & (curvature > 0.0)
        step = np.where(moving, self._squared / np.where(moving, curvature, 1.0), 0.0)
        residual = self._residual[:, : self._n] - step[:, None] * product
        squared = np.where(moving, _squares(residual), 0.0)
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
                self.bounds[k] = min(max(self.bounds[k], self.values[k] - error), self.values[k])

    def _extended(self, vectors: Array) -> Array:
        if not self._equations.n_carried:
            return vectors
        return np.concatenate([vectors, self._equations.carried(vectors)], axis=1)


def _squares(vectors: Array) -> Vector:
    return _products(vectors, vectors)


def _products(left: Array, right: Array) -> Vector:
    result: Vector = np.einsum("ij,ij->i", left, right)
    if not np.isfinite(result).all():  # einsum itself says nothing
        raise FloatingPointError("A product of the normal equations overflows.")
    return result
