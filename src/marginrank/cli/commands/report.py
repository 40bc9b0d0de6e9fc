"""``marginrank report``: one HTML file about data, models and scores."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import aligned, scores_of
from marginrank.cli.files.reading import (
    check_files,
    is_model,
    keep_apart,
    labelled,
    read_data,
    read_names,
    read_scores,
)
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import bytes_for_people, print_facts
from marginrank.data import RankingData
from marginrank.data.ranking_data import rebuilt
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import open_for_writing
from marginrank.model import RankingModel
from marginrank.report.candidates import Candidate


@click.command(cls=Command)
@click.argument("models", nargs=-1)
@option(
    "-o",
    "--output",
    "file",
    group=MOST_USED,
    required=True,
    type=click.Path(dir_okay=False),
    help="The file to write (.html).",
)
@option("--train", group=MOST_USED, metavar="DATA", help="What was trained on; the path is computed on it.")
@option("--test", group=MOST_USED, metavar="DATA", help="Labelled rows to measure on.")
@option(
    "--validate",
    "validation",
    group=MOST_USED,
    metavar="DATA",
    help="Labelled rows that the path chooses its alpha by.",
)
@option("--names", group="Data", type=click.Path(dir_okay=False), help="Names of the features, one a line.")
@options.metric
@options.flavor
@option("--no-path", group="Output", is_flag=True, help="Leave out the models of every alpha.")
@option("--title", group="Output", default="Ranking report", show_default=True, help="Of the page.")
@option(
    "--level",
    group="Test",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the intervals of means.",
)
@options.test_seed
@options.resamples
@reading_options()
@options.ignore_unknown
@options.jobs
def report(
    models: tuple[str, ...],
    file: str,
    train: str | None,
    test: str | None,
    validation: str | None,
    names: str | None,
    metrics: tuple[str, ...],
    flavor: str,
    no_path: bool,
    title: str,
    level: float,
    random_state: int,
    n_resamples: int,
    reading: Reading,
    ignore_unknown: bool,
    n_jobs: int | None,
) -> None:
    """Write a page to look at, in one HTML file, about data, models and scores.

    Each of MODELS is a model (.mrk), or a file with a score for each row of --test. The first one is what the
    others are compared with. The page needs no network, and can be sent: data, certificates, metrics with
    intervals, paired differences, the models of every alpha with a slider, weights, and every query.

    \b
    Examples:
      marginrank report --train train.txt --test test.txt a.mrk b.mrk -o report.html
      marginrank report --test test.txt old.scores new.scores -m ndcg@10 -m map -o report.html
      marginrank report --train train.txt -o data.html
    """
    _check_usage(models, file, train, test, validation)
    check_files(names=names)
    called = None if names is None else tuple(read_names(names))
    loaded = {name: RankingModel.load(name) for name in models if is_model(name)}
    rows = {
        name: _named(read_data(path, reading).in_memory(), reading.first_feature, called)
        for name, path in (("train", train), ("test", test), ("validation", validation))
        if path is not None
    }
    if test is not None and models:
        labelled(rows["test"], test)
    shown = [
        _candidate(label, name, loaded.get(name), rows.get("test"), reading, ignore_unknown, n_jobs, called)
        for label, name in zip(_labels(models), models, strict=True)
    ]
    first = reading.first_feature
    if "train" in rows:
        for name in rows.keys() - {"train"}:
            rows[name] = aligned(rows[name], rows["train"], ignore_unknown, first)
    from marginrank.report.writing import report_html  # not above: the help need not wait

    settings: dict[str, Any] = {"metrics": list(metrics), "flavor": flavor, "level": level, "title": title}
    settings |= {"n_resamples": n_resamples, "random_state": random_state, "n_jobs": n_jobs}
    settings |= {name: rows.get(name) for name in ("train", "test", "validation")}
    page = report_html(shown, path=None if no_path else "auto", **settings)
    text = page.encode("utf-8", "replace")
    with interrupts.orderly(writes=True), open_for_writing(file) as stream:
        stream.write(text)
    print_facts([("report", file), ("size", bytes_for_people(len(text)))])


def _check_usage(
    models: tuple[str, ...], file: str, train: str | None, test: str | None, validation: str | None
) -> None:
    """Refuse what cannot work before any file is read."""
    if not models and train is None and test is None:
        raise click.UsageError("A report needs something to show: models, --train or --test.")
    read = (*models, train, test, validation)
    if read.count("-") > 1:
        raise click.UsageError("Only one of the inputs can come from standard input.")
    if test is None and not all(map(is_model, models)):
        raise click.UsageError("Files of scores need --test, the rows that they are of; models end in .mrk.")
    check_files(train=train, test=test, validation=validation)
    keep_apart([file], read)


def _candidate(
    label: str,
    name: str,
    model: RankingModel | None,
    test: RankingData | None,
    reading: Reading,
    ignore_unknown: bool,
    n_jobs: int | None,
    called: tuple[str, ...] | None,
) -> Candidate:
    if model is None:
        if test is None:
            raise MarginRankError(f"{name}: scores need --test, the rows that they are of.")
        return Candidate(label, None, np.asarray(read_scores(name, test.n_rows)), None)
    if test is None:
        return Candidate(label, model, None, None, _fitting(called, model))
    scores = np.array(scores_of(model, test, ignore_unknown, n_jobs, reading.first_feature))
    # Warned of once, by scores_of.
    rows = aligned(test, model, True, reading.first_feature)
    return Candidate(label, model, scores, rows, _fitting(called, model))


def _fitting(names: tuple[str, ...] | None, model: RankingModel) -> tuple[str, ...] | None:
    """Return names for the columns of a model that has none, if there is one for each."""
    if names is None or model.feature_names is not None:
        return None
    if len(names) != model.n_features:
        raise MarginRankError.naming(
            "names",
            f"must have a line for each of the {model.n_features:,} features; got {len(names):,}.",
        )
    return names


def _named(data: RankingData, first: int, names: tuple[str, ...] | None) -> RankingData:
    """Return data whose columns have names: their own, given ones, or their numbers in the file."""
    if data.feature_names is not None or (first == 1 and names is None):
        return data
    if names is None or len(names) != data.n_features:  # files may end with an earlier feature
        names = tuple(f"f{j + first}" for j in range(data.n_features)) if first != 1 else None
    return rebuilt(data, qid=data.qid, feature_names=names)


def _labels(names: tuple[str, ...]) -> list[str]:
    """Return a name for each, with a number where it came before."""
    before = [names[:k].count(name) for k, name in enumerate(names)]
    return [f"{name} ({n + 1})" if n else name for name, n in zip(names, before, strict=True)]
