"""``marginrank train``: a model file from a data file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import click
import numpy as np
from click.core import ParameterSource

from marginrank.cli import interrupts, options
from marginrank.cli.evaluate import measure, print_evaluation, summary
from marginrank.cli.files import labelled, read_data, with_pairs, with_weights
from marginrank.cli.methods import check_parameters, choose_method, make_ranker, method_options
from marginrank.cli.output import counted, print_facts, print_json, rounded, seconds_for_people
from marginrank.cli.predict import aligned, scores_of
from marginrank.cli.progress import TrainingBar
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.metrics import parse_metric
from marginrank.model import RankingModel


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

    def selection(self) -> dict[str, Any]:
        """What to select by: the first metric that was named; nothing where none was."""
        context = click.get_current_context()
        if context.get_parameter_source("metrics") is ParameterSource.DEFAULT:
            return {}
        return {"metric": parse_metric(self.metrics[0], flavor=self.flavor)}


@click.command()
@click.argument("data")
@click.option("-o", "--output", required=True, type=click.Path(dir_okay=False), help="The model file (.mrk).")
@method_options
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
@click.option(
    "--validate", type=click.Path(dir_okay=False), help="Data to select on, and to report the metrics on."
)
@options.metric
@options.flavor
@click.option("--keep-partial", is_flag=True, help="After Ctrl-C, write the best model so far.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of what is drawn: landmarks and frequencies of kernels. Nothing else is random.",
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
    method: str | None,
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

    Every method gives the optimum of a convex problem, with a certificate. --alpha auto chooses the strength
    of the regularisation, by the first --metric that you name, else by the pairwise error.

    \b
    Examples:
      marginrank train train.txt -o model.mrk --alpha 1e-3
      marginrank train train.txt -o model.mrk --validate vali.txt -m ndcg@10
      marginrank train train.txt -o model.mrk --method rankrls --alpha auto
      marginrank train train.txt -o model.mrk --target ndcg@10
      marginrank train train.txt -o model.mrk --kernel rbf --approximation fourier --components 2000
      marginrank train docs.txt --pairs preferences.csv -o model.mrk
    """
    _check_usage(data, output, pairs, weights, validate)
    parameters["scale"] = None if scale == "none" else scale
    method = choose_method(method, parameters)
    parameters = check_parameters(method, parameters, pairs=pairs is not None)
    request = _Request(metrics, flavor, normalize == "query", keep_partial, ignore_unknown, jobs, reading)
    rows = _training_data(data, pairs, pairs_by, weights, request)
    checked = None if validate is None else read_data(validate, reading)
    if validate is not None and checked is not None:
        labelled(checked, validate)
    ranker = make_ranker(method, parameters | request.selection(), jobs, seed)
    watched = _watched(ranker, rows, checked, request)
    started = perf_counter()
    with interrupts.orderly(writes=False):
        interrupted = _fit(ranker, rows, watched, request)
    seconds = perf_counter() - started
    model = RankingModel.from_estimator(ranker, query_normalization="minmax" if request.by_query else None)
    found = None if checked is None else _validation(model, checked, request)
    with interrupts.orderly(writes=True):
        model.save(output)
    report = {"model": output, "method": method, "seed": seed, **_report(ranker, rows, seconds)}
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
) -> None:
    """Refuse what cannot work before any file is read."""
    if [data, pairs, weights, validate].count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    if output == "-":
        raise click.UsageError("A model goes to a file; name one with -o.")
    if pairs is not None and weights is not None:
        raise click.UsageError("--weights weighs labelled rows; give pairs their weights in the pairs file.")
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


def _watched(
    ranker: Any, rows: RankingData, checked: RankingData | None, request: _Request
) -> RankingData | None:
    """Return the validation rows as training sees them, where they select; None where they only report."""
    searches = "auto" in (ranker.alpha, getattr(ranker, "gamma", None))
    selects = searches or getattr(ranker, "regularization", "tikhonov") != "tikhonov"
    if checked is None or not selects:
        return None
    like = aligned(checked, rows, request.ignore_unknown, request.reading.first_feature)
    return like.normalized_by_query() if request.by_query else like


