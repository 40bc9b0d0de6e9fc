"""RankSVM: linear ranking with a pairwise loss, exact and certified."""

from __future__ import annotations

from typing import Any, Literal

from marginrank.designs.scaling import ScaleSetting
from marginrank.estimators.pairwise import PairwiseRanker
from marginrank.metrics import Metric
from marginrank.training.selection import DEFAULT_METRIC, Rule


class RankSVM(PairwiseRanker):
    r"""Linear ranking support vector machine.

    Minimises ``R(X w) + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)`` within ``bounds``, by default
    ``R(X w) + alpha/2 ||w||^2``. ``R`` is the mean over all comparable pairs (same query, ``y_i < y_j``) of
    ``max(0, 1 - (p_j - p_i))``, of its square, or of the logistic loss, for the scores ``p = X w``. Pairs of
    the hinges are counted, never formed: a pass costs O(nonzeros + m log m) for m rows, also for real-valued
    labels.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        The loss of a pair: ``max(0, 1 - d)`` for the difference ``d`` of its scores, the square of that, or
        ``log(1 + exp(-d))``, which looks at every pair and takes queries of up to 20,000 rows.
    alpha : float or "auto", default=1e-4
        Strength of the regularisation. The risk is a mean, so ``alpha`` does not depend on the number of
        rows; :mod:`marginrank.regularization` converts from the parameters of other programs. "auto" chooses
        from ``alphas`` by the ``eval_set`` of ``fit``, or by cross-validation without one.
    l1_ratio : float, default=0.0
        Share of L1 in the penalty, at least 0 and below 1. L1 leaves features out: their weights are exactly
        0. It is measured in the units of the scaled columns.
    bounds : (lowest, highest), dict of such pairs, or None, default=None
        What the weights in ``coef_`` may be: one pair for all, or pairs by name of a feature or by number of
        a column. None in a pair is no limit; equal numbers fix a weight, which is not penalised then.
        ``(0, None)`` means that more is never worse.
    tol : float, default=1e-3
        Training stops when the objective is certified to be within this fraction of the optimum.
    max_iter : int, default=1000
        Largest number of iterations, of about one pass over the data each.
    weighting : {"pairs", "queries"}, default="pairs"
        Mean over all pairs, or mean over queries of each query's own mean.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        Divide each column by its standard deviation or its range while training. ``coef_`` stays in raw
        units, and sparse data stay sparse. "auto" takes "standard" where the largest range of a column is
        more than 100 times the smallest, and None elsewhere; None is for an alpha from another program.
    solver : {"auto", "lbfgs", "bundle", "newton"}, default="auto"
        "lbfgs" is quasi-Newton with a cutting-plane certificate, the choice of "auto"; "bundle" (cutting
        planes with a line search) may pay on strongly correlated features; "newton" (truncated) needs a
        smooth loss, any but the hinge.
    alphas : array-like, optional
        The grid for ``alpha="auto"``, all of which is measured; the default one follows the units of X, and
        is gone down only as far as it pays (``search_end_``).
    metric : str or Metric, default="pairwise_error(weighting=queries)"
        What ``alpha="auto"`` selects by, and what is measured on ``eval_set``.
    cv : int, splitter or list of (train, test) row numbers, default=5
        Folds for ``alpha="auto"`` without an ``eval_set``: whole queries, rows where there are no queries,
        pairs for ``fit_pairs``.
    rule : {"best", "one_se"}, default="best"
        Take the best alpha, or the largest that is worse by at most half of the standard error of the
        difference (``validation_diff_std_``).
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
    n_features_used_ : int
        How many features have a weight that is not 0.
    scale_ : {None, "standard", "minmax"}
        What ``scale`` became; decided once, by all training rows.
    column_scale_ : ndarray of shape (n_features,) or None
        What ``scale`` divided the columns by; None without. ``coef_`` has it folded in.
    column_statistics_ : ColumnStatistics
        Range, mean, deviation and zeros of each column over the training rows.
    alpha_ : float
        The alpha of the model.
    alphas_, validation_curve_, validation_std_ : ndarray of shape (n_alphas,)
        With ``alpha="auto"``: the grid, the mean of the metric at each alpha, and its standard error over
        folds, or over the queries of the ``eval_set``.
    validation_diff_std_ : ndarray of shape (n_alphas,)
        The standard error of the difference to the best alpha, over the queries of all folds or of the
        validation set; over folds where each is one ranking, and for pairs.
    search_end_ : str
        With ``alpha="auto"``: why no smaller alphas were tried. "worse" or "no better" say that they would
        not have paid, "passes" that they were cut for the passes they take, "smallest" that there are none,
        "grid" that ``alphas`` were all measured.
    evals_result_ : dict
        With ``eval_set`` and a given alpha: ``{"validation_0": {metric: [value after each iteration]}}``.
    best_score_ : float
        The best figure on the last ``eval_set``, or at the chosen alpha.
    best_iteration_ : int
        With ``eval_set`` and a given alpha: where that was. The model is that of the last iteration.
    gap_ : float
        Certificate: ``(objective_ - optimum) / objective_`` is at most this.
    objective_ : float
        What the objective at ``coef_`` is at most, rounding included (of the scaled problem, if ``scale`` is
        set).
    lower_bound_ : float
        Certified lower bound of the optimum: no model has a smaller objective.
    n_iter_ : int
        Iterations taken, those of a search over alphas included.
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

    Few features, and one that may only count in favour of a row:

    >>> sparse = RankSVM(alpha=0.1, l1_ratio=0.9, bounds={1: (0, None)}).fit(X, y, qid=qid)
    >>> sparse.n_features_used_, sparse.gap_ <= 1e-3
    (2, True)
    """

    def __init__(
        self,
        loss: str = "hinge",
        *,
        alpha: float | Literal["auto"] = 1e-4,
        l1_ratio: float = 0.0,
        bounds: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        weighting: Literal["pairs", "queries"] = "pairs",
        scale: ScaleSetting | None = "auto",
        solver: Literal["auto", "lbfgs", "bundle", "newton"] = "auto",
        alphas: Any = None,
        metric: str | Metric = DEFAULT_METRIC,
        cv: Any = 5,
        rule: Rule = "best",
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.bounds = bounds
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
