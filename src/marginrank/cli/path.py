"""``marginrank path``: the models of every alpha, and the best of them."""

from __future__ import annotations

import warnings
from importlib.metadata import version
from time import perf_counter
from typing import Any

import click

from marginrank.chunks import ChunkedMatrix
from marginrank.cli import interrupts, options
from marginrank.cli.output import counted, print_facts, print_json, rounded, seconds_for_people
from marginrank.cli.path_curve import Curve, measure_path, print_curve, write_curve
from marginrank.cli.path_methods import PATH_METHODS, choose_path, compute_path, path_options
from marginrank.cli.path_plot import check_plot, write_plot
from marginrank.cli.progress import PathBar
from marginrank.cli.training_files import TrainingFiles, check_outputs, training_files
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.metrics import Metric
from marginrank.model import RankingModel


@click.command()
@click.argument("data")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write the chosen model (.mrk).")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the path (.png, .pdf, .svg).")
@click.option("--csv", "table", type=click.Path(dir_okay=False), help="Write the whole curve.")
@path_options
@training_files
@click.option(
    "--rule",
    type=click.Choice(["best", "one_se"]),
    default="best",
    show_default=True,
    help="The best alpha, or the largest within one standard error of it.",
)
@click.option(
    "--points",
    type=click.IntRange(min=2),
    default=200,
    show_default=True,
    help="Alphas of the curve, to choose from.",
)
@click.option("--keep-partial", is_flag=True, help="After Ctrl-C, go on with the path so far.")
@options.jobs
@options.as_json
def path(
    output: str | None,
    plot: str | None,
    table: str | None,
    method: str | None,
    files: TrainingFiles,
    metric: Metric | None,
    rule: str,
    points: int,
    keep_partial: bool,
    jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Compute the models of every alpha on DATA, and choose one.

    Every model of the interval is certified to be within --eps of its optimum. --validate measures them by
    --metric and chooses the best.

    \b
    Examples:
      marginrank path train.txt --validate vali.txt -m ndcg@10 --plot path.png
      marginrank path train.txt --validate vali.txt -m map -o model.mrk
      marginrank path train.txt --method rankrls --csv curve.csv
      marginrank path small.txt --kernel rbf --gamma 0.1 --graph sampled
    """
    name, chosen = choose_path(method, parameters)
    _check_usage(name, files, metric, rule, (output, plot, table), as_json)
    rows, checked = files.read()
    if isinstance(rows.X, ChunkedMatrix):
        raise MarginRankError(
            f"{files.data}: path computes over data in memory, got a data set on disk; name a file that fits "
            "into memory, or search over a grid of alphas with tune."
        )
    started = perf_counter()
    found = _computed(name, rows, chosen, keep_partial, jobs)
    seconds = perf_counter() - started
    by = "pairwise_error" if metric is None else metric
    curve = measure_path(found, checked, by, rule, points, jobs)
    if output is not None:
        model = _model(name, chosen, found, curve, str(by), rows, files)
        with interrupts.orderly(writes=True):
            model.save(output)
    if plot is not None:
        write_plot(plot, found, rows.feature_names, files.reading.first_feature)
    if table is not None:
        write_curve(table, curve, str(by))
    written = {"model": output, "plot": plot, "csv": table}
    report = {"method": name, **_report(found, curve, str(by), rule, rows), "seconds": seconds, **written}
    if as_json:
        print_json({**report, "curve": curve.columns()})
    elif table != "-":
        print_curve(curve, str(by))
        click.echo()
        print_facts(_facts(report))
    return interrupts.INTERRUPTED if found.status_ == "interrupted" else 0


def _check_usage(
    name: str,
    files: TrainingFiles,
    metric: Metric | None,
    rule: str,
    written: tuple[str | None, str | None, str | None],
    as_json: bool,
) -> None:
    """Refuse what cannot work before any file is read."""
    output, plot, table = written
    asked = {"-o": output, "--metric": metric, "--rule one_se": None if rule == "best" else rule}
    for option, value in asked.items():
        if value is not None and files.validate is None:
            raise click.UsageError(f"{option} needs --validate, which names the data to choose on.")
    if name == "kernel":
        for option, value in {"-o": output, "--plot": plot}.items():
            if value is not None:
                raise click.UsageError(f"{option} is for linear paths, not for --kernel.")
    if table == "-" and as_json:
        raise click.UsageError("--csv - and --json would mix on standard output.")
    check_outputs(output, plot, table)
    if plot is not None:
        check_plot(plot)


def _computed(
    name: str, rows: RankingData, parameters: dict[str, Any], keep_partial: bool, jobs: int | None
) -> Any:
    """Return the path; after Ctrl-C its part so far, if that is wanted."""
    with interrupts.orderly(writes=False), PathBar() as bar, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The path was interrupted")  # it is said below
        found = compute_path(name, rows, parameters, bar, jobs)
    if found.status_ == "interrupted":
        if not keep_partial:
            raise KeyboardInterrupt
        click.echo(f"Interrupted; the path down to alpha {found.alpha_min_:.3g} is kept.", err=True)
    return found


def _model(
    name: str,
    parameters: dict[str, Any],
    path: Any,
    curve: Curve,
    metric: str,
    rows: RankingData,
    files: TrainingFiles,
) -> RankingModel:
    chosen = curve.selection
    return RankingModel(
        path.coef_at(chosen.alpha),
        feature_names=rows.feature_names,
        query_normalization=files.query_normalization,
        metadata={
            "estimator": PATH_METHODS[name].function,
            "parameters": parameters,
            "library_version": version("marginrank"),
            "alpha": chosen.alpha,
            "gap": float(curve.gap[chosen.index]),
            "metric": metric,
            "validation": float(chosen.curve[chosen.index]),
        },
    )


def _report(path: Any, curve: Curve, metric: str, rule: str, rows: RankingData) -> dict[str, Any]:
    chosen = curve.selection
    figures = ("n_events_", "n_pairs_", "n_solutions_", "n_passes_")
    return {
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "features": rows.n_features,
        "status": path.status_,
        "alpha_max": float(curve.alphas[0]),
        "alpha_min": path.alpha_min_,
        "eps": getattr(path, "eps", None),
        "gap": float(curve.gap.max()),
        **{name.strip("_").removeprefix("n_"): getattr(path, name, None) for name in figures},
        "selection": None
        if chosen is None
        else {
            "metric": metric,
            "rule": rule,
            "alpha": chosen.alpha,
            "value": float(chosen.curve[chosen.index]),
            "standard_error": float(chosen.std[chosen.index]),
        },
    }


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    if report["eps"] is None:
        certificate = f"gap at most {report['gap']:.1e} at the points of the curve"
    else:
        certificate = f"certified within {report['eps']:g} everywhere"
    if report["passes"] is None:
        work = f"{counted(report['pairs'], 'pair')}, {counted(report['events'], 'event')}"
    else:
        work = f"{report['passes']:g} passes over the data".replace(
            "1 passes", "1 pass", report["passes"] == 1
        )
    sizes = f"{counted(report['rows'], 'row')}, {counted(report['queries'], 'query')}"
    facts = [
        ("trained on", sizes),
        ("path", f"alpha {report['alpha_max']:.3g} to {report['alpha_min']:.3g}, {certificate}"),
        ("took", f"{work}, {seconds_for_people(report['seconds'])}"),
    ]
    found = report["selection"]
    if found is not None:
        facts.append(("chosen", f"alpha {found['alpha']:.3g}: {found['metric']} {rounded(found['value'])}"))
    facts += [(key, str(report[key])) for key in ("model", "plot", "csv") if report[key] is not None]
    return facts
