"""Two designs of the same rows side by side: the columns of the one, and behind them those of the other."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from marginrank.data.matrices import as_dense
from marginrank.designs.base import Design, Evaluation, ProductRounding, scores_at, split_evaluation, steps
from marginrank.designs.sampling import sampled_products
from marginrank.losses.base import Loss
from marginrank.types import Array, MemoryMatrix, Rows, Vector


class ShownRows(Design, Protocol):
    """A design that can show some of its rows."""

    def take(self, positions: Rows) -> MemoryMatrix:
        """Return the rows at these positions of the order of the loss."""


class JoinedDesign:
    """The design ``[A, B]`` of two designs of the same rows: ``[A, B] (a, b) = A a + B b``.

    Neither is copied, so each keeps its storage and its precision: kernel features in float32, and the
    columns of a sparse X as they are.

    Parameters
    ----------
    first, second : ShownRows
        The designs ``A`` and ``B``.
    n_threads : int
        Threads to use for products of all columns; the result does not depend on it.

    Notes
    -----
    No pass is fused: the loss sees the sum of both scores. Features that are made again in every pass are
    made twice in it.

    Examples
    --------
    >>> from marginrank.designs import MatrixDesign
    >>> parts = [MatrixDesign(np.array([[x], [2.0 * x]]), n_threads=1) for x in (1.0, 5.0)]
    >>> JoinedDesign(*parts, n_threads=1).scores(np.array([1.0, 10.0]))
    array([ 51., 102.])
    """

    def __init__(self, first: ShownRows, second: ShownRows, *, n_threads: int) -> None:
        self._first = first
        self._second = second
        self._cut = first.shape[1]
        self._n_threads = n_threads
        self.shape = (first.shape[0], first.shape[1] + second.shape[1])

    def scores(self, w: Vector) -> Vector:
        """Return ``A a + B b``."""
        return self._first.scores(w[: self._cut]) + self._second.scores(w[self._cut :])

    def adjoint(self, g: Vector) -> Vector:
        """Return ``A' g`` and ``B' g``."""
        return np.concatenate([self._first.adjoint(g), self._second.adjoint(g)])

    def scores_block(self, W: Array) -> Array:
        """Return the scores of each row of W."""
        a, b = (np.ascontiguousarray(part) for part in (W[:, : self._cut], W[:, self._cut :]))
        return self._first.scores_block(a) + self._second.scores_block(b)

    def adjoint_block(self, G: Array) -> Array:
        """Return the adjoint of each row of G."""
        return np.concatenate([self._first.adjoint_block(G), self._second.adjoint_block(G)], axis=1)

    def rounding(self) -> ProductRounding:
        """Return how far the products may be rounded: scores once more, by the sum of the two."""
        a, b = self._first.rounding(), self._second.rounding()
        return ProductRounding(
            np.concatenate([a.column, b.column]),
            steps(max(a.scores_steps, b.scores_steps)),
            max(a.adjoint_steps, b.adjoint_steps),
        )

    def fuses(self, loss: Loss) -> bool:
        """Whether a pass that evaluates this loss has the gradient, too: never."""
        del loss
        return False

    def brings_scores(self, loss: Loss) -> bool:
        """Whether an evaluation of this loss has the scores: always."""
        del loss
        return True

    def evaluate(self, w: Vector, loss: Loss) -> Evaluation:
        """Evaluate a loss at ``A a + B b``."""
        return split_evaluation(self, w, loss)

    def hvp(self, w: Vector, v: Vector, loss: Loss, scores: Vector | None = None) -> Vector:
        """Return ``[A, B]' H [A, B] v``."""
        at = scores_at(self, w) if scores is None else scores
        return self.adjoint(loss.hvp(at, scores_at(self, v)))

    def centred_squares(self, row_weight: Vector, query_ptr: NDArray[np.int64]) -> Vector:
        """Estimate the weighted squares of all columns, centred within queries."""
        parts = [part.centred_squares(row_weight, query_ptr) for part in (self._first, self._second)]
        return np.concatenate(parts)

    def centred_products(
        self, row_weight: Vector, query_ptr: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Estimate the same of all pairs of columns, where that pays."""
        pass_work = 2.0 * self.shape[0] * self.shape[1]
        return sampled_products(self.take, self.shape[1], pass_work, row_weight, query_ptr, self._n_threads)

    def take(self, positions: Rows) -> NDArray[np.float64]:
        """Return rows of ``[A, B]``."""
        parts = [as_dense(part.take(positions)) for part in (self._first, self._second)]
        return np.concatenate(parts, axis=1).astype(np.float64, copy=False)
