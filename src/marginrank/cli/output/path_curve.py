"""The figures along a path as commands print and write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from marginrank.cli.files.reading import write_table
from marginrank.cli.output.printing import print_table

if TYPE_CHECKING:
    from marginrank.paths.curve import Curve

_SHOWN = 11


def print_curve(curve: Curve) -> None:
    """Print a readable number of the alphas, the chosen one among them."""
    shown = set(np.linspace(0, len(curve.alphas) - 1, _SHOWN).round().astype(int).tolist())
    found = curve.selection
    if found is not None:
        shown.add(found.selection.index)
    rows = []
    for k in sorted(shown):
        row = curve.texts(k)
        if found is not None:
            row.append("<- chosen" if k == found.selection.index else "")
        rows.append(row)
    print_table("", [*curve.heads(), *([] if found is None else [""])], rows)


def write_curve(file: str, curve: Curve) -> None:
    """Write every alpha of the curve as CSV; a figure that there is not is left empty."""
    columns = curve.columns()
    header = [curve.selection.metric if name == "value" else name for name in columns]
    figures = zip(*(column.tolist() for column in columns.values()), strict=True)
    write_table(file, header, (["" if np.isnan(v) else repr(v) for v in row] for row in figures))
