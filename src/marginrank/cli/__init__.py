"""The command line: one small file per command."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from marginrank.cli import interrupts

__all__ = ["command", "main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; Ctrl-C is looked after from here on."""
    interrupts.watch()
    from marginrank.cli import streams

    streams.prepare()
    from marginrank.cli.app import run

    code = run(arguments)
    interrupts.ending(code)
    return code


def command() -> NoReturn:
    """Run the command line as a process, and end it.

    Not by way of ``sys.exit``: threads that a library has left behind can abort the process while Python
    tidies up (seen once, after pyarrow had read a CSV file), and tidying up takes time.
    """
    code = main()
    from marginrank.cli import streams

    streams.flush()
    os._exit(code)
