"""A fit of one problem: what every way to fit offers, and a fit at one alpha.

Every run can be asked, at any moment, for the best model so far: what Ctrl-C leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from marginrank.solvers import Callback, SolverResult
from marginrank.training.descents import Descent, EvalRows
from marginrank.training.problems import Problem
from marginrank.training.recorder import Recorder
from marginrank.training.search_ends import SearchEnd
from marginrank.training.selection import Selection
from marginrank.types import Array, Vector


class Place(NamedTuple):
    """Where to fit: an alpha, and coefficients to start from, in raw units.

    ``n_iter`` is the number of iterations, where that is chosen, too; ``figure`` is what chose the place.
    ``alone`` says that no other alpha will be fitted, which what is learnt here could help.
    """

    alpha: float
    start: Array | None = None
    n_iter: int | None = None
    figure: float | None = None
    alone: bool = False


class Solution(NamedTuple):
    """The best point of a solver so far, or in the end, and where it solves."""

    alpha: float
    result: SolverResult


class Cost(NamedTuple):
    """What fits take: passes over X, and evaluations, which do not depend on where the rows lie.

    An evaluation is that of the start of a fit, or an iteration.
    """

    passes: float
    evaluations: float


class Trainer(Protocol):
    """A way to fit one problem at any alpha; passes over X are counted over all fits."""

    problem: Problem
    passes: float
    #: Iterations of all fits.
    iterations: int
    #: Fits, or what continues them.
    starts: int
    #: What was trained to tol to know its cost, by alpha.
    trained: dict[float, SolverResult]
    #: Points of a decade of the default grid.
    per_decade: int
    #: Decades of the default grid above the balance.
    decades_above: int
    #: Whether going down may cost so many passes that there must be a limit.
    is_limited: bool
    #: Iterations without improvement after which validation figures end a fit; None where they do not.
    patience: int | None
    #: Whether folds may be trained at the same time, by shared reads of X.
    shares_reads: bool
    #: Whether iterations are those of all alphas of a grid at once, so that tables have a column for each.
    iterates_all: bool

    def balance(self) -> float:
        """Return the alpha at which regularisation and risk balance, which default grids follow."""

    def solve(
        self, place: Place, callbacks: Sequence[Callback], recorder: Recorder | None = None
    ) -> SolverResult:
        """Fit at one place; the result is in the units of the problem's design."""

    def evaluated(self, place: Place) -> SolverResult:
        """Return a model at one place without fitting, with a certificate: that of the start, or better."""

    @property
    def latest(self) -> Solution | None:
        """The last solution, as it is up to now: also one that Ctrl-C ended, or is about to."""

    def before_choice(self, grid_of: Callable[[float], Vector]) -> Solution | None:
        """Return what there is before anything was measured, given the grid of a balance; None mostly."""

    def descend(self, descent: Descent, grid: Vector, callbacks: Sequence[Callback], rows: EvalRows) -> None:
        """Fit at all alphas of a grid, or at those that the others can be read off.

        Parameters
        ----------
        descent : Descent
            Where models are added.
        grid : ndarray of shape (n_alphas,)
            Descending.
        callbacks : sequence of callables
            They get the progress of every solution.
        rows : EvalRows
            The rows that models will be measured on.
        """

    def steps(self, grid: Vector) -> Vector:
        """Return the alphas of a default grid that are fitted; those between are mixtures."""

    def set_out(self, grid: Vector, rows: EvalRows) -> None:
        """Prepare to fit at the alphas of a grid, from the largest down, as far as they are asked for."""

    def reach(
        self, descent: Descent, alpha: float, callbacks: Sequence[Callback], rows: EvalRows, limit: Cost
    ) -> bool:
        """Fit at the next alpha of that grid, or at one above it, well enough to be measured.

        Returns
        -------
        bool
            Whether that much sufficed; if not, the next call continues where they ended.
        """

    def cost(self, alpha: float, callbacks: Sequence[Callback]) -> Cost:
        """Return what a fit at this alpha takes by itself; it is fitted if that is how to know."""

    def forget(self) -> None:
        """Let go of what makes later fits cheaper."""

    def collect(self, descent: Descent) -> None:
        """Add what a descent that was interrupted has, where nothing is finished; it may be called again."""

    def measured(self, descent: Descent, grid: Vector, rows: EvalRows) -> Array:
        """Return what figures of the models at a grid are means of, of shape (n_alphas, n_parts)."""

    def delivered(self, descent: Descent, alpha: float) -> SolverResult | None:
        """Return the model of a descent at one alpha; None where it has to be solved first."""

    def of_part(self, problem: Problem) -> Trainer:
        """Return what fits a part of the problem in the same way."""


