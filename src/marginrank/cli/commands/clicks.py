"""``marginrank clicks``: a click log becomes weighted training data."""

from __future__ import annotations

import shlex
from typing import Any

import click
import numpy as np

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, Decorator, option
from marginrank.cli.files.conversion import Content, lost_parts
from marginrank.cli.files.dataset import Writing, write_to_disk
from marginrank.cli.files.reading import check_files, keep_apart, source_of
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import counted, print_facts, print_json
from marginrank.data import RankingData
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError, shown_path
from marginrank.io import dump_weight, format_of, load_table, write

_METHODS = {"estimate": "em", "given": "given", "randomised": "randomised"}
_FORMATS = ("letor", "npz", "csv", "parquet", "mrd")


def _named(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.BadParameter("must be the name of a column.")
    return value


def _column(name: str, parameter: str, what: str, default: str | None = None) -> Decorator:
    shown = "" if default is None else f"  [default: {default}]"
    return option(
        name,
        parameter,
        group="Data",
        metavar="NAME",
        default=default,
        callback=_named,
        help=f"Column with {what}.{shown}",
    )


@click.command(cls=Command)
@click.argument("log")
@option("-o", "--output", group=MOST_USED, required=True, help="Where to write the training data.")
@option(
    "--propensities",
    "method",
    group=MOST_USED,
    type=click.Choice(list(_METHODS)),
    default="estimate",
    show_default=True,
    help="How often positions are looked at: estimated, given in a column, or click rates of random orders.",
)
@option(
    "--clip",
    group=MOST_USED,
    type=float,
    default=0.01,
    show_default=True,
    help="Propensities below count as this.",
)
@_column("--click-column", "label", "1 for clicked rows, else 0", "click")
@_column("--position-column", "positions", "positions, from 1", "position")
@_column("--session-column", "qid", "what was shown together", "session")
@_column("--item-column", "docid", "ids of query and document together: relevance by item, not by features")
@_column("--propensity-column", "propensities", "propensities, with --propensities given", "propensity")
@option("--to", group="Output", type=click.Choice(_FORMATS), help="Format of the output.")
@options.as_json
def clicks(
    log: str,
    output: str,
    method: str,
    clip: float,
    label: str,
    positions: str,
    qid: str,
    docid: str | None,
    propensities: str,
    to: str | None,
    as_json: bool,
) -> None:
    """Make weighted training data of LOG, a table of what was shown and clicked.

    LOG is CSV or Parquet with a row for each result that was shown: whether it was clicked, its position, the
    session (one reader who saw one ranking), and its features, which are all other columns. Clicked rows
    weigh 1 / propensity, which undoes what positions do to clicks; positions are no feature.

    npz, csv, parquet and mrd hold the weights; beside LETOR text they stand in a file that ends in .weight,
    as LightGBM has them.

    \b
    Example:
      marginrank clicks log.csv -o train.txt --propensities estimate
      marginrank train train.txt --format lightgbm -o model.mrk
    """
    check_files(log=log)
    keep_apart([output], [log])
    kind = to or format_of(output)
    if kind not in _FORMATS:
        raise click.UsageError(
            f"The ending of --output, {shown_path(output)}, stands for no format of weighted rows; say it "
            f"with --to: {', '.join(_FORMATS)}."
        )
    if docid is not None and method != "estimate":
        raise click.UsageError(f"--item-column is for --propensities estimate; got {method}.")
    rows, found = _weighted(
        load_table(source_of(log), label=label, qid=qid, docid=docid or "docid", weight=None),
        method=_METHODS[method],
        clip=clip,
        positions=positions,
        by_item=docid is not None,
        propensities=propensities,
    )
    weights = f"{output}.weight" if kind == "letor" else None
    if kind == "mrd":
        write_to_disk(rows, output, Writing(None, None, False, False))
    else:
        with interrupts.orderly(writes=True):
            write(rows, output, kind)
            if weights is not None:
                dump_weight(found.weights, weights)
    lost = [part for part in lost_parts(Content(rows), kind) if part != "row weights"]
    if lost:
        click.echo(f"Warning: {kind} files cannot hold {', '.join(lost)}; left out.", err=True)
    _report(rows, found, {"output": output, "weights": weights, "method": method, "clip": clip}, as_json)


def _weighted(
    data: RankingData,
    *,
    method: str,
    clip: float,
    positions: str,
    by_item: bool,
    propensities: str,
) -> tuple[RankingData, Any]:
    """Return the rows without the columns of the log, with their weights, and what these rest on."""
    from marginrank.clicks import inverse_propensity

    places, data = _taken(data, positions, "positions")
    given: dict[str, Any] = {}
    if method == "given":
        given["propensities"], data = _taken(data, propensities, "propensities")
    elif propensities in (data.feature_names or ()):
        _, data = _taken(data, propensities, "propensities")  # known to the logger, and no feature either
    if method == "em" and by_item:
        given["items"] = data.comments
    elif method == "em":
        given["X"] = data.X
    found = inverse_propensity(data.y, places, method, clip=clip, **given)  # type: ignore[arg-type]
    return rebuilt(data, qid=data.qid, sample_weight=found.weights), found


def _taken(data: RankingData, column: str, parameter: str) -> tuple[Any, RankingData]:
    """Return a column of the features, and the data without it."""
    names = list(data.feature_names or ())
    if column not in names:
        raise MarginRankError.naming(
            parameter, f"must be a column of the log; there is none called {column!r} of numbers."
        )
    k = names.index(column)
    if len(names) == 1:
        raise MarginRankError("The log has no features: expected other columns of numbers to learn from.")
    X = np.asarray(data.X)  # tables are dense
    others = names[:k] + names[k + 1 :]
    rest = rebuilt(data, qid=data.qid, X=np.delete(X, k, axis=1), feature_names=others)
    return X[:, k].astype(np.float64), rest


def _report(rows: RankingData, found: Any, files: dict[str, Any], as_json: bool) -> None:
    sizes = {"rows": rows.n_rows, "sessions": rows.n_queries, "features": rows.n_features}
    if as_json:
        print_json(
            {
                **files,
                **sizes,
                "clicks": found.n_clicks,
                "clipped": found.n_clipped,
                "effective_sample_size": found.effective_sample_size,
                "propensities": found.propensities,
                "iterations": found.n_iter,
            }
        )
        return
    shown = " ".join("-" if np.isnan(p) else f"{p:.3g}" for p in found.propensities[:10])
    more = " ..." if len(found.propensities) > 10 else ""
    print_facts(
        [
            ("rows", ", ".join(map(counted, sizes.values(), ("row", "session", "feature")))),
            ("clicks", f"{found.n_clicks:,}, of them {found.n_clipped:,} at clipped propensities"),
            ("effective sample size", f"{found.effective_sample_size:,.1f} clicks"),
            ("propensities", shown + more),
            *([] if files["weights"] is None else [("to train", _training(files["output"]))]),
        ]
    )


def _training(path: str) -> str:
    """Return the command that reads text with the weights beside it."""
    return f"marginrank train {shlex.quote(path)} --format lightgbm -o model.mrk"
