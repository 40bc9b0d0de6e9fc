"""``marginrank compare``: whether one set of scores is better than another."""

from __future__ import annotations

import click

from marginrank.cli.command import Command, option
from marginrank.cli.files.reading import known_docids, labelled, read_data, read_scores
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import print_json
from marginrank.metrics.comparison import compare as compare_scores


@click.command(cls=Command)
@click.argument("data")
@click.argument("scores_a")
@click.argument("scores_b")
@options.metric
@options.flavor
@option(
    "--seed",
    "random_state",
    group="Test",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the resampling tests.",
)
@option(
    "--resamples",
    "n_resamples",
    group="Test",
    type=click.IntRange(min=1),
    default=9999,
    show_default=True,
    help="Resamples of each test.",
)
@reading_options()
@options.jobs
@options.as_json
def compare(
    data: str,
    scores_a: str,
    scores_b: str,
    metrics: tuple[str, ...],
    flavor: str,
    random_state: int,
    n_resamples: int,
    reading: Reading,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Compare SCORES_A with SCORES_B on the queries of DATA.

    Paired t, randomisation and bootstrap over queries, Holm-corrected over the metrics; wins, ties and
    losses; the queries that changed most.

    \b
    Example:
      marginrank compare test.txt a.scores b.scores --metric ndcg@10
    """
    if [data, scores_a, scores_b].count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    rows = read_data(data, reading)
    y = labelled(rows, data)
    found = compare_scores(
        y,
        read_scores(scores_a, rows.n_rows),
        read_scores(scores_b, rows.n_rows),
        qid=rows.qid,
        metrics=list(metrics),
        flavor=flavor,
        docid=known_docids(rows),
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if as_json:
        print_json(found.to_dict())
    else:
        click.echo(str(found))
