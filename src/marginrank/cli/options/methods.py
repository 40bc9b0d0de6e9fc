"""The methods of ``train`` and ``tune``: which estimator each is, and the options that set its parameters.

An option here is a parameter of some estimators by the same name (the last name in its declaration, where it
is typed otherwise). Which methods take it is asked of the estimators; None stands for their default, so that
an option which was not given is never refused.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, get_args

import click

from marginrank.choices import LEAVE_PAIR_OUT, Approximation, KernelName, LeastSquaresSolver, Regularization
from marginrank.cli.command import MOST_USED, Decorator, option, spelled, with_options
from marginrank.cli.options.bounds import typed_bounds, weight_options
from marginrank.cli.options.shared import TARGETS, folds_or, gains, grid, positive_or, targets
from marginrank.designs.mapped import Store
from marginrank.designs.scaling import Scale
from marginrank.losses import QUERY_LOSSES, LeastSquaresLoss, Weighting
from marginrank.losses.structured.base import Discount
from marginrank.solvers import SOLVERS
from marginrank.training.selection import Rule
from marginrank.training.structured_targets import FEATURE_MAPS

#: The estimator of each method, by name: the help need not wait for scikit-learn.
METHODS = {
    "ranksvm": "RankSVM",
    "rankrls": "RankRLS",
    "structured": "StructuredRankSVM",
    "kernel": "KernelRankSVM",
}
# An option that only one method has chooses it.
_CHOOSERS = {"target": "structured", "kernel": "kernel"}
_UNSCALED = "none"
_BY_ALPHA = "tikhonov"
# What is left out in turn, in place of folds; the former is None in Python.
_QUERIES_OUT = "leave_query_out"
_LEFT_OUT = (_QUERIES_OUT, LEAVE_PAIR_OUT)
_STRUCTURED, _KERNELS = "Structured ranking (--target)", "Kernels (--kernel)"


scale: Decorator = option(
    "--scale",
    group=MOST_USED,
    type=click.Choice(["auto", _UNSCALED, *get_args(Scale)]),
    help="Divide the features by their standard deviation or range; folded into the model. auto: by the "
    "standard deviation if ranges differ more than 100-fold.  [default: auto]",
)
weighting: Decorator = option(
    "--weighting",
    group="Model",
    type=click.Choice(get_args(Weighting)),
    help="Mean over all pairs, or over queries (ranksvm, kernel).  [default: pairs]",
)
#: What only structured rankers take.
STRUCTURED_OPTIONS: tuple[Decorator, ...] = (
    option(
        "--target",
        group=MOST_USED,
        metavar="METRIC[=WEIGHT]",
        multiple=True,
        callback=targets,
        help=f"Train for a metric of whole rankings: {', '.join(TARGETS)}, with a cut-off as in ndcg@10; "
        "repeat for several, with weights as in map=2.",
    ),
    option(
        "--feature-map",
        group=_STRUCTURED,
        type=click.Choice(FEATURE_MAPS),
        help="How a ranking is scored.  [default: po]",
    ),
    option(
        "--relevance",
        group=_STRUCTURED,
        type=float,
        help="Labels from here on are good.  [default: labels are grades; with two of them, and for mrr: 1, "
        "if any is]",
    ),
    option(
        "--gain",
        group=_STRUCTURED,
        metavar="exponential|linear|LABEL:GAIN,...",
        callback=gains,
        help="What labels are worth to ndcg: 2**label - 1, the label, or as in 0:0,1:1,2:5.  "
        "[default: exponential]",
    ),
    option(
        "--discount",
        group=_STRUCTURED,
        type=click.Choice(get_args(Discount)),
        help="Of ndcg, in training.  [default: log2]",
    ),
    option(
        "--truncate",
        group=_STRUCTURED,
        is_flag=True,
        default=None,
        help="Train with the cut-off of the target, too.",
    ),
)
_MODEL: tuple[Decorator, ...] = (
    option(
        "--method",
        group=MOST_USED,
        type=click.Choice(list(METHODS)),
        help="ranksvm: losses over pairs. rankrls: least squares. structured: a metric of whole rankings, "
        "named by --target. kernel: named by --kernel.  [default: ranksvm]",
    ),
    option(
        "--loss",
        group=MOST_USED,
        type=click.Choice([*QUERY_LOSSES, LeastSquaresLoss.name]),
        help="The loss of a pair (ranksvm, kernel).  [default: hinge; kernel: squared_hinge]",
    ),
    *STRUCTURED_OPTIONS,
    option(
        "--kernel",
        group=MOST_USED,
        type=click.Choice([name for name in get_args(KernelName) if name != "precomputed"]),
        help="Rank by a kernel machine with this kernel.",
    ),
    scale,
    weighting,
    *weight_options,
    option(
        "--regularization",
        group="Model",
        type=click.Choice(get_args(Regularization)),
        help="By alpha, by stopping when validation gets no better, or both (rankrls).  [default: tikhonov]",
    ),
    option(
        "--approximation",
        group=_KERNELS,
        type=click.Choice(get_args(Approximation)),
        help="Landmarks, random cosines, or the kernel itself.  [default: nystroem]",
    ),
    option(
        "--components",
        "n_components",
        group=_KERNELS,
        type=click.IntRange(min=1),
        help="How many landmarks or cosines.  [default: 500]",
    ),
    option(
        "--gamma",
        group=_KERNELS,
        metavar="NUMBER|scale|median|auto",
        callback=positive_or("scale", "median", "auto"),
        help="Width of the kernel; auto chooses it with alpha.  [default: a quarter of median; scale with "
        "--no-linear-block]",
    ),
    option(
        "--linear-block/--no-linear-block",
        group=_KERNELS,
        default=None,
        help="Put the columns beside the kernel, so that it loses nothing to a linear ranker, or take the "
        "kernel alone.  [default: linear-block]",
    ),
    option("--gammas", group=_KERNELS, metavar="GRID", callback=grid, help="The grid for --gamma auto."),
    option("--degree", group=_KERNELS, type=float, help="Of the polynomial kernel.  [default: 3]"),
    option("--coef0", group=_KERNELS, type=float, help="Of the polynomial kernel.  [default: 1]"),
    option(
        "--store",
        group=_KERNELS,
        type=click.Choice(get_args(Store)),
        help="Keep the features, or make them again in every pass.  [default: auto]",
    ),
)
_ALPHA: Decorator = option(
    "--alpha",
    group=MOST_USED,
    metavar="NUMBER|auto",
    callback=positive_or("auto"),
    help="Strength of the regularisation; auto chooses it on --validate, else by cross-validation.  "
    "[default: 1e-4; structured: 1e-2]",
)
_SOLVER: tuple[Decorator, ...] = (
    option(
        "--solver",
        group="Solver",
        type=click.Choice(list(dict.fromkeys(["auto", *SOLVERS, *get_args(LeastSquaresSolver)]))),
        help="ranksvm, kernel: lbfgs, bundle, newton (for a smooth loss). rankrls: cg, direct. structured: "
        "lbfgs, bundle.  [default: auto]",
    ),
    option(
        "--tol",
        group="Solver",
        type=click.FloatRange(min=0, min_open=True),
        help="Certified gap at which to stop.  [default: 1e-3]",
    ),
    option(
        "--max-iter", group="Solver", type=click.IntRange(min=1), help="Most iterations.  [default: 1000]"
    ),
)


def _search(searched: str) -> tuple[Decorator, ...]:
    """Return the options of a search; ``searched`` says what asks for one, where something does."""
    return (
        option(
            "--alphas",
            group="Search and validation",
            metavar="GRID",
            callback=grid,
            help=f"The grid{searched}: 1e-4,1e-3,1e-2 or 1e-6:1:13.  [default: follows the data]",
        ),
        option(
            "--cv",
            group="Search and validation",
            metavar="FOLDS|" + "|".join(_LEFT_OUT),
            callback=folds_or(*_LEFT_OUT),
            help=f"Folds{searched} without --validate. rankrls also leaves out each query alone, where the "
            "direct solver is cheap (else 5 folds), or in one ranking each pair.  [default: 5]",
        ),
        option(
            "--rule",
            group="Search and validation",
            type=click.Choice(get_args(Rule)),
            help="The best alpha, or the largest worse by at most half of the error of the difference.  "
            "[default: best]",
        ),
    )


#: The parameters of the estimators, for a training; for a search, which has no alpha to name.
method_options: Decorator = with_options(_ALPHA, *_MODEL, *_search(" for --alpha auto"), *_SOLVER)
search_options: Decorator = with_options(*_MODEL, *_search(""), *_SOLVER)


def choose_method(named: str | None, given: dict[str, Any]) -> str:
    """Return the method that was named, or that an option which only it has speaks for."""
    if named is not None:
        return named
    return next((method for key, method in _CHOOSERS.items() if given.get(key) is not None), "ranksvm")


def _estimator(method: str) -> Any:
    from marginrank import estimators  # not above: the help need not wait for scikit-learn

    return getattr(estimators, METHODS[method])


def _takes(method: str, parameter: str) -> bool:
    return parameter in signature(_estimator(method)).parameters


def given_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters that were given, as Python takes them.

    Examples
    --------
    >>> given_parameters({"scale": "none", "alpha": 0.1, "solver": None})
    {'scale': None, 'alpha': 0.1}
    """
    parameters = typed_bounds({key: value for key, value in given.items() if value is not None})
    words = {"scale": _UNSCALED, "cv": _QUERIES_OUT}
    return parameters | {key: None for key, word in words.items() if parameters.get(key) == word}


