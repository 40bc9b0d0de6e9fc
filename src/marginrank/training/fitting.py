"""One training problem, ready to be solved at any alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from marginrank.designs import ColumnTransform, Design
from marginrank.losses import Loss
from marginrank.objective import Objective, natural_alpha
from marginrank.solvers import Callback, CuttingPlanes, Progress, Solver, SolverResult
from marginrank.solvers.inverse_hessian import InverseHessian
from marginrank.training.problems import Part
from marginrank.training.spaces import Space
from marginrank.training.tracing import PathTracer, minimize
from marginrank.types import Vector

# With few features a pass costs about as much as one evaluation of the loss, and solvers know the curvature,
# so that ten evaluations for a better start save too little: 2 % of the passes on MQ2008, 16 % on text.
_FEW_FEATURES = 1000
# Passes of one step down a path. Mostly they are 2 to 10; where the hinge can nearly be made zero (text with
# more words than rows) hundreds, for knots and proofs at distances that no choice of alpha needs.
_DEAREST_STEP = 20.0


class Solution(NamedTuple):
    """The best point of a solver so far, or in the end, and where it solves."""

    alpha: float
    result: SolverResult

    @property
    def is_model(self) -> bool:
        """Whether it ranks at all: solvers start at w = 0."""
        return bool(self.result.w.any())


@dataclass
class Training:
    """Rows in a space of features, and a solver; passes over X are counted over all solutions.

    Cutting planes do not depend on alpha, and curvature hardly does, so every solution starts with those of
    the ones before it.

    Attributes
    ----------
    passes : float
        Passes over X so far.
    tracer : PathTracer or None
        The last path, as it is up to now.
    """

    space: Space
    part: Part
    solver: Solver
    passes: float = 0.0
    tracer: PathTracer | None = None
    _solution: Solution | None = None
    _heard: list[Progress] = field(default_factory=list)
    _planes: CuttingPlanes | None = None
    _memories: list[InverseHessian] = field(default_factory=list)

    @cached_property
    def design(self) -> Design:
        """The design, made when it is first needed."""
        design, self.transform = self.space.training_design(self.part)
        return design

    @cached_property
    def _objective(self) -> Objective:
        return Objective(self.design, self.loss, 1.0)

    @cached_property
    def transform(self) -> ColumnTransform:
        """What the design does to the columns; coefficients outside are in raw units."""
        return self.space.transform(self.part)

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.part.loss

    @property
    def knows_scores(self) -> bool:
        """Whether scores come with the risk, as paths need them; they do not from rows that lie elsewhere."""
        return self.design.brings_scores(self.loss)

    def release(self) -> None:
        """Let go of the design, not of its transform; it is made again if it is needed again."""
        self.__dict__.pop("design", None)
        self.__dict__.pop("_objective", None)
        self.space.release()

    def solve(self, alpha: float, start: Vector | None, callbacks: Sequence[Callback]) -> SolverResult:
        """Minimise at one alpha, from coefficients in raw units."""
        objective = self._objective.with_alpha(alpha)  # this finds the transform, too
        first = None if start is None else self.scaled(start)
        if self._planes is None:
            self._planes = CuttingPlanes(alpha, objective.n_features)
        self._solution, self._heard = None, []
        callback = self._remembering(callbacks)
        result = minimize(self.solver, objective, first, callback, self._planes, self._memories)
        result = replace(result, point=None)
        self._solution = Solution(alpha, result)
        self.passes += objective.passes
        return result

    def evaluated(self, alpha: float, start: Vector | None) -> SolverResult:
        """Evaluate coefficients in raw units at one alpha: the result of a solver that stops at its start."""
        return self.solve(alpha, start, [lambda progress: True])

    @property
    def latest(self) -> Solution | None:
        """The last solution, as it is up to now: also one that Ctrl-C ended, or is about to."""
        if self._solution is not None or not self._heard:
            return self._solution
        last = self._heard[-1]
        assert last.w is not None
        assert last.alpha is not None
        history = tuple(replace(progress, w=None) for progress in self._heard)
        figures = (last.value, last.bound, last.gap, last.iteration)
        return Solution(last.alpha, SolverResult(last.w, *figures, "interrupted", history))

    def _remembering(self, callbacks: Sequence[Callback]) -> Callback:
        """Return a callback that remembers the best point, in the units of the design, and calls others."""
        callback = all_of(callbacks, self.raw)

        def remember(progress: Progress) -> bool:
            if progress.iteration == 0:
                self._heard = []
            elif self._heard:
                self._heard[-1] = replace(self._heard[-1], w=None)
            self._heard.append(progress)
            return callback is not None and bool(callback(progress))

        return remember

    def trace(
        self, alpha_max: float, alpha_min: float, eps: float, callbacks: Sequence[Callback]
    ) -> tuple[PathTracer, str]:
        """Trace the certified path, in the units of the design; return it and what ended it.

        It ends where a step costs so many passes that solving a few alphas one by one is cheaper.
        """
        design = self.design  # this finds the transform, too
        self._solution, self._heard = None, []
        if self._planes is None:
            self._planes = CuttingPlanes(alpha_max, design.shape[1])
        tracer = PathTracer(
            design,
            self.loss,
            eps,
            solver=self.solver,
            planes=self._planes,
            memories=self._memories,
            combine=design.shape[1] > _FEW_FEATURES,
            callback=self._remembering(callbacks),
            step_limit=_DEAREST_STEP,
        )
        self.tracer = tracer
        status = tracer.run(alpha_max, alpha_min, lambda: False)
        self.passes += tracer.passes
        return tracer, status

    def raw(self, w: Vector) -> Vector:
        """Return coefficients in raw units."""
        return self.transform.raw(w)

    def scaled(self, w: Vector) -> Vector:
        """Return coefficients in the units of the design."""
        return self.transform.transformed(w)

    def balance(self) -> float:
        """Return the alpha at which a step along the gradient brings the margins to about 1.

        Above it the model is hardly more than the gradient of the risk at zero; it follows the units of X.
        """
        self.passes += 0.5
        return natural_alpha(self.design, self.loss)


def all_of(callbacks: Sequence[Callback], raw: Callable[[Vector], Vector]) -> Callback | None:
    """Return one callback that calls all and stops if any of them wants to; they get raw coefficients."""
    if not callbacks:
        return None

    def call_all(progress: Progress) -> bool:
        w = None if progress.w is None else raw(progress.w)
        shown = replace(progress, w=w)
        wants_to_stop = [bool(callback(shown)) for callback in callbacks]
        return any(wants_to_stop)

    return call_all
