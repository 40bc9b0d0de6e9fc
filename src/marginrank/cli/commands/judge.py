"""``marginrank judge``: a page on this machine that asks which of two items is better, and learns."""

from __future__ import annotations

import webbrowser
from typing import TYPE_CHECKING

import click

from marginrank.cli import interrupts
from marginrank.cli.command import MOST_USED, Command, option
from marginrank.cli.files.reading import keep_apart
from marginrank.cli.options import shared as options
from marginrank.cli.output.printing import counted, print_facts
from marginrank.exceptions import MarginRankError, shown_path
from marginrank.io.destinations import open_for_writing

if TYPE_CHECKING:
    from marginrank.judging.server import JudgeServer
    from marginrank.judging.session import Session


@click.command(cls=Command)
@click.argument("items", type=click.Path(exists=True, dir_okay=False))
@option(
    "-o",
    "--output",
    group=MOST_USED,
    required=True,
    type=click.Path(dir_okay=False),
    help="The file of answers; it is gone on with where it is there.",
)
@option("--model", group=MOST_USED, type=click.Path(dir_okay=False), help="Write the model here at the end.")
@option(
    "--ranking",
    group=MOST_USED,
    type=click.Path(dir_okay=False),
    help="Write the ranking here at the end (CSV).",
)
@option("--id-column", group="Data", help="Names the items.  [default: id, or the number of the row]")
@option("--image-column", group="Data", help="Files of pictures to show.  [default: image]")
@option(
    "--feature",
    "features",
    group="Data",
    multiple=True,
    metavar="COLUMN",
    help="A column to learn from; may be repeated.  [default: all columns of numbers]",
)
@option(
    "--rater", group="Output", default="me", show_default=True, help="The name that the page starts with."
)
@option(
    "--port",
    group="Output",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="Of the page; 0 takes a free one.",
)
@options.seed("the questions", group="Output", drawn=True)
@option("--no-browser", group="Output", is_flag=True, help="Only print the address of the page.")
def judge(
    items: str,
    output: str,
    model: str | None,
    ranking: str | None,
    id_column: str | None,
    image_column: str | None,
    features: tuple[str, ...],
    rater: str,
    port: int,
    random_state: int | None,
    no_browser: bool,
) -> int:
    """Ask which of two ITEMS is better, and learn a ranker from the answers.

    Opens a page that only this machine can reach. ITEMS is a CSV file with a header; its columns of numbers
    are learned from, all are shown. Each answer is on the disk before the next question. Ctrl-C ends it.

    \b
    Examples:
      marginrank judge items.csv -o pairs.csv
      marginrank judge photos.csv -o pairs.csv --image-column file --model taste.mrk --ranking best.csv
    """
    keep_apart([output, model, ranking], [items])
    chosen = [path for path in (output, model, ranking) if path is not None]
    if len(set(chosen)) < len(chosen):
        raise click.UsageError("-o, --model and --ranking are three files.")
    from marginrank.judging.answers import AnswerFile
    from marginrank.judging.items import read_items
    from marginrank.judging.server import JudgeServer
    from marginrank.judging.session import Session

    read = read_items(items, id_column=id_column, image_column=image_column, features=features)
    session = Session(read, AnswerFile(output, read.ids), random_state=random_state)
    try:
        try:
            server = JudgeServer(session, port=port, rater=rater)
        except OSError as error:
            raise MarginRankError.naming("port", f"must be free; {port} is not ({error.strerror}).") from None
        learnt = counted(len(read.feature_names), "feature")
        print_facts(
            [
                ("items", f"{len(read.ids):,}, {learnt}"),
                ("answers", f"{len(session.answers.judgements):,} in {shown_path(output)}"),
                ("page", server.url),
            ]
        )
        click.echo("Ctrl-C ends it; every answer is saved.", err=True)
        if not no_browser:
            webbrowser.open(server.url)
        _serve(server)
        session.settle()
        _write(session, {"model": model, "ranking": ranking})
        print_facts([("answers", f"{len(session.answers.judgements):,}")])
    finally:
        session.close()
    return 0


def _write(session: Session, wanted: dict[str, str | None]) -> None:
    """Write what was learnt to the files that were named for it."""
    from marginrank.judging.server import exported

    for what, path in wanted.items():
        content = None if path is None else exported(session, what)
        if path is not None and content is not None:
            with interrupts.orderly(writes=True), open_for_writing(path) as file:
                file.write(content)


def _serve(server: JudgeServer) -> None:
    """Answer requests until Ctrl-C."""
    interrupts.say("Interrupted; every answer is saved.")
    try:
        with interrupts.orderly(writes=True):
            server.serve_forever()
    except KeyboardInterrupt:
        click.echo(err=True)
    finally:
        server.server_close()
