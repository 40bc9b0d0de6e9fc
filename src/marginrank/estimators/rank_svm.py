"""RankSVM: linear ranking with the pairwise hinge or squared hinge, exact and certified."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from marginrank import validation as gate
from marginrank.estimators.certified import CertifiedRanker
from marginrank.estimators.problems import PairProblem, QueryProblem
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES
from marginrank.metrics import Metric
from marginrank.model_selection import Rule
from marginrank.scaling import Scale
from marginrank.solvers import SOLVERS, Solver
from marginrank.threads import resolve_threads


class RankSVM(CertifiedRanker):
    r"""Linear ranking support vector machine.

    Minimises ``R(X w) + alpha/2 ||w||^2``, where ``R`` is the mean over all comparable pairs (same query,
    ``y_i < y_j``) of ``max(0, 1 - (p_j - p_i))``, or of its square, for the scores ``p = X w``. Pairs are
    counted, never formed: a pass costs O(nonzeros + m log m) for m rows, also for real-valued labels.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair.
    alpha : float or "auto", default=1e-4
        Strength of the regularisation. The risk is a mean, so ``alpha`` does not depend on the number of
        rows; :mod:`marginrank.regularization` converts from the parameters of other programs. "auto" chooses
        from ``alphas`` by the ``eval_set`` of ``fit``, or by cross-validation without one.
    tol : float, default=1e-3
        Training stops when the objective is certified to be within this fraction of the optimum.
    max_iter : int, default=1000
        Largest number of iterations, of about one pass over the data each.
    weighting : {"pairs", "queries"}, default="pairs"
        Mean over all pairs, or mean over queries of each query's own mean.
    scale : {None, "standard", "minmax"}, default=None
        Divide each column by its standard deviation or its range while training. ``coef_`` stays in raw
        units, and sparse data stay sparse.
    solver : {"auto", "lbfgs", "bundle", "newton"}, default="auto"
        "lbfgs" is quasi-Newton with a cutting-plane certificate, the choice of "auto"; "bundle" (cutting
        planes with a line search) may pay on strongly correlated features; "newton" (truncated) needs the
        squared hinge.
    alphas : array-like, optional
        The grid for ``alpha="auto"``; by default 17 values over eight decades that follow the units of X.
    metric : str or Metric, default="pairwise_error"
        What ``alpha="auto"`` selects by, and what is measured on ``eval_set``.
    cv : int, splitter or list of (train, test) row numbers, default=5
        Folds for ``alpha="auto"`` without an ``eval_set``: whole queries, rows where there are no queries,
        pairs for ``fit_pairs``.
    rule : {"best", "one_se"}, default="best"
        Take the best alpha, or the largest within one standard error of the best.
    warm_start : bool, default=False
        Start from the coefficients of the previous ``fit``.
    n_jobs : int, optional
        Threads; by default as many as there are processors, or ``OMP_NUM_THREADS``. The result has the same
        bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    column_scale_ : ndarray of shape (n_features,) or None
        What ``scale`` divided the columns by; None without. ``coef_`` has it folded in.
    alpha_ : float
        The alpha of the model.
    alphas_, validation_curve_, validation_std_ : ndarray of shape (n_alphas,)
        With ``alpha="auto"``: the grid, the mean of the metric at each alpha, and its standard error over
        folds, or over the queries of the ``eval_set``.
    evals_result_ : dict
        With ``eval_set`` and a given alpha: ``{"validation_0": {metric: [value after each iteration]}}``.
    best_score_ : float
        The best figure on the last ``eval_set``, or at the chosen alpha.
    best_iteration_ : int
        With ``eval_set`` and a given alpha: where that was. The model is that of the last iteration.
    gap_ : float
        Certificate: ``(objective_ - optimum) / objective_`` is at most this.
    objective_ : float
        Value of the objective at ``coef_`` (of the scaled problem, if ``scale`` is set).
    lower_bound_ : float
        Certified lower bound of the optimum: no model has a smaller objective.
    n_iter_ : int
        Iterations taken.
    n_passes_ : float
        Passes over the training data, those of a search over alphas included.
    history_ : list of Progress
        Value, bound, gap, passes over the data and seconds, at the start and after each iteration.
    n_pairs_ : int
        Comparable pairs that were trained on.
    n_queries_ : int
        Queries in the training data; 1 for one global ranking.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had them.

    See Also
    --------
    marginrank.RankingData : Data that are validated once and used many times.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import RankSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = X @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=300)
    >>> qid = rng.integers(30, size=300)
    >>> model = RankSVM(alpha=1e-3).fit(X, y, qid=qid)
    >>> model.gap_ <= 1e-3
    True
    >>> round(model.score(X, y, qid=qid), 2)
    0.91
    >>> np.argsort(-model.predict(X[:4]))  # best row first
    array([0, 1, 3, 2])
    """

    def __init__(
        self,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        *,
        alpha: float | Literal["auto"] = 1e-4,
        tol: float = 1e-3,
        max_iter: int = 1000,
        weighting: Literal["pairs", "queries"] = "pairs",
        scale: Scale | None = None,
        solver: Literal["auto", "lbfgs", "bundle", "newton"] = "auto",
        alphas: Any = None,
        metric: str | Metric = "pairwise_error",
        cv: Any = 5,
        rule: Rule = "best",
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.weighting = weighting
        self.scale = scale
        self.solver = solver
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.rule = rule
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

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
    ) -> RankSVM:
        """Train on labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features. The column ``qid`` of a data frame gives the query ids. A ``RankingData`` carries
            ``y``, ``qid`` and the weights.
        y : array-like of shape (n_rows,)
            Labels or utilities, any real numbers; higher is better. Rows with equal labels form no pair.
        qid : array-like of shape (n_rows,), optional
            Query ids, any hashable values in any order. None is one global ranking of all rows.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, instead of ``qid``.
        sample_weight : array-like of shape (n_rows,), optional
            A weight means repetition: a pair weighs the product of the weights of its rows.
        query_weight : mapping or array-like, optional
            Weight by query id, one per query in order of first appearance, or one per row.
        eval_set : (X, y), RankingData, or a list of these, optional
            Rows to validate on. ``alpha="auto"`` selects by the last of them.
        eval_qid : array-like, or a list of these, optional
            Query ids of the rows of ``eval_set``.
        eval_metric : str, Metric or a list of these, optional
            What to measure on ``eval_set``; by default ``metric``. The first one selects.
        callbacks : callable or list of callables, optional
            Each is called with a ``Progress`` after every iteration; training stops quietly when one
            returns True.

        Returns
        -------
        RankSVM
            Itself. After Ctrl-C the best model so far is set before KeyboardInterrupt is raised again; while
            folds are trained there is none yet.
        """
        solver = self._check_parameters(QUERY_LOSSES)
        data = self._ranking_data(X, y, qid, group, sample_weight, query_weight, reset=True)
        self._trained_on_queries = data.query_ids is not None
        sets = self._evaluation_sets(eval_set, eval_qid, eval_metric)
        make_loss = partial(
            QUERY_LOSSES[self.loss], weighting=self.weighting, n_threads=resolve_threads(self.n_jobs)
        )
        self._train(QueryProblem(data, make_loss), solver, sets, callbacks)
        return self

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        *,
        weight: Any = None,
        margin: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> RankSVM:
        """Train on bare preferences: row ``pairs[k, 0]`` beats row ``pairs[k, 1]``, nothing else is known.

        The risk is the weighted mean of ``max(0, margin - (p_win - p_lose))``, or of its square.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features of the rows that the pairs refer to. A ``RankingData`` carries the pairs.
        pairs : array-like of int, shape (n_pairs, 2)
            Row numbers, winner first.
        weight : array-like of shape (n_pairs,), optional
            Weights of the pairs, 1 by default.
        margin : float or array-like of shape (n_pairs,), optional
            Margins of the pairs, at least 0, 1 by default.
        eval_set, eval_qid, eval_metric, callbacks
            As in ``fit``; the rows of ``eval_set`` have labels.

        Returns
        -------
        RankSVM
            Itself.

        Examples
        --------
        >>> X = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
        >>> model = RankSVM().fit_pairs(X, [[0, 2], [2, 1]])
        >>> bool(model.predict(X)[0] > model.predict(X)[1])
        True
        """
        solver = self._check_parameters(PREFERENCE_LOSSES)
        data = self._paired_data(X, pairs, weight, margin)
        self._trained_on_queries = False
        sets = self._evaluation_sets(eval_set, eval_qid, eval_metric)
        make_loss = partial(PREFERENCE_LOSSES[self.loss], n_threads=resolve_threads(self.n_jobs))
        self._train(PairProblem(data, make_loss), solver, sets, callbacks)
        return self

    def _check_parameters(self, losses: dict[str, Any]) -> Solver:
        """Check the parameters before any work is done, and return the solver."""
        gate.check_choice("loss", self.loss, losses)
        gate.check_choice("weighting", self.weighting, ("pairs", "queries"))
        gate.check_choice("solver", self.solver, ("auto", *SOLVERS))
        gate.check_choice("scale", self.scale, (None, "standard", "minmax"))
        self._search()
        tol = gate.check_positive(self.tol, "tol")
        max_iter = gate.check_count(self.max_iter, "max_iter")
        return SOLVERS["lbfgs" if self.solver == "auto" else self.solver](tol=tol, max_iter=max_iter)
