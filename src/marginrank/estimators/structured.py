"""StructuredRankSVM: linear ranking trained for a metric of whole rankings, exact and certified."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.utils import Tags

from marginrank.designs.scaling import ScaleSetting
from marginrank.estimators.base import Ranker
from marginrank.exceptions import Sentence, ZeroModelWarning, warn
from marginrank.gains import GainSetting, read_gain
from marginrank.losses.structured import TargetOptions, refuses_row_weights
from marginrank.metrics import Metric
from marginrank.parameters import check_choice, check_number
from marginrank.solvers import SOLVERS, Solver, SolverResult
from marginrank.system.threads import one_blas_thread
from marginrank.training.fitting import Found
from marginrank.training.problems import Problem
from marginrank.training.selection import Rule, Search
from marginrank.training.structured_targets import Aim, read_aim
from marginrank.training.zero_models import Verdict, judge


class StructuredRankSVM(Ranker):
    r"""Linear ranking support vector machine trained for AUC, MAP, MRR, NDCG, or several of them.

    Minimises ``R(X w) + alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)`` within ``bounds``, by default
    ``R(X w) + alpha/2 ||w||^2``. For each query the loss is that of its worst ranking, weighing the metric
    against the scores, ``max over rankings y of [Delta(y) + p.(phi(y) - phi(y*))]`` with ``Delta`` one minus
    the metric and ``y*`` the ideal ranking. It bounds ``Delta`` of the ranking by scores from above, is
    convex, and its maximum is found exactly, so the certificate is that of the target itself. ``R`` is the
    mean over the queries in which there is something to rank.

    Parameters
    ----------
    target : str, Metric or dict, default="ndcg@10"
        "auc", "map", "mrr" or "ndcg". A cut-off, as in "ndcg@10", is for evaluation only, unless ``truncate``
        is set. A dict of targets and weights, such as ``{"map": 1.0, "ndcg@10": 2.0}``, trains for the
        weighted sum of their losses, each with its own worst ranking (SVMCOMBO).
    feature_map : {"po", "mrr", "dorm"}, default="po"
        How a ranking is scored. "po": averaged differences of good and bad rows, for every target. "mrr": the
        first good row against the bad ones above it, for MRR. "dorm": rows weighted by their rank, for NDCG
        with graded gains. Of several targets, those that do not have it use "po".
    relevance : float, optional
        Rows with a label of at least this are good for MAP, MRR and NDCG (but not with "dorm", which takes
        labels as grades). AUC compares all grades. By default, where there are more than two labels, MAP and
        NDCG take them as grades, too: their losses are sums over the thresholds between labels, those of NDCG
        by ``gain``, those of MAP alike. For MRR, and where there are two labels, good ones begin at 1 if some
        are below and some above, as among those that start from 0; else at the second lowest label, as among
        -1 and 0.5, or 1 and 2.
    gain : {"exponential", "linear"} or dict, default="exponential"
        What labels are worth to NDCG, in training where they are grades, and in evaluation: ``2**label - 1``,
        the label, or what a dict says of each, such as ``{0: 0, 1: 1, 2: 5}``. Gains are finite, at least 0,
        and do not decrease with the label.
    discount : {"log2", "letor"}, default="log2"
        Of NDCG, in training and evaluation: ``1 / log2(1 + rank)``; or 1 for the ranks 1 and 2 and
        ``1 / log2(rank)`` from there on.
    rank_weight : {"fourth_root", "discount"}, default="fourth_root"
        Of "dorm": rows weigh ``rank ** -0.25``, or the discount, which is much faster.
    truncate : bool, default=False
        Train with the cut-off, too. Such a loss is often degenerate: see ``degenerate_``.
    alpha : float or "auto", default=1e-2
        Strength of the regularisation. The risk is a mean over queries and at most 1 at ``w = 0``, so
        ``alpha`` depends on neither the number of queries nor their sizes, but for ``feature_map="mrr"``,
        whose differences are summed and which wants an ``alpha`` larger by orders of magnitude. On features
        of about unit range, 1e-3 to 1e-1 differ little, and 1e-2 takes half the passes of 1e-3. Structured
        AUC is ``RankSVM(weighting="queries", alpha=alpha / 4)`` with its coefficients halved. "auto" chooses
        from ``alphas`` by the ``eval_set`` of ``fit``, or by cross-validation without one.
    l1_ratio : float, default=0.0
        Share of L1 in the penalty, at least 0 and below 1, which leaves features out, as in ``RankSVM``.
    bounds : (lowest, highest), dict of such pairs, or None, default=None
        What the weights in ``coef_`` may be, as in ``RankSVM``.
    tol : float, default=1e-3
        Training stops when the objective is certified to be within this fraction of the optimum.
    max_iter : int, default=1000
        Largest number of iterations, of about one pass over the data each.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        Divide each column by its standard deviation or its range while training. ``coef_`` stays in raw
        units, and sparse data stay sparse. "auto" takes "standard" where the largest range of a column is
        more than 100 times the smallest, and None elsewhere; None is for an alpha from another program.
    solver : {"auto", "bundle", "lbfgs"}, default="auto"
        "bundle" is cutting planes with a line search, "lbfgs" is quasi-Newton with the same certificate.
        "auto" takes "bundle" for ``alpha="auto"``, where planes are shared, and where X has more columns than
        rows; else "lbfgs".
    alphas : array-like, optional
        The grid for ``alpha="auto"``, all of which is measured; the default one follows the units of X, and
        is gone down only as far as it pays (``search_end_``).
    metric : str or Metric, optional
        What ``alpha="auto"`` selects by, and what is measured on ``eval_set``. By default the target with its
        cut-off, ``relevance``, ``gain`` and ``discount``, and equal scores as the mean over their orders,
        such as "ndcg(ties=average)@10", and "map(rel=all,ties=average)" where labels are grades; for AUC
        "pairwise_error(weighting=queries)", which is one minus it over all grades. Of several targets all are
        measured and the heaviest, or the first of them, selects.
    cv : int, splitter or list of (train, test) row numbers, default=5
        Folds of whole queries for ``alpha="auto"`` without an ``eval_set``; rows where there are no queries.
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
    scale_ : {None, "standard", "minmax"}
        What ``scale`` became; decided once, by all training rows.
    column_scale_ : ndarray of shape (n_features,) or None
        What ``scale`` divided the columns by; None without. ``coef_`` has it folded in.
    column_statistics_ : ColumnStatistics
        Range, mean, deviation and zeros of each column over the training rows.
    degenerate_ : bool
        Whether ``w = 0`` is certified to be the best model for this target at any alpha that matters; the
        scores then mean nothing. Training also warns with a ``ZeroModelWarning``.
    relevance_ : float or None
        The lowest label that counted as good; None where labels were grades (of several targets, MRR has the
        default of ``relevance`` then).
    thresholds_ : ndarray or None
        The labels at which good rows begin, in one after another of the terms of MAP and NDCG: every label
        but the lowest, or 31 of them where there are more than 32 labels, each of about the same weight in
        the sum. Labels between two of them then count as one grade, whose gain is their mean. ``relevance_``
        where that is a number; None for AUC and "dorm".
    binning_bound_ : float
        By how much the mean of one minus NDCG over the training queries, at any ranking, may differ from that
        with a grade of every label, at most; 0 unless there are more than 32 labels.
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
    n_queries_ : int
        Queries in the training data; 1 for one global ranking.
    n_features_used_ : int
        How many features have a weight that is not 0.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had them.

    See Also
    --------
    marginrank.RankSVM : Trains on pairs; takes row weights and explicit pairs.

    Notes
    -----
    ``score`` is what it is for every ranker, one minus the pairwise error, here as a mean over queries, so
    models for different targets stay comparable. For the target itself use
    :func:`marginrank.metrics.evaluate`.

    An iteration costs one pass over X and O(m log m) for m rows, for MAP and NDCG times the thresholds (rows
    are sorted once for all of them); "dorm" costs more, and refuses queries of more than 1,000 rows with many
    grades.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import StructuredRankSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 5))
    >>> y = np.digitize(X @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=600), [2.0, 5.0])
    >>> qid = np.arange(600) // 20
    >>> model = StructuredRankSVM("ndcg@10").fit(X, y, qid=qid)
    >>> model.gap_ <= 1e-3, model.degenerate_
    (True, False)
    >>> round(model.score(X, y, qid=qid), 2)
    0.98
    >>> combined = StructuredRankSVM({"map": 1.0, "ndcg@10": 1.0, "mrr@10": 1.0}).fit(X, y, qid=qid)
    >>> round(combined.score(X, y, qid=qid), 2)
    0.98
    """

    #: What ``solver`` may be.
    solvers: ClassVar[tuple[str, ...]] = ("auto", "bundle", "lbfgs")
    # Of score: the risk is a mean over queries, so the score is one, too.
    weighting = "queries"
    _aim: Aim

    def __init__(
        self,
        target: str | Metric | dict[str, float] = "ndcg@10",
        *,
        feature_map: Literal["po", "mrr", "dorm"] = "po",
        relevance: float | None = None,
        gain: GainSetting = "exponential",
        discount: Literal["log2", "letor"] = "log2",
        rank_weight: Literal["fourth_root", "discount"] = "fourth_root",
        truncate: bool = False,
        alpha: float | Literal["auto"] = 1e-2,
        l1_ratio: float = 0.0,
        bounds: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        scale: ScaleSetting | None = "auto",
        solver: Literal["auto", "bundle", "lbfgs"] = "auto",
        alphas: Any = None,
        metric: str | Metric | None = None,
        cv: Any = 5,
        rule: Rule = "best",
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.target = target
        self.feature_map = feature_map
        self.relevance = relevance
        self.gain = gain
        self.discount = discount
        self.rank_weight = rank_weight
        self.truncate = truncate
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.scale = scale
        self.solver = solver
        self.alphas = alphas
        self.metric = metric
        self.cv = cv
        self.rule = rule
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # Grades are gains, unless a table says what labels are worth.
        tags.target_tags.positive_only = self.relevance is None and isinstance(self.gain, str)
        return tags

    @refuses_row_weights
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        query_weight: Any = None,
        offset: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        eval_offset: Any = None,
        eval_metric: Any = None,
        callbacks: Any = None,
    ) -> StructuredRankSVM:
        """Train on labelled rows.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
            The features. The column ``qid`` of a data frame gives the query ids. A ``RankingData`` carries
            ``y``, ``qid`` and the weights of queries; weights of rows are refused, because a row stands once
            in a ranking.
        y : array-like of shape (n_rows,)
            Labels; higher is better. See ``relevance`` for what is done with them.
        qid : array-like of shape (n_rows,), optional
            Query ids, any hashable values in any order. None is one global ranking of all rows.
        group : array-like of shape (n_queries,), optional
            Sizes of consecutive queries, instead of ``qid``.
        query_weight : mapping or array-like, optional
            Weight by query id, one per query in order of first appearance, or one per row.
        offset : array-like of shape (n_rows,) or str, optional
            Scores of another ranker, in the order of the rows: the model is trained on the sum of both.
            ``predict`` gives its part alone.
        eval_set : (X, y), RankingData, or a list of these, optional
            Rows to validate on. ``alpha="auto"`` selects by the last of them.
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
        StructuredRankSVM
            Itself. After Ctrl-C the best model so far is set before KeyboardInterrupt is raised again; where
            there is none yet, the estimator stays as it was.
        """

        def read() -> Problem:
            rows, added = self._check_offset(X, offset)
            data = self._labelled(rows, y, qid, group=group, query_weight=query_weight)
            labelled = self._aim.for_labels(data, self.relevance)
            self._aim = labelled.aim
            self.relevance_, self.thresholds_ = labelled.relevance, labelled.thresholds
            self.binning_bound_ = labelled.binning_bound
            return self._with_offset(self._problem(data, self._aim.loss), offset, added)

        described = {"qid": eval_qid, "group": eval_group, "offset": eval_offset}
        return self._fit(read, callbacks, eval_set, eval_metric, **described)

    def _check_parameters(self) -> Search:
        relevance = 1.0 if self.relevance is None else check_number(self.relevance, "relevance")
        options = TargetOptions(
            relevance=relevance,
            gain=read_gain(self.gain),
            discount=self.discount,
            rank_weight=self.rank_weight,
        )
        # What labels mean is decided when they are known.
        self._aim: Aim = read_aim(self.target, self.feature_map, options, self.truncate)
        check_choice("solver", self.solver, self.solvers)
        return super()._check_parameters()

    def _solver_of_search(self, problem: Problem) -> Solver:
        return self._solver_for(problem, cuts=self.alphas is not None)

    def _solver(self, problem: Problem) -> Solver:
        return self._solver_for(problem, cuts=problem.data.n_features > problem.data.n_rows)

    def _solver_for(self, problem: Problem, *, cuts: bool) -> Solver:
        name = self.solver
        if name == "auto":
            # Passes of bundle and of quasi-Newton. A grid of alphas: 46 to 97 and 94 to 166 on OHSUMED and
            # MQ2008. One alpha: 8 to 83 and 9 to 88 there, whose columns are correlated; 7 to 72 and 4 to
            # 17 on 240,000 rows of 136 independent columns; 3 to 91 and 4 to 224 on text.
            # Among weights that kinks and bounds hold, quasi-Newton needs a third to a tenth of the passes.
            name = "bundle" if cuts and problem.settings.is_plain else "lbfgs"
        return SOLVERS[name](tol=float(self.tol), max_iter=int(self.max_iter))

    def _metrics(self) -> list[str | Metric]:
        return list(self._aim.metrics) if self.metric is None else [self.metric]

    def _keep(self, found: Found) -> None:
        super()._keep(found)
        self._verdict: Verdict = "fits"
        self.degenerate_ = False
        if found.result.status != "interrupted":
            with one_blas_thread():
                self._verdict = judge(found.trainer, found.result, self.alpha_, float(self.tol))
            self.degenerate_ = self._verdict == "degenerate"
            self.n_passes_ = found.passes

    def _warn(self, result: SolverResult) -> None:
        super()._warn(result)
        if self._verdict != "fits" and self._without_features is None:
            warn(self._why_zero(), ZeroModelWarning)

    def _why_zero(self) -> Sentence:
        found = "No model is better than w = 0 for {target=} at {alpha=:g}"
        values = {"target": self.target, "alpha": self.alpha_}
        if self._verdict == "alpha":
            remedy = "Use a smaller {alpha}, or {alpha='auto'}."
            return Sentence(f"{found}, but smaller alphas give better ones.", remedy, **values)
        reason = (
            "and a far smaller alpha does not change that: the target is degenerate on these data"
            if self._verdict == "degenerate"
            else "and no better one turned up at a far smaller alpha: the target may be degenerate"
        )
        return Sentence(f"{found}, {reason}.", self._remedy(), **values)

    def _remedy(self) -> str:
        if self.truncate:
            return "Train without the cut-off ({truncate=False}); the evaluation keeps it."
        if self.feature_map != "po":
            return "Use {feature_map='po'}."
        return "Try another {target} ('auc' asks least), or features that tell good rows from bad ones."
