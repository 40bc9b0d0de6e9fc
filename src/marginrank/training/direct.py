"""Least squares without iterations, as a way to fit: one eigendecomposition serves every alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from marginrank.cached import cached_property
from marginrank.data.labels import LabelledQueries
from marginrank.data.matrices import in_memory, n_stored, require_memory
from marginrank.data.queries import Groups
from marginrank.designs.centred import CentredRows
from marginrank.designs.gram import centred_gram
from marginrank.designs.gram_sums import GramSums, PartialGram
from marginrank.metrics.several_targets import TargetEvaluators
from marginrank.solvers import Callback, Progress, SolverResult
from marginrank.solvers.leave_query_out import leave_query_out_scores
from marginrank.solvers.spectral import SpectralPath, direct_pays
from marginrank.training.alpha_searches import AlphaSearch
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.fitting import (
    Cost,
    Found,
    Place,
    Row,
    Run,
    Solution,
    Trainer,
    as_interrupted,
)
from marginrank.training.least_squares_certificate import ABOVE_ROUNDING, Claim, Model, check_models
from marginrank.training.problems import Problem
from marginrank.training.recorder import Recorder
from marginrank.training.search_ends import SearchEnd
from marginrank.training.selection import Search, Selection
from marginrank.types import Array, Vector

# Alphas of a default grid that leave-query-out measures at first, and then a few at a time.
_MOST_AT_FIRST, _FURTHER = 19, 4
# A model with a larger gap than this is looked at again.
_EXACT = 1e-9


class DirectTrainer:
    """Exact models of one problem at any alpha.

    Parameters
    ----------
    problem : Problem
        What to fit: labelled rows in memory, in columns of X.
    n_threads : int
        Threads to use.
    tol : float
        The gap above which a model is called stalled: rounding keeps it from being proved.

    Attributes
    ----------
    passes : float
        Passes over X so far.
    """

    per_decade = 2
    decades_above = 2
    is_limited = False
    iterations = 0
    starts = 0
    patience: int | None = None
    shares_reads = False
    iterates_all = False

    def __init__(self, problem: Problem, n_threads: int, tol: float) -> None:
        self.problem = problem
        self._tol = tol
        self.passes = 0.0
        self.trained: dict[float, SolverResult] = {}
        self._n_threads = n_threads
        self._started = perf_counter()
        self._sums: GramSums | None = None
        self._place: Place | None = None

    def of_part(self, problem: Problem) -> DirectTrainer:
        """Return the same for a part of the problem; all rows come first, to have a model of them."""
        assert self.path is not None
        return DirectTrainer(problem, self._n_threads, self._tol)

    @cached_property
    def path(self) -> SpectralPath:
        """The decomposition that gives the model of every alpha."""
        rows = centred_rows(self.problem, self._n_threads)
        targets, offset = self.problem.target_rows, self.problem.offset_rows
        labels = self.problem.view.y if targets is None else targets.T
        self.passes += 1.0
        self._sums = GramSums(rows)
        return SpectralPath(
            centred_gram(rows, labels if offset is None else labels - offset, sums=self._sums)
        )

    def _gram_so_far(self) -> PartialGram | None:
        return None if self._sums is None else self._sums.so_far()

    def balance(self) -> float:
        """Return the mean curvature along the right side."""
        assert self.path is not None
        gram = self._gram_so_far()
        assert gram is not None
        return gram.balance()

    def solve(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None = None
    ) -> SolverResult:
        """Take the model of one alpha."""
        self._place = place
        result = self._result(place, self.path.coefficients([place.alpha])[0], "converged")
        progress = replace(result.history[-1], w=self.problem.transform.raw(result.w))
        if recorder is not None:
            recorder(progress)
            progress = replace(progress, validation=recorder.best_score)
        for callback in callbacks:
            callback(progress)
        return replace(result, history=[replace(progress, w=None)])

    def evaluated(self, place: Place) -> SolverResult:
        """Take the model of one alpha: of what is in the Gram matrix so far, where it is not decomposed."""
        if "path" in self.__dict__:
            return self._result(place, self.path.coefficients([place.alpha])[0], "interrupted")
        gram = self._gram_so_far()
        assert gram is not None
        return self._result(place, gram.coefficients(place.alpha), "interrupted")

    @property
    def latest(self) -> Solution | None:
        """The model that is asked for, exact for the rows or columns that are in the Gram matrix so far."""
        if self._place is None or self._gram_so_far() is None:
            return None
        return Solution(self._place.alpha, self.evaluated(self._place))

    def before_choice(self, grid_of: Callable[[float], Vector]) -> Solution | None:
        """Return the model of the largest alpha, exact for what is in the Gram matrix so far."""
        gram = self._gram_so_far()
        if gram is None:
            return None
        alpha = float(np.max(grid_of(gram.balance())))
        return Solution(alpha, self.evaluated(Place(alpha)))

    def descend(self, descent: Descent, grid: Vector, callbacks: Sequence[Callback], rows: EvalRows) -> None:
        """Take the models of all alphas."""
        del callbacks, rows
        unknown = [np.nan] * len(grid)
        models = self._of_targets(self.problem.transform.raw(self.path.coefficients(grid)))
        descent.note_all(grid, models, unknown, unknown)

    def steps(self, grid: Vector) -> Vector:
        """Return all of them: they come at the price of one."""
        return grid

    def set_out(self, grid: Vector, rows: EvalRows) -> None:
        """Decompose: that is all the work."""
        del grid, rows
        assert self.path is not None

    def reach(
        self, descent: Descent, alpha: float, callbacks: Sequence[Callback], rows: EvalRows, limit: Cost
    ) -> bool:
        """Take the model of one alpha."""
        del callbacks, rows, limit
        model = self._of_targets(self.problem.transform.raw(self.path.coefficients([alpha])))[0]
        descent.add(alpha, model, np.nan, np.nan)
        return True

    def cost(self, alpha: float, callbacks: Sequence[Callback]) -> Cost:
        """One decomposition serves all alphas."""
        del alpha, callbacks
        return Cost(1.0, 1)

    def forget(self) -> None:
        """The decomposition is all there is."""

    def collect(self, descent: Descent) -> None:
        """There is all or nothing."""

    def measured(self, descent: Descent, grid: Vector, rows: EvalRows) -> Array:
        """Measure the models."""
        return descent.measured(rows.design, grid, rows.parts)

    def delivered(self, descent: Descent, alpha: float) -> SolverResult | None:
        """Return what was taken at this alpha, and measured by its own scores."""
        return descent.solved.get(alpha)

    def _result(self, place: Place, w: Array, status: str) -> SolverResult:
        """Return a model with what X itself says about it, so that errors of the decomposition show."""
        claim = self._claim(place.alpha, w)
        seconds = perf_counter() - self._started
        progress = Progress(0, *claim, claim.gap, self.passes, seconds, place.figure, place.alpha)
        rounding = 0.0
        if status == "converged" and claim.gap > self._tol:
            status, rounding = "stalled", claim.gap
        return SolverResult(self._of_targets(w), *claim, claim.gap, 0, status, [progress], rounding)

    def _claim(self, alpha: float, w: Array) -> Claim:
        """Return what X says about a model, by the slope there or at the model of a larger alpha."""
        claim = check_models(self, Model(alpha, w))[0]
        if claim.gap <= _EXACT or "path" not in self.__dict__:
            return claim
        low = self.path.coefficients([ABOVE_ROUNDING * self.balance()])[0]
        return min(claim, check_models(self, Model(alpha, w, low))[0], key=lambda one: one.gap)

    def _of_targets(self, models: Array) -> Array:
        return models if self.problem.targets is not None else models[..., 0, :]


def direct_is_cheaper(problem: Problem, n_alphas: int) -> bool:
    """Whether a decomposition is possible, and costs less than iterations for so many alphas."""
    X = problem.data.X
    if not in_memory(X) or problem.from_pairs:
        return False
    return direct_pays(X.shape[0], X.shape[1], n_stored(X), n_alphas)


def centred_rows(problem: Problem, n_threads: int) -> CentredRows:
    """Return the rows of a problem less the means of their queries."""
    view = problem.view
    return CentredRows(
        require_memory(problem.data.X),
        view.query_ptr,
        rows=view.rows,
        sample_weight=view.sample_weight,
        query_weight=view.query_weight,
        transform=problem.transform,
        n_threads=n_threads,
    )


class LeaveQueryOut(AlphaSearch):
    """Take the alpha whose models, each fitted without a query, do best on that query."""

    def __init__(
        self, trainer: DirectTrainer, search: Search, callbacks: Sequence[Callback], n_jobs: int | None
    ) -> None:
        super().__init__([trainer], search, callbacks)
        self._direct = trainer
        self._n_jobs = n_jobs

    def _begin(self) -> None:
        self._by_alpha: list[Vector] = []
        self._weight: Vector | None = None

    def _row(self, trainer: Trainer, grid: Vector) -> Row:
        self._prepare()
        trainer.passes += 1.0
        count = _MOST_AT_FIRST if self._goes_down(trainer) else len(grid)
        self._measure(grid[:count])
        # A default grid is extended where its smallest alpha is the best.
        while len(self._by_alpha) < len(grid) and self._select(grid).index == len(self._by_alpha) - 1:
            self._measure(grid[len(self._by_alpha) :][:_FURTHER])
        end: SearchEnd = "no better" if len(self._by_alpha) < len(grid) else "smallest"
        grid = self._grid = grid[: len(self._by_alpha)]
        return Row(trainer, self._select(grid), None, end=end if self._given is None else "grid")

    def _prepare(self) -> None:
        """Make what measures, and the weights of what figures are means of."""
        problem, search = self._direct.problem, self._search
        view = problem.view
        labels = LabelledQueries(Groups(None, view.query_ptr, None), view.y, query_weight=view.query_weight)
        targets = problem.target_rows
        columns = [None] if targets is None else list(targets)
        self._measuring = TargetEvaluators([search.evaluator(labels, y, self._n_jobs) for y in columns])
        self._weight = self._measuring.weight

    def _measure(self, alphas: Vector) -> None:
        """Add what figures are means of, for further alphas."""
        offset = self._direct.problem.offset_rows
        for of_alpha in leave_query_out_scores(self._direct.path, alphas):
            # One alpha at a time: all of them at once would take as much memory as the scores again.
            scores = of_alpha if offset is None else of_alpha + offset
            self._by_alpha.append(self._measuring.measure(scores[None])[1][0])

    def _select(self, grid: Vector) -> Selection:
        return self._search.select(grid[: len(self._by_alpha)], np.array(self._by_alpha).T, self._weight)

    def _unfinished_row(self, trainer: Trainer, grid: Vector) -> Row | None:
        return Row(trainer, self._select(grid), None, end="interrupted") if self._by_alpha else None


class ExactElseIterated:
    """Fit without iterations; where rounding keeps such a model from its gap, by iterations.

    Columns whose sizes lie too far apart drown in the rounding of a Gram matrix.

    Parameters
    ----------
    exact : Run
        Without iterations.
    iterated : callable
        Returns the other run.
    tol : float
        The gap.
    """

    def __init__(self, exact: Run, iterated: Callable[[], Run], tol: float) -> None:
        self._exact = exact
        self._iterated = iterated
        self._tol = tol
        self._found: Found | None = None

    def run(self) -> Found:
        """Fit in one way, or in both."""
        found = self._found = self._exact.run()
        if found.result.gap <= self._tol:
            return found
        return min(self._iterated().run(), found, key=lambda one: one.result.gap)

    def so_far(self) -> Found | None:
        """Return the exact model."""
        return self._exact.so_far() if self._found is None else as_interrupted(self._found)