@dataclass(frozen=True, eq=False)
class Row:
    """A grid of alphas tried in one space: what to take from it, and the model there or a start for it.

    ``table`` has the figures of every alpha after every iteration, where these were measured; ``n_iter`` is
    the number of iterations, where that is chosen, too; ``end`` is why no further alphas were tried.
    """

    trainer: Trainer
    selection: Selection
    result: SolverResult | None
    start: Array | None = None
    table: Array | None = None
    n_iter: int | None = None
    end: SearchEnd = "grid"

    @property
    def place(self) -> Place:
        """Where to fit."""
        figure = float(self.selection.curve[self.selection.index])
        return Place(self.selection.alpha, self.start, self.n_iter, figure)


@dataclass(frozen=True, eq=False)
class Found:
    """A model and how it was come by: what a ranker sets.

    ``rows`` are those of a search, in the order of its spaces, ``chosen`` is that of the model; ``recorder``
    is what measured validation sets after each iteration.
    """

    trainer: Trainer
    alpha: float
    result: SolverResult
    rows: Sequence[Row] = ()
    chosen: Row | None = None
    recorder: Recorder | None = None

    @property
    def coef(self) -> Array:
        """The coefficients, in raw units."""
        return self.trainer.problem.raw(self.result.w)

    @property
    def passes(self) -> float:
        """Passes over X, those of the search included."""
        return sum(row.trainer.passes for row in self.rows) if self.rows else self.trainer.passes

    @property
    def iterations(self) -> int:
        """Iterations of solvers, those of a search over alphas included."""
        return sum(row.trainer.iterations for row in self.rows) if self.rows else self.result.n_iter


class Run(Protocol):
    """A training that may be interrupted."""

    def run(self) -> Found:
        """Train to the end; what Ctrl-C stops raises KeyboardInterrupt."""

    def so_far(self) -> Found | None:
        """Return the best model so far, with a certificate; None where there is none."""


class OneAlpha:
    """Fit at one place.

    Parameters
    ----------
    trainer : Trainer
        What fits.
    place : Place
        Where; a start of another number of columns is none.
    callbacks : sequence of callables
        They get the progress.
    recorder : Recorder, optional
        Measures validation sets after each iteration.
    """

    def __init__(
        self,
        trainer: Trainer,
        place: Place,
        callbacks: Sequence[Callback],
        recorder: Recorder | None = None,
    ) -> None:
        self._trainer = trainer
        self._place = place
        self._callbacks = callbacks
        self._recorder = recorder
        self._found: Found | None = None

    def run(self) -> Found:
        """Fit."""
        place = self._place
        if place.start is not None and place.start.shape != (self._trainer.problem.design.shape[1],):
            place = place._replace(start=None)
        result = uninterrupted(self._trainer.solve(place, self._callbacks, self._recorder))
        if self._recorder is not None and self._trainer.patience is not None:
            self._recorder.check_figure()
        self._found = self._of(result)
        return self._found

    def so_far(self) -> Found | None:
        """Return the best point of the solver."""
        if self._found is not None:
            return as_interrupted(self._found)
        latest = self._trainer.latest
        return None if latest is None else as_interrupted(self._of(latest.result))

    def _of(self, result: SolverResult) -> Found:
        return Found(self._trainer, self._place.alpha, result, recorder=self._recorder)


def uninterrupted(result: SolverResult) -> SolverResult:
    """Return a result; raise KeyboardInterrupt if that is what ended it."""
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


def as_interrupted(found: Found) -> Found:
    """Return a model as one that Ctrl-C left."""
    return replace(found, result=replace(found.result, status="interrupted"))
