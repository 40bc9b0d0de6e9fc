"""Models from the largest alpha down: what a search over alphas chooses from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from marginrank.cached import cached_property
from marginrank.designs import Design
from marginrank.rounding import UNIT
from marginrank.solvers import SolverResult
from marginrank.solvers.knot_spacing import mixed
from marginrank.solvers.tracing import PathTracer
from marginrank.training.problems import Problem
from marginrank.types import Array, Vector

#: From scores (k, n_targets, n_rows) to figures (k,) and what they are means of (k, n_parts).
Measure = Callable[[Array], tuple[Array, Array]]

# Metrics of this many scores at a time: labels are repeated for each vector.
_SCORES_AT_ONCE = 1 << 22


@dataclass(eq=False)
class EvalRows:
    """Rows that models are measured on: those of a validation set, or those that a fold leaves out.

    Parameters
    ----------
    make_design : callable
        Returns their design, in raw units; called when it is first needed.
    measure : callable
        Measures scores of them.
    higher_is_better : bool
        Which way the figures are read.
    weight : ndarray of shape (n_parts,), optional
        Weights of what figures are means of; None stands for equal ones.
    """

    make_design: Callable[[], Design]
    measure: Measure
    higher_is_better: bool
    weight: Vector | None = None

    @cached_property
    def design(self) -> Design:
        """The rows, in raw units."""
        return self.make_design()

    def parts(self, scores: Array) -> Array:
        """Return what the figures are means of, of shape (k, n_parts)."""
        return self.measure(scores)[1]


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
    table : ndarray of shape (n_alphas, n_iterations + 1) or None
        Figures of every alpha after every iteration, where they were measured on the way.
    best_iterations : ndarray of shape (n_alphas,) or None
        Where each alpha was best, where iterations are chosen, too.
    interrupted : bool
        Whether Ctrl-C ended it.
    scores : dict from float to ndarray of shape (n_targets, n_rows)
        What models score the rows that they are measured on, by alpha, where that is known.
    """

    alphas: list[float] = field(default_factory=list)
    models: list[Array] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)
    solved: dict[float, SolverResult] = field(default_factory=dict)
    table: Array | None = None
    best_iterations: NDArray[np.int64] | None = None
    interrupted: bool = False
    scores: dict[float, Array] = field(default_factory=dict)

    def note(self, problem: Problem, alpha: float, result: SolverResult, *, trained: bool = True) -> None:
        """Add a solution, trained to tol or not."""
        self.add(alpha, problem.raw(result.w), result.value, result.bound)
        if trained:
            self.solved[alpha] = replace(result, point=None)

    def note_path(self, problem: Problem, tracer: PathTracer) -> None:
        """Add the models that are proved so far on a path."""
        bounds = tracer.lines.at(np.array(tracer.alphas)) / np.array(tracer.alphas) * (1.0 - 4.0 * UNIT)
        for alpha, w, value, bound in zip(tracer.alphas, tracer.models, tracer.values, bounds, strict=False):
            self.add(alpha, problem.transform.raw(w), value, min(float(bound), value))

    def note_all(
        self, alphas: Vector, models: Array, values: Sequence[float], bounds: Sequence[float]
    ) -> None:
        """Set the models, in raw units, of all alphas of a grid."""
        self.alphas, self.models = [float(alpha) for alpha in alphas], list(models)
        self.values, self.bounds = list(values), list(bounds)

    def add(self, alpha: float, model: Array, value: float, bound: float) -> None:
        """Add a model, in raw units, where it belongs."""
        place = sum(other > alpha for other in self.alphas)
        # Last the alphas: what an interrupt leaves of a model is not there without them.
        self.models.insert(place, model)
        self.values.insert(place, value)
        self.bounds.insert(place, bound)
        self.alphas.insert(place, alpha)

    def put(self, problem: Problem, alpha: float, result: SolverResult) -> None:
        """Add a solution, in place of another one at its alpha."""
        if alpha in self.alphas:
            place = self.alphas.index(alpha)
            self.models[place], self.values[place] = problem.raw(result.w), result.value
            self.bounds[place] = result.bound
            self.scores.pop(alpha, None)
        else:
            self.note(problem, alpha, result, trained=False)

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
        """Return coefficients, one entry for each alpha."""
        return mixed(np.array(self.alphas), np.array(self.models), alphas)

    def measured(self, design: Design, alphas: Vector, measure: Callable[[Array], Array]) -> Array:
        """Measure the models on rows: one product for each stored model, mixtures of scores for the others.

        Parameters
        ----------
        design : Design
            The rows, in raw units.
        alphas : ndarray of shape (n_alphas,)
            Where to measure.
        measure : callable
            From scores of shape (k, n_targets, n_rows) to an array with k entries or rows.
        """
        stored = self._stored_scores(design)
        knots, step = np.array(self.alphas), max(1, _SCORES_AT_ONCE // max(design.shape[0], 1))
        blocks = [alphas[k : k + step] for k in range(0, len(alphas), step)]
        return np.concatenate([measure(mixed(knots, stored, block)) for block in blocks])

    def _stored_scores(self, design: Design) -> Array:
        """Return the scores of the models; only those that are not known cost a product."""
        new = {
            alpha: model
            for alpha, model in zip(self.alphas, self.models, strict=True)
            if alpha not in self.scores
        }
        if new:
            models = np.array(list(new.values()))
            found = design.scores_block(models.reshape(-1, models.shape[-1]))
            self.scores.update(zip(new, found.reshape(len(new), -1, design.shape[0]), strict=True))
        return np.array([self.scores[alpha] for alpha in self.alphas])
