"""The normal equations of a least-squares risk: design and loss as a system for conjugate gradients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginrank.designs.base import Design
from marginrank.losses.base import Loss
from marginrank.types import Array


class NormalEquations:
    """``(X' H X + alpha I) w = X' H y`` for a risk ``(p - y)' H (p - y) / 2`` of the scores ``p = X w``.

    ``H`` stays in factored form and is the same at all scores, so X keeps its sparsity: a product is one pass
    over X, or one read of it where the design fuses the loss.

    Parameters
    ----------
    design : Design
        Multiplies with X and its transpose.
    loss : Loss
        A quadratic risk.
    targets : ndarray of shape (n_targets, n_rows), optional
        Labels in the order of the loss, where there are several for each row; by default those of the loss.
    followed : sequence of Design
        Further rows, whose scores go along with every vector: those of validation sets.

    Attributes
    ----------
    design, loss, targets
        As they were given.
    passes : float
        Passes over X so far.
    """

    def __init__(
        self, design: Design, loss: Loss, targets: Array | None = None, followed: Sequence[Design] = ()
    ) -> None:
        self.design = design
        self._followed = followed
        self.loss = loss
        self.targets = targets
        self._fused = design.fuses(loss)
        self._origin = np.zeros(loss.n_rows)
        if targets is None:
            at_zero = loss.at(self._origin)
            pull = -at_zero.gradient[None]
            self.constant = np.array([at_zero.value])
        else:
            pull = np.stack([loss.hvp(self._origin, y) for y in targets])
            self.constant = 0.5 * np.einsum("ij,ij->i", pull, targets)
        self.right_side = design.adjoint_block(pull)
        self.passes = 0.5
        self.n_carried = sum(rows.shape[0] for rows in followed)

    def product(self, vectors: Array) -> Array:
        """Return ``X' H X v`` for each row, in one pass over X for all of them."""
        self.passes += 1.0
        if self._fused and len(vectors) == 1:
            product = self.design.hvp(np.zeros(self.design.shape[1]), vectors[0], self.loss, self._origin)
            return product[None]
        scores = self.design.scores_block(vectors)
        return self.design.adjoint_block(np.stack([self.loss.hvp(self._origin, row) for row in scores]))

    def carried(self, vectors: Array) -> Array:
        """Return the scores of the rows that are followed, for each vector."""
        return np.concatenate([rows.scores_block(vectors) for rows in self._followed], axis=1)

    def balance(self) -> float:
        """Return the mean curvature along the right side, in which strengths of regularisation are measured.

        Far above it the model is hardly more than the right side; it follows the units of X.
        """
        largest = float(np.abs(self.right_side).max())
        if largest == 0.0:
            return 1.0
        direction = self.right_side / largest  # the square of the right side may leave float64
        curvature = float(np.einsum("ij,ij->", direction, self.product(direction)))
        return curvature / float(np.einsum("ij,ij->", direction, direction))
