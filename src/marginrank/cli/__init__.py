"""The command line: one small file per command."""

from marginrank.cli.app import main

__all__ = ["main"]
