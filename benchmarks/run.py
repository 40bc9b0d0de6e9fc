"""Run benchmarks one after the other, each with ``--save``, and render the pages from what they measured.

    python benchmarks/run.py            # minutes: what needs no data sets, and what is quick with them
    python benchmarks/run.py --full     # hours: everything that writes a result file

Benchmarks of real data are left out, with a word, where MARGINRANK_DATA is not set.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
#: Commands that write result files: whether they need the data sets, and whether they take minutes or hours.
SHORT = (
    ("linear.py", False),
    ("treersvm_figure.py --picture docs/images/treersvm.png", False),
    ("example_tables.py", False),
    ("clicks.py", False),
    ("judging.py", False),
    ("page_costs.py", False),
    ("page_notes.py", False),
    ("penalties.py", False),
    ("structured_tables.py", True),
    ("graded.py", True),
    ("graded.py --time", False),
    ("kernel_scores.py", True),
    ("path.py", True),
    ("path_tables.py", True),
    ("rankrls_tables.py --separate", True),
)
LONG = (
    ("path_checks.py", True),
    ("out_of_the_box.py", True),
)


def main() -> None:
    """Run them, and end with an error if one of them does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--full", action="store_true", help="those that take hours, too")
    failed = []
    for command, needs_data in [*SHORT, *(LONG if parser.parse_args().full else ())]:
        if needs_data and not os.environ.get("MARGINRANK_DATA"):
            print(f"{command}: left out, because MARGINRANK_DATA names no folder of data sets", flush=True)
            continue
        print(f"\n{command}", flush=True)
        start = time.perf_counter()
        name, *arguments = command.split()
        if subprocess.run(
            [sys.executable, str(FOLDER / name), *arguments, "--save"], cwd=FOLDER.parent, check=False
        ).returncode:
            failed.append(command)
        print(f"{command}: {time.perf_counter() - start:.0f} s", flush=True)
    subprocess.run([sys.executable, str(FOLDER.parent / "tools" / "figures.py"), "render"], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
