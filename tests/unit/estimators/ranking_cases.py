"""Small data for the tests of estimators."""

from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


def ranking_case(n_rows=200, n_features=6, n_queries=12, *, seed=0, n_levels=4, dtype=np.float64):
    """Noisy linear utilities, graded unless ``n_levels`` is None, in queries whose rows are mixed up."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)).astype(dtype)
    y = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
    if n_levels is not None:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_levels) / n_levels)).astype(float)
    return Case(X, y, rng.integers(n_queries, size=n_rows))


def same_minimum(model, other):
    """Assert that two certified models are as close as their certificates say.

    Both objectives lie within their gap above one optimum, and the objective grows from there by at least
    alpha/2 times the squared distance.
    """
    slack, other_slack = model.gap_ * model.objective_, other.gap_ * other.objective_
    rounding = 1e-12 * model.objective_
    assert abs(model.objective_ - other.objective_) <= max(slack, other_slack) + rounding
    reach = np.sqrt(2 / model.alpha) * (np.sqrt(slack + rounding) + np.sqrt(other_slack + rounding))
    assert np.linalg.norm(model.coef_ - other.coef_) <= reach
