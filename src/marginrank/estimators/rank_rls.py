"""RankRLS: least-squares ranking, with every alpha of a grid from one run."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from marginrank.choices import LeastSquaresSolver, Regularization
from marginrank.designs.scaling import ScaleSetting
from marginrank.estimators.least_squares import LeastSquaresRanker
from marginrank.exceptions import MarginRankError
from marginrank.losses import LeastSquaresLoss, LeastSquaresPreferences
from marginrank.metrics import Metric
from marginrank.paths.drawing import draw_iterations
from marginrank.training.problems import Problem
from marginrank.training.selection import DEFAULT_METRIC, Rule
from marginrank.training.targets import split_targets


class RankRLS(LeastSquaresRanker):
    r"""Linear ranking by regularised least squares.

    Minimises ``(1/m) ||L (X w - y)||^2 + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)`` within
    ``bounds``, by default ``(1/m) ||L (X w - y)||^2 + alpha/2 ||w||^2``, where ``L`` subtracts the mean of
    each query: the mean over queries, by size, of the squared differences between score differences and label
    differences of all pairs of rows, tied ones included. No pair is formed, and sparse data stay sparse.

    Parameters
    ----------
    alpha : float or "auto", default=1e-4
        Strength of the regularisation; :mod:`marginrank.regularization` converts from RLScore's. "auto"
        chooses from ``alphas`` by the ``eval_set`` of ``fit``, else by folds.
    l1_ratio : float, default=0.0
        Share of L1 in the penalty, at least 0 and below 1. L1 leaves features out: their weights are exactly
        0. It is measured in the units of the scaled columns.
    bounds : (lowest, highest), dict of such pairs, or None, default=None
        What the weights in ``coef_`` may be, as in :class:`RankSVM`; ``(0, None)`` is non-negative least
        squares.
    regularization : {"tikhonov", "early_stopping", "hybrid"}, default="tikhonov"
        "tikhonov" solves the problem; "early_stopping" sets alpha to 0 and stops conjugate gradients when the
        validation figure has not improved for ten iterations, keeping the best iterate; "hybrid" does both.
        Without an ``eval_set`` the number of iterations is found by folds.
    alphas : array-like, optional
        The grid for ``alpha="auto"``, all of which is measured; the default one, two for each decade, follows
        the units of X, and is gone down only as far as it pays (``search_end_``).
    metric : str or Metric, default="pairwise_error(weighting=queries)"
        What is measured on validation rows, and selected by.
    cv : int, splitter, list of (train, test) row numbers, "leave_pair_out" or None, default=5
        Folds for selection without an ``eval_set``: whole queries, rows where there are no queries, pairs for
        ``fit_pairs``. None is leave-query-out where the direct solver makes it cheap, else five folds.
        "leave_pair_out" is for one ranking of up to 20,000 rows in memory: every two rows are compared by the
        model without them.
    rule : {"best", "one_se"}, default="best"
        Take the best alpha, or the largest that is worse by at most half of the standard error of the
        difference (``validation_diff_std_``).
    solver : {"auto", "cg", "direct"}, default="auto"
        Conjugate gradients; or one Gram matrix and its eigendecomposition, exact, for few features or rows.
        "auto" takes what costs less; with ``l1_ratio`` or ``bounds`` it is quasi-Newton with a certificate.
    tol : float, default=1e-3
        Training stops when the objective is certified to be within this fraction of the optimum. Early
        stopping has no penalty that would bound one: there iterations end at a residual of this part of the
        right side, if not before.
    max_iter : int, default=1000
        Largest number of iterations, of one pass over the data each.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        Divide each column by its standard deviation or its range while training. ``coef_`` stays in raw
        units, and sparse data stay sparse. "auto" takes "standard" where the largest range of a column is
        more than 100 times the smallest, and None elsewhere; None is for an alpha from another program.
    warm_start : bool, default=False
        With ``l1_ratio`` or ``bounds``: start from the coefficients of the previous ``fit``. Linear systems,
        without these, start from zero.
    n_jobs : int, optional
        Threads; by default as many as there are processors, or ``OMP_NUM_THREADS``. The result has the same
        bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
        Weights of the features.
    scale_ : {None, "standard", "minmax"}
        What ``scale`` became; decided once, by all training rows.
    column_scale_ : ndarray of shape (n_features,) or None
        What ``scale`` divided the columns by; None without. ``coef_`` has it folded in.
    column_statistics_ : ColumnStatistics
        Range, mean, deviation and zeros of each column over the training rows.
    alpha_ : float
        The alpha of the model; 0 for early stopping.
    alphas_, validation_curve_, validation_std_ : ndarray of shape (n_alphas,)
        With ``alpha="auto"``: the grid, the mean of the metric at each alpha, and its standard error over
        folds, or over queries.
    validation_diff_std_ : ndarray of shape (n_alphas,)
        The standard error of the difference to the best alpha, over the queries of all folds or of the
        validation set; over folds where each is one ranking, and for pairs.
    search_end_ : str
        With ``alpha="auto"``: why no smaller alphas were tried. "worse" or "no better" say that they would
        not have paid, "passes" that they were cut for the passes they take, "smallest" that there are none,
        "grid" that ``alphas`` were all measured.
    validation_table_ : ndarray of shape (n_alphas, n_iterations + 1)
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
        Iterations of conjugate gradients, those of a search over alphas included; 0 for the direct solver.
    n_passes_ : float
        Passes over the training data, those of the selection included.
    history_ : list of Progress
        Value, bound, gap, passes, seconds and validation figure, at the start and after each iteration; of
        the smallest alpha, which takes longest.
    solver_ : str
        "cg" or "direct"; "lbfgs" with ``l1_ratio`` or ``bounds``.
    n_pairs_ : int
        Pairs of rows of different labels (``fit_pairs``: pairs given).
    n_queries_ : int
        Queries in the training data; 1 for one global ranking.
    n_features_used_ : int
        How many features have a weight that is not 0.
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
    >>> model = RankRLS(alpha="auto").fit(X, y, qid=qid)  # by five folds
    >>> round(model.score(X, y, qid=qid), 2)
    0.91
    >>> model.coef_.round(1)
    array([ 3. , -1.9,  1. ,  0. ,  0.1])

    Few features, none of which may count against a row:

    >>> sparse = RankRLS(alpha=0.5, l1_ratio=0.9, bounds=(0, None)).fit(X, y, qid=qid)
    >>> np.flatnonzero(sparse.coef_), sparse.gap_ <= 1e-3
    (array([0, 2]), True)
    """

    def __init__(
        self,
        alpha: float | Literal["auto"] = 1e-4,
        *,
        l1_ratio: float = 0.0,
        bounds: Any = None,
        regularization: Regularization = "tikhonov",
        alphas: Any = None,
        metric: str | Metric = DEFAULT_METRIC,
        cv: Any = 5,
        rule: Rule = "best",
        solver: LeastSquaresSolver = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        scale: ScaleSetting | None = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.bounds = bounds
        self.regularization = regularization
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.rule = rule
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def plot_search(self) -> Any:
        """Draw the validation curve of ``alpha="auto"``, its standard errors, and the chosen alpha.

        The wide band is the standard error of the figure, the narrow one that of its difference to the best.
        With ``regularization="early_stopping"`` there are no alphas, and the curve is by iteration.

        Returns
        -------
        matplotlib.figure.Figure
            Save it with ``savefig``. Needs matplotlib (``pip install marginrank[plot]``).

        Examples
        --------
        >>> ranker = RankRLS(alpha="auto", cv=2).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 2, 3])
        >>> ranker.plot_search().axes[0].get_xlabel()
        'alpha (strong regularisation on the left)'
        """
        if self.regularization != "early_stopping" or not hasattr(self, "validation_table_"):
            return super().plot_search()
        return draw_iterations(self.validation_table_[0], self.best_iteration_, str(self._search().parsed))

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
        offset: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_offset: Any = None,
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
        offset : array-like of shape (n_rows,) or str, optional
            Scores of another ranker, in the order of the rows: the model is trained on the sum of both.
            ``predict`` gives its part alone.
        eval_set : (X, y), RankingData, or a list of these, optional
            Rows to validate on; the last of them selects.
        eval_qid : array-like, or a list of these, optional
            Query ids of the rows of ``eval_set``.
        eval_group : array-like, or a list of these, optional
            Sizes of consecutive queries of ``eval_set``, instead of ``eval_qid``.
        eval_offset : array-like, or a list of these, optional
            What is added to the scores of the rows of ``eval_set`` before they are measured.
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

        def read() -> Problem:
            rows, added = self._check_offset(X, offset)
            first, targets = split_targets(rows, y)
            targets = self._targets_with(targets, offset)
            weights = {"sample_weight": sample_weight, "query_weight": query_weight}
            data = self._labelled(rows, first, qid, group=group, **weights)
            return self._with_offset(self._problem(data, LeastSquaresLoss, targets=targets), offset, added)

        described = {"qid": eval_qid, "group": eval_group, "offset": eval_offset}
        return self._fit(read, callbacks, eval_set, eval_metric, **described)

    def fit_pairs(
        self,
        X: Any,
        pairs: Any = None,
        *,
        ids: Any = None,
        magnitude: Any = None,
        weight: Any = None,
        offset: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_offset: Any = None,
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
        pairs, ids
            As in :class:`RankSVM`: row numbers, or names of rows that ``ids`` lists, winner first.
        magnitude : float or array-like of shape (n_pairs,), optional
            By how much the winner is better, at least 0; 1 by default.
        weight : array-like of shape (n_pairs,), optional
            Weights of the pairs, 1 by default.
        offset, eval_set, eval_qid, eval_group, eval_offset, eval_metric, callbacks
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

        def read() -> Problem:
            if self.solver == "direct":
                raise MarginRankError(
                    "The direct solver works within queries, and pairs have none. Use solver='cg' or 'auto'."
                )
            rows, added = self._check_offset(X, offset)
            data = self._paired(rows, pairs, ids, weight=weight, magnitude=magnitude)
            problem = self._problem(data, LeastSquaresPreferences, from_pairs=True)
            return self._with_offset(problem, offset, added)

        described = {"qid": eval_qid, "group": eval_group, "offset": eval_offset}
        return self._fit(read, callbacks, eval_set, eval_metric, **described)

    def _split_labels(self, X: Any, y: Any) -> tuple[Any, NDArray[np.float64] | None]:
        return split_targets(X, y)
