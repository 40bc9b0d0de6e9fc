"""``marginrank explain``: why rows stand where they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import click
import numpy as np

from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import aligned
from marginrank.cli.files.reading import check_files, keep_apart, known_docids, read_data, read_names
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.path_plot import check_plot, write_plot
from marginrank.cli.output.printing import print_json
from marginrank.data import RankingData
from marginrank.exceptions import MarginRankError, did_you_mean, shown_path
from marginrank.explanation import PairExplanation, RowExplanations
from marginrank.explanation.results import largest
from marginrank.export.exporting import column_names
from marginrank.model import RankingModel

_SHOWN = 12


@click.command(cls=Command)
@click.argument("model")
@click.argument("data", required=False)
@option("--query", group=MOST_USED, metavar="QID", help="The query to look at.")
@option(
    "--pair",
    nargs=2,
    group=MOST_USED,
    metavar="A B",
    help="Two of its rows, by docid in the comments of DATA, or by number from 1 where there are none.",
)
@option(
    "--permutation",
    "metric",
    group=MOST_USED,
    metavar="METRIC",
    callback=options.check_metric,
    help="What METRIC loses when a column is shuffled within queries.",
)
@option(
    "--repeats",
    "n_repeats",
    group="Search and validation",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    help="Shuffles of each column.",
)
@options.seed("the shuffles", group="Search and validation")
@option(
    "--top",
    "n",
    group="Output",
    type=click.IntRange(1, 1_000_000),
    default=_SHOWN,
    show_default=True,
    help="Columns to show.",
)
@option(
    "--names",
    group="Output",
    metavar="FILE",
    help="What to call the columns, one a line, with or without their numbers.  [default: as in the model, "
    "or f1, f2, ...]",
)
@option("--plot", group="Output", metavar="FILE", help="Draw a picture (.png, .pdf, .svg).")
@reading_options()
@options.ignore_unknown
@options.jobs
@options.as_json
def explain(
    model: str,
    data: str | None,
    query: str | None,
    pair: tuple[str, str] | None,
    metric: str | None,
    n_repeats: int,
    random_state: int,
    n: int,
    names: str | None,
    plot: str | None,
    reading: Reading,
    ignore_unknown: bool,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Say why MODEL ranks the rows of DATA as it does.

    Without DATA: the weights of a linear model, in units of the columns' deviations within queries. With it:
    what each column adds to the scores, over all rows, in a query, or between two rows. Contributions add up
    to the difference of the scores; for kernels they are integrated gradients.

    \b
    Examples:
      marginrank explain model.mrk
      marginrank explain model.mrk test.txt --permutation ndcg@10
      marginrank explain model.mrk test.txt --query 10032
      marginrank explain model.mrk test.txt --query 10032 --pair d17 d4 --names features.txt
    """
    keep_apart([plot], [model, data, names])
    check_files(names=names)
    if plot is not None:
        check_plot(plot)
    loaded = RankingModel.load(model)
    show = _Output(_names(names, loaded), n, plot, as_json)
    if data is None:
        for name, given in (("--query", query), ("--pair", pair), ("--permutation", metric)):
            if given is not None:
                raise click.UsageError(f"{name} looks at DATA, which is not given.")
        show(loaded.feature_weights())
        return
    rows = aligned(read_data(data, reading).in_memory(), loaded, ignore_unknown, reading.first_feature)
    if metric is not None:
        if query is not None or pair is not None:
            raise click.UsageError("--permutation is over all queries; leave out --query and --pair.")
        losses = loaded.permutation_importance(
            rows, metric=metric, n_repeats=n_repeats, random_state=random_state, n_jobs=n_jobs
        )
        show(losses)
        return
    if query is None and pair is None:
        show(loaded.explain(rows))
        return
    chosen = _Query.of(rows, query, pair)
    if pair is None:
        show.query(chosen, loaded)
        return
    show.pair(chosen, loaded, pair)