def check_parameters(
    name: str, given: dict[str, Any], *, pairs: bool, validates: bool = False
) -> dict[str, Any]:
    """Return the parameters that were given; one that the method does not have, or use, is misuse."""
    if pairs and not hasattr(_estimator(name), "fit_pairs"):
        raise click.UsageError(f"--pairs is not for --method {name}, which ranks labelled rows of queries.")
    parameters = given_parameters(given)
    for key in parameters:
        if not _takes(name, key):
            owners = " or ".join(f"--method {method}" for method in METHODS if _takes(method, key))
            raise click.UsageError(f"{spelled(key)} is for {owners}, not for {name}.")
    _check_solver(name, parameters)
    if given.get("cv") in _LEFT_OUT and name != "rankrls":
        raise click.UsageError(f"--cv {given['cv']} is for --method rankrls, not for {name}.")
    searched = [key for key in ("alpha", "gamma") if parameters.get(key) == "auto"]
    for key, wanted in (("alphas", "alpha"), ("gammas", "gamma")):
        if key in parameters and wanted not in searched:
            raise click.UsageError(f"--{key} is for --{wanted} auto.")
    if "n_components" in parameters and parameters.get("approximation") == "exact":
        raise click.UsageError("--components is for --approximation nystroem or fourier, not for exact.")
    if "rule" in parameters and not searched:
        raise click.UsageError("--rule is for --alpha auto.")
    if "cv" in parameters:
        stops_early = parameters.get("regularization", _BY_ALPHA) != _BY_ALPHA
        _check_folds(bool(searched) or stops_early, validates)
    return parameters


