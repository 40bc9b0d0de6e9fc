"""The ``marginrank`` command: its verbs, and what its exit codes mean.

0 all went well, 1 the data or the files cannot be used, 2 the command was not understood, 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

import click

from marginrank.cli import interrupts, streams
from marginrank.cli.near_misses import did_you_mean
from marginrank.exceptions import shown_path

BAD_DATA = 1

#: What each command does, in the words of its own help; each is imported when it is called.
COMMANDS = {
    "auto": "Train several rankers on DATA, and write the best of them to a file.",
    "clicks": "Make weighted training data of LOG, a table of what was shown and clicked.",
    "compare": "Compare SCORES, of which there are two or more, on the queries of DATA.",
    "convert": "Read SOURCE and write it to DESTINATION in another format.",
    "evaluate": "Measure SCORES, one a line, against the labels of DATA.",
    "explain": "Say why MODEL ranks the rows of DATA as it does.",
    "export": "Write MODEL for another program.",
    "import": "Make a model of SOURCE, which another program has written.",
    "inspect": "Look through DATA before training on it, or say what a model is.",
    "judge": "Ask which of two ITEMS is better, and learn a ranker from the answers.",
    "path": "Compute the models of every alpha on DATA, and choose one.",
    "predict": "Score the rows of DATA with MODEL, in their order.",
    "report": "Write a page to look at, in one HTML file, about data, models and scores.",
    "sample": "Write a small search collection to DIR, to try the other commands on.",
    "select": "Choose features of DATA one after the other, and show what each adds.",
    "train": "Train a ranker on DATA and write the model to a file.",
    "tune": "Search for the best alpha on DATA, and show the whole search.",
}


def command_of(name: str) -> click.Command:
    """Return a command of ``COMMANDS``; one called as a word of Python has an underscore there."""
    word = f"{name}_" if iskeyword(name) else name
    command: click.Command = getattr(import_module(f"marginrank.cli.commands.{word}"), word)
    return command


class _Commands(click.Group):
    """A group that imports a command only when it is wanted."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        return command_of(name) if name in COMMANDS else None

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name not in COMMANDS and not name.startswith("-"):
            context.fail(f"No such command {name!r}.{did_you_mean(name, COMMANDS)}")
        return super().resolve_command(context, arguments)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=_Commands, context_settings=_SETTINGS)
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
      marginrank compare test.txt old.mrk new.mrk --metric ndcg@10

    \b
    Shell completion (likewise zsh_source, fish_source):
      eval "$(_MARGINRANK_COMPLETE=bash_source marginrank)"
    """


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    try:
        outcome = _run(arguments)
        return interrupts.code() if outcome == interrupts.INTERRUPTED else outcome
    except BrokenPipeError:  # nobody is left to tell
        return BAD_DATA
    except (KeyboardInterrupt, click.Abort):
        click.echo(interrupts.sentence(), err=True)
        return interrupts.code()
    except Exception:
        if not interrupts.happened():
            raise
        click.echo(interrupts.sentence(), err=True)
        return interrupts.code()


def _run(arguments: Sequence[str] | None) -> int:
    try:
        outcome = cli.main(args=arguments, prog_name="marginrank", standalone_mode=False)
        sys.stdout.flush()
        return outcome if isinstance(outcome, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has gone, as head does
        streams.drop_output()
        return BAD_DATA
    except OSError as error:
        name = f"{shown_path(str(error.filename))}: " if error.filename else ""
        click.echo(f"Error: {name}{error.strerror or error}.", err=True)
        return BAD_DATA
    except MemoryError as error:
        what = f": {error}".rstrip(": .")
        click.echo(
            f"Error: There is not enough memory{what}. Data that outgrow memory are trained on from disk: "
            "marginrank convert DATA data.mrd.",
            err=True,
        )
        return BAD_DATA
