"""The picture of a comparison, with matplotlib: differences of all metrics, and of all queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from marginrank.figures import counted
from marginrank.system.pictures import new_figure

_BETTER, _WORSE, _OPEN = "C0", "C1", "0.45"


def draw_comparison(comparison: Any, metric: str) -> Any:
    """Draw the mean differences with their intervals, and below them the queries of one metric.

    Parameters
    ----------
    comparison : Comparison
        What to draw.
    metric : str
        Whose queries are drawn, as the comparison spells it.
    """
    height = 0.9 + 0.35 * len(comparison)
    figure = new_figure(7.0, height + 3.2, "a comparison")
    means, queries = figure.subplots(2, 1, height_ratios=[height, 3.2])
    _draw_means(means, comparison)
    _draw_queries(queries, comparison, metric)
    return figure


def _draw_means(axis: Any, comparison: Any) -> None:
    for place, result in enumerate(comparison.values()):
        low, high = result.interval
        colour = _OPEN
        if low > 0.0 or high < 0.0:  # never so where an interval is not known
            colour = _BETTER if (low > 0.0) == result.metric.higher_is_better else _WORSE
        axis.hlines([place], [low], [high], color=colour)
        axis.plot([result.difference], [place], "o", color=colour)
    axis.set_yticks(range(len(comparison)), list(comparison), fontsize="small")
    axis.set_ylim(len(comparison) - 0.4, -0.6)
    axis.axvline(0.0, color="0.6", linewidth=0.8)
    axis.set_xlabel("mean of b - a; line: 95% interval over queries (grey where it holds 0)")


def _draw_queries(axis: Any, comparison: Any, metric: str) -> None:
    result = comparison[metric]
    found = comparison.differences(metric)
    values = np.sort(found[np.isfinite(found)])[::-1]
    edges = np.arange(len(values) + 1)
    up, down = (_BETTER, _WORSE) if result.metric.higher_is_better else (_WORSE, _BETTER)
    words = {
        _BETTER: f"b is better on {counted(result.wins, 'query')}",
        _WORSE: f"worse on {counted(result.losses, 'query')}",
    }
    for part, colour in ((np.maximum(values, 0.0), up), (np.minimum(values, 0.0), down)):
        axis.stairs(part, edges, fill=True, color=colour, alpha=0.55, label=words[colour])
    low, high = result.interval
    if np.isfinite([low, high]).all():
        axis.axhspan(low, high, color=_OPEN, alpha=0.25, linewidth=0, label="95% interval of the mean")
    if np.isfinite(result.difference):
        label = f"mean {result.difference:+.4f}"
        axis.axhline(result.difference, color=_OPEN, linewidth=1, linestyle="--", label=label)
    axis.axhline(0.0, color="0.6", linewidth=0.8)
    axis.set_xlim(0, max(len(values), 1))
    axis.set_xlabel(f"queries, sorted by their difference; {result.ties:,} have none")
    axis.set_ylabel(f"b - a in {metric}")
    axis.legend(fontsize="small", loc="best")