def _check_folds(searches: bool, validates: bool) -> None:
    """Refuse folds that nothing would be trained on."""
    if not searches:
        raise click.UsageError("--cv is for --alpha auto.")
    if validates:
        raise click.UsageError("--cv is for searches without --validate, whose rows choose; leave one out.")


def _check_solver(name: str, parameters: dict[str, Any]) -> None:
    """Refuse a solver or a loss that the method does not have, and a pair of them that does not fit."""
    estimator, solver = _estimator(name), parameters.get("solver", "auto")
    if solver not in estimator.solvers:
        raise click.UsageError(
            f"--solver {solver} is not one of --method {name}; that has {', '.join(estimator.solvers)}."
        )
    if not _takes(name, "loss"):
        return
    loss = parameters.get("loss", signature(estimator).parameters["loss"].default)
    if loss not in estimator.query_losses:
        raise click.UsageError(f"--loss {loss} is for --method kernel; without a kernel, --method rankrls.")
    if solver == "newton" and loss in QUERY_LOSSES and not QUERY_LOSSES[loss].smooth:
        smooth = " or ".join(known for known, kind in QUERY_LOSSES.items() if kind.smooth)
        raise click.UsageError(f"--solver newton needs --loss {smooth}.")


def make_ranker(name: str, parameters: dict[str, Any], n_jobs: int | None, seed: int = 0) -> Any:
    """Return the estimator of a method; the seed is for those that draw something."""
    if _takes(name, "random_state"):
        parameters = {**parameters, "random_state": seed}
    return _estimator(name)(**parameters, n_jobs=n_jobs)


def selects_by(ranker: Any) -> str:
    """Return what figures on a validation set are of; of several targets the heaviest selects."""
    if ranker.metric is not None:
        return str(ranker.metric)
    return ranker.target if isinstance(ranker.target, str) else max(ranker.target, key=ranker.target.get)


def selects(ranker: Any) -> bool:
    """Whether validation rows choose the model, and do not only report on it."""
    searches = "auto" in (ranker.alpha, getattr(ranker, "gamma", None))
    return searches or getattr(ranker, "regularization", _BY_ALPHA) != _BY_ALPHA
