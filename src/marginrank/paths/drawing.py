"""Pictures of paths, with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.paths.selection import PathSelection
from marginrank.system.pictures import new_figure
from marginrank.training.selection import Selection
from marginrank.types import Vector

# Characters along the side of a panel.
_LONGEST_LABEL = 28


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves over alpha.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Where they were computed.
    values : ndarray of shape (n_curves, n_alphas)
        What to draw.
    labels : sequence of str
        Names of the curves.
    what : str
        What the values are.
    legend : str
        What the names are of.
    others : ndarray of shape (n_others, n_alphas), optional
        Further curves, drawn in grey behind these.
    """

    alphas: Vector
    values: NDArray[np.float64]
    labels: Sequence[str]
    what: str
    legend: str
    others: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many features, pairs or planes there are along alpha; ``marker`` is matplotlib's format of them."""

    alphas: Vector
    counts: NDArray[np.int64]
    what: str
    marker: str


def draw_path(curves: Curves, selection: PathSelection | None, sizes: Sizes | None) -> Any:
    """Draw models, the validation curve and counts along alpha, as far as there are any.

    Parameters
    ----------
    curves : Curves
        Coefficients or scores.
    selection : PathSelection or None
        What was chosen.
    sizes : Sizes or None
        What to count.

    Returns
    -------
    matplotlib.figure.Figure
    """
    panels = 1 + (selection is not None) + (sizes is not None)
    figure = new_figure(7.0, 1.0 + 2.4 * panels, "a path")
    axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    _draw_curves(axes[0], curves)
    if selection is not None:
        _draw_validation(axes[1], selection.selection, selection.metric)
    if sizes is not None:
        axes[-1].plot(sizes.alphas, sizes.counts, sizes.marker, color="0.4", markersize=4, linewidth=0.8)
        axes[-1].set_ylabel(sizes.what)
        axes[-1].set_ylim(bottom=0)
    axes[-1].set_xscale("log")
    axes[-1].invert_xaxis()
    axes[-1].set_xlabel("alpha (strong regularisation on the left)")
    if selection is not None:
        for axis in axes:
            axis.axvline(selection.alpha, color="0.6", linewidth=1, linestyle="--", zorder=0)
    return figure


def _draw_curves(axis: Any, curves: Curves) -> None:
    if curves.others is not None and len(curves.others):
        axis.plot(curves.alphas, curves.others.T, linewidth=0.6, color="0.8", zorder=1)
    for label, values in zip(curves.labels, curves.values, strict=True):
        axis.plot(curves.alphas, values, linewidth=1.2, label=label)
    axis.set_ylabel(curves.what)
    if len(curves.labels):
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
        axis.legend(title=curves.legend, fontsize="x-small", **place)


def _draw_validation(axis: Any, selection: Selection, metric: str) -> None:
    axis.plot(selection.alphas, selection.curve, color="C0")
    bands = (
        (selection.std, 0.15, "± standard error of the figure"),
        (selection.diff_std, 0.35, "± standard error of its difference to the best alpha"),
    )
    for error, shade, name in bands:
        if np.isfinite(error).all():
            low, high = selection.curve - error, selection.curve + error
            axis.fill_between(selection.alphas, low, high, color="C0", alpha=shade, linewidth=0, label=name)
    score = float(selection.curve[selection.index])
    label = f"chosen: {score:.4f} at alpha = {selection.alpha:.3g}"
    axis.plot([selection.alpha], [score], "o", color="C3", label=label)
    axis.legend(fontsize="small", loc="best")
    axis.set_ylabel(_over_lines(f"{metric} on held-out rows"))


def _over_lines(text: str) -> str:
    """Return a label that a panel has room for: a long one in two lines, parted at a blank."""
    if len(text) <= _LONGEST_LABEL or " " not in text:
        return text
    first, rest = text.split(" ", 1)
    return f"{first}\n{rest}"


def draw_selection(selection: Selection, metric: str) -> Any:
    """Draw a validation curve with its spread and the chosen alpha.

    Parameters
    ----------
    selection : Selection
        What to draw.
    metric : str
        What was measured.
    """
    figure = new_figure(7.0, 3.4, "a search")
    axis = figure.subplots()
    _draw_validation(axis, selection, metric)
    axis.axvline(selection.alpha, color="0.6", linewidth=1, linestyle="--", zorder=0)
    axis.set_xscale("log")
    axis.invert_xaxis()
    axis.set_xlabel("alpha (strong regularisation on the left)")
    return figure


def draw_iterations(curve: Vector, chosen: int, metric: str) -> Any:
    """Draw a validation curve by iteration, the start included, and the iteration whose model was taken.

    Parameters
    ----------
    curve : ndarray of shape (n_iterations + 1,)
        What was measured.
    chosen : int
        The iteration.
    metric : str
        Of the curve.
    """
    figure = new_figure(7.0, 3.4, "a search")
    axis = figure.subplots()
    axis.plot(np.arange(len(curve)), curve, ".-", color="C0")
    label = f"chosen: {curve[chosen]:.4f} after iteration {chosen}"
    axis.plot([chosen], [curve[chosen]], "o", color="C3", label=label)
    axis.legend(fontsize="small", loc="best")
    axis.set_xlabel("iteration (0: the model that is 0 everywhere)")
    axis.set_ylabel(_over_lines(f"{metric} on held-out rows"))
    return figure
