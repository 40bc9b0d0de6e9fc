"""KernelRankSVM: ranking by likeness to other rows, over kernel features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state

from marginrank.choices import Approximation, KernelName
from marginrank.data import TrainingView
from marginrank.data.finite import finite_scores
from marginrank.designs.mapped import check_store
from marginrank.designs.scaling import ScaleSetting
from marginrank.estimators.pairwise import PairwiseRanker
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps.kernel_columns import KERNELS
from marginrank.feature_maps.kernel_units import UNITS
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES, LeastSquaresLoss, LeastSquaresPreferences
from marginrank.metrics import Metric
from marginrank.model.mapping import mapped_scores
from marginrank.parameters import check_choice, check_flag, check_grid, check_number, check_seed
from marginrank.solvers import Callback
from marginrank.system.threads import resolve_threads
from marginrank.training.evaluation_sets import EvaluationSet
from marginrank.training.fitting import Found, Row, Run, Trainer
from marginrank.training.gamma_search import GammaSearch
from marginrank.training.kernel_spaces import KernelSpaces
from marginrank.training.linear_block import MappedBesideColumns
from marginrank.training.mapped_columns import MappedColumns, scaled_map
from marginrank.training.problems import Problem, Space
from marginrank.training.selection import DEFAULT_METRIC, Rule, Search
from marginrank.training.validation_table import as_table
from marginrank.types import Vector


def _least_squares(view: TrainingView, *, weighting: str, n_threads: int) -> LeastSquaresLoss:
    del weighting  # refused before
    return LeastSquaresLoss(view, n_threads=n_threads)


class KernelRankSVM(PairwiseRanker):
    r"""Ranking support vector machine with a kernel, on raw features in and out.

    Scores are ``f(x) = w . z(x) + v . x`` for a feature map with ``z(x) . z(y)`` close to the kernel
    ``k(x, y)``, or equal to it, and the columns themselves beside it (``linear_block``). Minimises ``R(f) +
    alpha/2 (||s w||^2 + ||t v||^2)``, where ``R`` is the risk of :class:`RankSVM` for the same loss, or the
    mean squared error of differences within queries, and ``s`` and ``t`` make both blocks count alike.

    Parameters
    ----------
    kernel : {"rbf", "laplacian", "polynomial", "cosine", "chi2", "precomputed"}, default="rbf"
        The kernel; Fourier features know the first two. For "precomputed", X holds kernel values with the
        training rows.
    gamma : float, {"scale", "median", "auto"} or None, default=None
        Width of the kernel. "scale" takes ``1 / (n_features * X.var())`` (laplacian and chi2: ``X.std()``),
        "median" 1 over the median distance between rows. "auto" chooses from ``gammas``, together with
        alpha where that is "auto" too. None makes the kernel twice as wide as "median" beside the columns
        (rbf: a quarter of its gamma; polynomial: "scale"), and is "scale" without them.
    degree, coef0 : float, default=3 and 1
        Of the polynomial kernel ``(gamma x.y + coef0)^degree``.
    approximation : {"nystroem", "fourier", "exact"}, default="nystroem"
        Kernel values with landmarks, random cosines, or the kernel itself: all rows are landmarks.
    n_components : int, default=500
        Number of landmarks or cosines; not used where the kernel is exact.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How landmarks are chosen, see :class:`NystroemFeatures`.
    orthogonal : bool, default=False
        Orthogonal frequencies, see :class:`FourierFeatures`.
    linear_block : bool, default=True
        Whether the columns, scaled as ``scale`` says, stand beside the features of the map. Each block is
        divided by the root of its trace: the sum of the variances of its features within queries. False is
        the kernel alone, as in the paper. A precomputed kernel has no columns, and is always alone.
    loss : {"squared_hinge", "hinge", "logistic", "least_squares"}, default="squared_hinge"
        The loss of a pair, as in :class:`RankSVM`. "least_squares" is that of :class:`RankRLS`.
    alpha : float or "auto", default=1e-4
        Strength of the regularisation, or chosen from ``alphas`` by the ``eval_set`` of ``fit`` or, without
        one, by cross-validation.
    tol : float, default=1e-3
        Training stops when the objective is certified to be within this fraction of the optimum.
    max_iter : int, default=1000
        Largest number of iterations.
    weighting : {"pairs", "queries"}, default="pairs"
        Mean over all pairs, or over queries of each query's own mean; least squares has the former only.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        What columns of X are divided by before the kernel, as in :class:`RankSVM`; None if precomputed.
    solver : {"auto", "lbfgs", "bundle", "newton"}, default="auto"
        As in :class:`RankSVM`; "newton" takes the smooth losses.
    alphas : array-like, optional
        The grid for ``alpha="auto"``, all of which is measured; the default one, for each gamma its own, is
        gone down only as far as it pays (``search_end_``).
    gammas : array-like, optional
        The grid for ``gamma="auto"``; by default 1/4, 1 and 4 times the gamma of None, and without the linear
        block 1/64, 1/16, 1/4, 1 and 4 times "scale". Where the best lies at the end of a default grid, the
        search goes on beyond it; of yours, there is a warning.
    metric : str or Metric, default="pairwise_error(weighting=queries)"
        What searches select by, and what is measured on ``eval_set``.
    cv : int, splitter or list of (train, test) row numbers, default=5
        Folds for a search without an ``eval_set``. All folds use one map, fitted on all rows: it sees no
        labels.
    rule : {"best", "one_se"}, default="best"
        Take the best alpha, or the largest within half of ``validation_diff_std_`` at the best gamma.
    store : {"auto", "memory", "recompute"}, default="auto"
        Keep the features, or make them again in every pass; "auto" keeps them where they take at most a
        quarter of the machine's memory.
    dtype : {"auto", "float32", "float64"}, default="auto"
        Of the features in training; "auto" is float64 where the kernel is exact, else float32. ``predict``
        computes in float64.
    random_state : int, RandomState or None, default=None
        Draws landmarks or frequencies.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    verbose : int, default=0
        Show progress on the standard error stream.

    Attributes
    ----------
    feature_map_ : NystroemFeatures or FourierFeatures
        The map, fitted.
    coef_ : ndarray of shape (n_features_out,)
        Weights of the features that the map makes.
    linear_coef_ : ndarray of shape (n_features,) or None
        Weights of the columns, in raw units; None without a linear block.
    block_scale_ : (float, float) or None
        What the features of the map and the columns, scaled, were divided by in training. ``coef_`` and
        ``linear_coef_`` have it folded in.
    gamma_ : float or None
        The width in use; None for kernels without.
    scale_, column_scale_ : {None, "standard", "minmax"}, and ndarray of shape (n_features,) or None
        What ``scale`` became, and what it divided the columns by before the map.
    column_statistics_ : ColumnStatistics or None
        Range, mean, deviation and zeros of each column of X over the training rows; None for
        ``kernel="precomputed"``.
    alpha_ : float
        The alpha of the model.
    gammas_ : ndarray of shape (n_gammas,)
        With ``gamma="auto"``: the grid, ascending.
    alphas_, validation_curve_, validation_std_, validation_diff_std_ : ndarray
        With a search: the grid, the mean of the metric, its standard error, and that of the difference to the
        best. With ``gamma="auto"`` tables with a row for each gamma, NaN where an interrupt left it out.
    search_end_ : str
        With ``alpha="auto"``: why no smaller alphas were tried. "worse" or "no better" say that they would
        not have paid, "passes" that they were cut for the passes they take, "smallest" that there are none,
        "grid" that ``alphas`` were all measured.
    evals_result_ : dict
        With ``eval_set`` and no search: ``{"validation_0": {metric: [value after each iteration]}}``.
    best_score_ : float
        The best figure on the last ``eval_set``, or at the chosen place of the grid.
    best_iteration_ : int
        With ``eval_set`` and no search: where that was. The model is that of the last iteration.
    gap_, objective_, lower_bound_ : float
        The certificate: ``(objective_ - optimum) / objective_`` is at most ``gap_``, and no model over these
        features has an objective below ``lower_bound_``.
    n_iter_ : int
        Iterations taken, those of a search over alphas included.
    n_passes_ : float
        Passes over the training data, those of a search included.
    history_ : list of Progress
        Value, bound, gap, passes and seconds, at the start and after each iteration.
    n_pairs_, n_queries_ : int
        Comparable pairs that were trained on, and queries.
    n_features_in_ : int
        Number of raw features.
    feature_names_in_ : ndarray of str
        Their names, where X had them.

    See Also
    --------
    NystroemFeatures, FourierFeatures : The maps alone, for pipelines.
    RankSVM : The linear ranker.

    Notes
    -----
    Costs ``m^3`` for m landmarks, ``n_rows * m * n_features`` for the features, and ``n_rows * m`` for each
    pass of the training. The exact kernel of n rows takes about ``40 n^2`` bytes and ``n^3`` operations.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import KernelRankSVM, RankSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((300, 3))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 1]
    >>> qid = rng.integers(20, size=300)
    >>> round(RankSVM().fit(X, y, qid=qid).score(X, y, qid=qid), 2)
    0.84
    >>> ranker = KernelRankSVM(gamma=2.0, n_components=50, random_state=0).fit(X, y, qid=qid)
    >>> round(ranker.score(X, y, qid=qid), 2)
    0.99
    """

    _weighs_columns = False
    query_losses: ClassVar[Mapping[str, Any]] = {**QUERY_LOSSES, "least_squares": _least_squares}
    preference_losses: ClassVar[Mapping[str, Any]] = {
        **PREFERENCE_LOSSES,
        "least_squares": LeastSquaresPreferences,
    }

    def __init__(
        self,
        kernel: KernelName = "rbf",
        *,
        gamma: float | Literal["scale", "median", "auto"] | None = None,
        degree: float = 3,
        coef0: float = 1,
        approximation: Approximation = "nystroem",
        n_components: int = 500,
        landmarks: Literal["uniform", "kmeans++", "leverage"] = "uniform",
        orthogonal: bool = False,
        linear_block: bool = True,
        loss: str = "squared_hinge",
        alpha: float | Literal["auto"] = 1e-4,
        tol: float = 1e-3,
        max_iter: int = 1000,
        weighting: Literal["pairs", "queries"] = "pairs",
        scale: ScaleSetting | None = "auto",
        solver: Literal["auto", "lbfgs", "bundle", "newton"] = "auto",
        alphas: Any = None,
        gammas: Any = None,
        metric: str | Metric = DEFAULT_METRIC,
        cv: Any = 5,
        rule: Rule = "best",
        store: Literal["auto", "memory", "recompute"] = "auto",
        dtype: Literal["auto", "float32", "float64"] = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.approximation = approximation
        self.n_components = n_components
        self.landmarks = landmarks
        self.orthogonal = orthogonal
        self.linear_block = linear_block
        self.loss = loss
        self.alpha = alpha
        self.tol = tol
        self.max_iter = max_iter
        self.weighting = weighting
        self.scale = scale
        self.solver = solver
        self.alphas = alphas
        self.gammas = gammas
        self.metric = metric
        self.cv = cv
        self.rule = rule
        self.store = store
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def _uses_size_of_labels(self) -> bool:  # type: ignore[override]  # it is that of the loss here
        return bool(self.loss == "least_squares")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.kernel, str) else None
        tags.input_tags.pairwise = kernel == "precomputed"
        tags.input_tags.positive_only = kernel == "chi2"
        return tags

    def _check_parameters(self) -> Search:
        check_choice("approximation", self.approximation, get_args(Approximation))
        check_choice("dtype", self.dtype, ("auto", "float32", "float64"))
        check_store(self.store)
        check_choice("kernel", self.kernel, KERNELS)
        check_seed(self.random_state, np.random.RandomState)
        check_flag(self.orthogonal, "orthogonal")
        check_flag(self.linear_block, "linear_block")
        check_number(self.degree, "degree", least=1.0)
        check_number(self.coef0, "coef0")
        if self._chooses_gamma() and self.kernel not in UNITS:
            raise MarginRankError(
                f"kernel={self.kernel!r} has no gamma for gamma='auto' to choose; leave gamma as it is."
            )
        if self.gammas is not None:
            check_grid(self.gammas, "gammas")
        if isinstance(self.scale, str) and self.scale != "auto" and self.kernel == "precomputed":
            raise MarginRankError(
                "scale divides columns of features, and kernel='precomputed' has none; use scale=None."
            )
        check_choice("loss", self.loss, self.query_losses)
        check_choice("weighting", self.weighting, ("pairs", "queries"))
        if self.loss == "least_squares" and self.weighting != "pairs":
            raise MarginRankError(
                "loss='least_squares' is a mean over rows; weighting='queries' is for means over pairs. To "
                "weigh queries alike, pass query_weight."
            )
        return super()._check_parameters()

    def _chooses_gamma(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma == "auto"

    def _searches(self) -> bool:
        return self._chooses_alpha() or self._chooses_gamma()

    def _run(
        self, problem: Problem, search: Search, sets: list[EvaluationSet], callbacks: list[Callback]
    ) -> Run:
        if not self._chooses_alpha():
            search = replace(search, alphas=[self.alpha])
        if not self._chooses_gamma():
            return super()._run(problem, search, sets, callbacks)
        if not sets and not problem.from_pairs:  # a splitter need not give the same folds twice
            search = replace(search, cv=search.query_folds(problem.data))
        spaces = self._kernel_spaces()

        def run(chosen: KernelSpaces) -> Run:
            def trainers(whole: Problem) -> Sequence[Trainer]:
                return self._trainers_in(chosen.of(whole), whole)

            return self._run_by(trainers, problem, search, sets, callbacks)

        further = None if self.gammas is not None else (lambda gamma: run(replace(spaces, gammas=[gamma])))
        return GammaSearch(run(spaces), further, search)

    def _spaces(self, problem: Problem) -> Sequence[Space]:
        return self._kernel_spaces().of(problem)

    def _kernel_spaces(self) -> KernelSpaces:
        parameters = self.get_params(deep=False)
        seed = self.random_state
        if not isinstance(seed, int | np.integer):  # every gamma gets the same landmarks
            seed = check_random_state(seed).randint(2**31 - 1)
        given = {one.name: parameters[one.name] for one in fields(KernelSpaces)}
        return KernelSpaces(**{**given, "random_state": seed})

    def _remember(self, rows: Sequence[Row], best: Row) -> None:
        super()._remember(rows, best)
        if self._chooses_gamma():
            self.gammas_ = np.array([_space(row.trainer).feature_map.gamma_ for row in rows])
            self.alphas_ = as_table([row.selection.alphas for row in rows])
            self.validation_curve_ = as_table([row.selection.curve for row in rows])
            self.validation_std_ = as_table([row.selection.std for row in rows])
            self.validation_diff_std_ = as_table([row.selection.diff_std for row in rows])

    def _keep(self, found: Found) -> None:
        super()._keep(found)
        space = _space(found.trainer)
        self.feature_map_ = space.feature_map
        self.gamma_ = self.feature_map_.gamma_
        self.column_scale_ = space.column_scale
        self.linear_coef_ = self.block_scale_ = None
        if isinstance(space, MappedBesideColumns):
            n_mapped = len(self.coef_) - self.n_features_in_
            self.coef_, self.linear_coef_ = self.coef_[:n_mapped], self.coef_[n_mapped:]
            self.block_scale_ = space.block_scale

    def _scores(self, matrix: Any) -> NDArray[np.float64]:
        def compute() -> NDArray[np.float64]:
            # As RankingModel: whatever the features of training were, and as exports compute.
            mapping = scaled_map(self.feature_map_, self.column_scale_, np.float64)
            threads = resolve_threads(self.n_jobs)
            return mapped_scores(mapping, matrix, self.coef_, self._linear_coef, n_threads=threads)

        scores: NDArray[np.float64] = finite_scores(type(self).__name__, matrix, compute)
        return scores

    @property
    def _linear_coef(self) -> Vector | None:
        """The weights of columns; a ranker that was pickled before there were any has none."""
        return getattr(self, "linear_coef_", None)

    def _model_parts(self) -> dict[str, Any]:
        scaling = None if self.column_scale_ is None else (1.0 / self.column_scale_, None)
        return {
            "feature_map": self.feature_map_,
            "linear_coef": self._linear_coef,
            "input_scaling": scaling,
            "column_statistics": self._known_statistics,
        }


def _space(trainer: Trainer) -> MappedColumns:
    space = trainer.problem.space
    assert isinstance(space, MappedColumns)
    return space
