"""What is measured on validation sets after each iteration of a solver."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginrank.designs import Design
from marginrank.solvers import Progress
from marginrank.training.evaluation_sets import EvaluationSet, Record, better
from marginrank.training.spaces import Space


class Recorder:
    """A callback that measures the best coefficients so far on every validation set."""

    def __init__(self, sets: Sequence[EvaluationSet], space: Space) -> None:
        self._sets = sets
        self._designs: list[Design] = [space.further(one.data.X) for one in sets]
        self.record = Record(list(sets))
        self.best_iteration: int = 0
        self.best_score: float = float("nan")

    def __call__(self, progress: Progress) -> None:
        """Measure one state."""
        if progress.w is None:
            return
        figures = [
            one.means(design.scores_block(progress.w[None])[:, None])[0]
            for one, design in zip(self._sets, self._designs, strict=True)
        ]
        value = self.record.add(figures)
        if better(self._sets[-1].metric, value, None if np.isnan(self.best_score) else self.best_score):
            self.best_iteration, self.best_score = progress.iteration, value
