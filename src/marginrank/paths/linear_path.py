"""Paths of the linear machine: the functions that users call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.designs.gram import centred_gram
from marginrank.designs.gram_sums import GramSums
from marginrank.designs.scaling import SCALES, ScaleSetting
from marginrank.exceptions import InterruptedWarning, MarginRankError, Sentence, warn
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES, LeastSquaresLoss, LeastSquaresPreferences, Loss
from marginrank.parameters import check_choice
from marginrank.paths.arithmetic import check_path, finite_path
from marginrank.paths.certified_paths import certified_path, interval
from marginrank.paths.linear_model import LeastSquaresPath, LinearPath, LinearRankPath, Solve
from marginrank.paths.path_base import PathOrigin
from marginrank.paths.solved_path import SolvedRankPath
from marginrank.solvers.spectral import SpectralPath
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.direct import centred_rows, direct_is_cheaper
from marginrank.training.least_squares_certificate import LeastSquaresCertificate
from marginrank.training.penalty_settings import PLAIN, PenaltySettings, read_penalty, written_penalty
from marginrank.training.problems import Problem, RawColumns

_DIRECT_ALPHAS = 200


def rank_path(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    pairs: Any = None,
    loss: str = "hinge",
    weighting: Literal["pairs", "queries"] = "pairs",
    scale: ScaleSetting | None = "auto",
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    eps: float = 1e-3,
    l1_ratio: float = 0.0,
    bounds: Any = None,
    n_alphas: int = 50,
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
) -> LinearRankPath | SolvedRankPath:
    """Compute the linear RankSVM models of all alphas of an interval, each certified to be within eps.

    With ``l1_ratio`` or ``bounds`` the path has models at some alphas, as features enter one by one.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or RankingData of shape (n_rows, n_features)
        The features. A ``RankingData`` carries labels or pairs, queries and weights.
    y : array-like of shape (n_rows,), optional
        Labels; higher is better. None with ``pairs``.
    qid, group, sample_weight, query_weight : optional
        As in :class:`marginrank.RankingData`.
    pairs : array-like of shape (n_pairs, 2), optional
        Row numbers, winner first, instead of ``y``. Pairs with weights or margins go into a ``RankingData``.
    loss : str, default="hinge"
        The loss of a pair, as in :class:`marginrank.RankSVM`.
    weighting : {"pairs", "queries"}, default="pairs"
        Whether the loss is a mean over pairs or over queries.
    scale : {"auto", None, "standard", "minmax"}, default="auto"
        Divide each column by its standard deviation or its range; models are in raw units. "auto" as in
        :class:`marginrank.RankSVM`; ``scale_`` of the path tells what it became.
    alpha_max, alpha_min : float, optional
        The interval. By default it starts where margins come to about 1 and spans five decades; with
        ``l1_ratio``, it starts where the first feature enters and spans three.
    eps : float, default=1e-3
        Relative gap between the objective of every model and its optimum, at most.
    l1_ratio, bounds
        As in :class:`marginrank.RankSVM`: how sparse weights shall be, and within which bounds.
    n_alphas : int, default=50
        With one of these two: how many alphas are solved, evenly spaced in their logarithm.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    callbacks : callable or list of callables, optional
        Each receives a ``LinearPathProgress`` after each step down; returning True ends the path there.
    verbose : int, default=0
        Show progress on the standard error stream.

    Returns
    -------
    LinearRankPath or SolvedRankPath
        With a model at every alpha, or, with ``l1_ratio`` or ``bounds``, at those that were solved. Ctrl-C
        ends it early, with a warning.

    Notes
    -----
    For eps = 1e-3 four decades of alpha take about twice the passes of one solution at the small end.
    Memory is about 200 planes and a few dozen models, of one number per feature each, and a handful of score
    vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank.paths import rank_path
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = X @ [3.0, -2.0, 1.0, 0.0, 0.0] + rng.normal(size=300)
    >>> path = rank_path(X, y, alpha_max=1.0, alpha_min=1e-3, eps=1e-3)
    >>> path.gap_at(0.0123) <= 1e-3
    True
    >>> path.select(X[::3], y[::3], metric="pairwise_error").score < 0.15
    True
    >>> sparse = rank_path(X, y, l1_ratio=0.95)
    >>> [change.feature for change in sparse.changes][:3], sparse.n_features_used[0]
    ([0, 1, 2], np.int64(0))
    """
    check_choice("weighting", weighting, ("pairs", "queries"))
    data = training_data(X, y, qid, group, pairs, sample_weight, query_weight)
    check_choice("loss", loss, QUERY_LOSSES if data.pairs is None else PREFERENCE_LOSSES)
    threads = resolve_threads(n_jobs)
    with one_blas_thread(), finite_path(data, alpha_max=alpha_max, alpha_min=alpha_min):
        problem = path_problem(
            data,
            lambda view: QUERY_LOSSES[loss](view, weighting=weighting, n_threads=threads),
            lambda training, n_rows: PREFERENCE_LOSSES[loss](training, n_rows, n_threads=threads),
            scale,
            threads,
            read_penalty(l1_ratio, bounds, data.n_features, data.feature_names),
        )
        said = {"loss": loss, "weighting": weighting, "scale": scale, "eps": eps}
        origin = PathOrigin("rank_path", {**said, **written_penalty(l1_ratio, bounds)})
        more = (eps, n_jobs, callbacks, verbose, origin, n_alphas)
        return certified_path(problem, alpha_max, alpha_min, *more)


def rank_rls_path(
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    sample_weight: Any = None,
    query_weight: Any = None,
    pairs: Any = None,
    scale: ScaleSetting | None = "auto",
    solver: Literal["auto", "direct", "certified"] = "auto",
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    eps: float = 1e-3,
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
) -> LinearPath:
    """Compute the RankRLS models of all alphas of an interval.

    Parameters
    ----------
    X, y, qid, group, sample_weight, query_weight, pairs, scale, alpha_max, alpha_min, n_jobs
        As in :func:`rank_path`; pairs say that the winner is better by 1.
    solver : {"auto", "direct", "certified"}, default="auto"
        "direct" decomposes one Gram matrix and is exact at every alpha, for few features or rows; "certified"
        is that of :func:`rank_path`. "auto" takes the direct one where it costs less.
    eps, callbacks, verbose
        As in :func:`rank_path`; the direct solver has no use for them.

    Returns
    -------
    LeastSquaresPath or LinearRankPath
        By the direct or by the certified solver. Ctrl-C ends it early, with a warning. The direct one then
        has models that are exact for the rows (where there are more columns than rows: for the columns) that
        were in its Gram matrix, and ``gap_at`` is their gap over all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from marginrank import RankRLS
    >>> from marginrank.paths import rank_rls_path
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> path = rank_rls_path(X, X[:, 0] ** 3)
    >>> bool(np.allclose(path.coef_at(0.1), RankRLS(alpha=0.1).fit(X, X[:, 0] ** 3).coef_))
    True
    """
    check_choice("solver", solver, ("auto", "direct", "certified"))
    data = training_data(X, y, qid, group, pairs, sample_weight, query_weight)
    if solver == "direct" and not in_memory(data.X):
        raise MarginRankError(
            "The direct solver needs all rows in memory. Use solver='certified' or 'auto' for data on disk."
        )
    if solver == "direct" and data.pairs is not None:
        raise MarginRankError(
            "The direct solver works within queries, and pairs have none. Use solver='certified' or 'auto'."
        )
    threads = resolve_threads(n_jobs)
    by_query = partial(LeastSquaresLoss, n_threads=threads)
    by_pair = partial(LeastSquaresPreferences, n_threads=threads)
    with one_blas_thread(), finite_path(data, labels=True, alpha_max=alpha_max, alpha_min=alpha_min):
        problem = path_problem(data, by_query, by_pair, scale, threads)
        if solver == "direct" or (solver == "auto" and direct_is_cheaper(problem, _DIRECT_ALPHAS)):
            origin = PathOrigin("rank_rls_path", {"solver": "direct", "scale": scale})
            return _direct_path(problem, alpha_max, alpha_min, n_jobs, origin)
        origin = PathOrigin("rank_rls_path", {"solver": "certified", "scale": scale, "eps": eps})
        return certified_path(problem, alpha_max, alpha_min, eps, n_jobs, callbacks, verbose, origin)


def _direct_path(
    problem: Problem,
    alpha_max: float | None,
    alpha_min: float | None,
    n_jobs: int | None,
    origin: PathOrigin,
) -> LeastSquaresPath:
    rows = centred_rows(problem, resolve_threads(n_jobs))
    top, bottom = interval(problem, alpha_max, alpha_min)
    sums = GramSums(rows)
    solve: Solve
    try:
        spectral = SpectralPath(centred_gram(rows, problem.view.y, sums=sums))
        solve, status = spectral.coefficients, "finished"
        check_path(problem.data, solve([bottom]), spectral.values([bottom, top]))
    except KeyboardInterrupt:
        so_far = _solved_so_far(problem.data, sums, bottom)
        if so_far is None:
            raise
        solve, status = so_far, "interrupted"
        message = Sentence(
            "The path was interrupted; its models are exact for the part of the data that was taken up.",
            "{gap_at(alpha)} tells how far they are from the optimum.",
        )
        warn(message, InterruptedWarning)
    return LeastSquaresPath(
        problem.data.X,
        n_jobs,
        solve=solve,
        certificate=LeastSquaresCertificate(problem.design, problem.loss),
        transform=problem.transform,
        alpha_max=top,
        alpha_min=bottom,
        status=status,
        feature_names=problem.data.feature_names,
        origin=origin,
    )


def _solved_so_far(data: RankingData, sums: GramSums, alpha_min: float) -> Solve | None:
    """Return what solves for the data that are in a Gram matrix so far; None where there is no model."""
    gram = sums.so_far()
    if gram is None:
        return None
    try:
        check_path(data, gram.coefficients_at([alpha_min]))
    except (np.linalg.LinAlgError, MarginRankError):
        return None
    return gram.coefficients_at


def training_data(
    X: Any, y: Any, qid: Any, group: Any, pairs: Any, sample_weight: Any, query_weight: Any
) -> RankingData:
    """Return what users passed as one, checked; exactly one of labels and pairs."""
    extras = (y, qid, group, pairs, sample_weight, query_weight)
    if isinstance(X, RankingData):
        if any(extra is not None for extra in extras):
            raise MarginRankError("RankingData carries y, qid, pairs and weights; do not pass them again.")
        return X
    if (y is None) == (pairs is None):
        raise MarginRankError("A path learns from labels or from pairs of rows; give one of y and pairs.")
    weights = {"sample_weight": sample_weight, "query_weight": query_weight}
    return RankingData(X, y, qid=qid, group=group, pairs=pairs, **weights)


def path_problem(
    data: RankingData,
    by_query: Callable[..., Loss],
    by_pair: Callable[..., Loss],
    scale: Any,
    threads: int,
    settings: PenaltySettings = PLAIN,
) -> Problem:
    """Return the problem of labelled rows or of pairs."""
    check_choice("scale", scale, SCALES)
    from_pairs = data.pairs is not None
    make_loss, space = by_pair if from_pairs else by_query, RawColumns(data.X, scale, threads)
    return Problem(data, make_loss, space, from_pairs, settings=settings)
