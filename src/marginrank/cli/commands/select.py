"""``marginrank select``: features chosen one after the other, and what each adds."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import used_columns
from marginrank.cli.files.reading import labelled
from marginrank.cli.files.training_files import TrainingFiles, check_outputs, labelled_files
from marginrank.cli.options import shared as options
from marginrank.cli.options.methods import given_parameters, scale
from marginrank.cli.options.shared import positive_or
from marginrank.cli.output.path_plot import check_plot, write_plot
from marginrank.cli.output.printing import (
    counted,
    print_facts,
    print_json,
    print_table,
    rounded,
    scale_fact,
    seconds_for_people,
)
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.exceptions import InterruptedWarning, MarginRankError
from marginrank.metrics import Metric, parse_metric
from marginrank.system.progress_bar import ProgressBar
from marginrank.training.selection import DEFAULT_METRIC

# Letters of a metric that a column of the table is headed by.
_WIDEST = 20


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@option(
    "--features",
    "n_features",
    group=MOST_USED,
    type=click.IntRange(min=1),
    required=True,
    help="How many features to choose.",
)
@option("-o", "--output", group=MOST_USED, type=click.Path(dir_okay=False), help="Write a model (.mrk).")
@option(
    "--rule",
    group=MOST_USED,
    type=click.Choice(["all", "best", "one_se"]),
    default="all",
    show_default=True,
    help="Which model -o writes: of all chosen features, of the best number by --metric, or of the smallest "
    "that is worse by at most half of the error of the difference.",
)
@option(
    "--alpha",
    group=MOST_USED,
    metavar="NUMBER|auto",
    callback=positive_or("auto"),
    help="Strength of the regularisation, as of train --method rankrls; auto: that of least held-out error.  "
    "[default: 1e-4]",
)
@scale
@option(
    "-m",
    "--metric",
    group=MOST_USED,
    metavar="METRIC",
    callback=options.check_metric,
    help=f"What to measure left-out queries by, such as ndcg@10 or map.  [default: {DEFAULT_METRIC}]",
)
@option("--plot", group="Output", type=click.Path(dir_okay=False), help="Draw the curves (.png, .pdf, .svg).")
@labelled_files
@options.flavor
@option("--keep-partial", group="Output", is_flag=True, help="After Ctrl-C, go on with the features so far.")
@options.jobs
@options.as_json
def select(
    n_features: int,
    output: str | None,
    rule: str,
    metric: str | None,
    flavor: str,
    plot: str | None,
    files: TrainingFiles,
    keep_partial: bool,
    n_jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Choose features of DATA one after the other, and show what each adds.

    Each is the one with which least squares (train --method rankrls) have the least error on queries that
    are left out of the training in turns; without query ids, on pairs of rows. The metric is that of the
    same left-out scores, and the error beside a figure that of its difference to the best one, over queries.

    \b
    Examples:
      marginrank select train.txt --features 20
      marginrank select train.txt --features 20 -m ndcg@10 --plot features.png -o model.mrk
      marginrank select train.txt --features 40 -m ndcg@10 --rule one_se -o model.mrk
    """
    parsed = None if metric is None else parse_metric(metric, flavor=flavor)
    if rule != "all" and output is None:
        raise click.UsageError(f"--rule {rule} names the model that -o writes; give -o, too.")
    check_outputs(files, output, plot)
    if plot is not None:
        check_plot(plot)
    rows, _ = files.read()
    if not in_memory(rows.X):
        raise MarginRankError(
            f"{files.data[0]}: features are chosen over data in memory, got a data set on disk; name a file "
            "that fits into memory."
        )
    labelled(rows, files.data[0])
    used = used_columns(rows)
    started = perf_counter()
    found = _chosen(used.of(rows), n_features, parsed, given_parameters(parameters), keep_partial, n_jobs)
    seconds = perf_counter() - started
    numbers = [used.numbers()[column] + files.reading.first_feature for column in found.features]
    names = found.feature_names or [f"f{number}" for number in numbers]
    count = len(found) if rule == "all" else found.n_best(rule)
    if output is not None:
        model = used.widened(found.model(count, query_normalization=files.query_normalization))
        with interrupts.orderly(writes=True):
            model.save(output)
    if plot is not None:
        known = rows.feature_names or [f"f{n + files.reading.first_feature}" for n in used.numbers()]
        write_plot(plot, found, feature_names=known)
    report = {**_report(found, rows, numbers), "seconds": seconds, "plot": plot, "model": output}
    report |= {"model_features": None if output is None else count}
    if as_json:
        print_json(report)
    else:
        _print_table(found, names)
        click.echo()
        print_facts(_facts(found, report))
    return interrupts.INTERRUPTED if found.status == "interrupted" else 0


