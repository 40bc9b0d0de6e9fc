"""``marginrank train``: a model file from a data file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from marginrank.cli import interrupts, options
from marginrank.cli.evaluate import measure, print_evaluation, summary
from marginrank.cli.files import labelled, read_data, with_pairs, with_weights
from marginrank.cli.output import counted, print_facts, print_json, seconds_for_people
from marginrank.cli.predict import scores_of
from marginrank.cli.progress import TrainingBar
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.model import RankingModel

if TYPE_CHECKING:
    from marginrank.estimators import RankSVM

_POSITIVE = click.FloatRange(min=0, min_open=True)


@dataclass(frozen=True)
class _Request:
    """What the user asked for besides the parameters of the estimator."""

    metrics: tuple[str, ...]
    flavor: str
    by_query: bool
    keep_partial: bool
    ignore_unknown: bool
    jobs: int | None
    reading: options.Reading


@click.command()
@click.argument("data")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The model file (.mrk).")
@click.option(
    "--loss",
    type=click.Choice(["hinge", "squared_hinge"]),
    default="hinge",
    show_default=True,
    help="The loss of a pair.",
)
@click.option(
    "--alpha", type=_POSITIVE, default=1e-4, show_default=True, help="Strength of the regularisation."
)
@click.option(
    "--tol", type=_POSITIVE, default=1e-3, show_default=True, help="Certified gap at which to stop."
)
@click.option(
    "--max-iter", type=click.IntRange(min=1), default=1000, show_default=True, help="Most iterations."
)
@click.option(
    "--weighting",
    type=click.Choice(["pairs", "queries"]),
    default="pairs",
    show_default=True,
    help="Mean over all pairs, or over queries.",
)
@click.option(
    "--solver",
    type=click.Choice(["auto", "lbfgs", "bundle", "newton"]),
    default="auto",
    show_default=True,
    help="newton needs the squared hinge.",
)
@click.option(
    "--scale",
    type=click.Choice(["none", "standard", "minmax"]),
    default="none",
    show_default=True,
    help="Divide the features by their standard deviation or range; folded into the model.",
)
@click.option(
    "--normalize",
    type=click.Choice(["none", "query"]),
    default="none",
    show_default=True,
    help="LETOR's min-max within each query; the model remembers it.",
)
@click.option("--pairs", type=click.Path(dir_okay=False), help="CSV of winner,loser[,weight[,margin]].")
@options.pairs_by
@click.option("--weights", type=click.Path(dir_okay=False), help="One weight a row, one a line.")
@click.option("--validate", type=click.Path(dir_okay=False), help="Data to report the metrics on.")
@options.metric
@options.flavor
@click.option("--keep-partial", is_flag=True, help="After Ctrl-C, write the best model so far.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of whatever is random in training. Nothing is in today's methods, so it changes nothing.",
)
@options.reading()
@options.ignore_unknown
@options.jobs
@options.as_json
def train(
    data: str,
    output: str,
    pairs: str | None,
    pairs_by: str,
    weights: str | None,
    validate: str | None,
    metrics: tuple[str, ...],
    flavor: str,
    normalize: str,
    scale: str,
    keep_partial: bool,
    seed: int,
    reading: options.Reading,
    ignore_unknown: bool,
    jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Train a ranker on DATA and write the model to a file.

    The ranker is a linear RankSVM: the exact optimum of a convex problem, with a certificate.

    \b
    Examples:
      marginrank train train.txt -o model.mrk --alpha 1e-3
      marginrank train train.txt -o model.mrk --validate vali.txt -m ndcg@10
      marginrank train docs.txt --pairs preferences.csv -o model.mrk
    """
    _check_usage(data, output, pairs, weights, validate, parameters)
    request = _Request(metrics, flavor, normalize == "query", keep_partial, ignore_unknown, jobs, reading)
    rows = _training_data(data, pairs, pairs_by, weights, request)
    checked = None if validate is None else read_data(validate, reading)
    if validate is not None and checked is not None:
        labelled(checked, validate)
    from marginrank.estimators import RankSVM  # not above: the help need not wait for scikit-learn

    parameters["scale"] = None if scale == "none" else scale
    ranker = RankSVM(**parameters, n_jobs=jobs)
    with interrupts.orderly(writes=False):
        interrupted = _fit(ranker, rows, request)
    model = RankingModel.from_estimator(ranker, query_normalization="minmax" if request.by_query else None)
    found = None if checked is None else _validation(model, checked, request)
    with interrupts.orderly(writes=True):
        model.save(output)
    report = {"model": output, "seed": seed, **_report(ranker, rows)}
    if as_json:
        print_json({**report, "validation": None if found is None else summary(found)})
    else:
        print_facts(_facts(report))
        if found is not None:
            click.echo()
            print_evaluation(f"on {validate}", found)
    return 130 if interrupted else 0


