"""The command line as a process."""

import subprocess
import sys

import pytest

from limits import HANG


@pytest.fixture
def cli(tmp_path):
    """Return what runs a command in a folder of its own and gives back the finished process."""

    def run(*arguments, text=None):
        command = [sys.executable, "-m", "marginrank", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, input=text, capture_output=True, text=True, timeout=HANG)

    return run
