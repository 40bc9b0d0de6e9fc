"""Paths of the linear machine: the functions that users call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.designs.gram import centred_gram
from marginrank.designs.scaling import SCALES, ScaleSetting
from marginrank.exceptions import InterruptedWarning, MarginRankError, Sentence
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES, LeastSquaresLoss, LeastSquaresPreferences, Loss
from marginrank.parameters import check_choice, check_positive, check_verbose
from marginrank.paths.arithmetic import check_path, finite_path
from marginrank.paths.linear_model import LeastSquaresPath, LinearPath, LinearRankPath
from marginrank.paths.linear_progress import LinearPathLine, LinearPathProgress
from marginrank.paths.path_base import PathOrigin
from marginrank.solvers.callbacks import check_callbacks
from marginrank.solvers.spectral import SpectralPath
from marginrank.solvers.tracing import PathTracer
from marginrank.system.threads import one_blas_thread, resolve_threads
from marginrank.training.direct import centred_rows, direct_is_cheaper
from marginrank.training.least_squares_certificate import LeastSquaresCertificate
from marginrank.training.problems import Problem, RawColumns

_DECADES = 1e-5  # alpha_min by default, of alpha_max
_DIRECT_ALPHAS = 200
_SMALLEST_EPS = 1e-8  # steps shrink with its root, and bounds lose their digits soon after


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
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
) -> LinearRankPath:
    """Compute the linear RankSVM models of all alphas of an interval, each certified to be within eps.

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
        The interval. By default it starts where margins come to about 1 and spans five decades.
    eps : float, default=1e-3
        Relative gap between the objective of every model and its optimum, at most.
    n_jobs : int, optional
        Threads; the result has the same bits for any number.
    callbacks : callable or list of callables, optional
        Each receives a ``LinearPathProgress`` after each step down; returning True ends the path there.
    verbose : int, default=0
        Show progress on the standard error stream.

    Returns
    -------
    LinearRankPath
        Ctrl-C ends it early, with a warning.

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
        )
        origin = PathOrigin("rank_path", {"loss": loss, "weighting": weighting, "scale": scale, "eps": eps})
        return certified_path(problem, alpha_max, alpha_min, eps, n_jobs, callbacks, verbose, origin)


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
        By the direct or by the certified solver.

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


def certified_path(
    problem: Problem,
    alpha_max: float | None,
    alpha_min: float | None,
    eps: float,
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
    origin: PathOrigin | None = None,
) -> LinearRankPath:
    """Trace the path of any design and loss; see :func:`rank_path` for the parameters.

    ``origin`` says what models of the path tell about how they came about.
    """
    check_verbose(verbose)
    eps = check_positive(eps, "eps")
    if not _SMALLEST_EPS <= eps < 1.0:
        raise MarginRankError(
            f"eps must be from {_SMALLEST_EPS:g} to below 1, as a part of the objective; got {eps:g}."
        )
    watchers = check_callbacks(callbacks)
    top, bottom = _interval(problem, alpha_max, alpha_min)
    tracer = PathTracer(problem.design, problem.loss, eps)
    with LinearPathLine() as line:
        listeners: list[Any] = [line] if verbose else []
        status = tracer.run(top, bottom, _reporter(tracer, top, bottom, [*listeners, *watchers]))
    if not tracer.nodes:
        if status == "interrupted":
            raise KeyboardInterrupt
        raise MarginRankError.saying(
            "No model within {eps=:g} of the optimum was found at {alpha_max=:g}.",
            "Use a larger {eps}, or scale the features ({scale='standard'}) if they differ much in size.",
            eps=eps,
            alpha_max=top,
        )
    models = np.array(tracer.models)
    check_path(problem.data, models, tracer.alphas)
    path = LinearRankPath(
        problem.data.X,
        n_jobs,
        alphas=np.array(tracer.alphas),
        coefs=problem.transform.raw(models),
        nodes=tracer.nodes,
        lines=tracer.lines,
        eps=eps,
        status=status,
        transform=problem.transform,
        feature_names=problem.data.feature_names,
        origin=origin,
    )
    path.n_passes_, path.n_solutions_, path.n_cuts_ = tracer.passes, tracer.n_solutions, tracer.n_cuts
    _warn(path)
    return path


def _direct_path(
    problem: Problem,
    alpha_max: float | None,
    alpha_min: float | None,
    n_jobs: int | None,
    origin: PathOrigin,
) -> LeastSquaresPath:
    rows = centred_rows(problem, resolve_threads(n_jobs))
    top, bottom = _interval(problem, alpha_max, alpha_min)
    spectral = SpectralPath(centred_gram(rows, problem.view.y))
    check_path(problem.data, spectral.coefficients([bottom]), spectral.values([bottom, top]))
    return LeastSquaresPath(
        problem.data.X,
        n_jobs,
        spectral=spectral,
        certificate=LeastSquaresCertificate(problem.design, problem.loss),
        transform=problem.transform,
        alpha_max=top,
        alpha_min=bottom,
        feature_names=problem.data.feature_names,
        origin=origin,
    )


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
    data: RankingData, by_query: Callable[..., Loss], by_pair: Callable[..., Loss], scale: Any, threads: int
) -> Problem:
    """Return the problem of labelled rows or of pairs."""
    check_choice("scale", scale, SCALES)
    from_pairs = data.pairs is not None
    return Problem(data, by_pair if from_pairs else by_query, RawColumns(data.X, scale, threads), from_pairs)


def _interval(problem: Problem, alpha_max: Any, alpha_min: Any) -> tuple[float, float]:
    if alpha_max is not None:
        top = check_positive(alpha_max, "alpha_max")
    elif alpha_min is not None:
        top = max(problem.balance(), check_positive(alpha_min, "alpha_min"))
    else:
        top = problem.balance()
    if top == 0.0:
        raise MarginRankError.saying(
            "The features pull in no direction (the gradient at zero is 0: contradicting pairs, or columns "
            "that are constant where rows are compared), so there is no natural {alpha_max} to start from; "
            "{pass} {alpha_max}."
        )
    bottom = _DECADES * top if alpha_min is None else check_positive(alpha_min, "alpha_min")
    if bottom > top:
        raise MarginRankError.saying(
            "{alpha_min} must be at most {alpha_max=:g}; got {bottom:g}.", alpha_max=top, bottom=bottom
        )
    return top, bottom


def _reporter(tracer: PathTracer, top: float, bottom: float, watchers: list[Any]) -> Callable[[], bool]:
    started = perf_counter()
    length = np.log(top / bottom) if top > bottom else 1.0

    def report() -> bool:
        alpha = tracer.nodes[-1].alpha
        done = 1.0 if alpha <= bottom else float(np.log(top / alpha) / length)
        seconds = perf_counter() - started
        progress = LinearPathProgress(alpha, done, len(tracer.alphas), tracer.passes, seconds)
        stops = [bool(watcher(progress)) for watcher in watchers]
        return any(stops)

    return report


def _warn(path: LinearRankPath) -> None:
    """Say that a path ended early, if it did."""
    where = f"at alpha={path.alpha_min_:.3g}; its part down to there is returned."
    if path.status_ == "interrupted":
        warnings.warn(f"The path was interrupted {where}", InterruptedWarning, stacklevel=4)
    if path.status_ == "stalled":
        message = Sentence(
            "The path could not be certified to {eps=:g} any further {where!s}",
            "Use a larger {eps} or {alpha_min}, or scale the features ({scale='standard'}) if they differ "
            "much in size.",
            eps=path.eps,
            where=where,
        )
        warnings.warn(message, ConvergenceWarning, stacklevel=4)
