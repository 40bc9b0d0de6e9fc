"""The ``marginrank`` command: its verbs, and what its exit codes mean.

0 all went well, 1 the data or the files cannot be used, 2 the command was not understood, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

from marginrank.cli.compare import compare
from marginrank.cli.convert import convert
from marginrank.cli.evaluate import evaluate
from marginrank.cli.inspect import inspect
from marginrank.cli.predict import predict
from marginrank.cli.train import train
from marginrank.exceptions import MarginRankError

BAD_DATA, INTERRUPTED = 1, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="marginrank")
def cli() -> None:
    """Learn to rank with large margins: exact, fast, certified.

    Files are LETOR/SVMlight text (plain or gzip) unless their ending says otherwise; - is standard input or
    output.

    \b
    Examples:
      marginrank inspect train.txt
      marginrank train train.txt -o model.mrk --validate vali.txt -m ndcg@10
      marginrank predict model.mrk test.txt -o scores.txt
      marginrank evaluate test.txt scores.txt --metric ndcg@10 --metric map
      marginrank compare test.txt a.scores b.scores --metric ndcg@10

    \b
    Shell completion (likewise zsh_source, fish_source):
      eval "$(_MARGINRANK_COMPLETE=bash_source marginrank)"
    """


for command in (compare, convert, evaluate, inspect, predict, train):
    cli.add_command(command)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a sentence: where in our code it was raised says nothing to a person."""
    click.echo(f"Warning: {message}", err=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    warnings.showwarning = _show_warning
    try:
        outcome = cli.main(args=arguments, prog_name="marginrank", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("Interrupted; nothing was written.", err=True)
        return INTERRUPTED
    except MarginRankError as error:
        click.echo(f"Error: {error}", err=True)
        return BAD_DATA
    except BrokenPipeError:
        # The reader of our output has gone, as head does; Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_DATA
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        click.echo(f"Error: {name}{error.strerror or error}.", err=True)
        return BAD_DATA
