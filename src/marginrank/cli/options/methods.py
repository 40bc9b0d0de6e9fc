"""The methods of ``marginrank train``: which estimator each is, and which options it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import click
import numpy as np

from marginrank.cli.command import spelled
from marginrank.cli.options.shared import Decorator
from marginrank.exceptions import MarginRankError
from marginrank.losses import QUERY_LOSSES, LeastSquaresLoss
from marginrank.metrics import parse_metric


class Method(NamedTuple):
    """An estimator by name, the parameters that options set, and its solvers."""

    estimator: str
    parameters: frozenset[str]
    solvers: tuple[str, ...]
    takes_pairs: bool = True


_SHARED = frozenset({"alpha", "alphas", "cv", "rule", "tol", "max_iter", "scale", "solver"})
METHODS: dict[str, Method] = {
    "ranksvm": Method("RankSVM", _SHARED | {"loss", "weighting"}, ("auto", "lbfgs", "bundle", "newton")),
    "rankrls": Method("RankRLS", _SHARED | {"regularization"}, ("auto", "cg", "direct")),
    "structured": Method(
        "StructuredRankSVM",
        _SHARED | {"target", "feature_map", "relevance", "discount", "truncate"},
        ("auto", "bundle", "lbfgs"),
        takes_pairs=False,
    ),
    "kernel": Method(
        "KernelRankSVM",
        _SHARED
        | {
            "loss",
            "weighting",
            "kernel",
            "gamma",
            "gammas",
            "approximation",
            "n_components",
            "degree",
            "coef0",
        }
        | {"store", "random_state"},
        ("auto", "lbfgs", "bundle", "newton"),
    ),
}
# An option that only one method has chooses it.
_CHOOSERS = {"target": "structured", "kernel": "kernel"}
_TARGETS = ("auc", "map", "mrr", "ndcg")


def _alpha(context: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """Return a positive number, or "auto"."""
    return value if value in (None, "auto") else _positive(str(value))


def _gamma(context: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """Return a positive number, or one of the words for it."""
    return value if value in (None, "scale", "median", "auto") else _positive(str(value))


def _alphas(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """Return a grid from numbers with commas between, or from ``from:to:count`` in equal ratios."""
    if value is None:
        return None
    ends = value.split(":")
    if len(ends) == 3 and ends[2].isdigit() and int(ends[2]) >= 2:
        grid = np.geomspace(_positive(ends[0]), _positive(ends[1]), int(ends[2]))
        return tuple(float(f"{alpha:.6g}") for alpha in grid)
    if len(ends) > 1:
        raise click.BadParameter(f"{value!r} is neither 1e-4,1e-3,1e-2 nor 1e-6:1:13 (from, to, how many).")
    return tuple(_positive(part) for part in value.split(","))


def _targets(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Any:
    """Return one target as it was written, or several with their weights."""
    if not values:
        return None
    if len(values) == 1 and "=" not in values[0]:
        return _target(values[0])
    split = [value.rpartition("=") if "=" in value else (value, "=", "1") for value in values]
    return {_target(name): _positive(weight) for name, _, weight in split}


def _target(name: str) -> str:
    try:
        known = parse_metric(name).name in _TARGETS
    except MarginRankError:
        known = False
    if not known:
        raise click.BadParameter(f"{name!r} is none of {', '.join(_TARGETS)}, with a cut-off if you like.")
    return name


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0.0 < number < float("inf"):
        raise click.BadParameter(f"{text!r} is not a positive number.")
    return number


# What only structured rankers take; None stands for their default.
STRUCTURED_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--target",
        multiple=True,
        callback=_targets,
        help="Train for auc, map, mrr or ndcg@10; repeat for several, with weights as in map=2 (structured).",
    ),
    click.option(
        "--feature-map",
        type=click.Choice(["po", "mrr", "dorm"]),
        help="How a ranking is scored (structured).  [default: po]",
    ),
    click.option(
        "--relevance", type=float, help="Labels from here on are good (structured).  [default: 1, if any is]"
    ),
    click.option(
        "--discount",
        type=click.Choice(["log2", "letor"]),
        help="Of ndcg, in training (structured).  [default: log2]",
    ),
    click.option(
        "--truncate",
        is_flag=True,
        default=None,
        help="Train with the cut-off of the target, too (structured).",
    ),
)
# None stands for the default of the estimator, so that an option which was not given is never refused.
_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--method",
        type=click.Choice(list(METHODS)),
        help="ranksvm: losses of pairs. rankrls: least squares. structured: a metric of whole "
        "rankings, named by --target. kernel: named by --kernel.  [default: ranksvm]",
    ),
    *STRUCTURED_OPTIONS,
    click.option(
        "--loss",
        type=click.Choice([*QUERY_LOSSES, LeastSquaresLoss.name]),
        help="The loss of a pair (ranksvm, kernel).  [default: hinge; kernel: squared_hinge]",
    ),
    click.option(
        "--kernel",
        type=click.Choice(["rbf", "laplacian", "polynomial", "cosine", "chi2"]),
        help="Rank by a kernel machine with this kernel (kernel).",
    ),
    click.option(
        "--approximation",
        type=click.Choice(["nystroem", "fourier", "exact"]),
        help="Landmarks, random cosines, or the kernel itself (kernel).  [default: nystroem]",
    ),
    click.option(
        "--components",
        "n_components",
        type=click.IntRange(min=1),
        help="How many landmarks or cosines (kernel).  [default: 500]",
    ),
    click.option(
        "--gamma",
        metavar="NUMBER|scale|median|auto",
        callback=_gamma,
        help="Width of the kernel; auto chooses it with alpha (kernel).  [default: scale]",
    ),
    click.option("--gammas", metavar="GRID", callback=_alphas, help="The grid for --gamma auto (kernel)."),
    click.option("--degree", type=float, help="Of the polynomial kernel (kernel).  [default: 3]"),
    click.option("--coef0", type=float, help="Of the polynomial kernel (kernel).  [default: 1]"),
    click.option(
        "--store",
        type=click.Choice(["auto", "memory", "recompute"]),
        help="Keep the features, or make them again in every pass (kernel).  [default: auto]",
    ),
    click.option(
        "--alpha",
        metavar="NUMBER|auto",
        callback=_alpha,
        help="Strength of the regularisation; auto chooses it on --validate, else by cross-validation.  "
        "[default: 1e-4; structured: 1e-2]",
    ),
    click.option(
        "--alphas",
        metavar="GRID",
        callback=_alphas,
        help="The grid for --alpha auto: 1e-4,1e-3,1e-2 or 1e-6:1:13.  [default: follows the data]",
    ),
    click.option(
        "--cv", type=click.IntRange(min=2), help="Folds for --alpha auto without --validate.  [default: 5]"
    ),
    click.option(
        "--rule",
        type=click.Choice(["best", "one_se"]),
        help="The best alpha, or the largest within one standard error of it.  [default: best]",
    ),
    click.option(
        "--regularization",
        type=click.Choice(["tikhonov", "early_stopping", "hybrid"]),
        help="By alpha, by stopping when validation gets no better, or both (rankrls).  [default: tikhonov]",
    ),
    click.option(
        "--tol",
        type=click.FloatRange(min=0, min_open=True),
        help="Certified gap (rankrls: residual) at which to stop.  [default: 1e-3]",
    ),
    click.option("--max-iter", type=click.IntRange(min=1), help="Most iterations.  [default: 1000]"),
    click.option(
        "--weighting",
        type=click.Choice(["pairs", "queries"]),
        help="Mean over all pairs, or over queries (ranksvm, kernel).  [default: pairs]",
    ),
    click.option(
        "--solver",
        type=click.Choice(sorted({name for method in METHODS.values() for name in method.solvers})),
        help="ranksvm, kernel: lbfgs, bundle, newton (not for the hinge). rankrls: cg, direct. structured: "
        "lbfgs, bundle.  [default: auto]",
    ),
)


def method_options(command: Any) -> Any:
    """Add ``--method`` and everything that belongs to some method."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choose_method(named: str | None, given: dict[str, Any]) -> str:
    """Return the method that was named, or that an option which only it has speaks for."""
    if named is not None:
        return named
    return next((method for key, method in _CHOOSERS.items() if given.get(key) is not None), "ranksvm")


