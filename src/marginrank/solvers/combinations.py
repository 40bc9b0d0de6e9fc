"""Combinations of models whose scores are known, without a look at X."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marginrank.rounding import UNIT, upward
from marginrank.solvers.objective import Objective, Point
from marginrank.types import Vector


def combination(objective: Objective, weights: Sequence[float] | Vector, models: Sequence[Any]) -> Point:
    """Evaluate a combination of models whose scores are known, without a look at X.

    Parameters
    ----------
    objective : Objective
        What to evaluate.
    weights : sequence of float
        One for each model.
    models : sequence
        What has ``w``, ``scores`` and ``score_error``: points, or knots of a path.
    """
    w = _weighted_sum(weights, [model.w for model in models])
    scores = _weighted_sum(weights, [model.scores for model in models])
    # Coefficients and scores round apart: with each weight twice, and in sums of so many terms.
    steps = 2.0 * (len(models) + 3) * UNIT
    error = sum(
        abs(float(weight)) * (model.score_error + steps * objective.reach(model.w))
        for weight, model in zip(weights, models, strict=True)
    )
    return objective.at_scores(w, scores, upward(error))


def _weighted_sum(weights: Sequence[float] | Vector, vectors: Sequence[Vector]) -> Vector:
    total: Vector = weights[0] * vectors[0]
    for weight, vector in zip(weights[1:], vectors[1:], strict=True):
        total += weight * vector
    return total
