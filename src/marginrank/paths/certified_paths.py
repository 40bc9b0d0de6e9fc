"""The certified paths of any linear ranker: where they begin and end, and how they are computed."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from marginrank.exceptions import InterruptedWarning, MarginRankError, Sentence, ZeroModelWarning, warn
from marginrank.parameters import check_count, check_positive, check_verbose
from marginrank.paths.arithmetic import check_path
from marginrank.paths.linear_model import LinearRankPath
from marginrank.paths.linear_progress import LinearPathLine, LinearPathProgress
from marginrank.paths.path_base import PathOrigin
from marginrank.paths.solved_path import SolvedAlphas, SolvedRankPath
from marginrank.solvers import QuasiNewton
from marginrank.solvers.callbacks import check_callbacks
from marginrank.solvers.tracing import PathTracer
from marginrank.training.problems import Problem
from marginrank.training.selection import MOST_ALPHAS
from marginrank.training.zero_models import no_feature_at

# alpha_min by default, of alpha_max. With L1 that is where the first feature enters, and three decades below
# nearly all have a weight that ever get one.
_DECADES, _DECADES_OF_L1 = 1e-5, 1e-3
_SMALLEST_EPS = 1e-8  # steps shrink with its root, and bounds lose their digits soon after


def certified_path(
    problem: Problem,
    alpha_max: float | None,
    alpha_min: float | None,
    eps: float,
    n_jobs: int | None = None,
    callbacks: Any = None,
    verbose: int = 0,
    origin: PathOrigin | None = None,
    n_alphas: int = 50,
) -> LinearRankPath | SolvedRankPath:
    """Compute the path of any design, loss and penalty; see :func:`rank_path` for the parameters.

    ``origin`` says what models of the path tell about how they came about.
    """
    check_verbose(verbose)
    eps = check_positive(eps, "eps")
    if not _SMALLEST_EPS <= eps < 1.0:
        raise MarginRankError(
            f"eps must be from {_SMALLEST_EPS:g} to below 1, as a part of the objective; got {eps:g}."
        )
    checked = check_callbacks(callbacks)
    count = check_count(n_alphas, "n_alphas", most=MOST_ALPHAS)
    top, bottom = interval(problem, alpha_max, alpha_min)
    path: LinearRankPath | SolvedRankPath
    with LinearPathLine() as line:
        called = [*([line] if verbose else []), *checked]
        if problem.settings.is_plain:
            path = _traced(problem, top, bottom, eps, n_jobs, called, origin)
        else:
            path = _solved(problem, top, bottom, eps, n_jobs, called, origin, count)
    _warn(path)
    if problem.settings.l1_ratio > 0.0 and path.alpha_min_ < path.alpha_max_:
        _warn_of_zero(problem, path)
    return path


def _traced(
    problem: Problem,
    top: float,
    bottom: float,
    eps: float,
    n_jobs: int | None,
    callbacks: list[Any],
    origin: PathOrigin | None,
) -> LinearRankPath:
    """Return the path that has a model at every alpha."""
    tracer = PathTracer(problem.design, problem.loss, eps)
    report = _reporter(
        lambda: (tracer.nodes[-1].alpha, len(tracer.alphas), tracer.passes), top, bottom, callbacks
    )
    status = tracer.run(top, bottom, report)
    if not tracer.nodes:
        raise _nothing(status, eps, top)
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
    return path


def _solved(
    problem: Problem,
    top: float,
    bottom: float,
    eps: float,
    n_jobs: int | None,
    callbacks: list[Any],
    origin: PathOrigin | None,
    n_alphas: int,
) -> SolvedRankPath:
    """Return the path that has models at so many alphas."""
    found = SolvedAlphas(problem, QuasiNewton(tol=eps), eps)
    report = _reporter(
        lambda: (found.models[-1].alpha, len(found.models), found.passes), top, bottom, callbacks
    )
    alphas = np.geomspace(top, bottom, n_alphas) if top > bottom else np.array([top])
    alphas[0], alphas[-1] = top, (bottom if n_alphas > 1 else top)
    status = found.run(alphas, report)
    if not found.models:
        raise _nothing(status, eps, top)
    check_path(problem.data, *(model.coef for model in found.models))
    path = SolvedRankPath(
        problem.data.X,
        n_jobs,
        models=found.models,
        eps=eps,
        status=status,
        transform=problem.transform,
        feature_names=problem.data.feature_names,
        origin=origin,
    )
    path.n_passes_ = found.passes
    return path


def _warn_of_zero(problem: Problem, path: LinearRankPath | SolvedRankPath) -> None:
    """Say that L1 left no feature on the whole path, if it did."""
    within = problem.settings.within(np.zeros(path.coefs.shape[1]))
    said = None if np.any(path.coefs[-1] != within) else no_feature_at(problem, path.alpha_min_)
    if said is not None:
        warn(said, ZeroModelWarning)


def _nothing(status: str, eps: float, top: float) -> BaseException:
    """Return what to raise where there is no model."""
    if status == "interrupted":
        return KeyboardInterrupt()
    return MarginRankError.saying(
        "No model within {eps=:g} of the optimum was found at {alpha_max=:g}.",
        "Use a larger {eps}, or scale the features ({scale='standard'}) if they differ much in size.",
        eps=eps,
        alpha_max=top,
    )


def interval(problem: Problem, alpha_max: Any, alpha_min: Any) -> tuple[float, float]:
    """Return the largest and the smallest alpha of a path, by default those that follow from the data."""
    largest = problem.largest_alpha()
    if alpha_max is not None:
        top = check_positive(alpha_max, "alpha_max")
    elif alpha_min is not None:
        top = max(_first(problem, largest), check_positive(alpha_min, "alpha_min"))
    else:
        top = _first(problem, largest)
    if top == 0.0:
        raise MarginRankError.saying(
            "The features pull in no direction (the gradient at zero is 0: contradicting pairs, or columns "
            "that are constant where rows are compared), so there is no natural {alpha_max} to start from; "
            "{pass} {alpha_max}."
        )
    span = _DECADES if np.isinf(largest) else _DECADES_OF_L1
    bottom = span * top if alpha_min is None else check_positive(alpha_min, "alpha_min")
    if bottom > top:
        raise MarginRankError.saying(
            "{alpha_min} must be at most {alpha_max=:g}; got {bottom:g}.", alpha_max=top, bottom=bottom
        )
    return top, bottom


def _first(problem: Problem, largest: float) -> float:
    """Return where a path starts: at the first feature, or where margins come to about 1."""
    return problem.balance() if np.isinf(largest) else largest


def _reporter(
    state: Callable[[], tuple[float, int, float]], top: float, bottom: float, callbacks: list[Any]
) -> Callable[[], bool]:
    """Return what tells callbacks how far a path is, from its last alpha, its models and its passes."""
    started = perf_counter()
    length = np.log(top / bottom) if top > bottom else 1.0

    def report() -> bool:
        alpha, n_models, passes = state()
        done = 1.0 if alpha <= bottom else float(np.log(top / alpha) / length)
        seconds = perf_counter() - started
        progress = LinearPathProgress(alpha, done, n_models, passes, seconds)
        stops = [bool(callback(progress)) for callback in callbacks]
        return any(stops)

    return report


def _warn(path: LinearRankPath | SolvedRankPath) -> None:
    """Say that a path ended early, if it did."""
    where = f"at alpha={path.alpha_min_:.3g}; its part down to there is returned."
    if path.status_ == "interrupted":
        warn(f"The path was interrupted {where}", InterruptedWarning)
    if path.status_ == "stalled":
        message = Sentence(
            "The path could not be certified to {eps=:g} any further {where!s}",
            "Use a larger {eps} or {alpha_min}, or scale the features ({scale='standard'}) if they differ "
            "much in size.",
            eps=path.eps,
            where=where,
        )
        warn(message, ConvergenceWarning)