def check_parameters(name: str, given: dict[str, Any], *, pairs: bool) -> dict[str, Any]:
    """Return the parameters that were given; one that the method does not have is misuse."""
    method = METHODS[name]
    if pairs and not method.takes_pairs:
        raise click.UsageError(f"--pairs is not for --method {name}, which ranks labelled rows of queries.")
    parameters = {key: value for key, value in given.items() if value is not None}
    for key in parameters:
        if key not in method.parameters:
            owners = " or ".join(f"--method {n}" for n, one in METHODS.items() if key in one.parameters)
            raise click.UsageError(f"{spelled(key)} is for {owners}, not for {name}.")
    solver = parameters.get("solver", "auto")
    if solver not in method.solvers:
        raise click.UsageError(
            f"--solver {solver} is not one of --method {name}; that has {', '.join(method.solvers)}."
        )
    loss = parameters.get("loss", "squared_hinge" if name == "kernel" else "hinge")
    if solver == "newton" and loss in QUERY_LOSSES and not QUERY_LOSSES[loss].smooth:
        smooth = " or ".join(one for one, kind in QUERY_LOSSES.items() if kind.smooth)
        raise click.UsageError(f"--solver newton needs --loss {smooth}.")
    if loss == "least_squares" and name == "ranksvm":
        raise click.UsageError(
            "--loss least_squares is for --method kernel; without a kernel, --method rankrls."
        )
    searched = [key for key in ("alpha", "gamma") if parameters.get(key) == "auto"]
    for key, wanted in (("alphas", "alpha"), ("gammas", "gamma")):
        if key in parameters and wanted not in searched:
            raise click.UsageError(f"--{key} is for --{wanted} auto.")
    if "n_components" in parameters and parameters.get("approximation") == "exact":
        raise click.UsageError("--components is for --approximation nystroem or fourier, not for exact.")
    if "rule" in parameters and not searched:
        raise click.UsageError("--rule is for --alpha auto.")
    return parameters


def make_ranker(name: str, parameters: dict[str, Any], jobs: int | None, seed: int = 0) -> Any:
    """Return the estimator of a method; the seed is for those that draw something."""
    from marginrank import estimators  # not above: the help need not wait for scikit-learn

    if "random_state" in METHODS[name].parameters:
        parameters = {**parameters, "random_state": seed}
    return getattr(estimators, METHODS[name].estimator)(**parameters, n_jobs=jobs)


def selects_by(ranker: Any) -> str:
    """Return what figures on validation rows are of; of several targets the heaviest selects."""
    if ranker.metric is not None:
        return str(ranker.metric)
    return ranker.target if isinstance(ranker.target, str) else max(ranker.target, key=ranker.target.get)
