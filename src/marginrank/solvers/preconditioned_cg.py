"""Conjugate gradients for a quadratic risk at one alpha: preconditioned, with a bound."""

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


class PreconditionedCG(ConjugateGradients):
    """Solves ``(H + alpha I) w = c`` in the units of a diagonal.

    Parameters
    ----------
    equations : Equations
        What to solve; nothing goes along with the iterates.
    alpha : float
        Strength of the regularisation, above 0.
    diagonal : ndarray of shape (n_features,), optional
        Something like the diagonal of the system, positive; 1 by default.
    tol : float
        The system is solved when its gap is at most this. Its residual is then at most the square root of it,
        as a part of the right side, in the units of the diagonal: gaps go with squares.
    max_iter : int
        Largest number of iterations.

    Notes
    -----
    Every point v proves ``J(v) - ||r(v)||^2 / (2 alpha)``, with r(v) the residual there, because no
    eigenvalue is below alpha. That is a quadratic function of v, too. So after each iteration v goes along
    the line to the new iterate as far as it proves most. Without a diagonal, and started at 0, that is the
    running mean whose bound is that of Gauss-Radau quadrature (see :class:`ShiftedCG`). With one, the best
    point of the whole Krylov space proves hardly more: on text both take 41 iterations to a gap of 1e-3.

    Examples
    --------
    >>> class Two:
    ...     right_side, constant, n_carried = np.array([[1.0, 1.0]]), np.array([1.0]), 0
    ...     def product(self, vectors):
    ...         return vectors * [100.0, 1.0]
    >>> cg = PreconditionedCG(Two(), 1.0, np.array([101.0, 2.0]), tol=1e-6, max_iter=9)
    >>> cg.run(lambda _: None), cg.iteration, bool(cg.bounds[0] <= cg.values[0])
    ('converged', 1, True)
    """

    def __init__(
        self,
        equations: Equations,
        alpha: float,
        diagonal: Vector | None = None,
        *,
        tol: float,
        max_iter: int,
    ) -> None:
        super().__init__(equations, np.array([alpha]), tol=tol, max_iter=max_iter)
        c = equations.right_side
        self._alpha = alpha
        self._divisor = np.ones(c.shape[1]) if diagonal is None else diagonal
        self._size = squares(c / np.sqrt(self._divisor))
        if np.any((self._size == 0.0) & c.any(axis=1)):
            raise FloatingPointError("The right side of the normal equations squares to 0.")
        self._least = LAST_DIGITS * float(equations.constant.sum())
        self._correction = 0.0
        self._iterate = np.zeros_like(c)
        self._begin()

    @property
    def w(self) -> Array:
        """The iterate, of shape (1, n_targets, n_features)."""
        return self._iterate[None]

    @property
    def carried(self) -> Array:
        """Nothing."""
        return self.w[..., :0]

    def restart(self) -> None:
        """Begin again at the iterate, with its true residual: what recurrences drifted by is gone."""
        self._begin()
        self.active[:] = True

    def correct(self, value: float) -> None:
        """Take note of what the objective at the iterate is, which rounding may hide from recurrences.

        From now on the gap that ends the run is relative to it.
        """
        self._correction += value - float(self.values[0])
        self.values[0] = value
        self._least = 0.0
        self.active[:] = True

    @property
    def open_gap(self) -> float:
        """The relative gap, as far as the recurrences know."""
        value = float(self.values[0])
        return self._open_gap / value if value > 0.0 else 1.0

    def aim_at(self, tol: float) -> None:
        """Go on until the gap is at most this."""
        self._tol = tol
        self.active[:] = True

    def _begin(self) -> None:
        c, w = self._equations.right_side, self._iterate
        self._residual = c - self._applied(w) if w.any() else c.copy()
        self._direction = self._residual / self._divisor
        self._squared = products(self._residual, self._direction)
        self._low, self._low_residual = w.copy(), self._residual.copy()
        self.low = self._low[None]
        self._update_certificate()

    def _applied(self, vectors: Array) -> Array:
        return self._equations.product(np.ascontiguousarray(vectors)) + self._alpha * vectors

    def _solved(self) -> NDArray[np.bool_]:
        by_gap = self._open_gap <= self._tol * max(float(self.values[0]), self._least)
        by_residual = bool(np.all(self._squared <= UNIT**2 * self._size))
        # At a large alpha w = 0 is nearly optimal, and orders nothing.
        has_direction = bool(np.all(self._squared <= self._tol * self._size))
        return np.array([by_residual or (by_gap and has_direction)])

    def _advance(self) -> None:
        product = self._applied(self._direction)
        curvature = products(self._direction, product)
        # A target that is solved exactly has no direction left; the others continue without it.
        moving = (self._squared > 0.0) & (curvature > 0.0)
        step = np.where(moving, self._squared / np.where(moving, curvature, 1.0), 0.0)[:, None]
        self._iterate = self._iterate + step * self._direction
        self._residual = self._residual - step * product
        scaled = self._residual / self._divisor
        squared = np.where(moving, products(self._residual, scaled), 0.0)
        beta = np.where(moving, squared / np.where(moving, self._squared, 1.0), 0.0)
        self._direction = scaled + beta[:, None] * self._direction
        self._squared = squared
        self.iteration += 1
        self._raise_bound()
        self._update_certificate()

    def _raise_bound(self) -> None:
        """Move the points that prove the bound along the lines to the iterates."""
        there, away = self._low_residual, self._iterate - self._low
        change = there - self._residual  # the system times ``away``
        curvature = squares(change) - self._alpha * products(away, change)
        slope = products(there, change) - self._alpha * products(there, away)
        step = np.where(curvature > 0.0, slope / np.where(curvature > 0.0, curvature, 1.0), 1.0)[:, None]
        self._low = self._low + step * away
        self._low_residual = there - step * change
        self.low = self._low[None]

    def _update_certificate(self) -> None:
        equations, w, residual = self._equations, self._iterate, self._residual
        pull = equations.right_side + residual
        value = float(equations.constant.sum() - 0.5 * np.einsum("ij,ij->", pull, w)) + self._correction
        # The difference to the bound, without the digits that both share.
        both = products(residual + self._low_residual, self._low - w)
        with np.errstate(over="ignore"):
            missing = squares(self._low_residual) / (2.0 * self._alpha)
        self._open_gap = float(np.sum(0.5 * both + missing))
        self.values[0] = value
        bound = max(value - self._open_gap, 0.0) if np.isfinite(self._open_gap) else 0.0
        self.bounds[0] = min(max(float(self.bounds[0]), bound), value)
