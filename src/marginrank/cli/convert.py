"""``marginrank convert``: from one file format to another."""

from __future__ import annotations

import click

from marginrank import io as formats
from marginrank.cli.files import read_data


@click.command()
@click.argument("source")
@click.argument("destination")
@click.option("--from", "source_format", help="Format of SOURCE, where its ending does not tell.")
@click.option("--to", "destination_format", help="Format of DESTINATION, where its ending does not tell.")
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
    data = read_data(source, source_format)
    formats.write(data, destination, format=destination_format)
    click.echo(f"{data.n_rows:,} rows, {data.n_queries:,} queries, {data.n_features:,} features", err=True)