def _check_usage(
    data: str,
    output: str,
    pairs: str | None,
    weights: str | None,
    validate: str | None,
    parameters: dict[str, Any],
) -> None:
    """Refuse what cannot work before any file is read."""
    if [data, pairs, weights, validate].count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    if output == "-":
        raise click.UsageError("A model goes to a file; name one with -o.")
    if pairs is not None and weights is not None:
        raise click.UsageError("--weights weighs labelled rows; give pairs their weights in the pairs file.")
    if parameters["solver"] == "newton" and parameters["loss"] == "hinge":
        raise click.UsageError("--solver newton needs --loss squared_hinge.")
    folder = os.path.dirname(os.path.abspath(output))
    if not os.access(folder, os.W_OK):
        raise MarginRankError(f"{output}: the folder is not there, or cannot be written to.")


def _training_data(
    path: str, pairs: str | None, pairs_by: str, weights: str | None, request: _Request
) -> RankingData:
    data = read_data(path, request.reading)
    if weights is not None:
        data = with_weights(data, weights)
    if request.by_query:
        data = data.normalized_by_query()
    return data if pairs is None else with_pairs(data, pairs, pairs_by)


def _fit(ranker: RankSVM, data: RankingData, request: _Request) -> bool:
    """Train; return whether the user interrupted and wants the model so far."""
    try:
        with TrainingBar(ranker.tol) as bar:
            if data.pairs is None:
                ranker.fit(data, callbacks=bar)
            else:
                ranker.fit_pairs(data, callbacks=bar)
    except KeyboardInterrupt:
        if not (request.keep_partial and hasattr(ranker, "coef_")):
            raise
        click.echo("Interrupted; the best model so far is kept.", err=True)
        return True
    return False


def _validation(model: RankingModel, data: RankingData, request: _Request) -> Any:
    scores = scores_of(model, data, request.ignore_unknown, request.jobs, request.reading.first_feature)
    return measure(data, scores, request.metrics, request.flavor, request.jobs)


def _report(ranker: RankSVM, data: RankingData) -> dict[str, Any]:
    last = ranker.history_[-1]
    return {
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "pairs": ranker.n_pairs_,
        "objective": ranker.objective_,
        "lower_bound": ranker.lower_bound_,
        "gap": ranker.gap_,
        "iterations": ranker.n_iter_,
        "passes": last.passes,
        "seconds": last.seconds,
    }


def _sizes(report: dict[str, Any]) -> str:
    nouns = {"rows": "row", "queries": "query", "pairs": "pair"}
    return ", ".join(counted(report[name], noun) for name, noun in nouns.items())


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("trained on", _sizes(report)),
        ("objective", f"{report['objective']:.6f}, certified within {report['gap']:.1e} of the optimum"),
        ("took", f"{report['passes']:g} passes over the data, {seconds_for_people(report['seconds'])}"),
        ("model", str(report["model"])),
    ]
