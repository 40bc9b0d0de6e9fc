"""``marginrank path``: the models of every alpha, and the best of them."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import UsedColumns, used_columns
from marginrank.cli.files.training_files import TrainingFiles, check_outputs, training_files
from marginrank.cli.options import shared as options
from marginrank.cli.options.path_methods import (
    choose_path,
    compute_path,
    is_solved,
    names_features,
    path_options,
    with_columns,
)
from marginrank.cli.output.path_curve import print_curve, write_curve
from marginrank.cli.output.path_plot import check_plot, write_plot
from marginrank.cli.output.printing import (
    counted,
    print_facts,
    print_json,
    rounded,
    scale_fact,
    seconds_for_people,
)
from marginrank.cli.output.progress import PathBar
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.exceptions import InterruptedWarning, MarginRankError
from marginrank.metrics import Metric
from marginrank.model import RankingModel

if TYPE_CHECKING:
    from marginrank.paths.curve import Curve

_POINTS = 200
_ENDS = 1e-3  # alphas are printed with three digits


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@option(
    "-o", "--output", group=MOST_USED, type=click.Path(dir_okay=False), help="Write the chosen model (.mrk)."
)
@option(
    "--alpha",
    group=MOST_USED,
    type=click.FloatRange(min=0, min_open=True),
    help="Which model -o writes, where --validate does not choose it.",
)
@option("--plot", group="Output", type=click.Path(dir_okay=False), help="Draw the path (.png, .pdf, .svg).")
@option("--csv", "table", group="Output", type=click.Path(dir_okay=False), help="Write the whole curve.")
@training_files
@path_options
@option(
    "--rule",
    group="Search and validation",
    type=click.Choice(["best", "one_se"]),
    default="best",
    show_default=True,
    help="The best alpha, or the largest that is worse by at most half of the error of the difference.",
)
@option(
    "--points",
    "n_alphas",
    group="Search and validation",
    type=click.IntRange(min=2),
    help="Alphas of the curve, to choose from; with --l1-ratio or bounds, those that are solved.  "
    f"[default: {_POINTS}, 50]",
)
@option("--keep-partial", group="Output", is_flag=True, help="After Ctrl-C, go on with the path so far.")
@options.jobs
@options.as_json
def path(
    output: str | None,
    alpha: float | None,
    plot: str | None,
    table: str | None,
    method: str | None,
    files: TrainingFiles,
    metric: Metric | None,
    rule: str,
    n_alphas: int | None,
    keep_partial: bool,
    n_jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Compute the models of every alpha on DATA, and choose one.

    Every model of the interval is certified to be within --eps of its optimum. --validate measures them by
    --metric and chooses the best. With --l1-ratio features enter one by one, at --points alphas that are
    solved.

    \b
    Examples:
      marginrank path train.txt --validate vali.txt -m ndcg@10 --plot path.png
      marginrank path train.txt --validate vali.txt -m map -o model.mrk
      marginrank path train.txt --target map --validate vali.txt -o model.mrk
      marginrank path train.txt --l1-ratio 0.95 --validate vali.txt -m ndcg@10 --plot path.png
      marginrank path train.txt --method rankrls --csv curve.csv --alpha 0.01 -o model.mrk
      marginrank path small.txt --kernel rbf --gamma 0.1 --graph sampled
    """
    name, chosen = choose_path(method, parameters, pairs=files.pairs is not None)
    _check_usage(files, metric, rule, alpha, (output, plot, table), as_json)
    rows, validation = _in_memory(files)
    keeps_columns = name == "kernel" or names_features(chosen)
    used = UsedColumns(None, rows.n_features) if keeps_columns else used_columns(rows)
    chosen = with_columns(chosen, rows, files.reading.first_feature)
    if n_alphas is not None and is_solved(chosen):
        chosen["n_alphas"] = n_alphas
    started = perf_counter()
    found = _computed(name, used.of(rows), chosen, keep_partial, n_jobs)
    seconds = perf_counter() - started
    if alpha is not None:
        alpha = _on_path(found, alpha)
    points = _POINTS if n_alphas is None else n_alphas
    from marginrank.paths.curve import measure_path  # not above: the help need not wait for scikit-learn

    curve = measure_path(found, None if validation is None else used.of(validation), metric, rule, points)
    if output is not None:
        model = used.widened(_model(found, curve, alpha, files))
        with interrupts.orderly(writes=True):
            model.save(output)
    if plot is not None:
        write_plot(plot, found, **({} if name == "kernel" else _feature_names(found, files, used)))
    if table is not None:
        write_curve(table, curve)
    written = {"model": output, "plot": plot, "csv": table}
    report = {"method": name, **_report(found, curve, rule, rows), "seconds": seconds, **written}
    if as_json:
        print_json({**report, "curve": curve.columns()})
    elif table != "-":
        print_curve(curve)
        click.echo()
        print_facts(_facts(report))
    return interrupts.INTERRUPTED if found.status_ == "interrupted" else 0