@dataclass(frozen=True)
class _Query:
    """The rows of a query, and what each is called."""

    name: str
    rows: RankingData
    ids: list[str]

    @classmethod
    def of(cls, data: RankingData, query: str | None, pair: tuple[str, str] | None) -> _Query:
        """Return the query of a name, or the one that two documents belong to."""
        ids = known_docids(data)
        if query is None:
            assert pair is not None
            query = _common_query(data, ids, pair)
        if data.qid is None:
            raise MarginRankError("The data have no query ids, so --query finds none.")
        names = [str(one) for one in data.qid]
        members = np.flatnonzero([name == query for name in names])
        if len(members) == 0:
            near = did_you_mean(query, list(dict.fromkeys(names)))
            raise MarginRankError(f"--query: the data have no query {shown_path(query)}.{near}")
        own = [str(k + 1) for k in range(len(members))] if ids is None else [ids[k] for k in members]
        return cls(query, data.subset(members), own)

    def row(self, name: str) -> int:
        """Return the number of a row."""
        found = [k for k, one in enumerate(self.ids) if one == name]
        if len(found) == 1:
            return found[0]
        what = "several rows" if found else "no row"
        raise MarginRankError(
            f"--pair: query {shown_path(self.name)} has {what} called {shown_path(name)}."
            f"{'' if found else did_you_mean(name, self.ids)}"
        )


def _common_query(data: RankingData, ids: list[str] | None, pair: tuple[str, str]) -> str:
    if ids is None or data.qid is None:
        raise MarginRankError(
            "--pair names rows of a query: give --query, too, as the data have no docids to find it by."
        )
    queries = [{str(data.qid[k]) for k, one in enumerate(ids) if one == name} for name in pair]
    both = queries[0] & queries[1]
    if len(both) != 1:
        what = "no query has" if not both else "several queries have"
        raise MarginRankError(f"--pair: {what} both rows; give --query, too.")
    return both.pop()


def _names(path: str | None, model: RankingModel) -> tuple[str, ...]:
    """Return what to call the columns: by a file of names, as in the model, or by number."""
    names = None if path is None else read_names(path)
    if names is not None and len(names) != model.n_features:
        raise MarginRankError(
            f"--names: the model has {model.n_features:,} columns, and {shown_path(str(path))} has "
            f"{len(names):,} names. Give one a line, also for columns that are not in use."
        )
    return column_names(names, model.feature_names, model.n_features)


@dataclass(frozen=True)
class _Output:
    """How to show explanations: by which names, how much of them, and where."""

    names: tuple[str, ...]
    n: int
    plot: str | None
    as_json: bool

    def __call__(self, found: Any) -> None:
        """Show what has a table."""
        found = self._drawn(found)
        if self.as_json:
            print_json(found.to_dict())
        else:
            click.echo(found.table(self.n))

    def _drawn(self, found: Any) -> Any:
        """Return an explanation by the names, after its picture."""
        found = replace(found, names=self.names)
        if self.plot is not None:
            write_plot(self.plot, found, n=self.n)
        return found

    def query(self, chosen: _Query, model: RankingModel) -> None:
        """Show the rows of a query from the best on, each with the columns that put it there."""
        found: RowExplanations = self._drawn(model.explain(chosen.rows))
        order = np.argsort(-found.margins, kind="stable").tolist()
        rows = [
            {
                "row": chosen.ids[k],
                "margin": float(found.margins[k]),
                "contributions": {
                    found.names[j]: float(found.contributions[k, j])
                    for j in largest(found.contributions[k], self.n)
                },
            }
            for k in order
        ]
        if self.as_json:
            print_json({"query": chosen.name, "method": found.method, "rows": rows})
            return
        click.echo(
            f"query {chosen.name}: scores above the mean row, and the columns that make them ({found.method})"
        )
        width = max(map(len, chosen.ids))
        for row, k in zip(rows, order, strict=True):
            parts = ", ".join(
                f"{found.names[j]} {found.contributions[k, j]:+.3g}"
                for j in largest(found.contributions[k], min(self.n, 4))
            )
            click.echo(f"{row['row']!s:<{width}}  {row['margin']:+10.4g}  {parts}")

    def pair(self, chosen: _Query, model: RankingModel, pair: tuple[str, str]) -> None:
        """Show why one row of a query stands above another."""
        X: Any = chosen.rows.X
        first, second = (X[[chosen.row(name)]] for name in pair)
        within = None if model.query_normalization is None else X
        found: PairExplanation = self._drawn(model.explain_pair(first, second, within=within))
        if self.as_json:
            print_json({"query": chosen.name, "a": pair[0], "b": pair[1], **found.to_dict()})
            return
        word = "above" if found.margin > 0 else "below" if found.margin < 0 else "level with"
        by = f"by {abs(found.margin):.4g} ({found.method})"
        click.echo(f"query {chosen.name}: {pair[0]} (a) is {word} {pair[1]} (b), {by}")
        click.echo(found.table(self.n))
