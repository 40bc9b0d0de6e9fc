"""A weighted sum of structured losses, each with a slack of its own: SVMCOMBO."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginrank._kernels import StructuredSum
from marginrank.data import TrainingView
from marginrank.exceptions import MarginRankError
from marginrank.losses.recipes import SumRecipe
from marginrank.losses.structured.base import StructuredLoss


class CombinedLoss(StructuredLoss):
    """Weighted sum of the risks of several targets.

    Parameters
    ----------
    view : TrainingView
        The one from which the parts were built.
    parts : sequence of (float, StructuredLoss)
        Weights and losses. Each part is a mean over the queries that count for it.
    n_threads : int
        Threads to use; the result does not depend on it.

    Notes
    -----
    An evaluation costs what its parts cost together.
    """

    name = "combined"
    feature_map = "combined"

    def __init__(
        self, view: TrainingView, parts: Sequence[tuple[float, StructuredLoss]], *, n_threads: int
    ) -> None:
        weights = np.array([weight for weight, _ in parts], dtype=np.float64)
        if not len(weights) or not np.all(np.isfinite(weights) & (weights > 0.0)):
            raise MarginRankError(
                f"A combined target needs at least one target, and positive weights; got {weights.tolist()}."
            )
        self.parts = tuple(parts)
        kernel = StructuredSum([loss.structured for _, loss in parts], weights)
        recipe = SumRecipe(tuple(loss.recipe for _, loss in parts), weights)
        curvature = sum(weight * loss.curvature()[0] for weight, loss in parts)
        pull = sum(weight * loss.pull for weight, loss in parts)
        sizes = {
            "pull": pull,
            "total": sum(weight * loss.total for weight, loss in parts),
            "size": float(weights.sum()),
        }
        super().__init__(recipe, np.asarray(curvature), view, n_threads, **sizes, kernel=kernel)
