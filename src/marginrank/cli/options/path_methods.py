"""The paths of ``marginrank path``: which function computes each, and which options it takes."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from marginrank.cli.command import spelled
from marginrank.cli.options.methods import STRUCTURED_OPTIONS
from marginrank.cli.options.shared import Decorator
from marginrank.data import RankingData
from marginrank.losses import QUERY_LOSSES


class PathMethod(NamedTuple):
    """A function of ``marginrank.paths``, and the parameters that options set."""

    function: str
    parameters: frozenset[str]
    owner: str
    takes_pairs: bool = True


_INTERVAL = frozenset({"alpha_max", "alpha_min", "eps", "scale"})
PATH_METHODS: dict[str, PathMethod] = {
    "ranksvm": PathMethod("rank_path", _INTERVAL | {"loss", "weighting"}, "--method ranksvm"),
    "rankrls": PathMethod("rank_rls_path", _INTERVAL, "--method rankrls"),
    "structured": PathMethod(
        "structured_rank_path",
        _INTERVAL | {"target", "feature_map", "relevance", "discount", "truncate"},
        "--method structured",
        takes_pairs=False,
    ),
    "kernel": PathMethod(
        "kernel_rank_path",
        frozenset({"kernel", "gamma", "degree", "coef0", "graph", "pairs_per_row", "weighting", "alpha_min"}),
        "--kernel",
    ),
}
_KERNELS = ("rbf", "linear", "polynomial", "laplacian", "cosine", "chi2")
_POSITIVE = click.FloatRange(min=0, min_open=True)

# None stands for the default of the function, so that an option which was not given is never refused.
_OPTIONS: tuple[Decorator, ...] = (
    click.option(
        "--method",
        type=click.Choice(["ranksvm", "rankrls", "structured"]),
        help="Losses of pairs, least squares, or a metric of whole rankings, named by --target.  "
        "[default: ranksvm]",
    ),
    *STRUCTURED_OPTIONS,
    click.option(
        "--loss", type=click.Choice(list(QUERY_LOSSES)), help="Of a pair (ranksvm).  [default: hinge]"
    ),
    click.option(
        "--eps",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Certified gap that no model of the path exceeds.  [default: 1e-3]",
    ),
    click.option("--alpha-max", type=_POSITIVE, help="Where the path starts.  [default: follows the data]"),
    click.option("--alpha-min", type=_POSITIVE, help="Where it ends.  [default: 1e-5 of its start]"),
    click.option(
        "--weighting",
        type=click.Choice(["pairs", "queries"]),
        help="Mean over all pairs, or over queries (ranksvm, kernel).  [default: pairs]",
    ),
    click.option(
        "--kernel", type=click.Choice(_KERNELS), help="The exact path of a kernel, for some thousand rows."
    ),
    click.option("--gamma", type=_POSITIVE, help="Of the kernel.  [default: 1 / number of features]"),
    click.option("--degree", type=_POSITIVE, help="Of the polynomial kernel.  [default: 3]"),
    click.option("--coef0", type=float, help="Of the polynomial kernel.  [default: 1]"),
    click.option(
        "--graph",
        type=click.Choice(["all", "sampled", "reduced"]),
        help="Which pairs of labels a kernel learns from.  [default: all]",
    ),
    click.option("--pairs-per-row", type=click.IntRange(min=1), help="Of --graph sampled.  [default: 10]"),
)


def path_options(command: Any) -> Any:
    """Add ``--method``, ``--kernel`` and everything that belongs to some path."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def choose_path(named: str | None, given: dict[str, Any], *, pairs: bool) -> tuple[str, dict[str, Any]]:
    """Return which path was asked for, and its parameters; one that it does not have is misuse."""
    parameters = {key: value for key, value in given.items() if value is not None}
    if named in ("rankrls", "structured") and "kernel" in parameters:
        raise click.UsageError("--kernel is for --method ranksvm.")
    implied = "kernel" if "kernel" in parameters else "structured" if "target" in parameters else "ranksvm"
    name = implied if named is None or implied == "kernel" else named
    if pairs and not PATH_METHODS[name].takes_pairs:
        raise click.UsageError(f"--pairs is not for --method {name}, which ranks labelled rows of queries.")
    for key in parameters:
        if key not in PATH_METHODS[name].parameters:
            owners = " or ".join(one.owner for one in PATH_METHODS.values() if key in one.parameters)
            raise click.UsageError(f"{spelled(key)} is for {owners}, not for {PATH_METHODS[name].owner}.")
    if "pairs_per_row" in parameters and parameters.get("graph") != "sampled":
        raise click.UsageError("--pairs-per-row is for --graph sampled.")
    return name, parameters


def compute_path(name: str, rows: RankingData, parameters: dict[str, Any], callback: Any, jobs: Any) -> Any:
    """Return the path of a method."""
    from marginrank import paths  # not above: the help need not wait for scikit-learn

    threads = {} if name == "kernel" else {"n_jobs": jobs}
    return getattr(paths, PATH_METHODS[name].function)(rows, callbacks=callback, **threads, **parameters)
