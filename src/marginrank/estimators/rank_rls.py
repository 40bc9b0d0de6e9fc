"""RankRLS: least-squares ranking, with every alpha of a grid from one run."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory, n_stored
from marginrank.designs.scaling import Scale
from marginrank.estimators.linear import LinearRanker
from marginrank.exceptions import MarginRankError
from marginrank.losses import LeastSquaresLoss, LeastSquaresPreferences
from marginrank.metrics import Metric
from marginrank.parameters import check_choice, check_count, check_positive
from marginrank.solvers import Callback
from marginrank.solvers.callbacks import check_callbacks
from marginrank.solvers.spectral import direct_pays
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.direct_runs import DirectRuns
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.least_squares_runs import LeastSquaresRuns, Outcome
from marginrank.training.problems import PairProblem, Problem, QueryProblem
from marginrank.training.progress import ProgressLine
from marginrank.training.selection import Rule, Search
from marginrank.training.spaces import RawColumns
from marginrank.training.targets import check_target_counts, split_targets
from marginrank.training.whole_fits import BestSoFar, fitted_whole

_PATIENCE = 10
_FOLDS = 5


class RankRLS(LinearRanker):
    r"""Linear ranking by regularised least squares.

    Minimises ``(1/m) ||L (X w - y)||^2 + alpha/2 ||w||^2``, where ``L`` subtracts the mean of each query: the
    mean over queries, by size, of the squared differences between score differences and label differences of
    all pairs of rows, tied ones included. No pair is formed, and sparse data stay sparse.

    Parameters
    ----------
    alpha : float or "auto", default=1e-4
        Strength of the regularisation; :mod:`marginrank.regularization` converts from RLScore's. "auto"
        chooses from ``alphas`` by the ``eval_set`` of ``fit``, else by leave-query-out, else by folds.
    regularization : {"tikhonov", "early_stopping", "hybrid"}, default="tikhonov"
        "tikhonov" solves the problem; "early_stopping" sets alpha to 0 and stops conjugate gradients when the
        validation figure has not improved for ten iterations, keeping the best iterate; "hybrid" does both.
        Without an ``eval_set`` the number of iterations is found by folds.
    alphas : array-like, optional
        The grid for ``alpha="auto"``; by default 17 values over eight decades that follow the units of X.
    metric : str or Metric, default="pairwise_error"
        What is measured on validation rows, and selected by.
    cv : int, splitter or list of (train, test) row numbers, optional
        Folds for selection without an ``eval_set``: whole queries, rows where there are no queries, pairs for
        ``fit_pairs``. By default leave-query-out where the direct solver makes it cheap, else five folds.
    rule : {"best", "one_se"}, default="best"
        Take the best alpha, or the largest within one standard error of the best.
    solver : {"auto", "cg", "direct"}, default="auto"
        Conjugate gradients; or one Gram matrix and its eigendecomposition, exact, for few features or rows.
        "auto" takes what costs less.
    tol : float, default=1e-3
        Conjugate gradients stop when the residual is at most this part of the right side.
    max_iter : int, default=1000
        Largest number of iterations, of one pass over the data each.
    scale : {None, "standard", "minmax"}, default=None
        Divide each column by its standard deviation or its range while training. ``coef_`` stays in raw
        units, and sparse data stay sparse.
    n_jobs : int, optional
        Threads; by default as many as there are processors, or ``OMP_NUM_THREADS``. The result has the same
        bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features.
    column_scale_ : ndarray of shape (n_features,) or None
        What ``scale`` divided the columns by; None without. ``coef_`` has it folded in.
    alpha_ : float
        The alpha of the model; 0 for early stopping.
    alphas_, validation_curve_, validation_std_ : ndarray of shape (n_alphas,)
        With ``alpha="auto"``: the grid, the mean of the metric at each alpha, and its standard error over
        folds, or over queries.
    validation_table_ : ndarray of shape (n_alphas, n_iter_ + 1)
        The metric of every alpha after every iteration (with folds, their mean; one column for the direct
        solver).
    best_iteration_ : int
        Early stopping and hybrid: the iteration that the model is taken from. Tikhonov with ``eval_set`` and
        one alpha: where the figure was best; the model is that of the last iteration.
    best_score_ : float
        The figure at ``alpha_`` and ``best_iteration_``, on the validation rows.
    evals_result_ : dict
        With ``eval_set`` and one alpha: ``{"validation_0": {metric: [value after each iteration]}}``.
    gap_ : float
        Certificate: ``(objective_ - optimum) / objective_`` is at most this, at ``alpha_``. Early stopping
        means to stay away from the optimum, and says how far.
    objective_ : float
        What the objective at ``coef_`` is at most, rounding included (of the scaled problem, if ``scale`` is
        set; summed over targets).
    lower_bound_ : float
        Certified lower bound of the optimum.
    n_iter_ : int
        Iterations of conjugate gradients; 0 for the direct solver.
    n_passes_ : float
        Passes over the training data, those of the selection included.
    history_ : list of Progress
        Value, bound, gap, passes, seconds and validation figure, at the start and after each iteration; of
        the smallest alpha, which takes longest.
    solver_ : str
        "cg" or "direct".
    n_pairs_ : int
        Pairs of rows of different labels (``fit_pairs``: pairs given).
    n_queries_ : int
        Queries in the training data; 1 for one global ranking.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had them.

    Notes
    -----
    O(nonzeros) per iteration, for a whole grid of alphas: their systems share one Krylov space.

    References
    ----------
    A. Airola, T. Pahikkala, T. Salakoski: Large scale training methods for linear RankRLS.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import RankRLS
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = X @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=300)
    >>> qid = rng.integers(30, size=300)
    >>> model = RankRLS(alpha="auto").fit(X, y, qid=qid)  # leave-query-out over the whole grid
    >>> round(model.score(X, y, qid=qid), 2)
    0.91
    >>> model.coef_.round(1)
    array([ 2.3, -1.5,  0.7,  0. ,  0. ])
    """

    _uses_size_of_labels = True

    def __init__(
        self,
        alpha: float | Literal["auto"] = 1e-4,
        *,
        regularization: Literal["tikhonov", "early_stopping", "hybrid"] = "tikhonov",
        alphas: Any = None,
        metric: str | Metric = "pairwise_error",
        cv: Any = None,
        rule: Rule = "best",
        solver: Literal["auto", "cg", "direct"] = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        scale: Scale | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.regularization = regularization
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.rule = rule
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> RankRLS:
        """Train on labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features. The column ``qid`` of a data frame gives the query ids. A ``RankingData`` carries
            ``y``, ``qid`` and the weights.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Labels or utilities, any real numbers; higher is better. Several columns are learnt at once, with
            one alpha, in one pass over X per iteration.
        qid, group, sample_weight, query_weight
            As in :class:`RankSVM`. A row of weight 2 counts as two equal rows; ``query_weight`` multiplies
            the squares of its query.
        eval_set : (X, y), RankingData, or a list of these, optional
            Rows to validate on; the last of them selects.
        eval_qid : array-like, or a list of these, optional
            Query ids of the rows of ``eval_set``.
        eval_metric : str, Metric or a list of these, optional
            What to measure on ``eval_set``; by default ``metric``. The first one selects.
        callbacks : callable or list of callables, optional
            Each is called with a ``Progress`` after every iteration; training stops quietly when one
            returns True.

        Returns
        -------
        RankRLS
            Itself. After Ctrl-C the best model so far is set before KeyboardInterrupt is raised again; where
            there is none yet, the estimator stays as it was.
        """
        with fitted_whole(self) as best:
            self._check_parameters()
            y, targets = split_targets(X, y)
            data = self._ranking_data(X, y, qid, group, sample_weight, query_weight, reset=True)
            self._trained_on_queries = data.query_ids is not None
            sets = self._evaluation_sets(eval_set, eval_qid, eval_metric)
            check_target_counts(targets, sets)
            make_loss = partial(LeastSquaresLoss, n_threads=resolve_threads(self.n_jobs))
            self._train(QueryProblem(data, make_loss, targets), sets, callbacks, best)
        return self

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        *,
        magnitude: Any = None,
        weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> RankRLS:
        """Train on bare preferences: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``, by ``magnitude[k]``.

        The risk is the weighted mean of ``(magnitude - (p_win - p_lose))^2``; pairs may cross queries.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features of the rows that the pairs refer to. A ``RankingData`` carries the pairs; its margins
            are the magnitudes.
        pairs : array-like of int, shape (n_pairs, 2)
            Row numbers, winner first.
        magnitude : float or array-like of shape (n_pairs,), optional
            By how much the winner is better, at least 0; 1 by default.
        weight : array-like of shape (n_pairs,), optional
            Weights of the pairs, 1 by default.
        eval_set, eval_qid, eval_metric, callbacks
            As in ``fit``; the rows of ``eval_set`` have labels.

        Returns
        -------
        RankRLS
            Itself.

        Examples
        --------
        >>> X = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
        >>> model = RankRLS().fit_pairs(X, [[0, 2], [2, 1]], magnitude=[1.0, 2.0])
        >>> bool(model.predict(X)[0] > model.predict(X)[1])
        True
        """
        with fitted_whole(self) as best:
            self._check_parameters()
            if self.solver == "direct":
                raise MarginRankError(
                    "The direct solver works within queries, and pairs have none. Use solver='cg' or 'auto'."
                )
            data = self._paired_data(X, pairs, weight, magnitude, "magnitude")
            self._trained_on_queries = False
            sets = self._evaluation_sets(eval_set, eval_qid, eval_metric)
            make_loss = partial(LeastSquaresPreferences, n_threads=resolve_threads(self.n_jobs))
            self._train(PairProblem(data, make_loss), sets, callbacks, best)
        return self

    def score(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """Return 1 minus the pairwise error: the share of pairs in the right order, ties half.

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As in ``fit``. The mean is over pairs, and over the targets where there are several.

        Returns
        -------
        float
            1 for a perfect order, 0.5 for chance.
        """
        check_is_fitted(self, "coef_")
        first, targets = split_targets(X, y)
        if targets is None and self.coef_.ndim == 1:
            weights = {"sample_weight": sample_weight, "query_weight": query_weight}
            return super().score(X, first, qid=qid, group=group, **weights)
        data = self._ranking_data(X, first, qid, group, sample_weight, query_weight, reset=False)
        if targets is None:
            targets = np.empty((0, data.n_rows)) if data.y is None else data.y[None]
        scores = self._scores(data.X).reshape(data.n_rows, -1).T
        if len(scores) != len(targets):
            raise MarginRankError(
                f"y must have a column for each target of the model; got {len(targets)} for {len(scores)}."
            )
        by_target = [
            self._agreement(data, column, np.ascontiguousarray(p))
            for column, p in zip(targets, scores, strict=True)
        ]
        return float(np.mean(by_target))

    def _check_parameters(self) -> None:
        check_choice("regularization", self.regularization, ("tikhonov", "early_stopping", "hybrid"))
        check_choice("solver", self.solver, ("auto", "cg", "direct"))
        self._check_shared()
        if not self._is_auto():
            check_positive(self.alpha, "alpha", "a positive, finite number or 'auto'")
        check_positive(self.tol, "tol")
        check_count(self.max_iter, "max_iter")
        self._search()
        if self.solver == "direct" and self.regularization != "tikhonov":
            raise MarginRankError(
                f"regularization={self.regularization!r} stops iterations early, and the direct solver has "
                "none. Use solver='cg', or regularization='tikhonov'."
            )

    def _is_auto(self) -> bool:
        return isinstance(self.alpha, str) and self.alpha == "auto"

    def _search(self) -> Search:
        return Search(self.alphas, self.metric, _FOLDS if self.cv is None else self.cv, self.rule)

    def _train(self, problem: Problem, sets: list[EvaluationSet], callbacks: Any, best: BestSoFar) -> None:
        listeners = check_callbacks(callbacks)
        with one_blas_thread(), self._finite_training(problem), ProgressLine() as line:
            if self.verbose:
                listeners.insert(0, line)
            whole = problem.whole()
            space = RawColumns(problem.data.X, whole, self.scale, resolve_threads(self.n_jobs))
            self._count_pairs(whole.loss)
            outcome, solver = None, "cg"
            if isinstance(problem, QueryProblem) and self._goes_direct(problem):
                outcome, solver = self._without_iterations(problem, space, sets, best), "direct"
                exact = outcome
                best.is_set_by(lambda: self._set(exact, problem, "direct"))
                for listener in listeners:
                    listener(exact.history[-1])
            if outcome is None or (self.solver == "auto" and outcome.gap > self.tol):
                # Columns whose sizes lie too far apart drown in the rounding of a Gram matrix.
                runs = self._runs(problem, space, listeners)
                if outcome is None:
                    best.is_set_by(lambda: self._set(runs.so_far(), problem, "cg"))
                outcome, solver = self._by_iterations(runs, sets), "cg"
            coef = outcome.transform.raw(outcome.w)
            self._check_results(problem, coef, outcome.value, outcome.bound, outcome.gap)
        found = outcome
        best.is_set_by(lambda: self._set(found, problem, solver))
        self._set(found, problem, solver)
        best.is_set = True
        self._warn(outcome)

    def _goes_direct(self, problem: QueryProblem) -> bool:
        data = problem.data
        if not in_memory(data.X):
            if self.solver == "direct":
                raise MarginRankError(
                    "The direct solver needs the rows in memory, and these are on disk. Use solver='cg' or "
                    "'auto', or train on data.in_memory()."
                )
            return False
        if self.solver != "auto" or self.regularization != "tikhonov":
            return self.solver == "direct"
        n_alphas = 1 if not self._is_auto() else 17 if self.alphas is None else len(self.alphas)
        return direct_pays(data.n_rows, data.n_features, n_stored(data.X), n_alphas)

    def _without_iterations(
        self, problem: QueryProblem, space: RawColumns, sets: list[EvaluationSet], best: BestSoFar
    ) -> Outcome:
        runs = DirectRuns(
            problem,
            space,
            n_threads=space.n_threads,
            n_jobs=self.n_jobs,
        )
        best.is_set_by(lambda: self._set(runs.so_far(), problem, "direct"))
        if not self._is_auto():
            return runs.plain(float(self.alpha), sets)
        if sets:
            return runs.on_set(self._search(), sets[-1])
        if self.cv is None and problem.n_queries > 1:
            return runs.leave_query_out(self._search())
        return runs.by_folds(self._search())

    def _runs(self, problem: Problem, space: RawColumns, listeners: list[Callback]) -> LeastSquaresRuns:
        return LeastSquaresRuns(
            problem,
            space.whole,
            space,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            patience=None if self.regularization == "tikhonov" else _PATIENCE,
            n_jobs=self.n_jobs,
            listeners=listeners,
        )

    def _by_iterations(self, runs: LeastSquaresRuns, sets: list[EvaluationSet]) -> Outcome:
        search = self._search()
        if self.regularization == "early_stopping":
            no_alpha = np.zeros(1)
            return runs.plain(0.0, sets) if sets else runs.by_folds(search, no_alpha)
        if self._is_auto():
            return runs.on_set(search, sets[-1]) if sets else runs.by_folds(search, None)
        alpha = float(self.alpha)
        if self.regularization == "hybrid" and not sets:
            return runs.by_folds(search, np.array([alpha]))
        return runs.plain(alpha, sets)

    def _set(self, outcome: Outcome | None, problem: Problem, solver: str) -> bool:
        """Set all that was learnt, and nothing of an earlier fit; return False where there is no model."""
        if outcome is None:
            return False
        self._forget_search()
        self.solver_ = solver
        w = outcome.transform.raw(outcome.w)
        self.coef_ = w if problem.targets is not None else w[0]
        self.column_scale_ = outcome.transform.scale
        self.alpha_ = outcome.alpha
        self.objective_, self.lower_bound_ = outcome.value, outcome.bound
        self.gap_ = outcome.gap
        self.n_iter_, self.n_passes_ = outcome.n_iter, outcome.passes
        self.history_ = outcome.history
        self.n_queries_ = problem.n_queries
        if outcome.selection is not None:
            self.alphas_ = outcome.selection.alphas
            self.validation_curve_ = outcome.selection.curve
            self.validation_std_ = outcome.selection.std
        for name in ("table", "best_iteration", "best_score", "evals_result"):
            value = getattr(outcome, name)
            if value is not None:
                setattr(self, "validation_table_" if name == "table" else f"{name}_", value)
        return True

    def _warn(self, outcome: Outcome) -> None:
        if outcome.status == "max_iter":
            warnings.warn(
                f"RankRLS stopped after {outcome.n_iter} iterations with a residual above tol={self.tol:g} "
                f"(certified gap {self.gap_:.1e}). Raise max_iter or tol, use a larger alpha, or scale the "
                "features (scale='standard') if they differ much in size.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _evaluation_rows(self, X: Any, y: Any, qid: Any) -> tuple[RankingData, NDArray[np.float64]]:
        y, targets = split_targets(X, y)
        data, labels = super()._evaluation_rows(X, y, qid)
        return data, labels if targets is None else targets
