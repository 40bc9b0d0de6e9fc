"""Pictures of chosen features: held-out figures against their number, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginrank.paths.held_out_curve import HeldOutCurve
from marginrank.system.pictures import new_figure

# Inches for each feature, and for what stands beside them.
_PER_FEATURE, _BESIDES = 0.28, 2.4
_LEAST_WIDTH, _MOST_WIDTH = 5.5, 14.0
_NAMED_AT_MOST = 45


def draw_features(
    error: HeldOutCurve, quality: HeldOutCurve, labels: Sequence[str], metric: str, held_out: str
) -> Any:
    """Draw the error above and the metric below, over the features in the order of their choice.

    Parameters
    ----------
    error, quality : HeldOutCurve
        What to draw.
    labels : sequence of str
        What to call the features.
    metric, held_out : str
        What the quality is, and what was held out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    width = float(np.clip(_BESIDES + _PER_FEATURE * len(labels), _LEAST_WIDTH, _MOST_WIDTH))
    figure = new_figure(width, 5.6, "chosen features")
    above, below = figure.subplots(2, 1, sharex=True)
    _draw(above, error, "C0")
    above.set_ylabel("held-out squared error")
    _draw(below, quality, "C1")
    below.set_ylabel(metric)
    counts = np.arange(1, len(labels) + 1)
    step = -(-len(counts) // _NAMED_AT_MOST)
    names = [f"{k}. {label}" for k, label in zip(counts, labels, strict=True)]
    below.set_xticks(counts[::step], names[::step], rotation=90, fontsize="small")
    below.set_xlabel(f"number of features, and which is added (leaving out {held_out} in turns)")
    return figure


def _draw(axis: Any, curve: HeldOutCurve, color: str) -> None:
    counts = np.arange(1, len(curve.values) + 1)
    axis.plot(counts, curve.values, "o-", color=color, markersize=3.5, linewidth=1.2)
    if np.isfinite(curve.diff_std).all():
        low, high = curve.values - curve.diff_std, curve.values + curve.diff_std
        label = "± standard error of the difference to the best"
        axis.fill_between(counts, low, high, color=color, alpha=0.3, linewidth=0, label=label)
    best = float(curve.values[curve.best - 1])
    axis.plot([curve.best], [best], "o", color="C3", label=f"best: {best:.4g} with {curve.best}")
    if curve.smallest != curve.best:
        near = float(curve.values[curve.smallest - 1])
        axis.axvline(
            curve.smallest,
            color="0.6",
            linewidth=1,
            linestyle="--",
            label=f"as good: {near:.4g} with {curve.smallest}",
        )
    axis.legend(fontsize="small", loc="best")
