"""Figures of matplotlib, which is an extra: the one place that imports it."""

from __future__ import annotations

from typing import Any

from marginrank.exceptions import MarginRankError


def new_figure(width: float, height: float, what: str) -> Any:
    """Return an empty figure of so many inches; ``what`` is drawn on it, in a sentence.

    It belongs to no window and no notebook until it is shown, so it need not be closed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MarginRankError(
            f"Drawing {what} needs matplotlib, which is not installed: pip install 'marginrank[plot]'."
        ) from None
    return Figure(figsize=(width, height), layout="constrained")