def _chosen(
    rows: RankingData,
    n_features: int,
    metric: Metric | None,
    parameters: dict[str, Any],
    keep_partial: bool,
    n_jobs: int | None,
) -> Any:
    """Return the chosen features; after Ctrl-C those so far, if they are wanted."""
    from marginrank.paths import rank_rls_selection  # not above: the help need not wait for scikit-learn

    given = parameters if metric is None else {**parameters, "metric": metric}
    bar = ProgressBar("choosing features", lines=False, transient=True)
    with interrupts.orderly(writes=False), bar, warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedWarning)  # it is said below
        found = rank_rls_selection(rows, n_features=n_features, n_jobs=n_jobs, **given)
    if found.status == "interrupted":
        if not keep_partial:
            raise KeyboardInterrupt
        kept = f"the first {counted(len(found), 'feature')}"
        if len(found) == n_features:
            kept = f"the features chosen at alpha {found.alpha:.3g}"
        click.echo(f"Interrupted; {kept} are kept.", err=True)
    return found


def _report(found: Any, rows: RankingData, numbers: list[int]) -> dict[str, Any]:
    error, quality = found.error, found.quality
    return {
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "columns": rows.n_features,
        "held_out": found.held_out,
        "alpha": found.alpha,
        "scale": found.scale,
        "metric": found.metric,
        "error_without_features": found.error_without_features,
        "features": [
            {
                "feature": number,
                "name": None if found.feature_names is None else found.feature_names[k],
                "error": error.values[k],
                "error_standard_error": error.std[k],
                "error_difference_standard_error": error.diff_std[k],
                "value": quality.values[k],
                "standard_error": quality.std[k],
                "difference_standard_error": quality.diff_std[k],
            }
            for k, number in enumerate(numbers)
        ],
        "best": quality.best,
        "one_se": quality.smallest,
    }


def _print_table(found: Any, names: list[str]) -> None:
    error, quality = found.error, found.quality
    rows = []
    for k, name in enumerate(names):
        marks = {quality.smallest: "<- as good", quality.best: "<- best"}
        figures = [f"{error.values[k]:.5g}", f"{error.diff_std[k]:.1g}"]
        figures += [rounded(quality.values[k]), rounded(quality.diff_std[k]), marks.get(k + 1, "")]
        rows.append([str(k + 1), name, *figures])
    # Spelled out below, where it would make the table too wide for a terminal.
    metric = found.metric if len(found.metric) <= _WIDEST else "metric"
    header = ["features", "added", "error", "± to best", metric, "± to best", ""]
    print_table("", header, rows)


def _facts(found: Any, report: dict[str, Any]) -> list[tuple[str, str]]:
    sizes = f"{counted(report['rows'], 'row')}, {counted(report['queries'], 'query')}"
    quality = found.quality
    best = f"{counted(quality.best, 'feature')}: {found.metric} {rounded(quality.values[quality.best - 1])}"
    facts = [
        ("trained on", f"{sizes}, leaving out {report['held_out']} in turns"),
        *scale_fact(report),
        ("took", seconds_for_people(report["seconds"])),
        ("best", best),
    ]
    if quality.smallest != quality.best:
        near = rounded(quality.values[quality.smallest - 1])
        facts.append(("as good", f"{counted(quality.smallest, 'feature')}: {found.metric} {near}"))
    if report["model"] is not None:
        facts.append(("model", f"{report['model']}, {counted(report['model_features'], 'feature')}"))
    return facts + ([] if report["plot"] is None else [("plot", str(report["plot"]))])
