"""Comparisons of models as people read them: rows of texts, and lines for a terminal."""

from __future__ import annotations

import math
from typing import Any

from marginrank.figures import counted
from marginrank.markup import Markup, named, table

_HEADS = {"t": "p: t", "randomization": "rand.", "bootstrap": "boot."}


def comparison_rows(comparison: Any) -> list[list[str]]:
    """Return what people read of a comparison: a header, and a row of texts for each metric."""
    head = ["metric", "a", "b", "b - a", "95% interval", "w/t/l", *(_HEADS[t] for t in comparison.tests)]
    rows = [head]
    for name, result in comparison.items():
        low, high = result.interval
        rows.append(
            [
                name,
                _figure(result.mean_a, ".3f"),
                _figure(result.mean_b, ".3f"),
                _figure(result.difference, "+.3f"),
                "-" if math.isnan(low) else f"{low:+.3f} {high:+.3f}",
                f"{result.wins}/{result.ties}/{result.losses}",
                *(_p_value(result.p_holm[test]) for test in comparison.tests),
            ]
        )
    return rows


def comparison_html(comparison: Any) -> Markup:
    """Return the face of a comparison in a notebook."""
    head, *rows = comparison_rows(comparison)
    n = comparison.a.n_queries
    note = f"{counted(n, 'query')}; w/t/l: wins, ties and losses of b; p-values corrected by Holm"
    return table(head, [[named(row[0]), *row[1:]] for row in rows], caption=note)


def table_lines(comparison: Any) -> list[str]:
    """Return an aligned table that fits a terminal of 80 columns."""
    rows = comparison_rows(comparison)
    head = rows[0]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    widths[0] = min(widths[0], max(8, 80 - sum(widths[1:]) - len(head) + 1))
    return [
        " ".join(
            shorten(cell, width).ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _figure(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _p_value(p: float) -> str:
    return "-" if math.isnan(p) else "<.001" if p < 0.001 else f"{p:.3f}"


def shorten(text: str, width: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= width else text[: width - 1] + "…"
