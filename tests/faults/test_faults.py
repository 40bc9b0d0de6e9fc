"""A share of the faults that ``make faults`` injects; and what is taken badly is seen."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from careless_operations import OPERATIONS as CARELESS
from operations import OPERATIONS

from limits import HANG

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the shim is for the loader of Linux"),
    pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler"),
]
ROW = re.compile(r"^(\S.*?) {2,}(\w+) +(\d+) faults, (\d+) not taken well$", re.MULTILINE)


def injected(*arguments):
    """Inject faults; return the exit code, the rows, and all that was said."""
    script = Path(__file__).parent / "inject.py"
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANG, check=False)
    said = done.stdout + done.stderr
    return done.returncode, [(a, b, int(c), int(d)) for a, b, c, d in ROW.findall(done.stdout)], said


def test_no_fault_is_taken_badly():
    code, rows, said = injected("--share", "2")
    assert code == 0, said
    assert {name for name, *_ in rows} == set(OPERATIONS)
    assert {kind for _, kind, *_ in rows} == {kind for one in OPERATIONS.values() for kind in one.kinds}
    assert sum(done for *_, done, _ in rows) >= 100


def test_what_takes_faults_badly_is_told_of():
    code, rows, said = injected("--table", "careless_operations", "--share", "1")
    assert code == 1
    assert {name for name, *_, wrong in rows if wrong} == set(CARELESS), said
