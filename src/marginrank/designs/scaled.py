"""Columns divided by a scale, without touching the data: the scale goes into ``w`` and out of ``X' g``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marginrank._kernels import QueryLoss
from marginrank.designs.base import Design, EvaluatesRisk, ProductRounding, Recipe, Vector, evaluating
from marginrank.designs.rounding import steps


class ScaledDesign:
    """The design ``X D^-1`` for a diagonal of positive column scales.

    Only the divisor matters for ranking: a constant added to a column moves all scores alike. So sparse data
    stay sparse, and coefficients in raw units are those of this design divided by the scale.
    """

    def __init__(self, inner: Design, scale: Vector) -> None:
        self._inner = inner
        self._scale = scale
        self.shape = inner.shape

    def scores(self, w: Vector) -> Vector:
        """Return ``X D^-1 w``."""
        return self._inner.scores(w / self._scale)

    def adjoint(self, g: Vector) -> Vector:
        """Return ``D^-1 X' g``."""
        return self._inner.adjoint(g) / self._scale

    def scores_block(self, W: Vector) -> Vector:
        """Return the scores of each row of W."""
        return self._inner.scores_block(W / self._scale)

    def adjoint_block(self, G: Vector) -> Vector:
        """Return the adjoint of each row of G."""
        return self._inner.adjoint_block(G) / self._scale

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded: once more than those without the scale."""
        inner = self._inner.rounding()
        column = np.nextafter(inner.column / self._scale, np.inf)
        return ProductRounding(column, steps(inner.scores_steps), steps(inner.adjoint_steps))

    def fuses(self, loss: QueryLoss) -> bool:
        """Whether the fused products pay for this loss."""
        return self._inner.fuses(loss)

    def fused(self, w: Vector, loss: QueryLoss) -> tuple[Vector, float, Vector, Vector]:
        """Return scores, value and gradient of the loss there, and the adjoint of that gradient."""
        scores, value, gradient, adjoint = self._inner.fused(w / self._scale, loss)
        return scores, value, gradient, adjoint / self._scale

    def fused_hvp(self, v: Vector, scores: Vector, loss: QueryLoss) -> Vector:
        """Return ``D^-1 X' H(scores) X D^-1 v``."""
        return self._inner.fused_hvp(v / self._scale, scores, loss) / self._scale

    def evaluates(self, recipe: Recipe) -> bool:
        """Whether the loss is evaluated where its rows are."""
        return evaluating(self._inner, recipe) is not None

    def risk(self, w: Vector, recipe: Recipe) -> tuple[float, Vector]:
        """Return the value of the loss and the adjoint of its gradient."""
        value, gradient = self._afar(recipe).risk(w / self._scale, recipe)
        return value, gradient / self._scale

    def risk_hvp(self, w: Vector | None, v: Vector, recipe: Recipe) -> Vector:
        """Return ``D^-1 X' H X D^-1 v``."""
        at = None if w is None else w / self._scale
        return self._afar(recipe).risk_hvp(at, v / self._scale, recipe) / self._scale

    def _afar(self, recipe: Recipe) -> EvaluatesRisk:
        inner = evaluating(self._inner, recipe)
        assert inner is not None
        return inner

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate the weighted squares of the scaled columns, centred within queries."""
        return self._inner.centred_squares(row_weight, query_ptr) / np.square(self._scale)

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate the same of all pairs of columns, where that pays."""
        products = self._inner.centred_products(row_weight, query_ptr)
        return None if products is None else products / self._scale / self._scale[:, None]
