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

from marginrank.figures import bytes_for_people as bytes_for_people
from marginrank.figures import counted as counted
from marginrank.figures import rounded as rounded
from marginrank.figures import seconds_for_people as seconds_for_people


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


def scale_fact(report: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what the features were divided by, if they were.

    Examples
    --------
    >>> scale_fact({"scale": "standard"}), scale_fact({"scale": None})
    ([('scale', 'standard, folded into the model')], [])
    """
    return [] if report["scale"] is None else [("scale", f"{report['scale']}, folded into the model")]


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
