"""What is known of least-squares models, in exact arithmetic: their objectives and how low these can go.

Solvers of linear systems claim bounds that hold where arithmetic is exact. Here they are checked against X:
the plane of the risk at a point v bounds the optimum from below, by ``J(v) - ||r||^2 / (2 alpha)`` with r the
gradient of J at v, less the rounding of all that this is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from marginrank.designs.base import Design
from marginrank.losses.base import Loss
from marginrank.rounding import UNIT, upward
from marginrank.solvers import CuttingPlanes
from marginrank.solvers.certificate import relative_gap
from marginrank.solvers.objective import Objective, Point, find_gradients
from marginrank.training.problems import Problem
from marginrank.types import Array

_PRECISION = 1e-6
#: At this part of the mean curvature the slope of the risk is far above its rounding. A plane proves most
#: where its slope points along the minimiser. At a tiny alpha the slope at the minimiser is rounding, which
#: points anywhere; that at the model of a larger alpha is not, and a small part of its plane proves nearly
#: all that there is.
ABOVE_ROUNDING = 1e-10


class Claim(NamedTuple):
    """What the objective of a model is at most, and the optimum at least."""

    value: float
    bound: float

    @property
    def gap(self) -> float:
        """How far the model is from the optimum at most, relative to its value."""
        return relative_gap(self.value, self.bound)


class Model(NamedTuple):
    """Coefficients at an alpha, and where to bound the optimum from below; None is at the coefficients.

    Both are of shape (n_targets, n_features).
    """

    alpha: float
    w: Array
    low: Array | None = None


class LeastSquaresCertificate:
    """Checks models of one least-squares problem, of one or several targets.

    Parameters
    ----------
    design : Design
        Products with X.
    loss : Loss
        A quadratic risk.
    targets : ndarray of shape (n_targets, n_rows), optional
        Labels in the order of the loss, where there are several for each row; by default those of the loss.

    Attributes
    ----------
    passes : float
        Passes over X so far.

    Examples
    --------
    >>> from marginrank.data import RankingData
    >>> from marginrank.designs import MatrixDesign
    >>> from marginrank.losses import LeastSquaresLoss
    >>> X = np.array([[0.0], [2.0]])
    >>> loss = LeastSquaresLoss(RankingData(X, [0, 3]).training_view(), n_threads=1)
    >>> certificate = LeastSquaresCertificate(MatrixDesign(X, n_threads=1), loss)
    >>> model = Model(1.0, np.array([[1.0]]))  # the minimiser of (w - 3/2)^2 + w^2 / 2
    >>> claim = certificate.check(model)[0]
    >>> claim.bound < 0.75 < claim.value, claim.gap < 1e-12
    (True, True)
    """

    def __init__(self, design: Design, loss: Loss, targets: Array | None = None) -> None:
        self._design = design
        self._losses: list[Loss] = [loss]
        if targets is not None:
            labelled: Any = loss
            self._losses = [labelled.with_labels(y) for y in targets]
        self._is_remote = targets is None and not design.brings_scores(loss)
        self.passes = 0.0

    def check(self, *models: Model) -> list[Claim]:
        """Return what is known of some models, from one pass over X for all of them."""
        points = [self._points(model) for model in models]
        if not self._is_remote:
            self.passes += 0.5
            # Those at which nothing is bounded need no gradient.
            lows = [
                point for model, (_, low) in zip(models, points, strict=True) if model.alpha for point in low
            ]
            if lows:
                counter = Objective(self._design, self._losses[0], 1.0)
                find_gradients(counter, lows)
                self.passes += counter.passes
        return [_claim(model.alpha, *both) for model, both in zip(models, points, strict=True)]

    def _points(self, model: Model) -> tuple[list[Point], list[Point]]:
        """Return the points of a model, and those at which its optimum is bounded."""
        n_targets = len(self._losses)
        both = model.w if model.low is None else np.concatenate([model.w, model.low])
        objectives = [Objective(self._design, loss, model.alpha) for loss in self._losses]
        objectives *= len(both) // n_targets
        if self._is_remote:
            points = [one.at(w) for one, w in zip(objectives, both, strict=True)]
            self.passes += sum(one.passes for one in objectives)
        else:
            scores = self._design.scores_block(np.ascontiguousarray(both))
            points = [
                one.at_scores(w, p, one.score_error(w))
                for one, w, p in zip(objectives, both, scores, strict=True)
            ]
        return points[:n_targets], points[-n_targets:]


class _Counts(Protocol):
    """What fits a problem, and counts its passes."""

    problem: Problem
    passes: float


def check_models(trainer: _Counts, *models: Model) -> list[Claim]:
    """Return what is known of some models, and count the passes that it takes."""
    problem = trainer.problem
    certificate = LeastSquaresCertificate(problem.design, problem.loss, problem.target_rows)
    claims = certificate.check(*models)
    trainer.passes += certificate.passes
    return claims


def _claim(alpha: float, points: Sequence[Point], lows: Sequence[Point]) -> Claim:
    value = sum(upward(point.value + point.value_error, 1.0) for point in points)
    value = upward(value, len(points))
    bound = 0.0 if alpha == 0.0 else sum(map(_bound, lows)) * (1.0 - len(lows) * UNIT)
    return Claim(value, min(bound, value))


def _bound(point: Point) -> float:
    """Return what the plane of a point proves of the optimum, at least 0."""
    slope, w, alpha = point.risk_gradient, point.w, point.objective.alpha
    planes = CuttingPlanes(alpha, len(w))
    planes.columns = point.objective.columns
    planes.add(slope, point.risk - float(slope @ w), point.plane_rounding)
    return max(planes.bound(_PRECISION * point.value), 0.0)
