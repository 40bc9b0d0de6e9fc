"""Models from the largest alpha down: what a search over alphas chooses from.

Many alphas are read off the certified path, traced once: between its knots ``alpha * w`` is linear in alpha,
and so are the scores of rows held out. A few alphas are solved one by one, each from the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from marginrank.designs import Design
from marginrank.rounding import UNIT
from marginrank.solvers import Callback, SolverResult
from marginrank.training.fitting import Training
from marginrank.training.tracing import PathTracer, mixed, steps_between
from marginrank.types import Array, Vector

# What the models of a traced curve miss at most; the chosen one is trained on to tol. On validation sets of
# 21 queries (OHSUMED) the search is up to 0.017 behind the best of 21 alphas solved separately with 1e-2, and
# 0.004 with this, for 1.6 times the passes.
_SELECTION_EPS = 2e-3
# Where the path ends early, a default grid goes on from one of so many alphas to the next.
_COARSE = 8
# Metrics of this many scores at a time: labels are repeated for each vector.
_SCORES_AT_ONCE = 1 << 22


@dataclass
class Descent:
    """Models at some alphas, descending; those between them are mixtures.

    Attributes
    ----------
    alphas : list of float
        Where models are.
    models : list of ndarray
        Their coefficients, in raw units.
    values, bounds : list of float
        Their objectives, and lower bounds of the optimum.
    solved : dict from float to SolverResult
        Those of them that are trained to tol, by alpha.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    alphas: list[float] = field(default_factory=list)
    models: list[Vector] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    solved: dict[float, SolverResult] = field(default_factory=dict)
    interrupted: bool = False

    def note(self, training: Training, alpha: float, result: SolverResult) -> None:
        """Add a solution below the other models."""
        self._add(alpha, training.raw(result.w), result.value, result.bound)
        self.solved[alpha] = replace(result, point=None)

    def note_path(self, training: Training, tracer: PathTracer) -> None:
        """Add the models that are proved so far on a path."""
        bounds = tracer.lines.at(np.array(tracer.alphas)) / np.array(tracer.alphas) * (1.0 - 4.0 * UNIT)
        for alpha, w, value, bound in zip(tracer.alphas, tracer.models, tracer.values, bounds, strict=False):
            self._add(alpha, training.raw(w), value, min(float(bound), value))

    def _add(self, alpha: float, model: Vector, value: float, bound: float) -> None:
        self.alphas.append(alpha)
        self.models.append(model)
        self.values.append(value)
        self.bounds.append(bound)

    def note_unfinished(self, training: Training) -> None:
        """Add what the solution that is under way has, if that is a model; it may be called again."""
        latest = training.latest
        if latest is not None and latest.is_model and latest.alpha not in self.alphas:
            self.note(training, latest.alpha, latest.result)

    @property
    def any_finished(self) -> bool:
        """Whether there is more than what an interrupted solution left."""
        return any(
            self.solved.get(alpha) is None or self.solved[alpha].status != "interrupted"
            for alpha in self.alphas
        )

    def reached(self, grid: Vector) -> Vector:
        """Return the part of a descending grid that there are models for."""
        return grid[grid >= self.alphas[-1] * (1.0 - 1e-12)] if self.alphas else grid[:0]

    def models_at(self, alphas: Vector) -> Array:
        """Return coefficients, one row for each alpha."""
        return mixed(np.array(self.alphas), np.array(self.models), alphas)

    def model_at(self, alpha: float) -> Vector:
        """Return the coefficients at one alpha."""
        return np.asarray(self.models_at(np.array([alpha]))[0])

    def measured(self, design: Design, alphas: Vector, measure: Callable[[Array], Array]) -> Array:
        """Measure the models on rows: one product for each stored model, mixtures of scores for the others.

        Parameters
        ----------
        design : Design
            The rows, in raw units.
        alphas : ndarray of shape (n_alphas,)
            Where to measure.
        measure : callable
            From scores of shape (k, 1, n_rows) to an array with k entries or rows.
        """
        knots, stored = np.array(self.alphas), design.scores_block(np.array(self.models))
        step = max(1, _SCORES_AT_ONCE // max(design.shape[0], 1))
        blocks = [alphas[k : k + step] for k in range(0, len(alphas), step)]
        return np.concatenate([measure(mixed(knots, stored, block)[:, None]) for block in blocks])


def path_pays(alphas: Vector, tol: float) -> bool:
    """Whether a grid is so dense that tracing the path costs less than solving at each alpha.

    Examples
    --------
    >>> path_pays(np.logspace(0, -4, 21), tol=1e-3), path_pays(np.logspace(0, -4, 5), tol=1e-3)
    (True, False)
    """
    return len(alphas) > steps_between(float(alphas[0]), float(alphas[-1]), _eps(tol)) + 1


def descend(
    training: Training,
    descent: Descent,
    alphas: Vector,
    tol: float,
    listeners: Sequence[Callback],
    *,
    default: bool,
) -> None:
    """Go down a grid of alphas by what is cheaper.

    Parameters
    ----------
    training : Training
        What to train.
    descent : Descent
        Where models are added, as soon as they are there: whatever ends the descent leaves them.
    alphas : ndarray of shape (n_alphas,)
        The grid, descending.
    tol : float
        Gap that the estimator asks for.
    listeners : sequence of callables
        They get the progress of every solution.
    default : bool
        Whether the grid is not the user's, so that not every alpha of it has to be solved where the path
        ends early.
    """
    rest = alphas
    if not training.knows_scores:
        rest = _thinned(alphas) if default else alphas
    elif path_pays(alphas, tol):
        _trace(training, descent, alphas, _eps(tol), listeners)
        below = rest < (descent.alphas[-1] * (1.0 - 1e-12) if descent.alphas else np.inf)
        rest = _thinned(rest[below]) if default else rest[below]
    if not descent.interrupted:
        _solve_each(training, descent, rest, listeners)


def _eps(tol: float) -> float:
    return max(tol, _SELECTION_EPS)


def _thinned(alphas: Vector) -> Vector:
    """Return every eighth alpha from the end."""
    return alphas[::-1][::_COARSE][::-1]


def _trace(
    training: Training, descent: Descent, alphas: Vector, eps: float, listeners: Sequence[Callback]
) -> None:
    try:
        _, status = training.trace(float(alphas[0]), float(alphas[-1]), eps, listeners)
        descent.interrupted = status == "interrupted"
    finally:
        if training.tracer is not None and training.tracer.alphas:
            descent.note_path(training, training.tracer)


def _solve_each(training: Training, descent: Descent, alphas: Vector, listeners: Sequence[Callback]) -> None:
    """Solve at each alpha from the model before."""
    for alpha in alphas:
        start = descent.models[-1] if descent.models else None
        result = training.solve(float(alpha), start, listeners)
        descent.interrupted = result.status == "interrupted"
        if descent.interrupted:
            return
        descent.note(training, float(alpha), result)
