"""``marginrank predict``: scores for the rows of a file."""

from __future__ import annotations

import click

from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.reading import check_places, keep_apart, write_scores
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import print_json
from marginrank.cli.workers.connection import Workers, over_workers
from marginrank.cli.workers.data import scored
from marginrank.model import RankingModel


@click.command(cls=Command)
@click.argument("model")
@click.argument("data", nargs=-1, required=True)
@option(
    "-o", "--output", group=MOST_USED, default="-", help="Where the scores go, one a line.  [default: stdout]"
)
@reading_options()
@options.ignore_unknown
@over_workers
@options.jobs
@options.as_json
def predict(
    model: str,
    data: tuple[str, ...],
    output: str,
    reading: Reading,
    ignore_unknown: bool,
    workers: Workers | None,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Score the rows of DATA with MODEL, in their order.

    Higher is better. Columns that DATA lacks are 0; columns that the model does not know are an error,
    unless they are ignored.

    \b
    Examples:
      marginrank predict model.mrk test.txt -o scores.txt
      marginrank predict model.mrk test.mrd -o scores.txt --dask tcp://scheduler:8786
      marginrank predict model.mrk part-*.txt -o scores.txt --dask local:4

    With --json a report is printed; it holds the scores, unless -o names a file for them.
    """
    check_places(data, "MODEL DATA...")
    keep_apart([output], [model, *data])
    loaded = RankingModel.load(model)
    rows, scores = scored(
        loaded, data, reading, workers, ignore_unknown=ignore_unknown, n_jobs=n_jobs, ranges=True
    )
    files = data[0] if len(data) == 1 else list(data)
    report = {"model": model, "data": files, "rows": rows.n_rows, "queries": rows.n_queries}
    if not as_json:
        write_scores(output, scores)
    elif output == "-":
        print_json({**report, "scores": scores})
    else:
        write_scores(output, scores)
        print_json({**report, "scores": output})
