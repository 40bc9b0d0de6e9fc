"""``marginrank predict``: scores for the rows of a file."""

from __future__ import annotations

from typing import Any

import click

from marginrank.cli import options
from marginrank.cli.files import read_data, write_scores
from marginrank.cli.output import print_json
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError
from marginrank.model import RankingModel, align_width, model_matrix, unknown_columns


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
    X = _as_wide_as(model.n_features, data, ignore_unknown, first)
    scores: list[float] = model.predict(X, data.qid, n_jobs=n_jobs).tolist()
    return scores


def aligned(data: RankingData, like: RankingData, ignore_unknown: bool, first: int = 1) -> RankingData:
    """Return data with the columns of the training data; features are counted from ``first``."""
    if like.feature_names is not None and data.feature_names is not None:
        X = model_matrix(data, like.n_features, like.feature_names)
    else:
        X = _as_wide_as(like.n_features, data, ignore_unknown, first)
    return RankingData(
        X,
        data.y,
        qid=data.qid,
        sample_weight=data.sample_weight,
        query_weight=data.query_weight,
        feature_names=like.feature_names,
        comments=data.comments,
    )


def _as_wide_as(n_features: int, data: RankingData, ignore_unknown: bool, first: int) -> Any:
    unknown = [] if ignore_unknown else unknown_columns(data.X, n_features).tolist()
    if unknown:
        shown = ", ".join(str(column + first) for column in unknown[:8]) + (
            ", ..." if len(unknown) > 8 else ""
        )
        raise MarginRankError(
            f"The data have features that the model does not know (it has {n_features}): {shown}. "
            "Use --ignore-unknown to leave them out."
        )
    return align_width(data.X, n_features, ignore_unknown=ignore_unknown)
