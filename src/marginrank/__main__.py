"""``python -m marginrank`` is the command line."""

from marginrank.cli import command

command()
