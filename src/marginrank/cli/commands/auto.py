"""``marginrank auto``: the best of several rankers on a data file, and a table of all of them."""

from __future__ import annotations

from time import perf_counter
from typing import Any, get_args

import click

from marginrank.choices import CandidateName
from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.commands.evaluate import measure, print_evaluation, summary
from marginrank.cli.files.training_files import TrainingFiles, check_outputs, training_files
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import (
    counted,
    print_facts,
    print_json,
    rounded,
    seconds_for_people,
)
from marginrank.cli.output.progress import CandidateBar
from marginrank.data import RankingData
from marginrank.metrics import Metric
from marginrank.model import RankingModel

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Return a time in seconds: a number with a unit, or without one."""
    if value is None:
        return None
    number, unit = (value[:-1], value[-1:]) if value[-1:] in _UNITS else (value, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = float("nan")
    if not 0.0 < seconds < float("inf"):
        raise click.BadParameter("must be a positive time, such as 60s, 5m or 1.5h.")
    return seconds


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@options.model_file
@training_files
@option(
    "--budget",
    group=MOST_USED,
    metavar="TIME",
    callback=_seconds,
    help="No further candidate begins after this time: 60s, 5m, 1.5h. One that has begun is finished.",
)
@option(
    "--candidate",
    "candidates",
    group=MOST_USED,
    type=click.Choice(get_args(CandidateName)),
    multiple=True,
    help="A ranker to try; repeat for several, which are tried in this order.  [default: rankrls, "
    "rankrls-kernel; with more columns than rows also ranksvm-squared, ranksvm]",
)
@option(
    "--cv",
    group="Search and validation",
    type=click.IntRange(min=2),
    default=5,
    show_default=True,
    help="Folds of whole queries, the same for every candidate.",
)
@option(
    "--repeats",
    group="Search and validation",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Partitions into folds that a close choice among fewer than 200 queries rests on, where there is no "
    "--budget.",
)
@options.seed("the landmarks of kernels. Nothing else is random")
@option("--keep-partial", group="Output", is_flag=True, help="After Ctrl-C, write the best model so far.")
@options.jobs
@options.as_json
def auto(
    output: str,
    files: TrainingFiles,
    metric: Metric | None,
    candidates: tuple[str, ...],
    keep_partial: bool,
    n_jobs: int | None,
    as_json: bool,
    **parameters: Any,
) -> int:
    """Train several rankers on DATA, and write the best of them to a file.

    Each candidate is searched for its own alpha by cross-validation over the same folds. The best mean is
    taken; a linear ranker in place of a kernel within half a standard error of their difference. --validate
    is reported on, and selects nothing.

    \b
    Examples:
      marginrank auto train.txt -o model.mrk
      marginrank auto train.txt -o model.mrk --budget 60s -m ndcg@10 --validate vali.txt
      marginrank auto train.txt -o model.mrk --candidate rankrls --candidate ndcg --candidate ranksvm
    """
    if files.pairs is not None:
        raise click.UsageError("--pairs is not for auto, which ranks labelled rows; use train.")
    check_outputs(files, output)
    from marginrank.estimators import AutoRanker  # not above: the help need not wait for scikit-learn

    settings: dict[str, Any] = parameters | ({} if metric is None else {"metric": metric})
    ranker = AutoRanker(candidates=list(candidates) or None, n_jobs=n_jobs, **settings)
    rows, validation = files.read()
    started = perf_counter()
    with interrupts.orderly(writes=False):
        interrupted = _fit(ranker, rows, keep_partial)
    seconds = perf_counter() - started
    model = RankingModel.from_estimator(ranker, query_normalization=files.query_normalization)
    found = None
    if validation is not None:
        scores = ranker.predict(validation).tolist()
        found = measure(validation, scores, (str(ranker.results_.metric),), "standard", n_jobs)
    with interrupts.orderly(writes=True):
        model.save(output)
    report = {"model": output, **_report(ranker, rows), "seconds": seconds}
    if as_json:
        print_json({**report, "validation": None if found is None else summary(found)})
    else:
        _print(ranker, report)
        if found is not None:
            click.echo()
            print_evaluation(f"on {files.eval_set}", found)
    return interrupts.INTERRUPTED if interrupted else 0


def _fit(ranker: Any, rows: RankingData, keep_partial: bool) -> bool:
    """Train; return whether the user interrupted and wants the best so far."""
    try:
        with CandidateBar() as bar:
            ranker.fit(rows, callbacks=bar)
    except KeyboardInterrupt:
        if not (keep_partial and hasattr(ranker, "best_estimator_")):
            raise
        click.echo("Interrupted; the best model so far is kept.", err=True)
        return True
    return False


def _report(ranker: Any, rows: RankingData) -> dict[str, Any]:
    best = ranker.best_estimator_
    return {
        "rows": rows.n_rows,
        "queries": rows.n_queries,
        "features": rows.n_features,
        "metric": ranker.results_.metric,
        "chosen": ranker.best_name_,
        "value": ranker.best_score_,
        "alpha": best.alpha_,
        "scale": best.scale_,
        "gap": best.gap_,
        "partitions": ranker.n_partitions_,
        "candidates": ranker.results_.to_dicts(),
    }


def _print(ranker: Any, report: dict[str, Any]) -> None:
    click.echo(f"{ranker.results_}\n")
    sizes = f"{counted(report['rows'], 'row')}, {counted(report['queries'], 'query')}"
    several = report["partitions"] > 1
    partitions = f" over {report['partitions']} partitions into folds" if several else ""
    figure = f"{report['metric']} {rounded(report['value'])}"
    print_facts(
        [
            ("trained on", f"{sizes}; measured by cross-validation{partitions}"),
            ("chosen", f"{report['chosen']} at alpha {report['alpha']:.3g}: {figure}"),
            ("took", seconds_for_people(report["seconds"])),
            ("model", str(report["model"])),
        ]
    )
