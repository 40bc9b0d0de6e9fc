"""``marginrank predict``: scores for the rows of a file."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from marginrank.cli.command import Command
from marginrank.cli.files.reading import keep_apart, read_data, write_scores
from marginrank.cli.files.unknown_features import refuse_unknown
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import print_json
from marginrank.cli.workers.connection import Workers, over_workers
from marginrank.cli.workers.data import worker_rows, worker_scores
from marginrank.data import RankingData
from marginrank.data.matrices import in_memory
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError
from marginrank.model import RankingModel, align_width, model_matrix


@click.command(cls=Command)
@click.argument("model")
@click.argument("data", nargs=-1, required=True)
@click.option("-o", "--output", default="-", help="Where the scores go, one a line.  [default: stdout]")
@options.reading()
@options.ignore_unknown
@over_workers
@options.jobs
@options.as_json
def predict(
    model: str,
    data: tuple[str, ...],
    output: str,
    reading: options.Reading,
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
    keep_apart([output], [model, *data])
    loaded = RankingModel.load(model)
    rows, scores = scored(loaded, data, reading, workers, ignore_unknown=ignore_unknown, n_jobs=n_jobs)
    files = data[0] if len(data) == 1 else list(data)
    report = {"model": model, "data": files, "rows": rows.n_rows, "queries": rows.n_queries}
    if not as_json:
        write_scores(output, scores)
    elif output == "-":
        print_json({**report, "scores": scores})
    else:
        write_scores(output, scores)
        print_json({**report, "scores": output})


def scored(
    model: RankingModel,
    data: tuple[str, ...],
    reading: options.Reading,
    workers: Workers | None,
    *,
    ignore_unknown: bool,
    n_jobs: int | None,
    comments: bool = False,
) -> tuple[RankingData, list[float]]:
    """Read rows and score them, here or on workers; from there comments come only if they are wanted."""
    if workers is None:
        rows = read_data(data[0], reading)
        return rows, scores_of(model, rows, ignore_unknown, n_jobs, reading.first_feature)
    with workers.connected() as cluster:
        found = worker_rows(data, reading, cluster, comments=comments)
        return found.known, worker_scores(model, found, ignore_unknown, reading.first_feature).tolist()


def scores_of(
    model: RankingModel, data: RankingData, ignore_unknown: bool, n_jobs: int | None, first: int = 1
) -> list[float]:
    """Return the scores of data that may be narrower or wider than the model; features from ``first`` on."""
    if not in_memory(data.X):
        return _scores_by_chunk(model, data, data.X.n_chunks, ignore_unknown, n_jobs, first)
    if model.feature_names is not None and data.feature_names is not None:
        named: list[float] = model.predict(data, n_jobs=n_jobs).tolist()
        return named
    X = _as_wide_as(model.n_features, data, ignore_unknown, first)
    scores: list[float] = model.predict(X, data.qid, n_jobs=n_jobs).tolist()
    return scores


def _scores_by_chunk(
    model: RankingModel,
    data: RankingData,
    n_chunks: int,
    ignore_unknown: bool,
    n_jobs: int | None,
    first: int,
) -> list[float]:
    if model.query_normalization is not None and data.query_ids is None and n_chunks > 1:
        raise MarginRankError(
            "The model normalises within queries, and these data are one ranking in several chunks; convert "
            "them with a larger --chunk, so that there is one."
        )
    chunks = (scores_of(model, chunk, ignore_unknown, n_jobs, first) for chunk in data.chunks())
    return [score for scores in chunks for score in scores]


def aligned(data: RankingData, like: RankingData, ignore_unknown: bool, first: int = 1) -> RankingData:
    """Return data with the columns of the training data; features are counted from ``first``."""
    if like.feature_names is not None and data.feature_names is not None:
        X = model_matrix(data, like.n_features, like.feature_names)
    else:
        X = _as_wide_as(like.n_features, data, ignore_unknown, first)
    none = {"pairs": None, "pair_weight": None, "pair_margin": None, "allow_nonfinite": False}
    return rebuilt(data, X=X, qid=data.qid, feature_names=like.feature_names, **none)


def _as_wide_as(n_features: int, data: RankingData, ignore_unknown: bool, first: int) -> Any:
    X = data.X
    if not ignore_unknown:
        refuse_unknown(X, n_features, first)
    if not in_memory(X):
        narrow = partial(align_width, n_features=n_features, ignore_unknown=True)
        return X if data.n_features == n_features else X.changed(narrow, n_features)
    return align_width(X, n_features, ignore_unknown=True)