def _in_memory(files: TrainingFiles) -> tuple[RankingData, RankingData | None]:
    """Return the rows of the files; refuse those that stay on disk."""
    rows, validation = files.read()
    if not in_memory(rows.X):
        raise MarginRankError(
            f"{files.data}: path computes over data in memory, got a data set on disk; name a file that fits "
            "into memory, or search over a grid of alphas with tune."
        )
    return rows, validation


def _check_usage(
    files: TrainingFiles,
    metric: Metric | None,
    rule: str,
    alpha: float | None,
    written: tuple[str | None, str | None, str | None],
    as_json: bool,
) -> None:
    """Refuse what cannot work before any file is read."""
    output, plot, table = written
    asked = {"--metric": metric, "--rule one_se": None if rule == "best" else rule}
    for given, value in asked.items():
        if value is not None and files.eval_set is None:
            raise click.UsageError(f"{given} needs --validate, which names the data to choose on.")
    if output is not None and files.eval_set is None and alpha is None:
        raise click.UsageError(
            "-o needs --validate, which names the data to choose on, or --alpha, which names the model."
        )
    if alpha is not None and files.eval_set is not None:
        raise click.UsageError("--alpha names the model that -o writes, and --validate chooses it; give one.")
    if alpha is not None and output is None:
        raise click.UsageError("--alpha names the model that -o writes; give -o, too.")
    if table == "-" and as_json:
        raise click.UsageError("--csv - and --json would mix on standard output.")
    check_outputs(files, output, plot, table)
    if plot is not None:
        check_plot(plot)


def _computed(
    name: str, rows: RankingData, parameters: dict[str, Any], keep_partial: bool, n_jobs: int | None
) -> Any:
    """Return the path; after Ctrl-C its part so far, if that is wanted."""
    with interrupts.orderly(writes=False), PathBar() as bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)  # it is said below
        found = compute_path(name, rows, parameters, bar, n_jobs)
    if found.status_ == "interrupted":
        if not keep_partial:
            raise KeyboardInterrupt
        click.echo(f"Interrupted; the path down to alpha {found.alpha_min_:.3g} is kept.", err=True)
    return found


def _on_path(path: Any, alpha: float) -> float:
    """Return the alpha whose model is written: itself, or the nearest one that was solved.

    One that is not on the path is refused, before anything is written.
    """
    if not hasattr(path, "nearest"):
        path.coef_at(alpha)
        return alpha
    if not path.alpha_min_ * (1.0 - _ENDS) <= alpha <= path.alpha_max_ * (1.0 + _ENDS):
        path.coef_at(alpha)
    solved: float = path.nearest(alpha)
    if abs(solved - alpha) > _ENDS * alpha:
        click.echo(
            f"Of the solved alphas {solved:.6g} is nearest to {alpha:g}; its model is written.", err=True
        )
    return solved


def _feature_names(path: Any, files: TrainingFiles, used: UsedColumns) -> dict[str, list[str]]:
    """Return what to call columns without a name: their numbers in the data file."""
    if path.feature_names_ is not None:
        return {}
    return {"feature_names": [str(number + files.reading.first_feature) for number in used.numbers()]}


def _model(path: Any, curve: Curve, alpha: float | None, files: TrainingFiles) -> RankingModel:
    normalization = files.query_normalization
    model: RankingModel = (
        path.to_model(alpha, query_normalization=normalization)
        if curve.selection is None
        else curve.selection.to_model(query_normalization=normalization)
    )
    return model


def _report(path: Any, curve: Curve, rule: str, rows: RankingData) -> dict[str, Any]:
    chosen = curve.selection
    figures = ("n_events_", "n_pairs_", "n_solutions_", "n_passes_")
    return {
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "features": rows.n_features,
        "status": path.status_,
        "scale": getattr(path, "scale_", None),
        "alpha_max": float(curve.alphas[0]),
        "alpha_min": path.alpha_min_,
        "eps": getattr(path, "eps", None),
        "solved": len(path.alphas) if hasattr(path, "nearest") else None,
        "gap": float(curve.gap.max()),
        **{name.strip("_").removeprefix("n_"): getattr(path, name, None) for name in figures},
        "selection": None
        if chosen is None
        else {
            "metric": chosen.metric,
            "rule": rule,
            "alpha": chosen.alpha,
            "value": chosen.score,
            "standard_error": float(chosen.std[chosen.selection.index]),
        },
    }


def _facts(report: dict[str, Any]) -> list[tuple[str, str]]:
    if report["eps"] is None:
        certificate = f"gap at most {report['gap']:.1e} at the points of the curve"
    elif report["solved"] is not None:
        certificate = f"{counted(report['solved'], 'model')}, each certified within {report['eps']:g}"
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
        *scale_fact(report),
        ("path", f"alpha {report['alpha_max']:.3g} to {report['alpha_min']:.3g}, {certificate}"),
        ("took", f"{work}, {seconds_for_people(report['seconds'])}"),
    ]
    found = report["selection"]
    if found is not None:
        facts.append(("chosen", f"alpha {found['alpha']:.3g}: {found['metric']} {rounded(found['value'])}"))
    facts += [(key, str(report[key])) for key in ("model", "plot", "csv") if report[key] is not None]
    return facts
