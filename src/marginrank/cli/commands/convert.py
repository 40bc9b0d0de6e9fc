"""``marginrank convert``: from one file format to another."""

from __future__ import annotations

import sys
from typing import cast

import click
import numpy as np

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.conversion import (
    FILE_KINDS,
    format_named,
    lost_parts,
    read_content,
    source_format,
    write_content,
)
from marginrank.cli.files.dataset import STREAMED, Writing, stream_to_disk, write_to_disk, writing_options
from marginrank.cli.files.reading import keep_apart, source_of
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import counted, print_json
from marginrank.data import RankingData
from marginrank.io import DiskDataset, Judgements, dump_judgements, dump_qrels, load_judgements
from marginrank.io.judgements import COMBINATIONS, Combine

_EVERY = tuple(FILE_KINDS)
_WRITTEN = tuple(name for name, kind in FILE_KINDS.items() if kind.holds)


@click.command(cls=Command)
@click.argument("source")
@click.argument("destination")
@reading_options("--from", "--format", formats=_EVERY, help="Format of SOURCE, if its ending does not tell.")
@option(
    "--to",
    group=MOST_USED,
    type=click.Choice(_WRITTEN),
    help="Format of DESTINATION, if its ending does not tell.",
)
@option(
    "--data",
    group=MOST_USED,
    help="The rows that SOURCE is about: for scores, run, qrels, quepid, pairs, group and weight.",
)
@options.pairs_by
@option(
    "--write-pairs-by",
    group="Data",
    type=click.Choice(["row", "docid"]),
    default="row",
    show_default=True,
    help="What to write pairs by.",
)
@option(
    "--unjudged", group="Data", type=float, help="Label of rows that the qrels do not name; else an error."
)
@option(
    "--combine",
    group="Data",
    type=click.Choice(COMBINATIONS),
    default="mean",
    show_default=True,
    help="What to make of several ratings of a document (quepid).",
)
@option("--tag", group="Data", default="marginrank", show_default=True, help="Name of a run that is written.")
@writing_options
@options.as_json
def convert(
    source: str,
    destination: str,
    reading: Reading,
    to: str | None,
    data: str | None,
    pairs_by: str,
    write_pairs_by: str,
    unjudged: float | None,
    combine: str,
    tag: str,
    chunk: int | None,
    chunk_rows: int | None,
    overwrite: bool,
    resume: bool,
    as_json: bool,
) -> None:
    """Read SOURCE and write it to DESTINATION in another format.

    Ranking data: letor (plain or .gz), lightgbm (with .query and .weight beside it), npz, csv, parquet, and
    mrd, a folder of chunks for data that outgrow memory. From letor, csv and parquet to mrd and back, a piece
    at a time is in memory. After Ctrl-C the writing of an mrd goes on with --resume.
    Files about the rows of ranking data, which --data names: TREC qrels (labels) and run (scores by document
    id), quepid (CSV of ratings by one or several raters, whose agreement is reported), scores (one a line),
    pairs (winner,loser[,weight[,margin]]), group (.query, .group) and weight. Without --data, quepid becomes
    qrels, or a list of labels in letor, for which features are still to be logged.

    What DESTINATION cannot hold is left out, with a warning; if that is what SOURCE is about, it is an error.

    \b
    Examples:
      marginrank convert train.txt.gz train.npz
      marginrank convert big.txt.gz train.mrd --chunk 256MB
      marginrank convert train.txt train.qrels
      marginrank convert a.scores a.run --data test.txt --tag mine
      marginrank convert a.run a.scores --data test.txt
      marginrank convert new.qrels new.txt --data test.txt --unjudged 0
      marginrank convert judgements.csv train.txt --format quepid
      marginrank convert judgements.csv train.txt --format quepid --data docs.txt
      marginrank convert prefs.csv docs.npz --from pairs --data docs.txt
    """
    if destination == "-" and to is None:
        raise click.UsageError("Standard output has no ending; say the format with --to.")
    if destination == "-" and as_json:
        raise click.UsageError("The report of --json and the data would mix on standard output.")
    kind = to or format_named(destination)
    if kind is None:
        raise click.UsageError(
            f"The ending of {destination} stands for no format; say it with --to: {', '.join(_WRITTEN)}."
        )
    writing = Writing(chunk, chunk_rows, overwrite, resume)
    writing.check(kind)
    keep_apart([destination], [source, data])
    read_as = source_format(source, reading)
    if read_as == "quepid" and kind in ("letor", "qrels") and data is None:
        _write_list(source, destination, kind, combine, as_json)
        return
    lost: list[str] = []
    judgements: Judgements | None = None
    if kind == "mrd" and read_as in STREAMED and "-" not in (source, destination) and data is None:
        rows: RankingData = stream_to_disk(source, read_as, destination, reading, writing)
    else:
        content = read_content(source, reading, data, pairs_by=pairs_by, unjudged=unjudged, combine=combine)
        judgements = content.judgements
        lost, rows = lost_parts(content, kind), content.data
        if kind == "mrd":
            rows = write_to_disk(rows, destination, writing)
        else:
            with interrupts.orderly(writes=True):
                write_content(content, destination, kind, pairs_by=write_pairs_by, tag=tag)
    if lost:
        click.echo(f"Warning: {kind} files cannot hold {', '.join(lost)}; left out.", err=True)
    files = {"source": source, "destination": destination, "format": kind}
    _report(rows, files, lost, judgements, as_json)


