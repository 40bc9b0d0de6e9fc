"""Again and again without growing; ``make load`` does the same at length."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limits import HANG

#: How much to do; ``make load`` sets it.
LONG = "MARGINRANK_LOAD" in os.environ
FITS, PREDICTIONS = (1000, 10_000) if LONG else (60, 600)
#: What memory may grow by, in pages of 4 KiB: less than 2 KiB for each fit at length.
PAGES = 500

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts in /proc")


def said_by(program, *arguments):
    """Run a program of this folder; return what it printed, which must be all."""
    command = [sys.executable, str(Path(__file__).parent / program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * HANG, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def test_neither_memory_nor_descriptors_nor_threads_grow():
    grew = json.loads(said_by("flat.py", f"--fits={FITS}", f"--predictions={PREDICTIONS}"))
    assert grew["descriptors"] <= 0
    assert grew["threads"] <= 0
    assert grew["pages"] <= PAGES
    assert grew["objects"] <= FITS // 10  # not one for every tenth fit


def test_what_grows_is_seen():
    grew = json.loads(said_by("flat.py", "--fits=18", "--predictions=18", "--leak=200000"))
    assert grew["descriptors"] == 18
    assert grew["pages"] > PAGES
    assert grew["objects"] >= 18
