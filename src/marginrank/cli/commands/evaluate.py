"""``marginrank evaluate``: how good scores are."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from marginrank.cli.command import Command, option
from marginrank.cli.files.reading import (
    check_places,
    is_model,
    keep_apart,
    known_docids,
    labelled,
    read_files,
    read_scores,
    write_table,
)
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import counted, print_json, print_table, rounded
from marginrank.cli.workers.connection import Workers, over_workers
from marginrank.cli.workers.data import worker_rows
from marginrank.data import RankingData
from marginrank.metrics import Evaluation
from marginrank.metrics import evaluate as evaluate_scores


@click.command(cls=Command)
@click.argument("data", nargs=-1, required=True)
@click.argument("scores")
@options.metric
@options.flavor
@option(
    "--per-query",
    group="Output",
    type=click.Path(dir_okay=False),
    help="Also write a CSV row for each query.",
)
@option(
    "--intervals",
    group="Output",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="LEVEL",
    help="Also intervals of the means, by bootstrap over queries; 0.95, say.",
)
@reading_options()
@over_workers
@options.jobs
@options.as_json
def evaluate(
    data: tuple[str, ...],
    scores: str,
    metrics: tuple[str, ...],
    flavor: str,
    per_query: str | None,
    intervals: float | None,
    reading: Reading,
    workers: Workers | None,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Measure SCORES, one a line, against the labels of DATA.

    SCORES may be a model (.mrk), too: it scores the rows first.

    \b
    Examples:
      marginrank evaluate test.txt scores.txt -m ndcg@10 -m map --per-query out.csv
      marginrank evaluate test.txt model.mrk --intervals 0.95
      marginrank evaluate test.mrd model.mrk --dask tcp://scheduler:8786
    """
    check_places(data, "DATA... SCORES")
    if [*data, scores].count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    if per_query == "-" and as_json:
        raise click.UsageError("--per-query - and --json would mix on standard output.")
    keep_apart([per_query], [*data, scores])
    rows, values = _scored(data, scores, reading, workers, n_jobs)
    labelled(rows, data[0])
    found = measure(rows, values, metrics, flavor, n_jobs, intervals)
    if per_query is not None:
        write_per_query(per_query, found)
    if as_json:
        print_json(summary(found))
    else:
        print_evaluation("", found)


def _scored(
    data: tuple[str, ...], scores: str, reading: Reading, workers: Workers | None, n_jobs: int | None
) -> tuple[RankingData, Any]:
    """Return the rows and their scores, which a file holds or a model gives."""
    if is_model(scores):
        from marginrank.cli.workers.data import scored
        from marginrank.model import RankingModel

        model = RankingModel.load(scores)
        return scored(model, data, reading, workers, ignore_unknown=False, n_jobs=n_jobs, comments=True)
    if workers is None:
        rows = read_files(data, reading)
    else:
        with workers.connected() as cluster:
            rows = worker_rows(data, reading, cluster, comments=True).known
    return rows, read_scores(scores, rows.n_rows)


def measure(
    data: RankingData,
    scores: Any,
    metrics: tuple[str, ...],
    flavor: str,
    n_jobs: int | None,
    intervals: float | None = None,
) -> Evaluation:
    """Evaluate scores of labelled data."""
    return evaluate_scores(
        data.y,
        scores,
        qid=data.qid,
        metrics=list(metrics),
        flavor=flavor,
        docid=known_docids(data),
        intervals=intervals,
        n_jobs=n_jobs,
    )


def summary(found: Evaluation) -> dict[str, Any]:
    """Return what JSON output says of an evaluation."""
    return {
        "metrics": dict(found),
        **({} if found.level is None else {"level": found.level, "intervals": found.intervals}),
        "flavor": found.flavor,
        "n_queries": found.n_queries,
        "n_empty": found.n_empty,
        "empty_counts": found.empty_counts,
        "n_tied": found.n_tied,
    }


def print_evaluation(title: str, found: Evaluation) -> None:
    """Print the means, and how many queries were empty or tied."""
    header, ends = ["metric", "mean", "empty queries"], found.intervals
    rows = [[name, rounded(value), f"{found.empty_counts[name]:,}"] for name, value in found.items()]
    if found.level is not None:
        header.insert(2, f"{found.level:.4g} interval")
        for row in rows:
            row.insert(2, " to ".join(map(rounded, ends[row[0]])))
    print_table(title, header, rows)
    click.echo(f"{counted(found.n_queries, 'query')}, {found.n_tied:,} with ties; flavor {found.flavor}")


def write_per_query(path: str, found: Evaluation) -> None:
    """Write a CSV file with a row for each query."""
    ids = np.array(["all"]) if found.query_ids is None else found.query_ids
    columns = [found.per_query[name] for name in found]
    rows = (
        [query, *("" if np.isnan(v) else repr(float(v)) for v in values)]
        for query, *values in zip(ids, *columns, strict=True)
    )
    write_table(path, ["qid", *found], rows)
