"""Columns divided by a scale, or left out, without touching the data: in ``w``, and again in ``X' g``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from marginrank.designs.base import Design, Evaluation, ProductRounding, steps
from marginrank.designs.columns import ColumnTransform
from marginrank.losses.base import Loss
from marginrank.types import Vector


class TransformedDesign:
    """The design of a transform's scale and of the columns that it leaves out, around one with its shift.

    Parameters
    ----------
    inner : Design
        Products with the columns, which the shift has been subtracted from, where there is one.
    transform : ColumnTransform
        Coefficients are divided by its scale on the way in, and gradients on the way out.
    """

    def __init__(self, inner: Design, transform: ColumnTransform) -> None:
        self._inner = inner
        self._transform = transform
        self.shape = inner.shape

    def scores(self, w: Vector) -> Vector:
        """Return ``X D^-1 w``."""
        return self._inner.scores(self._transform.raw(w))

    def adjoint(self, g: Vector) -> Vector:
        """Return ``D^-1 X' g``."""
        return self._transform.raw(self._inner.adjoint(g))

    def scores_block(self, W: Vector) -> Vector:
        """Return the scores of each row of W."""
        return self._inner.scores_block(self._transform.raw(W))

    def adjoint_block(self, G: Vector) -> Vector:
        """Return the adjoint of each row of G."""
        return self._transform.raw(self._inner.adjoint_block(G))

    def dense_rows(self) -> NDArray[np.float64] | None:
        """Return the rows as a dense matrix, where the design has them in memory."""
        made = getattr(self._inner, "dense_rows", None)
        rows = None if made is None else made()
        return None if rows is None else self._transform.raw(rows)

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded: once more than without a scale."""
        inner = self._inner.rounding()
        if self._transform.scale is None:
            return replace(inner, column=self._transform.kept(inner.column))
        column = self._transform.kept(np.nextafter(inner.column / self._transform.scale, np.inf))
        return ProductRounding(column, steps(inner.scores_steps), steps(inner.adjoint_steps))

    def fuses(self, loss: Loss) -> bool:
        """Whether a pass that evaluates this loss has the gradient, too."""
        return self._inner.fuses(loss)

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores."""
        return self._inner.brings_scores(loss)

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``X D^-1 w``."""
        found = self._inner.evaluate(self._transform.raw(w), loss)
        gradient = None if found.gradient is None else self._transform.raw(found.gradient)
        return replace(found, w=w, gradient=gradient)

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``D^-1 X' H X D^-1 v``."""
        raw = self._transform.raw
        return raw(self._inner.hvp(raw(w), raw(v), loss, scores))

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate the weighted squares of the scaled columns, centred within queries."""
        squares = self._inner.centred_squares(row_weight, query_ptr)
        return self._transform.raw(self._transform.raw(squares))

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate the same of all pairs of columns, where that pays."""
        products = self._inner.centred_products(row_weight, query_ptr)
        return None if products is None else self._transform.raw(self._transform.raw(products).T).T
