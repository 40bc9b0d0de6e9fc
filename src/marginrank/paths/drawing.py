"""Pictures of a path, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from marginrank.exceptions import MarginRankError
from marginrank.paths.selection import PathSelection

if TYPE_CHECKING:
    from marginrank.paths.linear_model import LinearPath

_POINTS = 200


def draw_path(path: LinearPath, n_features: int) -> Any:
    """Draw the coefficients, the validation curve and the active planes of a path, as far as there are any.

    Parameters
    ----------
    path : LinearPath
        What to draw.
    n_features : int
        Coefficients to name.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MarginRankError(
            "Drawing a path needs matplotlib, which is not installed: pip install 'marginrank[plot]'."
        ) from None
    sizes = path.certificate_sizes()
    panels = 1 + (path.selection_ is not None) + (sizes is not None)
    figure = Figure(figsize=(7.0, 1.0 + 2.4 * panels), layout="constrained")
    axes = list(figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0])
    _draw_coefficients(axes[0], path, n_features)
    if path.selection_ is not None:
        _draw_validation(axes[1], path.selection_)
    if sizes is not None:
        axes[-1].plot(*sizes, ".", color="0.4", markersize=4)
        axes[-1].set_ylabel("active planes")
        axes[-1].set_ylim(bottom=0)
    axes[-1].set_xscale("log")
    axes[-1].invert_xaxis()
    axes[-1].set_xlabel("alpha (strong regularisation on the left)")
    if path.selection_ is not None:
        for axis in axes:
            axis.axvline(path.selection_.alpha, color="0.6", linewidth=1, linestyle="--", zorder=0)
    return figure


def _draw_coefficients(axis: Any, path: LinearPath, n_features: int) -> None:
    alphas = np.geomspace(path.alpha_max_, path.alpha_min_, _POINTS)
    alphas[0], alphas[-1] = path.alpha_max_, path.alpha_min_
    ends = path.coefs_at(alphas[:: _POINTS // 10])
    largest = np.argsort(-np.abs(ends).max(axis=0), kind="stable")[:n_features]
    # A few alphas at a time: all models of a wide path at once would not fit.
    curves = np.array([path.coef_at(float(alpha))[largest] for alpha in alphas])
    for column, curve in zip(largest, curves.T, strict=True):
        axis.plot(alphas, curve, linewidth=1.2, label=str(column))
    axis.set_ylabel("coefficient")
    axis.legend(title="feature", fontsize="x-small", loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_validation(axis: Any, selection: PathSelection) -> None:
    axis.plot(selection.alphas, selection.curve, color="C0")
    if np.isfinite(selection.std).all():
        low, high = selection.curve - selection.std, selection.curve + selection.std
        axis.fill_between(selection.alphas, low, high, color="C0", alpha=0.2, linewidth=0)
    label = f"{selection.score:.4f} at alpha = {selection.alpha:.3g}"
    axis.plot([selection.alpha], [selection.score], "o", color="C3", label=label)
    axis.legend(fontsize="small", loc="best")
    axis.set_ylabel(selection.metric)
