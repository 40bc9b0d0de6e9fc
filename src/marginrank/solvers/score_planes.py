"""Cutting planes that remember what they say about scores, so that their mixture is a plane for any features.

Every plane of a risk ``R(X w)`` comes from one of the loss, ``R(p) >= g.p + b`` for all scores p, which knows
nothing of X. So planes that were found with one design, such as coordinates in the space of the rows, prove
something about any other design of the same rows: ``R(X w) >= (X' g).w + b``. A mixture of planes is one
plane, and costs one product with X.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from marginrank.rounding import TINY, UNIT, PlaneRounding, upward
from marginrank.solvers.planes import CuttingPlanes
from marginrank.types import Rows, Vector


class ScorePlane(NamedTuple):
    """The plane ``R(p) >= gradient.p + offset`` of a loss, for all scores p, as far as it is known.

    Attributes
    ----------
    gradient : ndarray of shape (n_rows,)
        Its slope.
    offset : float
        Its value at scores of 0.
    taken_off : float
        How far the offset may be too large.
    slope_error : float
        1-norm of what separates the slope from that of a plane that holds.
    length : float
        What the 1-norm of the slope is at most.
    """

    gradient: Vector
    offset: float
    taken_off: float
    slope_error: float
    length: float


def rounding_of(objective: Any, plane: ScorePlane) -> PlaneRounding:
    """Return how far a plane of the loss may be off as one of coefficients, once multiplied with X."""
    slope = objective.products.adjoint_steps * UNIT * plane.length + plane.slope_error
    return PlaneRounding(plane.taken_off, upward(slope) + TINY, plane.length)


class ScorePlanes(CuttingPlanes):
    """Cutting planes, with those of the loss that they come from."""

    def __init__(self, alpha: float, n_features: int) -> None:
        super().__init__(alpha, n_features)
        self._of_scores: list[ScorePlane | None] = [None]

    def cut(self, point: Any) -> None:
        """Add the plane of a point, which has scores."""
        super().cut(point)
        self._of_scores.append(point.score_plane)

    def cut_below(self, point: Any) -> None:
        """Add the plane of a point of a smoothed risk, which has scores."""
        super().cut_below(point)
        self._of_scores.append(point.score_plane)

    def cut_scores(self, objective: Any, plane: ScorePlane) -> None:
        """Add a plane of the loss."""
        super().cut_scores(objective, plane)
        self._of_scores.append(plane)

    def _keep(self, keep: Rows) -> None:
        super()._keep(keep)
        self._of_scores = [self._of_scores[k] for k in keep]

    def mixture(self) -> ScorePlane | None:
        """Return the plane that the last bound is made of; None where that is ``R >= 0``.

        With weights that are together at most 1, ``R >= sum_k theta_k R >= sum_k theta_k (g_k.p + b_k)``.
        """
        n = len(self)
        weights, planes = [], []
        for weight, plane in zip(self.theta, self._of_scores, strict=True):
            if weight > 0.0 and plane is not None:
                # Together they must not exceed 1, rounding included; what is missing goes to the plane 0.
                weights.append(float(weight) * (1.0 - 2.0 * (n + 4.0) * UNIT))
                planes.append(plane)
        if not planes:
            return None
        theta, steps = np.array(weights), len(planes) + 4.0
        gradient = theta @ np.stack([plane.gradient for plane in planes])
        offsets = np.array([plane.offset for plane in planes])
        taken_off = theta @ np.array([plane.taken_off for plane in planes])
        lengths = theta @ np.array([plane.length for plane in planes])
        errors = theta @ np.array([plane.slope_error for plane in planes])
        return ScorePlane(
            gradient,
            float(theta @ offsets),
            upward(float(taken_off) + 2.0 * steps * UNIT * float(theta @ np.abs(offsets)), steps),
            upward(float(errors) + steps * UNIT * float(lengths), steps),
            upward(float(np.abs(gradient).sum()), len(gradient) + 4.0),
        )
