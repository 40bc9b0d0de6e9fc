"""``marginrank export``: a model for another program."""

from __future__ import annotations

import io
import sys

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.columns import aligned
from marginrank.cli.files.reading import check_files, keep_apart, read_data, read_names
from marginrank.cli.options import shared as options
from marginrank.cli.options.reading import Reading, reading_options
from marginrank.cli.output.printing import counted, print_json
from marginrank.export import TARGETS, Export
from marginrank.model import RankingModel


@click.command(cls=Command)
@click.argument("model")
@option(
    "--to", "target", group=MOST_USED, type=click.Choice(list(TARGETS)), required=True, help="Where it goes."
)
@option(
    "-o",
    "--output",
    "file",
    group=MOST_USED,
    help="The file to write; - is standard output. Without it --check alone is done.",
)
@option(
    "--feature-set",
    group=MOST_USED,
    metavar="NAME",
    help="Feature set (Elasticsearch, OpenSearch) or store (Solr) of the model.",
)
@option(
    "--normalizers",
    group=MOST_USED,
    type=click.Choice(["fold", "target", "minmax"]),
    help="Scale columns in the weights, or by the target's normalisers: by deviation, by range."
    "  [default: fold]",
)
@option(
    "--check",
    group=MOST_USED,
    metavar="DATA",
    help="Rows to score by what was written, and to compare with the model.",
)
@option(
    "--names",
    group="Model",
    metavar="FILE",
    help="What the target calls the columns, one a line, with or without their numbers.  [default: as in the "
    "model, or f1, f2, ...]",
)
@option("--model-name", group="Model", metavar="NAME", help="What the target calls the model.")
@option("--table", group="Model", metavar="NAME", help="Table that an SQL query reads.  [default: rows]")
@option(
    "--partition-by",
    "qid_column",
    group="Model",
    metavar="NAME",
    help="Its column of query ids, for models that normalise within queries.  [default: qid]",
)
@option(
    "--dtype",
    group="Model",
    type=click.Choice(["float64", "float32"]),
    help="Numbers that an ONNX graph takes and gives.  [default: float64]",
)
@reading_options()
@options.ignore_unknown
@options.as_json
def export(
    model: str,
    target: str,
    file: str | None,
    feature_set: str | None,
    normalizers: str | None,
    check: str | None,
    names: str | None,
    model_name: str | None,
    table: str | None,
    qid_column: str | None,
    dtype: str | None,
    reading: Reading,
    ignore_unknown: bool,
    as_json: bool,
) -> None:
    """Write MODEL for another program.

    Elasticsearch, OpenSearch and Solr get a model and a feature set to fill in, with the commands to upload
    both; Vespa a rank profile; databases a query; other programs ONNX, which holds kernels, or PMML. With
    --check the scores of what was written are compared with those of the model, through the program's own
    runtime or a replica of its formula.

    \b
    Examples:
      marginrank export model.mrk --to elasticsearch --feature-set products -o model.json
      marginrank export model.mrk --to solr --check test.txt
      marginrank export model.mrk --to sql --table candidates -o model.sql
      marginrank export model.mrk --to onnx -o model.onnx
    """
    keep_apart([file], [model, check, names])
    if file is None and check is None:
        raise click.UsageError(
            "Give -o for a file to write, --check for data to check an export on, or both."
        )
    if file == "-" and as_json:
        raise click.UsageError("The report of --json and the model would mix on standard output.")
    check_files(check=check, names=names)
    loaded = RankingModel.load(model)
    rows = None
    if check is not None:
        rows = aligned(read_data(check, reading), loaded, ignore_unknown, reading.first_feature)
    with interrupts.orderly(writes=True):
        written = loaded.export(
            target,
            io.BytesIO() if file is None else sys.stdout.buffer if file == "-" else file,
            names=None if names is None else read_names(names),
            model_name=model_name,
            feature_set=feature_set,
            normalizers=normalizers,  # type: ignore[arg-type] # click has checked it
            table=table,
            qid_column=qid_column,
            dtype=dtype,
            check=rows,
        )
    if as_json:
        print_json(_report(written))
    else:
        _print(written)


def _report(written: Export) -> dict[str, object]:
    loss = written.float32
    return {
        "target": written.target,
        "files": list(written.files),
        "features": list(written.features),
        "commands": list(written.commands) if written.files else [],
        "check": None if written.check is None else vars(written.check),
        "float32": None
        if loss is None
        else {"loss": loss.total, "bound": loss.bound, "measured": loss.measured},
    }


def _print(written: Export) -> None:
    """Say what was written on standard error; commands to run go there as well."""
    for path in written.files:
        click.echo(f"wrote {path}", err=True)
    click.echo(f"{counted(len(written.features), 'feature')} in use", err=True)
    if written.check is not None:
        click.echo(f"checked on {written.check}", err=True)
    if written.float32 is not None and written.check is None:
        click.echo(f"in float32 {written.float32}", err=True)
    for command in written.commands if written.files else ():
        click.echo(command, err=True)
