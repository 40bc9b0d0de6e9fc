"""Result files: what a benchmark measured, where and by which command; pages are rendered from them.

A result is a table: rows by key, each with its fields, and the columns that a page shows of them. A number
that was measured several times is kept as its median with the lowest and the highest, and how often::

    result = Result("linear", {"work": "{label}", "time": "{ref:range .1f} ref"})
    result.add("hinge", label="hinge, 512,000 rows", ref=spread([3.5, 4.1, 6.3]))
    result.save()    # benchmarks/results/linear.json

``tools/figures.py`` renders README and docs from these files. They name no host, user or folder. Those with
the provenance "recorded" hold figures that were noted before there were result files; the next run of their
command with ``--save`` replaces them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
PACKAGES = ("numpy", "scipy", "scikit-learn", "lightgbm", "xgboost", "xgboost-cpu", "catboost", "dask")
#: What measuring and rendering write themselves.
UNMEASURED = (":(exclude)benchmarks/results", ":(exclude)docs", ":(exclude,glob)*.md")

Cell = float | int | str | dict[str, float]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median of some measurements, the lowest and the highest, and how many there were."""
    return {
        "value": statistics.median(values),
        "low": min(values),
        "high": max(values),
        "repeats": len(values),
    }


def add_save_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that has a benchmark write its result files."""
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/*.json for the pages")


class Result:
    """A table of what one benchmark measured, with what is needed to measure it again."""

    def __init__(self, name: str, columns: dict[str, str], note: str = "") -> None:
        self.name, self.columns, self.note = name, columns, note
        self.rows: dict[str, dict[str, Cell]] = {}
        self.load = os.getloadavg()[0]

    def add(self, key: str, **fields: Cell) -> None:
        """Add a row; floats are kept to six digits."""
        self.rows[key] = {name: _short(value) for name, value in fields.items()}

    def save(self) -> Path:
        """Write the file, and return where it lies."""
        content = {
            "provenance": "measured",
            "command": command(sys.argv),
            "date": datetime.now(UTC).date().isoformat(),
            "commit": commit(),
            "machine": machine(),
            "load": [round(self.load, 1), round(os.getloadavg()[0], 1)],
            "versions": versions(),
            "note": self.note,
            "columns": self.columns,
            "rows": self.rows,
        }
        return write(self.name, content)


def write(name: str, content: dict[str, Any]) -> Path:
    """Write a result file, a row to a line, so that changes can be read."""
    FOLDER.mkdir(exist_ok=True)
    rows = content.pop("rows")
    head = json.dumps(content, indent=2, ensure_ascii=False).removesuffix("\n}")
    lines = (
        f"    {json.dumps(key, ensure_ascii=False)}: {json.dumps(row, ensure_ascii=False)}"
        for key, row in rows.items()
    )
    path = FOLDER / f"{name}.json"
    path.write_text(head + ',\n  "rows": {\n' + ",\n".join(lines) + "\n  }\n}\n", encoding="utf-8")
    return path


def command(arguments: list[str]) -> str:
    """Return the command as one types it: files by their names, data by the variable."""
    data = "MARGINRANK_DATA=... " if os.environ.get("MARGINRANK_DATA") else ""
    words = [Path(word).name if "/" in word else word for word in arguments[1:]]
    return " ".join([f"{data}python benchmarks/{Path(arguments[0]).name}", *words])


def commit() -> str:
    """Return the commit that was measured, with a plus where files that count differ from it."""
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *UNMEASURED)
    return _git("rev-parse", "--short=10", "HEAD") + "+" * bool(changed)


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=FOLDER.parents[1], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def machine() -> dict[str, Any]:
    """Return the kind of machine; nothing that names it."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "vectors": _vectors(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory / 2**30),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that figures may depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _vectors() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    flags = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")


def _short(value: Cell) -> Cell:
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}  # type: ignore[misc]
    if isinstance(value, str) or value is None:
        return value
    return int(value) if float(value).is_integer() and not isinstance(value, float) else float(f"{value:.6g}")
