"""What runs of conjugate gradients share: systems of several alphas, each until its gap is closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from marginrank.types import Array, Vector

#: Values below this part of the risk at w = 0 are rounding: they are that risk less what is gained.
LAST_DIGITS = 2.0**-46


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


class ConjugateGradients(ABC):
    """Iterations that solve the systems of some alphas.

    Parameters
    ----------
    equations : Equations
        What to solve.
    alphas : ndarray of shape (n_alphas,)
        Strengths of the regularisation.
    tol : float
        The relative gap at which a system is solved.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    iteration : int
        Iterations so far, of one product with H each.
    active : ndarray of bool, shape (n_alphas,)
        Which systems still move; the others are solved or were frozen.
    iterations : ndarray of int64, shape (n_alphas,)
        After how many iterations each of the others was.
    low : ndarray of shape (n_alphas, n_targets, n_features)
        Points at which the optimum is bounded from below.
    values, bounds : ndarray of shape (n_alphas,)
        The objectives, summed over the targets, and lower bounds of their optima, but for rounding.
    """

    low: Array

    def __init__(self, equations: Equations, alphas: Vector, *, tol: float, max_iter: int) -> None:
        self._equations = equations
        self.alphas: Vector = np.asarray(alphas, dtype=np.float64)
        self._tol = tol
        self._max_iter = max_iter
        self.iteration = 0
        self._observed = -1
        self.active = np.ones(len(self.alphas), dtype=bool)
        self.iterations = np.zeros(len(self.alphas), dtype=np.int64)
        self.values: Vector = np.full(len(self.alphas), float(equations.constant.sum()))
        self.bounds: Vector = np.zeros(len(self.alphas))

    @property
    @abstractmethod
    def w(self) -> Array:
        """The iterates, of shape (n_alphas, n_targets, n_features)."""

    @property
    @abstractmethod
    def carried(self) -> Array:
        """What goes along with the iterates, of shape (n_alphas, n_targets, n_carried)."""

    def freeze(self, which: NDArray[np.bool_]) -> None:
        """Let these systems stay where they are."""
        self.iterations[self.active & which] = self.iteration
        self.active &= ~which

    def run(
        self, observe: Callable[[Self], bool | None], *, upto: int | None = None, last: float = np.inf
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

    @abstractmethod
    def _solved(self) -> NDArray[np.bool_]:
        """Return which systems are solved, as far as the recurrences know."""

    @abstractmethod
    def _advance(self) -> None:
        """Make one iteration."""


def squares(vectors: Array) -> Vector:
    """Return the squared norm of each row."""
    return products(vectors, vectors)


def products(left: Array, right: Array) -> Vector:
    """Return the product of each row with its counterpart."""
    result: Vector = np.einsum("ij,ij->i", left, right)
    if not np.isfinite(result).all():  # einsum itself says nothing
        raise FloatingPointError("A product of the normal equations overflows.")
    return result
