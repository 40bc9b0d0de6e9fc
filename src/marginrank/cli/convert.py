"""``marginrank convert``: from one file format to another."""

from __future__ import annotations

import sys

import click

from marginrank import io as formats
from marginrank.cli.files import read_data

_CANNOT_HOLD = {
    "letor": ("sample_weight", "query_weight", "pairs", "feature_names"),
    "lightgbm": ("pairs", "feature_names"),
    "csv": ("comments", "pairs", "query_weight"),
    "parquet": ("comments", "pairs", "query_weight"),
}


@click.command()
@click.argument("source")
@click.argument("destination")
@click.option(
    "--from",
    "source_format",
    type=click.Choice(list(formats.FORMATS)),
    help="Format of SOURCE, where its ending does not tell.",
)
@click.option(
    "--to",
    "destination_format",
    type=click.Choice(list(formats.FORMATS)),
    help="Format of DESTINATION, where its ending does not tell.",
)
def convert(
    source: str,
    destination: str,
    source_format: str | None,
    destination_format: str | None,
) -> None:
    """Read ranking data from SOURCE and write them to DESTINATION in another format.

    \b
    Examples:
      marginrank convert train.txt.gz train.npz
      marginrank convert train.npz train.txt
    """
    if destination == "-" and destination_format is None:
        raise click.UsageError("Standard output has no ending; say the format with --to.")
    data = read_data(source, source_format)
    formats.write(data, sys.stdout.buffer if destination == "-" else destination, format=destination_format)
    kind = destination_format or formats.format_of(destination) or ""
    lost = [name for name in _CANNOT_HOLD.get(kind, ()) if getattr(data, name) is not None]
    if lost:
        what = ", ".join(name.replace("_", " ") for name in lost)
        click.echo(f"Warning: {kind} files cannot hold {what}; left out.", err=True)
    click.echo(f"{data.n_rows:,} rows, {data.n_queries:,} queries, {data.n_features:,} features", err=True)
