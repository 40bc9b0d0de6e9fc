"""The command line: one small file per command."""

from __future__ import annotations

from collections.abc import Sequence

from marginrank.cli import interrupts

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; Ctrl-C is looked after from here on."""
    interrupts.watch()
    from marginrank.cli.app import run

    code = run(arguments)
    interrupts.ending(code)
    return code