def _write_list(source: str, destination: str, kind: str, combine: str, as_json: bool) -> None:
    """Write judgements without features: a list of what features are still to be logged for."""
    found = load_judgements(source_of(source), combine=cast(Combine, combine))
    with interrupts.orderly(writes=True):
        target = sys.stdout.buffer if destination == "-" else destination
        if kind == "qrels":
            dump_qrels(found.qid.tolist(), found.docid.tolist(), found.label, target)
        else:
            dump_judgements(found, target)
    sizes = {"rows": len(found.label), "queries": len(set(found.qid.tolist())), "features": 0}
    if as_json:
        files = {"source": source, "destination": destination, "format": kind}
        print_json({**files, **sizes, "left_out": [], **_raters(found)})
    else:
        click.echo(_agreement(found), err=True)
        click.echo(", ".join(map(counted, sizes.values(), ("row", "query", "feature"))), err=True)
    if kind == "qrels":
        return  # which hold no features either
    click.echo(
        f"Warning: judgements hold no features, so {destination} is a list of queries, documents and labels, "
        "and nothing to train on yet. Log the features of its documents and write them on its lines, as "
        "'1:0.5 2:3', before the #; or name rows that have features with --data.",
        err=True,
    )


def _raters(found: Judgements | None) -> dict[str, float]:
    if found is None:
        return {}
    return {name: getattr(found, name) for name in ("n_ratings", "agreement", "alpha")}


def _report(
    rows: RankingData, files: dict[str, str], lost: list[str], judgements: Judgements | None, as_json: bool
) -> None:
    sizes = {"rows": rows.n_rows, "queries": rows.n_queries, "features": rows.n_features}
    if files["format"] == "mrd":
        sizes["chunks"] = cast(DiskDataset, rows).n_chunks
    if as_json:
        print_json({**files, **sizes, "left_out": lost, **_raters(judgements)})
    else:
        if judgements is not None:
            click.echo(_agreement(judgements), err=True)
        nouns = ("row", "query", "feature", "chunk")
        click.echo(", ".join(map(counted, sizes.values(), nouns)), err=True)


def _agreement(found: Judgements) -> str:
    """Return how far raters agree, in a line."""
    start = f"{counted(found.n_ratings, 'rating')} of {counted(len(found.label), 'document')}"
    if np.isnan(found.agreement):
        return f"{start}; no document has two"
    alpha = "undefined" if np.isnan(found.alpha) else f"{found.alpha:.3f}"
    return f"{start}; two raters agree on {found.agreement:.1%}, Krippendorff's alpha {alpha}"
