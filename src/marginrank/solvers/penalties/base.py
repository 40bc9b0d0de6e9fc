"""The contract of a penalty: what an objective adds to the risk, a function of coefficients and alpha."""

from __future__ import annotations

from typing import Protocol

from marginrank.types import Vector


class Penalty(Protocol):
    """A convex function ``P(w)`` that is never negative, a frozen value; alpha is its strength.

    It is strongly convex: ``P(w) - modulus/2 ||w||^2`` is still convex. So every objective has one minimiser,
    and cutting planes of the risk prove a bound. A coefficient that it does not allow has the value infinity;
    the coefficients that it allows are a convex set.
    """

    @property
    def name(self) -> str:
        """What users and messages call it."""

    @property
    def smooth(self) -> bool:
        """Whether it has a gradient everywhere, which Newton's method needs."""

    @property
    def is_squared_norm(self) -> bool:
        """Whether it is ``alpha/2 ||w||^2``, which paths between knots and shifted systems rest on."""

    def modulus(self, alpha: float) -> float:
        """Return the curvature that it has at least in every direction."""

    def value(self, w: Vector, alpha: float) -> float:
        """Return ``P(w)``: a sum over the coefficients of terms that are not negative."""

    def slope(self, w: Vector, direction: Vector, alpha: float) -> float:
        """Return the derivative of ``P(w + t direction)`` for t from 0 upward."""

    def hvp(self, w: Vector, v: Vector, alpha: float) -> Vector:
        """Return the product of the Hessian at ``w`` with ``v``; only where it is smooth."""

    def smallest_subgradient(self, w: Vector, gradient: Vector, alpha: float) -> Vector:
        """Return the shortest sum of a gradient of the risk and a subgradient of ``P`` at ``w``.

        Its negative is the direction of steepest descent; where it is 0, ``w`` is the minimiser.
        """

    def allowed_step(self, w: Vector, direction: Vector, gradient: Vector) -> Vector:
        """Return a step like ``direction`` that ends at an allowed place, without crossing a kink of ``P``.

        A coefficient at a kink or a bound leaves it only against ``gradient``, the smallest subgradient.
        Where the penalty has no kinks and allows every coefficient, that is the direction itself.
        """

    def step_to(self, w: Vector, target: Vector) -> Vector:
        """Return the step from ``w`` to an allowed place, which ``w`` plus it does not leave by rounding."""

    def nearest(self, w: Vector) -> Vector:
        """Return the allowed coefficients nearest to ``w``."""

    def farthest(self, value: float, alpha: float) -> float:
        """Return what ``||w||`` is at most where ``P(w)`` is at most ``value``."""

    def conjugate(self, z: Vector, alpha: float, error: Vector | float = 0.0) -> float:
        """Return an upper bound of ``P*(z') = max_w z'.w - P(w)``.

        It holds in exact arithmetic, for all ``z'`` whose entries are within ``error`` of those of ``z``.
        """

    def minimizer(self, z: Vector, alpha: float) -> Vector:
        """Return where ``P(w) - z.w`` is least."""

    def minimizer_slope(self, z: Vector, alpha: float) -> Vector:
        """Return the derivative of each entry of ``minimizer`` by the same entry of ``z``; 0 on a face."""
