"""How least-squares rankers train: by conjugate gradients, without iterations, or with any penalty."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np

from marginrank.choices import LEAVE_PAIR_OUT, LeastSquaresSolver, Regularization
from marginrank.data.matrices import in_memory
from marginrank.estimators.base import Ranker
from marginrank.exceptions import IncompatibleSolverError, MarginRankError
from marginrank.parameters import check_choice
from marginrank.solvers import SOLVERS, Callback, Solver
from marginrank.system.threads import resolve_threads
from marginrank.training.alpha_searches import SearchByFolds
from marginrank.training.direct import DirectTrainer, ExactElseIterated, LeaveQueryOut, direct_is_cheaper
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.fitting import Found, OneAlpha, Place, Row, Run
from marginrank.training.least_squares import LeastSquaresTrainer
from marginrank.training.leave_pair_out import LeavePairOut, check_leave_pair_out
from marginrank.training.problems import Problem
from marginrank.training.recorder import Recorder
from marginrank.training.selection import Search
from marginrank.types import Array

_PATIENCE = 10
_FOLDS = 5
# What minimises with an elastic net or bounds, as in the other rankers.
_CERTIFIED = "lbfgs"


class LeastSquaresRanker(Ranker):
    """Base of the rankers by least squares."""

    #: What ``solver`` may be.
    solvers: ClassVar[tuple[str, ...]] = get_args(LeastSquaresSolver)
    _uses_size_of_labels = True

    solver: LeastSquaresSolver
    regularization: Regularization

    def _check_parameters(self) -> Search:
        check_choice("regularization", self.regularization, get_args(Regularization))
        check_choice("solver", self.solver, self.solvers)
        search = super()._check_parameters()
        if self.solver == "direct" and self.regularization != "tikhonov":
            raise MarginRankError(
                f"regularization={self.regularization!r} stops iterations early, and the direct solver has "
                "none. Use solver='cg', or regularization='tikhonov'."
            )
        return search

    def _targets_with(self, targets: Array | None, offset: Any) -> Array | None:
        """Return targets; several are refused with what takes one."""
        takes_one = offset is not None or self.l1_ratio != 0.0 or self.bounds is not None
        if targets is None or not takes_one:
            return targets
        if len(targets) > 1:
            raise MarginRankError.saying(
                "{l1_ratio}, {bounds} and {offset} take one target; {y} has {count:d} columns.",
                "Train on one column at a time.",
                count=len(targets),
            )
        return None

    def _search(self) -> Search:
        folds = _FOLDS if self.cv is None or self._leaves_pairs_out() else self.cv
        return Search(self.alphas, self.metric, folds, self.rule, self._resolution())

    def _leaves_pairs_out(self) -> bool:
        return isinstance(self.cv, str) and self.cv == LEAVE_PAIR_OUT

    def _run(
        self, problem: Problem, search: Search, sets: list[EvaluationSet], callbacks: list[Callback]
    ) -> Run:
        if self._searches() and not sets and self._leaves_pairs_out():
            return self._by_pairs_left_out(problem, search, callbacks)
        if not problem.settings.is_plain:
            self._check_certified()
            return self._run_by(self._trainers, problem, search, sets, callbacks)
        if not self._goes_direct(problem, search):
            return self._by_iterations(problem, search, sets, callbacks)
        exact = self._without_iterations(problem, search, sets, callbacks)
        if self.solver == "direct":
            return exact
        iterated = partial(self._by_iterations, problem, search, sets, callbacks)
        return ExactElseIterated(exact, iterated, float(self.tol))

    def _by_pairs_left_out(self, problem: Problem, search: Search, callbacks: list[Callback]) -> Run:
        check_leave_pair_out(problem, search)
        if self.solver == "cg" or self.regularization != "tikhonov" or not problem.settings.is_plain:
            raise MarginRankError.saying(
                "{cv='leave_pair_out'} rests on the direct solver, without {l1_ratio}, {bounds} and early "
                "stopping.",
                "Use {solver='auto'} without these, or {cv=5}.",
            )
        trainer = DirectTrainer(problem, resolve_threads(self.n_jobs), float(self.tol))
        return LeavePairOut(trainer, search, callbacks, self.n_jobs)

    def _check_certified(self) -> None:
        """Refuse what works for the squared norm alone, where there is another penalty."""
        if self.solver != "auto":
            raise IncompatibleSolverError.saying(
                "{solver=} solves linear systems, and with {l1_ratio} or {bounds} there are none.",
                "Use {solver='auto'}.",
                solver=self.solver,
            )
        if self.regularization != "tikhonov":
            raise MarginRankError.saying(
                "{regularization=} stops conjugate gradients early, which know no {l1_ratio} or {bounds}.",
                "Use {regularization='tikhonov'}.",
                regularization=self.regularization,
            )

    def _solver(self, problem: Problem) -> Solver:
        del problem
        return SOLVERS[_CERTIFIED](tol=float(self.tol), max_iter=int(self.max_iter))

    def _goes_direct(self, problem: Problem, search: Search) -> bool:
        if not in_memory(problem.data.X) and self.solver == "direct":
            raise MarginRankError(
                "The direct solver needs the rows in memory, and these are on disk. Use solver='cg' or "
                "'auto', or train on data.in_memory()."
            )
        if self.solver != "auto" or self.regularization != "tikhonov":
            return self.solver == "direct"
        n_alphas = 1 if not self._searches() else 17 if search.alphas is None else len(search.alphas)
        return direct_is_cheaper(problem, n_alphas)

    def _without_iterations(
        self, problem: Problem, search: Search, sets: list[EvaluationSet], callbacks: list[Callback]
    ) -> Run:
        trainer = DirectTrainer(problem, resolve_threads(self.n_jobs), float(self.tol))
        if self._searches() and not sets and self.cv is None and problem.n_queries > 1:
            return LeaveQueryOut(trainer, search, callbacks, self.n_jobs)
        return self._run_by(lambda _: [trainer], problem, search, sets, callbacks)

    def _by_iterations(
        self, problem: Problem, search: Search, sets: list[EvaluationSet], callbacks: list[Callback]
    ) -> Run:
        patience = None if self.regularization == "tikhonov" else _PATIENCE
        trainer = LeastSquaresTrainer(problem, float(self.tol), int(self.max_iter), patience)
        no_alpha = self.regularization == "early_stopping"
        if patience is None or (self._searches() and not no_alpha):
            return self._run_by(lambda _: [trainer], problem, search, sets, callbacks)
        alpha = 0.0 if no_alpha else float(self.alpha)
        if sets:
            recorder = Recorder(sets, problem.space, patience)
            return OneAlpha(trainer, Place(alpha), callbacks, recorder)
        # The number of iterations is found by folds.
        folds = problem.folds(search, self.n_jobs)
        return SearchByFolds([trainer], search, callbacks, folds, np.array([alpha]))

    def _remember(self, rows: Sequence[Row], best: Row) -> None:
        super()._remember(rows, best)
        self.validation_table_ = best.selection.curve[:, None] if best.table is None else best.table
        if best.n_iter is not None:
            self.best_iteration_ = best.n_iter

    def _keep(self, found: Found) -> None:
        super()._keep(found)
        direct = isinstance(found.trainer, DirectTrainer)
        iterated = "cg" if isinstance(found.trainer, LeastSquaresTrainer) else _CERTIFIED
        self.solver_ = "direct" if direct else iterated
        if found.recorder is not None and direct:
            del self.best_iteration_
        elif found.recorder is not None:
            self.validation_table_ = np.array([found.recorder.curve])
