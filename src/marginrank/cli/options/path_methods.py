"""The paths of ``marginrank path``: which function computes each, and the options that set its parameters.

As in ``methods.py``: an option is a parameter by the same name, and which functions have it is asked of them.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, get_args

import click

from marginrank.choices import Graph, KernelName
from marginrank.cli.command import MOST_USED, Decorator, option, spelled, with_options
from marginrank.cli.options.bounds import TypedBounds, weight_options
from marginrank.cli.options.methods import STRUCTURED_OPTIONS, given_parameters, scale, weighting
from marginrank.data import RankingData
from marginrank.losses import QUERY_LOSSES

#: The function of each path, by name, and the option that asks for it.
_PATHS = {
    "ranksvm": ("rank_path", "--method ranksvm"),
    "rankrls": ("rank_rls_path", "--method rankrls"),
    "structured": ("structured_rank_path", "--method structured"),
    "kernel": ("kernel_rank_path", "--kernel"),
}
_POSITIVE = click.FloatRange(min=0, min_open=True)
_KERNELS = "Kernels (--kernel)"

path_options: Decorator = with_options(
    option(
        "--method",
        group=MOST_USED,
        type=click.Choice([name for name in _PATHS if name != "kernel"]),
        help="Losses over pairs, least squares, or a metric of whole rankings, named by --target.  "
        "[default: ranksvm]",
    ),
    option(
        "--loss",
        group=MOST_USED,
        type=click.Choice(list(QUERY_LOSSES)),
        help="Of a pair (ranksvm).  [default: hinge]",
    ),
    *STRUCTURED_OPTIONS,
    option(
        "--kernel",
        group=MOST_USED,
        type=click.Choice(["linear", *(name for name in get_args(KernelName) if name != "precomputed")]),
        help="The exact path of a kernel, for some thousand rows.",
    ),
    scale,
    weighting,
    *weight_options,
    option(
        "--eps",
        group="Solver",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Certified gap that no model of the path exceeds.  [default: 1e-3]",
    ),
    option(
        "--alpha-max",
        group="Search and validation",
        type=_POSITIVE,
        help="Where the path starts.  [default: follows the data]",
    ),
    option(
        "--alpha-min",
        group="Search and validation",
        type=_POSITIVE,
        help="Where it ends.  [default: 1e-5 of its start; 1e-3 with --l1-ratio]",
    ),
    option("--gamma", group=_KERNELS, type=_POSITIVE, help="Width.  [default: 1 / number of features]"),
    option("--degree", group=_KERNELS, type=_POSITIVE, help="Of the polynomial kernel.  [default: 3]"),
    option("--coef0", group=_KERNELS, type=float, help="Of the polynomial kernel.  [default: 1]"),
    option(
        "--graph",
        group=_KERNELS,
        type=click.Choice(get_args(Graph)),
        help="Which pairs of labels to learn from.  [default: all]",
    ),
    option(
        "--pairs-per-row",
        group=_KERNELS,
        type=click.IntRange(min=1),
        help="Of --graph sampled.  [default: 10]",
    ),
)


def _function(name: str) -> Any:
    from marginrank import paths  # not above: the help need not wait for scikit-learn

    return getattr(paths, _PATHS[name][0])


def _takes(name: str, parameter: str) -> bool:
    return parameter in signature(_function(name)).parameters


def choose_path(named: str | None, given: dict[str, Any], *, pairs: bool) -> tuple[str, dict[str, Any]]:
    """Return which path was asked for, and its parameters; one that it does not have is misuse."""
    parameters = given_parameters(given)
    if named in ("rankrls", "structured") and "kernel" in parameters:
        raise click.UsageError("--kernel is for --method ranksvm.")
    implied = "kernel" if "kernel" in parameters else "structured" if "target" in parameters else "ranksvm"
    name = implied if named is None or implied == "kernel" else named
    if pairs and not _takes(name, "pairs"):
        raise click.UsageError(f"--pairs is not for --method {name}, which ranks labelled rows of queries.")
    for key in parameters:
        if not _takes(name, key):
            owners = " or ".join(owner for path, (_, owner) in _PATHS.items() if _takes(path, key))
            raise click.UsageError(f"{spelled(key)} is for {owners}, not for {_PATHS[name][1]}.")
    if "pairs_per_row" in parameters and parameters.get("graph") != "sampled":
        raise click.UsageError("--pairs-per-row is for --graph sampled.")
    return name, parameters


def is_solved(parameters: dict[str, Any]) -> bool:
    """Whether a path has models at some alphas only, each solved: those of other penalties."""
    return bool(parameters.get("l1_ratio")) or "bounds" in parameters


def names_features(parameters: dict[str, Any]) -> bool:
    """Whether bounds name features, so that all columns have to stay."""
    return isinstance(parameters.get("bounds"), TypedBounds)


def with_columns(parameters: dict[str, Any], data: RankingData, first: int) -> dict[str, Any]:
    """Return parameters whose bounds are by column of the data; features count from ``first``."""
    bounds = parameters.get("bounds")
    return {**parameters, "bounds": bounds.of(data, first)} if isinstance(bounds, TypedBounds) else parameters


def compute_path(name: str, rows: RankingData, parameters: dict[str, Any], callback: Any, n_jobs: Any) -> Any:
    """Return the path of a method."""
    threads = {"n_jobs": n_jobs} if _takes(name, "n_jobs") else {}
    return _function(name)(rows, callbacks=callback, **threads, **parameters)
