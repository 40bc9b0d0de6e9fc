"""``marginrank predict``: scores for the rows of a file."""

from __future__ import annotations

import click

from marginrank.cli import options
from marginrank.cli.files import read_data, write_scores
from marginrank.cli.output import print_json
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.model import RankingModel, align_width, unknown_columns


@click.command()
@click.argument("model")
@click.argument("data")
@click.option("-o", "--output", default="-", help="Where the scores go, one a line.  [default: stdout]")
@options.reading()
@options.ignore_unknown
@options.jobs
@options.as_json
def predict(
    model: str,
    data: str,
    output: str,
    reading: options.Reading,
    ignore_unknown: bool,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Score the rows of DATA with MODEL, in their order.

    Higher is better. Columns that DATA lacks are 0; columns that the model does not know are an error,
    unless they are ignored.

    \b
    Example:
      marginrank predict model.mrk test.txt -o scores.txt

    With --json a report is printed; it holds the scores, unless -o names a file for them.
    """
    loaded = RankingModel.load(model)
    rows = read_data(data, reading)
    scores = scores_of(loaded, rows, ignore_unknown, jobs, reading.first_feature)
    report = {"model": model, "data": data, "rows": rows.n_rows, "queries": rows.n_queries}
    if not as_json:
        write_scores(output, scores)
    elif output == "-":
        print_json({**report, "scores": scores})
    else:
        write_scores(output, scores)
        print_json({**report, "scores": output})


def scores_of(
    model: RankingModel, data: RankingData, ignore_unknown: bool, n_jobs: int | None, first: int = 1
) -> list[float]:
    """Return the scores of data that may be narrower or wider than the model; features from ``first`` on."""
    if model.feature_names is not None and data.feature_names is not None:
        named: list[float] = model.predict(data, n_jobs=n_jobs).tolist()
        return named
    unknown = [] if ignore_unknown else unknown_columns(data.X, model.n_features).tolist()
    if unknown:
        shown = ", ".join(str(column + first) for column in unknown[:8]) + (
            ", ..." if len(unknown) > 8 else ""
        )
        raise MarginRankError(
            f"The data have features that the model does not know (it has {model.n_features}): {shown}. "
            "Use --ignore-unknown to leave them out."
        )
    X = align_width(data.X, model.n_features, ignore_unknown=ignore_unknown)
    scores: list[float] = model.predict(X, data.qid, n_jobs=n_jobs).tolist()
    return scores
