"""What is measured on validation sets after each iteration of a fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from marginrank.designs import Design
from marginrank.solvers import Progress
from marginrank.training.evaluation_sets import EvaluationSet, Record, better
from marginrank.training.problems import Space
from marginrank.training.selection import no_figure


class Recorder:
    """A callback that measures the best coefficients so far on every validation set; the last one counts.

    Parameters
    ----------
    sets : sequence of EvaluationSet
        At least one.
    space : Space
        Makes their designs.
    patience : int, optional
        Wants to stop after this many iterations without improvement.
    """

    def __init__(self, sets: Sequence[EvaluationSet], space: Space, patience: int | None = None) -> None:
        self._sets = sets
        self._space = space
        self._patience = patience
        self._designs: list[Design] | None = None
        self.record = Record(list(sets))
        self.iteration: int = -1
        self.best_iteration: int = 0
        self.best_score: float = float("nan")

    def __call__(self, progress: Progress) -> bool:
        """Measure one state, unless there are no coefficients."""
        if progress.w is None:
            return False
        if self._designs is None:
            self._designs = [self._space.further(one.data.X) for one in self._sets]
        w = np.atleast_2d(progress.w)
        figures = [
            one.means(design.scores_block(w)[None])[0]
            for one, design in zip(self._sets, self._designs, strict=True)
        ]
        value, best = float(figures[-1][0]), None if np.isnan(self.best_score) else self.best_score
        is_better = better(self._sets[-1].metric, value, best)
        self.record.add(figures)
        self.iteration = progress.iteration
        if is_better:
            self.best_iteration, self.best_score = progress.iteration, value
        return self._patience is not None and progress.iteration - self.best_iteration >= self._patience

    @property
    def curve(self) -> list[float]:
        """The figures of the last set, by the first metric."""
        return next(iter(self.record.result[self._sets[-1].name].values()))

    def check_figure(self) -> None:
        """Refuse a metric that had no value, where a model was to be chosen by it."""
        if np.isnan(self.best_score):
            raise no_figure(self._sets[-1].metric)
