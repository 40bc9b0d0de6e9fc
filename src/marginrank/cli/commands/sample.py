"""``marginrank sample``: files to try the other commands on."""

from __future__ import annotations

from pathlib import Path

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import counted, print_json
from marginrank.exceptions import MarginRankError, shown_path
from marginrank.io import write
from marginrank.io.destinations import open_for_writing

_ENDINGS = {"letor": ".txt", "csv": ".csv", "parquet": ".parquet", "npz": ".npz"}
_NAMES = ("train", "vali", "test")


@click.command(cls=Command)
@click.argument("folder", metavar="DIR")
@option(
    "--format",
    group=MOST_USED,
    type=click.Choice(list(_ENDINGS)),
    default="letor",
    show_default=True,
    help="Format of the files.",
)
@option("--overwrite", group="Output", is_flag=True, help="Replace files that are there already.")
@options.as_json
def sample(folder: str, format: str, overwrite: bool, as_json: bool) -> None:
    """Write a small search collection to DIR, to try the other commands on.

    train.txt, vali.txt and test.txt hold 60, 20 and 20 queries with document ids; features.txt names the
    features, which csv, parquet and npz files hold themselves. Nothing is downloaded, and the files are the
    same at every call.

    \b
    Example:
      marginrank sample . && marginrank train train.txt -o model.mrk --validate vali.txt
    """
    from marginrank.datasets import load_sample

    found = load_sample()
    where = Path(folder)
    files = {where / f"{name}{_ENDINGS[format]}": data for name, data in zip(_NAMES, found, strict=True)}
    named = where / "features.txt"
    there = [path for path in (*files, *([named] if format == "letor" else [])) if path.exists()]
    if there and not overwrite:
        raise MarginRankError(
            f"{shown_path(str(there[0]))} is there already; use --overwrite, or another folder."
        )
    where.mkdir(parents=True, exist_ok=True)
    with interrupts.orderly(writes=True):
        for path, data in files.items():
            write(data, path, format)
        if format == "letor":
            with open_for_writing(named) as file:
                names = found.train.feature_names or ()
                file.write("".join(f"{k}\t{name}\n" for k, name in enumerate(names, 1)).encode())
    sizes = {path.name: {"rows": data.n_rows, "queries": data.n_queries} for path, data in files.items()}
    if as_json:
        print_json({"folder": folder, "features": list(found.train.feature_names or ()), "files": sizes})
        return
    for name, size in sizes.items():
        click.echo(f"{name}: {counted(size['rows'], 'row')}, {counted(size['queries'], 'query')}", err=True)
    if format == "letor":
        click.echo(f"{named.name}: what the features are called, for --names", err=True)
