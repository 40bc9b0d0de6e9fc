"""The picture of a path, in a file."""

from __future__ import annotations

import io
import os
from typing import Any

import click

from marginrank.cli import interrupts
from marginrank.cli.files.used_columns import UsedColumns
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


def write_plot(file: str, path: Any, first: int, used: UsedColumns) -> None:
    """Draw a path; features without a name have the numbers of the data file, counted from ``first``."""
    figure = path.plot()
    legend = figure.axes[0].get_legend()
    if legend.get_title().get_text() == "feature" and path.feature_names_ is None:
        for text in legend.get_texts():
            text.set_text(str(used.number(int(text.get_text())) + first))
    memory = io.BytesIO()
    figure.savefig(memory, format=check_plot(file), dpi=150)
    with interrupts.orderly(writes=True), open_for_writing(file) as opened:
        opened.write(memory.getvalue())
