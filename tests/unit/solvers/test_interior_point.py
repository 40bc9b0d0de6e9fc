"""The interior-point method for small hinges: the optimum of other solvers, with planes that hold."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import brute_force
from marginrank import RankingData, RankSVM
from marginrank.losses import QUERY_LOSSES
from marginrank.losses.written_pairs import write_pairs
from marginrank.solvers import quasi_newton


def _problem(seed: int, n_columns: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, n_columns)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)


def _both(X: Any, y: Any, **given: Any) -> tuple[RankSVM, RankSVM, list[Any]]:
    """Return the model of the interior-point method, that of others, and the steps that the first took."""
    options = {name: given.pop(name) for name in ("alpha", "tol", "weighting", "scale") if name in given}
    steps = []
    real = quasi_newton.interior_steps

    def noted(*args: Any) -> Any:
        steps.append(args)
        return real(*args)

    with patch.object(quasi_newton, "interior_steps", noted):
        inside = RankSVM("hinge", **options).fit(X, y, **given)
    with patch.object(quasi_newton, "interior_pays", lambda objective, start: False):
        return inside, RankSVM("hinge", max_iter=5000, **options).fit(X, y, **given), steps


@pytest.mark.parametrize("alpha", [1e-1, 1e-3, 1e-6])
@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("n_columns", [31, 90])
def test_the_optimum_is_that_of_other_solvers(alpha: float, weighting: str, n_columns: int) -> None:
    X, y, qid = _problem(0, n_columns)
    weight = np.random.default_rng(3).integers(0, 4, 60).astype(np.float64)
    inside, usual, steps = _both(
        X, y, alpha=alpha, tol=1e-4, weighting=weighting, scale=None, qid=qid, sample_weight=weight
    )
    assert steps
    assert inside.gap_ <= 1e-4
    assert max(inside.lower_bound_, usual.lower_bound_) <= min(inside.objective_, usual.objective_)


def test_offsets_are_less_margin() -> None:
    X, y, qid = _problem(0)
    offset = np.random.default_rng(4).normal(size=60)
    inside, usual, steps = _both(X, y, alpha=1e-3, tol=1e-4, scale=None, qid=qid, offset=offset)
    assert steps
    assert inside.gap_ <= 1e-4
    assert max(inside.lower_bound_, usual.lower_bound_) <= min(inside.objective_, usual.objective_)


def test_nearly_separable_rows_take_a_dozen_steps() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(120, 100)), rng.integers(0, 3, 120), np.repeat(np.arange(10), 12)
    model = RankSVM("hinge", alpha=1e-4).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ <= 40  # 12; 121 by subgradients


def test_equal_rows_and_columns_and_scales_are_no_obstacle() -> None:
    X, y, qid = _problem(1, 20)
    X = np.repeat(X, 2, axis=1) * 10.0 ** np.linspace(-2, 2, 40)
    X[:5] = X[0]
    inside, _, steps = _both(X, y, alpha=1e-4, scale=None, qid=qid)
    assert steps
    assert inside.gap_ <= 1e-3


def test_the_limit_of_iterations_is_kept() -> None:
    X, y, qid = _problem(0)
    with pytest.warns(Warning, match="4 iterations"):
        assert RankSVM("hinge", alpha=1e-5, max_iter=4).fit(X, y, qid=qid).n_iter_ == 4


def test_large_alphas_and_many_rows_stay_with_other_solvers() -> None:
    X, y, qid = _problem(0)
    assert not _both(X, y, alpha=1e3, scale=None, qid=qid)[2]
    assert not _both(X[:, :20], y, alpha=1e-3, scale=None, qid=qid)[2]


@pytest.mark.parametrize("weighting", ["pairs", "queries"])
def test_written_pairs_are_those_of_the_definition(weighting: str) -> None:
    rng = np.random.default_rng(0)
    X, y, qid = _problem(5, 2)
    weight, query_weight = rng.integers(0, 3, 60).astype(float), rng.random(6)
    data = RankingData(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    view = data.training_view()
    loss = QUERY_LOSSES["hinge"](view, weighting=weighting, n_threads=1)
    pairs, expected = loss.written_pairs(), brute_force.query_pairs(view, weighting)
    scores = rng.normal(size=len(view.y))
    risk = pairs.weight @ np.maximum(1.0 - (scores[pairs.better] - scores[pairs.worse]), 0.0)
    assert risk == pytest.approx(brute_force.risk("hinge", expected, scores).value, rel=1e-12)


def test_pairs_without_weight_are_left_out() -> None:
    weight = np.array([1.0, 0.0, 2.0])
    pairs = write_pairs(np.array([0.0, 1.0, 2.0]), np.array([0, 3]), weight, np.array([0.5]), 0.0)
    assert (pairs.better.tolist(), pairs.worse.tolist(), pairs.weight.tolist()) == ([2], [0], [1.0])
