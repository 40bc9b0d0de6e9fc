"""The base of all rankers: reads what users pass to ``fit``, trains, and sets what was learnt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from marginrank.data import RankingData
from marginrank.data import validation as gate
from marginrank.data.collected_frames import collected
from marginrank.data.finite import check_finite_results, extremes, finite_arithmetic
from marginrank.data.frames import split_frame, take_columns
from marginrank.data.id_columns import warn_of_id_columns
from marginrank.data.preference_pairs import pairs_by_id, pairs_of_frame
from marginrank.data.queries import check_qid
from marginrank.designs.scaling import SCALES
from marginrank.estimators.convergence import warn_of_edge, why_not_converged
from marginrank.estimators.fitted import FittedRanker, check_not_twice, too_few_rows, without_labels
from marginrank.estimators.whole_fits import BestSoFar, fitted_whole
from marginrank.exceptions import MarginRankError, Sentence, ZeroModelWarning, warn
from marginrank.losses import ComparesPairs, Loss
from marginrank.metrics import Metric
from marginrank.metrics.names import parse_metrics
from marginrank.parameters import check_choice, check_count, check_flag, check_positive, check_verbose
from marginrank.solvers import Callback, Solver, SolverResult
from marginrank.solvers.callbacks import check_callbacks
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.alpha_searches import SearchByFolds
from marginrank.training.certified import SELECTION_EPS, CertifiedTrainer
from marginrank.training.evaluation_sets import EvaluationSet, read_evaluation_sets
from marginrank.training.fitting import Found, OneAlpha, Place, Row, Run, Trainer
from marginrank.training.paired_parts import PairedParts
from marginrank.training.penalty_settings import check_l1_ratio, read_penalty
from marginrank.training.problems import Problem, RawColumns, Space
from marginrank.training.progress import TrainingBar, say_search_end
from marginrank.training.recorder import Recorder
from marginrank.training.selection import Search
from marginrank.training.set_search import SearchOnSet
from marginrank.training.zero_models import left_without_features

_SEARCH_RESULTS = (
    "alphas_",
    "gammas_",
    "validation_curve_",
    "validation_std_",
    "validation_diff_std_",
    "validation_table_",
    "evals_result_",
    "best_iteration_",
    "best_score_",
    "search_end_",
)


class Ranker(FittedRanker):
    """Base of the rankers."""

    alpha: float | str
    alphas: Any
    metric: Any
    cv: Any
    rule: Any
    scale: Any
    tol: float
    max_iter: int
    verbose: int
    warm_start: bool = False
    l1_ratio: Any = 0.0
    bounds: Any = None
    _uses_size_of_labels: ClassVar[bool] = False
    #: What the figure of the chosen alpha is the mean of, after a search.
    _validation_parts: PairedParts | None = None

    def _fit(
        self,
        read: Callable[[], Problem],
        callbacks: Any,
        eval_set: Any,
        eval_metric: Any,
        **eval_queries: Any,
    ) -> Self:
        """Check the parameters, read what to train on, and train.

        Parameters
        ----------
        read : callable
            Checks the arguments that describe the training rows, and returns the problem.
        callbacks, eval_set, eval_metric
            As in ``fit``.
        **eval_queries
            The queries of ``eval_set``: ``qid`` or ``group``.
        """
        with fitted_whole(self) as best:
            self._check_parameters()
            with one_blas_thread():
                problem = read()
                search = self._search()  # what models are selected by may depend on the labels
                watched = any(given is not None for given in (eval_set, eval_metric, *eval_queries.values()))
                sets = self._evaluation_sets(problem, eval_set, eval_metric, eval_queries) if watched else []
                called: list[Callback] = [] if callbacks is None else check_callbacks(callbacks)
                with finite_arithmetic(partial(self._out_of_range, problem)):
                    found = self._train(problem, search, sets, called, best)
                best.is_set = True
                self._warn(found.result)
                warn_of_edge(search, found.chosen)
        return self

    def _train(
        self,
        problem: Problem,
        search: Search,
        sets: list[EvaluationSet],
        callbacks: list[Callback],
        best: BestSoFar,
    ) -> Found:
        """Train, and set what was learnt; what Ctrl-C leaves meanwhile is set by ``best``."""
        with TrainingBar(self.tol) if self.verbose else nullcontext() as line:
            run = self._run(problem, search, sets, callbacks if line is None else [line, *callbacks])
            best.set_best = partial(self._set_so_far, run, search)
            if isinstance(problem.loss, ComparesPairs):
                self.n_pairs_ = problem.loss.n_pairs
            found = run.run()
        result = found.result
        figures = (found.passes, found.coef, result.value, result.bound, result.gap)
        check_finite_results(partial(self._out_of_range, problem), *figures)
        self._set(found, search)
        if self.verbose and found.chosen is not None:
            say_search_end(found.alpha, found.chosen.end)
        return found

    def _check_parameters(self) -> Search:
        """Check the parameters before any work is done, and return those of a search."""
        check_positive(self.tol, "tol")
        check_choice("scale", self.scale, SCALES)
        check_flag(self.warm_start, "warm_start")
        check_verbose(self.verbose)
        check_count(self.max_iter, "max_iter")
        if not self._chooses_alpha():
            check_positive(self.alpha, "alpha", "a positive, finite number or 'auto'")
        search = self._search()
        check_l1_ratio(self.l1_ratio)
        resolve_threads(self.n_jobs)
        return search

    def _chooses_alpha(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha == "auto"

    def _searches(self) -> bool:
        """Whether there is anything to choose."""
        return self._chooses_alpha()

    def _search(self) -> Search:
        return Search(self.alphas, self._metrics()[0], self.cv, self.rule, self._resolution())

    def _resolution(self) -> float:
        """Return the part by which figures of models within their gap may differ for no other reason."""
        return float(self.tol) if self.alphas is not None else max(float(self.tol), SELECTION_EPS)

    def _metrics(self) -> list[str | Metric]:
        """Return what models are measured by; they are selected by the first one."""
        return [self.metric]

    def _run(
        self, problem: Problem, search: Search, sets: list[EvaluationSet], callbacks: list[Callback]
    ) -> Run:
        """Return the training that the parameters ask for."""
        return self._run_by(self._trainers, problem, search, sets, callbacks)

    def _run_by(
        self,
        trainers_of: Callable[[Problem], Sequence[Trainer]],
        problem: Problem,
        search: Search,
        sets: list[EvaluationSet],
        callbacks: list[Callback],
    ) -> Run:
        """Return the training at one alpha, on a validation set, or by folds, by one way to fit."""
        searches = self._searches()
        trainers = trainers_of(problem)
        if not searches:
            trainer = trainers[0]
            recorder = Recorder(sets, trainer.problem.space, trainer.patience) if sets else None
            start: Any = getattr(self, "coef_", None) if self.warm_start else None
            start = start if np.ndim(start) == 1 else None  # several targets are no start for one
            return OneAlpha(trainer, Place(float(self.alpha), start, alone=True), callbacks, recorder)
        if sets:
            return SearchOnSet(trainers, search, callbacks, sets[-1])
        return SearchByFolds(trainers, search, callbacks, problem.folds(search, self.n_jobs))

    def _trainers(self, problem: Problem) -> Sequence[Trainer]:
        """Return what fits, for each space: a solver that certifies its gap."""
        return self._trainers_in(self._spaces(problem), problem)

    def _trainers_in(self, spaces: Sequence[Space], problem: Problem) -> Sequence[Trainer]:
        of_search = self._solver_of_search(problem) if self._searches() else None
        alone, tol = self._solver(problem), float(self.tol)
        solver = alone if of_search is None else of_search
        return [CertifiedTrainer(problem.in_space(space), solver, tol, alone=alone) for space in spaces]

    def _solver_of_search(self, problem: Problem) -> Solver:
        """Return what minimises at one alpha after another."""
        return self._solver(problem)

    def _solver(self, problem: Problem) -> Solver:
        """Return what minimises at one alpha."""
        raise NotImplementedError

    def _spaces(self, problem: Problem) -> Sequence[Space]:
        """Return the spaces of features to choose from; more than one only where there is a search."""
        return [problem.space]

    # What users pass

    def _labelled(self, X: Any, y: Any, qid: Any, **more: Any) -> RankingData:
        """Return the data of labelled rows, and remember their columns."""
        if isinstance(X, RankingData):
            check_not_twice(y, qid, *more.values())
            return self._of_training(X, X.n_queries, X.query_ids is not None)
        if y is None:
            raise without_labels(self)
        data = RankingData(X, y, qid=qid, **more)
        if data.X.shape[0] < 2:
            raise too_few_rows(data.X, 2)
        named = {"y": y, "qid": qid, **more}
        return self._of_training(data, data.n_queries, data.query_ids is not None, named=named)

    def _check_offset(self, X: Any, offset: Any) -> tuple[Any, Any]:
        """Return X without the column that holds the offset, where it is one, and the offset."""
        rows, given = (X, {"offset": None}) if offset is None else take_columns(X, offset=offset)
        return rows, given["offset"]

    def _with_offset(self, problem: Problem, given: Any, offset: Any) -> Problem:
        """Return a problem with scores that are added before the loss; ``given`` may name a column."""
        self._named_columns = {**self._named_columns, **({"offset": given} if isinstance(given, str) else {})}
        self._on_offset = offset is not None
        if offset is None:
            return problem
        return replace(problem, offset=gate.check_offset(offset, problem.data.n_rows))

    def _paired(self, X: Any, pairs: Any, ids: Any, **by_pair: Any) -> RankingData:
        """Return the data of explicit pairs, with the weight and the margin of each, by their names."""
        if isinstance(X, RankingData):
            if any(extra is not None for extra in (pairs, ids, *by_pair.values())):
                raise MarginRankError("RankingData carries the pairs; do not pass them again.")
            return self._of_training(X)
        if pairs is None:
            raise MarginRankError("fit_pairs needs pairs: row numbers of shape (n_pairs, 2), winner first.")
        features, given = take_columns(collected(X), ids=ids)
        matrix, names = gate.check_matrix(split_frame(features)[0])
        warn_of_id_columns(names)
        if matrix.shape[0] < 2:
            raise too_few_rows(matrix, 2)
        pairs, by_pair = pairs_of_frame(pairs, by_pair)
        if given["ids"] is not None:
            pairs = pairs_by_id(pairs, check_qid(given["ids"], matrix.shape[0], "ids"))
        (weight, given_weight), (margin, given_margin) = by_pair.items()
        pairs, *described = gate.check_pairs(
            pairs, matrix.shape[0], given_weight, given_margin, (weight, margin)
        )
        parts = dict(zip(("pair_weight", "pair_margin"), described, strict=True))
        data = RankingData(matrix, pairs=pairs, feature_names=names, **parts)  # type: ignore[arg-type]
        return self._of_training(data, named={"ids": ids})

    def _of_training(
        self, data: RankingData, n_queries: int = 1, has_ids: bool = False, named: Any = None
    ) -> RankingData:
        """Remember queries and columns of training data; pairs know no queries and count as one."""
        self._named_columns = {name: value for name, value in (named or {}).items() if isinstance(value, str)}
        self._trained_on_queries = has_ids
        self.n_queries_ = n_queries
        self.n_features_in_ = data.X.shape[1]
        if data.feature_names is not None:
            self.feature_names_in_ = np.array(data.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return data

    def _problem(
        self, data: RankingData, make_loss: Callable[..., Loss], *, from_pairs: bool = False, **more: Any
    ) -> Problem:
        """Return the problem of data, over the columns of X."""
        threads = resolve_threads(self.n_jobs)
        loss = partial(make_loss, n_threads=threads)
        more["settings"] = read_penalty(self.l1_ratio, self.bounds, data.X.shape[1], data.feature_names)
        return Problem(data, loss, RawColumns(data.X, self.scale, threads), from_pairs, **more)

    def _evaluation_sets(
        self, problem: Problem, eval_set: Any, eval_metric: Any, queries: dict[str, Any]
    ) -> list[EvaluationSet]:
        """Return the validation sets, with what is measured on them."""
        wanted, given = (self._metrics(), "metric") if eval_metric is None else (eval_metric, "eval_metric")
        metrics = parse_metrics(wanted, "standard", given)
        sets = read_evaluation_sets(eval_set, queries, metrics, self._evaluation_rows, self.n_jobs)
        expected = 1 if problem.targets is None else len(problem.targets)
        for one in sets:
            if one.targets.n_targets != expected:
                raise MarginRankError.saying(
                    "{eval_set} must have as many columns of y as the training data; got {got:d} for "
                    "{expected:d}.",
                    got=one.targets.n_targets,
                    expected=expected,
                )
        return sets

    def _evaluation_rows(
        self, X: Any, y: Any, *, qid: Any, group: Any
    ) -> tuple[RankingData, NDArray[np.float64]]:
        first, targets = self._split_labels(X, y)
        data = self._rows_like_training(X, first, qid, group=group, prefix="eval_")
        if data.y is None:
            raise MarginRankError.saying("{eval_set} must have labels y; these data hold pairs only.")
        if data.query_ids is None and self._trained_on_queries:
            raise MarginRankError.saying(
                "The training data have queries, but {eval_set} has none.",
                "{Pass} {eval_qid}, one id for each row.",
            )
        return data, data.y[None] if targets is None else targets

    def _out_of_range(self, problem: Problem) -> str:
        data = problem.data
        labels = data.y if problem.targets is None else problem.targets
        sizes = {"y": labels} if self._uses_size_of_labels else {}
        known = vars(problem).get("transform")  # made already, unless the columns themselves are out of range
        can_scale = self.scale is None or (self.scale == "auto" and (known is None or known.scale is None))
        reason = extremes(
            data.X, can_scale=can_scale, alpha=self.alpha, pair_margin=data.pair_margin, **sizes
        )
        return f"Training {type(self).__name__} left the range of float64. {reason}"

    # What was learnt

    def _set_so_far(self, run: Run, search: Search) -> bool:
        found = run.so_far()
        if found is not None:
            self._set(found, search)
        return found is not None

    def _set(self, found: Found, search: Search) -> None:
        """Set all that was learnt, and nothing of an earlier fit."""
        for name in _SEARCH_RESULTS:
            if hasattr(self, name):
                delattr(self, name)
        self.alpha_ = found.alpha
        if found.chosen is not None:
            self._remember(found.rows, found.chosen)
            self._searched_by = str(search.parsed)
        if found.recorder is not None:
            self.evals_result_ = found.recorder.record.result
            self.best_iteration_ = found.recorder.best_iteration
            self.best_score_ = found.recorder.best_score
        self._keep(found)

    def _remember(self, rows: Sequence[Row], best: Row) -> None:
        """Set what was searched, a row for each space, and what was chosen."""
        del rows
        selection = best.selection
        self.alphas_ = selection.alphas
        self.validation_curve_ = selection.curve
        self.validation_std_ = selection.std
        self.validation_diff_std_ = selection.diff_std
        self._validation_parts = selection.parts
        self.best_score_ = float(selection.curve[selection.index])
        self.search_end_ = best.end

    def _keep(self, found: Found) -> None:
        """Set the coefficients, in raw units, and their certificate."""
        result = found.result
        self.coef_ = found.coef
        if self._weighs_columns:
            self.n_features_used_ = int(np.count_nonzero(np.atleast_2d(self.coef_).any(axis=0)))
        self._without_features = left_without_features(found) if self.l1_ratio else None
        transform = found.trainer.problem.transform
        self.scale_ = transform.scaled_by
        self.column_scale_ = transform.scale
        self.column_statistics_ = transform.statistics
        self.objective_ = result.value
        self.lower_bound_ = result.bound
        self.gap_ = result.gap
        # Where the number of iterations is chosen, too, it is that of the model.
        searched = self._searches() and found.trainer.patience is None
        self.n_iter_ = found.iterations if searched else result.n_iter
        self.n_passes_ = found.passes
        self.history_ = list(result.history)

    def _warn(self, result: SolverResult) -> None:
        """Say what stopped a training that did not converge."""
        if result.status in ("max_iter", "stalled"):
            warn(self._why_not_converged(result), ConvergenceWarning)
        if self._without_features is not None:
            warn(self._without_features, ZeroModelWarning)

    def _why_not_converged(self, result: SolverResult) -> Sentence:
        return why_not_converged(self, result)
