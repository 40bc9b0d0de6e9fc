"""What commands print: tables for people, JSON for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table


def print_json(content: Any) -> None:
    """Print JSON with a line per entry; NaN, which JSON does not know, becomes null."""
    click.echo(json.dumps(_plain(content), indent=2, allow_nan=False))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column to the left, numbers to the right."""
    if title:  # not the title of the table, which would be filled up with blanks
        console().print(title, style="bold")
    table = Table(box=None, pad_edge=False)
    for k, name in enumerate(header):
        table.add_column(name, justify="left" if k == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def print_facts(facts: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        click.echo(f"{name:<{width}}  {value}")


def console(stderr: bool = False) -> Console:
    """Return a console that leaves text alone: no markup, no colours for numbers."""
    return Console(file=sys.stderr if stderr else sys.stdout, highlight=False, markup=False)


def rounded(value: float) -> str:
    """Return a figure with four digits after the point."""
    return "-" if np.isnan(value) else f"{value:.4f}"


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "query"), counted(2000, "query"), counted(0, "row")
    ('1 query', '2,000 queries', '0 rows')
    """
    if n != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{n:,} {noun}"


def scale_fact(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the features were divided by, if they were.

    Examples
    --------
    >>> scale_fact({"scale": "standard"}), scale_fact({"scale": None})
    ([('scale', 'standard, folded into the model')], [])
    """
    return [] if report["scale"] is None else [("scale", f"{report['scale']}, folded into the model")]


def bytes_for_people(size: float) -> str:
    """Return a size in the unit that fits.

    Examples
    --------
    >>> bytes_for_people(3_500_000)
    '3.5 MB'
    """
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"


def seconds_for_people(seconds: float) -> str:
    """Return a duration with the digits that matter.

    Examples
    --------
    >>> seconds_for_people(0.0123), seconds_for_people(75), seconds_for_people(0.0001)
    ('0.01 s', '75 s', 'less than 0.01 s')
    """
    if seconds < 0.005:
        return "less than 0.01 s"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


def _plain(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _plain(value) for key, value in content.items()}
    if isinstance(content, list | tuple | np.ndarray):
        return [_plain(value) for value in content]
    if isinstance(content, np.generic):
        content = content.item()
    if isinstance(content, float) and not np.isfinite(content):
        return None
    return content
