"""The picture of a path, in a file."""

from __future__ import annotations

import io
import os
from typing import Any

import click

from marginrank.cli import interrupts
from marginrank.exceptions import MarginRankError
from marginrank.io.destinations import open_for_writing


def check_plot(file: str) -> str:
    """Return the format of a picture; refuse before the work what could not be drawn after it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MarginRankError(
            "--plot needs matplotlib, which is not installed: pip install 'marginrank[plot]'."
        ) from None
    known = sorted(Figure().canvas.get_supported_filetypes())
    format = os.path.splitext(file)[1].lstrip(".").lower()
    if format not in known:
        raise click.UsageError(f"--plot {file}: the ending must be one of {', '.join(known)}.")
    return format


def write_plot(file: str, path: Any, **named: Any) -> None:
    """Draw a path; the names of what is drawn are arguments of its ``plot``."""
    figure = path.plot(**named)
    memory = io.BytesIO()
    figure.savefig(memory, format=check_plot(file), dpi=150)
    with interrupts.orderly(writes=True), open_for_writing(file) as opened:
        opened.write(memory.getvalue())
