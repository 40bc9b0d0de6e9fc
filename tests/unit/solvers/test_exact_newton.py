"""Newton with the whole Hessian: the optimum of other solvers, at any scale of the columns."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from marginrank import RankSVM
from marginrank.losses import QUERY_LOSSES
from marginrank.solvers.exact_newton import _Damping
from marginrank.solvers.objective import Objective

SMOOTH = [name for name, loss in QUERY_LOSSES.items() if loss.smooth]


def _problem(seed: int, n_columns: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(60, n_columns)), rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("n_columns", [31, 90])
def test_the_optimum_is_that_of_solvers_that_learn_the_curvature(
    loss: str, alpha: float, n_columns: int
) -> None:
    X, y, qid = _problem(0, n_columns)
    exact = RankSVM(loss, alpha=alpha, tol=1e-4, scale=None).fit(X, y, qid=qid)
    with patch.object(Objective, "hessians", None):
        learnt = RankSVM(loss, alpha=alpha, tol=1e-4, scale=None, max_iter=5000).fit(X, y, qid=qid)
    assert exact.gap_ <= 1e-4
    assert max(exact.lower_bound_, learnt.lower_bound_) <= min(exact.objective_, learnt.objective_)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_columns_of_very_different_size_take_hardly_more_steps(solver: str) -> None:
    X, y, qid = _problem(1)
    scales = 10.0 ** np.linspace(-3, 3, 40)
    model = RankSVM("squared_hinge", alpha=1e-2, scale=None, solver=solver).fit(X * scales, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ <= 60


def test_nearly_separable_rows_are_no_obstacle() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(120, 100)), rng.integers(0, 3, 120), np.repeat(np.arange(10), 12)
    model = RankSVM("squared_hinge", alpha=1e-4).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert model.n_iter_ <= 100  # about 15; learnt step by step, 281


def test_equal_columns_and_rows_have_a_direction() -> None:
    X, y, qid = _problem(2, 12)
    X = np.repeat(X, 3, axis=1)
    X[:10] = X[0]
    model = RankSVM("squared_hinge", alpha=1e-9, scale=None).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3


def test_a_column_without_curvature_does_not_measure_the_gradient() -> None:
    damping = _Damping(np.diag([1.0, 0.0]), np.array([1.0, 1e-9]))
    # Its part of the gradient is rounding; divided by nothing it would be all of the length.
    np.testing.assert_allclose(damping.of(np.array([1.0, 0.0])), [1.0, 1e-12], rtol=0.2)
