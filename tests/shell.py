"""The command line in this process, with standard error apart from the output."""

import inspect

from click.testing import CliRunner


def shell() -> CliRunner:
    """Return a runner; those of click before 8.2 have to be told to keep the two apart."""
    old = "mix_stderr" in inspect.signature(CliRunner).parameters
    return CliRunner(mix_stderr=False) if old else CliRunner()
