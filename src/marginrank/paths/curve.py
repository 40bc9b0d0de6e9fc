"""Figures along a path: certified objectives, the metric on validation rows, and what was chosen by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marginrank.data import RankingData
from marginrank.figures import rounded
from marginrank.metrics import Metric
from marginrank.solvers.certificate import relative_gap
from marginrank.types import Vector


@dataclass(frozen=True, eq=False)
class Curve:
    """Figures at alphas in descending order.

    Parameters
    ----------
    alphas : ndarray of shape (n_alphas,)
        Where they were taken.
    objective, lower_bound : ndarray of shape (n_alphas,)
        Of the model, and of the optimum.
    selection : PathSelection or None
        The validation curve and the choice, where there are validation rows.
    features_used : ndarray of shape (n_alphas,), optional
        How many features have a weight, where that is for the path to tell.
    """

    alphas: Vector
    objective: Vector
    lower_bound: Vector
    selection: Any
    features_used: NDArray[np.int64] | None = None

    @property
    def gap(self) -> Vector:
        """How far the models are from their optimum at most, relative to it."""
        return np.array([relative_gap(*one) for one in zip(self.objective, self.lower_bound, strict=True)])

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the figures by name, as machines get them."""
        columns: dict[str, NDArray[Any]] = {
            "alpha": self.alphas,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
        }
        if self.features_used is not None:
            columns["features_used"] = self.features_used
        if self.selection is not None:
            columns |= {"value": self.selection.curve, "standard_error": self.selection.std}
        return columns

    def heads(self) -> list[str]:
        """Return what the ``texts`` are."""
        found = ["alpha", "objective", "gap", *([] if self.features_used is None else ["features"])]
        return found if self.selection is None else [*found, self.selection.metric, "std. error"]

    def texts(self, k: int) -> list[str]:
        """Return the figures at the alpha of that number, as people read them."""
        found = [f"{self.alphas[k]:.3g}", f"{self.objective[k]:.6f}", f"{self.gap[k]:.1e}"]
        if self.features_used is not None:
            found.append(f"{self.features_used[k]:,}")
        if self.selection is not None:
            found += [rounded(self.selection.curve[k]), rounded(self.selection.std[k])]
        return found


def measure_path(
    path: Any, validation: RankingData | None, metric: Metric | None, rule: str, points: int
) -> Curve:
    """Return the curve of a path, with a choice where there are validation rows."""
    selection = None
    if validation is not None:
        selection = path.select(validation, metric=metric, rule=rule, n_alphas=points)
    alphas = path.grid(points)
    bounds = np.array([path.objective_at(float(alpha)) for alpha in alphas])
    used = None
    if hasattr(path, "n_features_used"):
        used = np.count_nonzero(path.coefs_at(alphas), axis=1)
    return Curve(alphas, bounds[:, 0], bounds[:, 1], selection, used)
