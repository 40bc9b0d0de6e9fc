"""Planes of the loss hold for all scores, one by one and mixed."""

from __future__ import annotations

import numpy as np
import pytest

import brute_force
from marginrank import RankingData
from marginrank.designs import MatrixDesign
from marginrank.losses import QUERY_LOSSES
from marginrank.solvers import QuasiNewton
from marginrank.solvers.objective import Objective
from marginrank.solvers.score_planes import ScorePlanes


def _problem(loss: str, seed: int) -> tuple[Objective, list]:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(24, 5)), rng.integers(0, 3, 24).astype(np.float64)
    view = RankingData(X, y, qid=np.repeat([0, 1, 2], 8)).training_view()
    made = QUERY_LOSSES[loss](view, weighting="pairs", n_threads=1)
    return Objective(MatrixDesign(X, n_threads=1), made, 1e-3), brute_force.query_pairs(view, "pairs")


@pytest.mark.parametrize("loss", QUERY_LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_the_mixture_is_below_the_risk_at_any_scores(loss: str, seed: int) -> None:
    objective, pairs = _problem(loss, seed)
    planes = ScorePlanes(objective.alpha, objective.n_features)
    planes._capacity = 4  # so that some are dropped
    result = QuasiNewton(tol=1e-6).minimize(objective, planes=planes)
    plane = planes.mixture()
    assert plane is not None
    rng = np.random.default_rng(seed)
    for size in (0.1, 1.0, 10.0):
        p = size * rng.normal(size=24)
        assert brute_force.risk(loss, pairs, p).value >= plane.gradient @ p + plane.offset - 1e-12
    # It proves what the planes proved, up to rounding, with one product.
    slope, offset, rounding = objective.plane_of(plane)
    proved = offset - rounding.offset - slope @ slope / (2.0 * objective.alpha)
    assert proved == pytest.approx(result.bound, rel=1e-9)
    assert proved <= result.value


def test_without_planes_there_is_no_mixture() -> None:
    assert ScorePlanes(1.0, 3).mixture() is None
