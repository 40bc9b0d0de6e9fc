"""The Hessian that L-BFGS has learnt, as one matrix: a quadratic form and a few directions.

Byrd, Nocedal and Schnabel (Mathematical Programming 63, 1994): with steps S, changes Y and ``H_0`` to start
from, ``B = H_0 - W' M^-1 W`` for ``W = [Y; S H_0]`` and a matrix M of twice as many rows as there are pairs.
So B itself, and its inverse among some coefficients alone, cost as much as the product of L-BFGS.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginrank.cached import cached_property
from marginrank.solvers.quadratic_forms import QuadraticForm
from marginrank.types import Array, Mask, Vector


class CompactHessian:
    """``B`` of L-BFGS, which is positive definite.

    Parameters
    ----------
    form : QuadraticForm
        ``H_0`` but for its scale.
    scale : float
        What the form is divided by.
    pairs : sequence of (step, change)
        Steps and what the gradient changed by, oldest first; the product of the two is positive.

    Examples
    --------
    >>> from marginrank.solvers.quadratic_forms import DiagonalForm
    >>> step, change = np.array([1.0, 0.0]), np.array([3.0, 1.0])
    >>> hessian = CompactHessian(DiagonalForm(np.ones(2)), 0.5, [(step, change)])
    >>> hessian.times(step)
    array([3., 1.])
    >>> hessian.solve(np.array([6.0, 5.0]), np.array([True, False]))
    array([2., 0.])
    """

    def __init__(self, form: QuadraticForm, scale: float, pairs: Sequence[tuple[Vector, Vector]]) -> None:
        self._form, self._scale, self._n_pairs = form, scale, len(pairs)
        if not pairs:
            return
        n = len(pairs)
        self._rows: Array = np.empty((2 * n, len(pairs[0][0])))
        steps = np.array([step for step, _ in pairs])
        for k, (step, change) in enumerate(pairs):
            self._rows[k] = change
            self._rows[n + k] = form.times(step) / scale
        products = steps @ self._rows[:n].T
        lower = np.tril(products, -1)
        squares = steps @ self._rows[n:].T
        self._middle: Array = np.block([[-np.diag(products.diagonal()), lower.T], [lower, squares]])
        self._products, self._squares = products, squares

    def times(self, vector: Vector) -> Vector:
        """Return the product with a vector."""
        product = self._form.times(vector) / self._scale
        if self._n_pairs:
            product -= np.linalg.solve(self._middle, self._rows @ vector) @ self._rows
        return product

    def solve(self, vector: Vector, free: Mask) -> Vector:
        """Return the product of the inverse with a vector, where all but the free coefficients are 0."""
        solved = np.zeros_like(vector)
        form = self._form if free.all() else self._form.among(free)
        found = self._scale * form.solve(vector[free])
        if self._n_pairs:
            rows = self._rows if free.all() else self._rows[:, free]
            through = self._through(free, form, rows)
            inner = np.linalg.solve(self._middle - through, rows @ found)
            found = found + self._scale * form.solve(inner @ rows)
        solved[free] = found
        return solved

    def _through(self, free: Mask, form: QuadraticForm, rows: Array) -> Array:
        """Return ``W H_0^-1 W'`` among the free coefficients."""
        few = self._form.among(~free) if 2 * int(free.sum()) > len(free) and self._form.separable else None
        if few is None:
            return rows @ _solved(form, rows, self._scale).T
        left = self._rows[:, ~free]
        return self._whole - left @ _solved(few, left, self._scale).T

    @cached_property
    def _whole(self) -> Array:
        """``W H_0^-1 W'``, most of which is known."""
        changes = self._rows[: self._n_pairs]
        squares = changes @ _solved(self._form, changes, self._scale).T
        return np.block([[squares, self._products.T], [self._products, self._squares]])


def _solved(form: QuadraticForm, rows: Array, scale: float) -> Array:
    """Return the products of rows with the inverse of a form that is divided by a scale."""
    return scale * form.solve(rows.T).T
