"""RankSVM: linear ranking with the pairwise hinge or squared hinge, exact and certified."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

from marginrank import validation as gate
from marginrank.data import RankingData
from marginrank.estimators.linear import LinearRanker
from marginrank.exceptions import MarginRankError
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES
from marginrank.scaling import Scale
from marginrank.solvers import SOLVERS, Solver
from marginrank.threads import resolve_threads


class RankSVM(LinearRanker):
    r"""Linear ranking support vector machine.

    Minimises ``R(X w) + alpha/2 ||w||^2``, where ``R`` is the mean over all comparable pairs (same query,
    ``y_i < y_j``) of ``max(0, 1 - (p_j - p_i))``, or of its square, for the scores ``p = X w``. Pairs are
    counted, never formed: a pass costs O(nonzeros + m log m) for m rows, also for real-valued labels.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a pair.
    alpha : float, default=1e-4
        Strength of the regularisation. The risk is a mean, so ``alpha`` does not depend on the number of
        rows; :mod:`marginrank.regularization` converts from the parameters of other programs.
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
    gap_ : float
        Certificate: ``(objective_ - optimum) / objective_`` is at most this.
    objective_ : float
        Value of the objective at ``coef_`` (of the scaled problem, if ``scale`` is set).
    lower_bound_ : float
        Certified lower bound of the optimum: no model has a smaller objective.
    n_iter_ : int
        Iterations taken.
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
        alpha: float = 1e-4,
        tol: float = 1e-3,
        max_iter: int = 1000,
        weighting: Literal["pairs", "queries"] = "pairs",
        scale: Scale | None = None,
        solver: Literal["auto", "lbfgs", "bundle", "newton"] = "auto",
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
        callbacks : callable or list of callables, optional
            Each is called with a ``Progress`` after every iteration; training stops quietly when one
            returns True.

        Returns
        -------
        RankSVM
            Itself. After Ctrl-C the best model so far is set before KeyboardInterrupt is raised again.
        """
        solver = self._check_parameters(QUERY_LOSSES)
        data = self._ranking_data(X, y, qid, group, sample_weight, query_weight, reset=True)
        view = data.training_view()
        loss = QUERY_LOSSES[self.loss](view, weighting=self.weighting, n_threads=resolve_threads(self.n_jobs))
        self.n_pairs_ = loss.n_pairs
        self.n_queries_ = data.n_queries
        self._trained_on_queries = data.query_ids is not None
        result = self._fit_loss(data, view.rows, view.sample_weight, loss, solver, callbacks)
        self._finish(result, self.tol)
        return self

    def fit_pairs(
        self, X: Any, pairs: Any = None, *, weight: Any = None, margin: Any = None, callbacks: Any = None
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
        callbacks : callable or list of callables, optional
            As in ``fit``.

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
        threads = resolve_threads(self.n_jobs)
        loss = PREFERENCE_LOSSES[self.loss](data.training_pairs(), data.n_rows, n_threads=threads)
        self.n_pairs_ = loss.n_pairs
        self.n_queries_ = 1
        self._trained_on_queries = False
        result = self._fit_loss(data, None, None, loss, solver, callbacks)
        self._finish(result, self.tol)
        return self

    def _paired_data(self, X: Any, pairs: Any, weight: Any, margin: Any) -> RankingData:
        if isinstance(X, RankingData):
            if any(extra is not None for extra in (pairs, weight, margin)):
                raise MarginRankError("RankingData carries the pairs; do not pass them again.")
            self._check_width(X, reset=True)
            return X
        if pairs is None:
            raise MarginRankError("fit_pairs needs pairs: row numbers of shape (n_pairs, 2), winner first.")
        return RankingData(
            self._check_matrix(X, reset=True, min_rows=2),
            pairs=pairs,
            pair_weight=weight,
            pair_margin=margin,
            feature_names=getattr(self, "feature_names_in_", None),
        )

    def _check_parameters(self, losses: dict[str, Any]) -> Solver:
        """Check the parameters before any work is done, and return the solver."""
        _check_choice("loss", self.loss, losses)
        _check_choice("weighting", self.weighting, ("pairs", "queries"))
        _check_choice("solver", self.solver, ("auto", *SOLVERS))
        _check_choice("scale", self.scale, (None, "standard", "minmax"))
        gate.check_positive(self.alpha, "alpha")
        tol = gate.check_positive(self.tol, "tol")
        if isinstance(self.max_iter, bool) or not isinstance(self.max_iter, Integral) or self.max_iter < 1:
            raise MarginRankError(f"max_iter must be a positive integer; got {self.max_iter!r}.")
        name = "lbfgs" if self.solver == "auto" else self.solver
        return SOLVERS[name](tol=tol, max_iter=int(self.max_iter))


def _check_choice(name: str, value: Any, choices: Any) -> None:
    if value not in tuple(choices):
        allowed = ", ".join(repr(choice) for choice in choices)
        raise MarginRankError(f"{name} must be one of {allowed}; got {value!r}.")
