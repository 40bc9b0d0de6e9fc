"""``marginrank convert``: from one file format to another."""

from __future__ import annotations

import click

from marginrank.cli import interrupts, options
from marginrank.cli.conversion import FORMATS, format_named, lost_parts, read_content, write_content
from marginrank.cli.output import counted, print_json

_EVERY = tuple(FORMATS)


@click.command()
@click.argument("source")
@click.argument("destination")
@options.reading("--from", formats=_EVERY, help="Format of SOURCE, if its ending does not tell.")
@click.option("--to", type=click.Choice(_EVERY), help="Format of DESTINATION, if its ending does not tell.")
@click.option(
    "--data",
    help="The rows that SOURCE is about: for scores, run, qrels, pairs, group and weight.",
)
@options.pairs_by
@click.option(
    "--write-pairs-by",
    type=click.Choice(["row", "docid"]),
    default="row",
    show_default=True,
    help="What to write pairs by.",
)
@click.option("--unjudged", type=float, help="Label of rows that the qrels do not name; else an error.")
@click.option("--tag", default="marginrank", show_default=True, help="Name of a run that is written.")
@options.as_json
def convert(
    source: str,
    destination: str,
    reading: options.Reading,
    to: str | None,
    data: str | None,
    pairs_by: str,
    write_pairs_by: str,
    unjudged: float | None,
    tag: str,
    as_json: bool,
) -> None:
    """Read SOURCE and write it to DESTINATION in another format.

    Ranking data: letor (plain or .gz), lightgbm (with .query and .weight beside it), npz, csv, parquet.
    Files about the rows of ranking data, which --data names: TREC qrels (labels) and run (scores by document
    id), scores (one a line), pairs (winner,loser[,weight[,margin]]), group (.query, .group) and weight.

    What DESTINATION cannot hold is left out, with a warning; if that is what SOURCE is about, it is an error.

    \b
    Examples:
      marginrank convert train.txt.gz train.npz
      marginrank convert train.txt train.qrels
      marginrank convert a.scores a.run --data test.txt --tag mine
      marginrank convert a.run a.scores --data test.txt
      marginrank convert new.qrels new.txt --data test.txt --unjudged 0
      marginrank convert prefs.csv docs.npz --from pairs --data docs.txt
    """
    if destination == "-" and to is None:
        raise click.UsageError("Standard output has no ending; say the format with --to.")
    if destination == "-" and as_json:
        raise click.UsageError("The report of --json and the data would mix on standard output.")
    kind = to or format_named(destination)
    if kind is None:
        raise click.UsageError(
            f"The ending of {destination} stands for no format; say it with --to: {', '.join(FORMATS)}."
        )
    content = read_content(source, reading, data, pairs_by=pairs_by, unjudged=unjudged)
    lost = lost_parts(content, kind)
    with interrupts.orderly(writes=True):
        write_content(content, destination, kind, pairs_by=write_pairs_by, tag=tag)
    if lost:
        click.echo(f"Warning: {kind} files cannot hold {', '.join(lost)}; left out.", err=True)
    rows = content.data
    report = {"rows": rows.n_rows, "queries": rows.n_queries, "features": rows.n_features}
    if as_json:
        files = {"source": source, "destination": destination, "format": kind}
        print_json({**files, **report, "left_out": lost})
    else:
        sizes = (
            counted(n, noun) for n, noun in zip(report.values(), ("row", "query", "feature"), strict=True)
        )
        click.echo(", ".join(sizes), err=True)
