"""``marginrank compare``: whether one model, or one set of scores, is better than another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from marginrank.cli.command import Command
from marginrank.cli.files.columns import scores_of
from marginrank.cli.files.reading import (
    check_places,
    is_model,
    known_docids,
    labelled,
    read_data,
    read_scores,
)
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import print_json
from marginrank.metrics.against_first import compare_with_first
from marginrank.metrics.comparison import Comparison
from marginrank.model import RankingModel


@click.command(cls=Command)
@click.argument("data")
@click.argument("scores", nargs=-1, required=True)
@options.metric
@options.flavor
@options.test_seed
@options.resamples
@reading_options()
@options.ignore_unknown
@options.jobs
@options.as_json
def compare(
    data: str,
    scores: tuple[str, ...],
    metrics: tuple[str, ...],
    flavor: str,
    random_state: int,
    n_resamples: int,
    reading: Reading,
    ignore_unknown: bool,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Compare SCORES, of which there are two or more, on the queries of DATA.

    Each of SCORES is a file with a score a line, or a model (.mrk), which scores the rows first. The first
    one is what the others are compared with. Paired t, randomisation and bootstrap over queries,
    Holm-corrected over metrics and models; wins, ties and losses; the queries that changed most.

    \b
    Examples:
      marginrank compare test.txt old.mrk new.mrk --metric ndcg@10
      marginrank compare test.txt old.mrk new.mrk other.scores -m ndcg@10 -m map
    """
    if len(scores) < 2:
        raise click.UsageError(
            f"Two or more models or files of scores are compared; got one, {scores[0]}. For one alone there "
            "is marginrank evaluate."
        )
    check_places([data], "DATA SCORES...")
    if [data, *scores].count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    models = {name: RankingModel.load(name) for name in scores if is_model(name)}
    rows = read_data(data, reading)
    y = labelled(rows, data)
    values = [
        scores_of(models[name], rows, ignore_unknown, n_jobs, reading.first_feature)
        if name in models
        else read_scores(name, rows.n_rows)
        for name in scores
    ]
    found = compare_with_first(
        y,
        dict(zip(_labels(scores), values, strict=True)),
        qid=rows.qid,
        metrics=list(metrics),
        flavor=flavor,
        docid=known_docids(rows),
        n_resamples=n_resamples,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if as_json:
        print_json(_report(scores[0], found))
        return
    for number, (name, one) in enumerate(found.items()):
        click.echo("\n" * (number > 0) + f"a: {scores[0]}, b: {name}")
        click.echo(str(one))


def _labels(names: Sequence[str]) -> list[str]:
    """Return a name for each, with a number where it came before."""
    before = [names[:k].count(name) for k, name in enumerate(names)]
    return [f"{name} ({n + 1})" if n else name for name, n in zip(names, before, strict=True)]


def _report(first: str, found: dict[str, Comparison]) -> dict[str, Any]:
    """Return what JSON says: of two the comparison, of more a list of them."""
    reports = [{"a": first, "b": name, **one.to_dict()} for name, one in found.items()]
    return reports[0] if len(reports) == 1 else {"comparisons": reports}