def _fit(ranker: Any, data: RankingData, watched: RankingData | None, request: _Request) -> bool:
    """Train; return whether the user interrupted and wants the model so far."""
    try:
        with TrainingBar(ranker, _selects_by(ranker)) as bar:
            if data.pairs is None:
                ranker.fit(data, eval_set=watched, callbacks=bar)
            else:
                ranker.fit_pairs(data, eval_set=watched, callbacks=bar)
    except KeyboardInterrupt:
        if not (request.keep_partial and hasattr(ranker, "coef_")):
            raise
        click.echo("Interrupted; the best model so far is kept.", err=True)
        return True
    return False


def _validation(model: RankingModel, data: RankingData, request: _Request) -> Any:
    scores = scores_of(model, data, request.ignore_unknown, request.jobs, request.reading.first_feature)
    return measure(data, scores, request.metrics, request.flavor, request.jobs)


def _report(ranker: Any, data: RankingData, seconds: float) -> dict[str, Any]:
    report = {
        "rows": data.n_rows,
        "queries": data.n_queries,
        "features": data.n_features,
        "pairs": getattr(ranker, "n_pairs_", None),
        "alpha": ranker.alpha_,
        "gamma": getattr(ranker, "gamma_", None),
        "objective": ranker.objective_,
        "lower_bound": ranker.lower_bound_,
        "gap": ranker.gap_,
        "iterations": ranker.n_iter_,
        "passes": ranker.n_passes_,
        "seconds": seconds,
    }
    if hasattr(ranker, "best_score_"):
        report["selection"] = {
            "metric": _selects_by(ranker),
            "value": ranker.best_score_,
            "iteration": getattr(ranker, "best_iteration_", None),
            "alphas": getattr(ranker, "alphas_", None),
            "gammas": getattr(ranker, "gammas_", None),
            "curve": getattr(ranker, "validation_curve_", None),
            "standard_error": getattr(ranker, "validation_std_", None),
        }
    return report


def _selects_by(ranker: Any) -> str:
    """Return what figures on validation rows are of."""
    if ranker.metric is not None:
        return str(ranker.metric)
    return ranker.target if isinstance(ranker.target, str) else max(ranker.target, key=ranker.target.get)


def _sizes(report: dict[str, Any]) -> str:
    nouns = {"rows": "row", "queries": "query", "pairs": "pair"}
    return ", ".join(counted(report[key], noun) for key, noun in nouns.items() if report[key] is not None)


def _certificate(report: dict[str, Any]) -> str:
    if report["alpha"] == 0.0:
        return "of the risk alone, stopped short of its optimum"
    return f"certified within {report['gap']:.1e} of the optimum"


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    passes = "1 pass" if report["passes"] == 1.0 else f"{report['passes']:g} passes"
    return [
        ("trained on", _sizes(report)),
        *_selected(report),
        ("objective", f"{report['objective']:.6f}, {_certificate(report)}"),
        ("took", f"{passes} over the data, {seconds_for_people(report['seconds'])}"),
        ("model", str(report["model"])),
    ]


def _selected(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Say what was selected, and from what."""
    found = report.get("selection")
    if found is None:
        return []
    figure = f"{found['metric']} {rounded(found['value'])}"
    facts = []
    if found["alphas"] is not None:
        tried = "x".join(str(n) for n in np.shape(found["curve"]))
        gamma = f" at gamma {report['gamma']:.3g}" if found["gammas"] is not None else ""
        facts.append(("alpha", f"{report['alpha']:.3g}{gamma}, the best of {tried}: {figure}"))
    if found["iteration"] is not None:
        facts.append(("stopped", f"at iteration {found['iteration']} of {report['iterations']}: {figure}"))
    return facts
