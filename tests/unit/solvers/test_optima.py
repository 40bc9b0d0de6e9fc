"""The solvers against optima that were found by other means."""

import numpy as np
import pytest
from pairwise_problem import PairwiseProblem, random_data, random_problem
from scipy.optimize import linprog, minimize
from sklearn.svm import LinearSVC

from marginrank.solvers import SOLVERS

CASES = [(name, power) for name in SOLVERS for power in (1, 2) if (name, power) != ("newton", 1)]


def optimum_by_svc(problem):
    """The same optimum from LIBLINEAR on pair differences: C sum loss + ||w||^2/2, C = 1/(alpha N)."""
    D = problem.differences
    signs = np.where(np.arange(len(D)) % 2 == 0, 1.0, -1.0)  # it wants to see two classes
    svc = LinearSVC(
        loss=problem.name,
        C=1.0 / (problem.alpha * len(D)),
        fit_intercept=False,
        dual=True,
        tol=1e-9,
        max_iter=1_000_000,
        random_state=0,
    )
    svc.fit(D * signs[:, None], signs)
    return problem.value(svc.coef_.ravel())


@pytest.mark.parametrize(("name", "power"), CASES)
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_value_agrees_with_linear_svc_on_pair_differences(name, power, alpha):
    problem = random_problem(power, alpha, n_rows=30, n_features=5)
    result = SOLVERS[name](tol=1e-6).minimize(problem)
    assert result.status == "converged"
    assert result.value == pytest.approx(optimum_by_svc(problem), rel=2e-6)


@pytest.mark.parametrize(("name", "power"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_bound_never_exceeds_the_optimum(name, power, seed):
    problem = random_problem(power, 1e-3, n_rows=40, seed=seed, n_levels=4)
    best = SOLVERS["lbfgs"](tol=1e-9).minimize(problem)
    assert best.gap <= 1e-9
    result = SOLVERS[name](tol=1e-3).minimize(problem)
    bounds = [progress.bound for progress in result.history]
    assert max(bounds) <= best.value * (1 + 1e-12)
    assert best.bound <= result.value <= best.value / (1 - result.gap) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["lbfgs", "newton"])
def test_squared_hinge_agrees_with_scipy(name):
    problem = random_problem(2, 1e-4, n_features=12)

    def value_and_gradient(w):
        point = problem.at(w)
        return point.value, point.risk_gradient + problem.alpha * w

    reference = minimize(value_and_gradient, np.zeros(12), jac=True, tol=1e-14)
    result = SOLVERS[name](tol=1e-7).minimize(problem)
    assert result.value == pytest.approx(reference.fun, rel=1e-7)


@pytest.mark.parametrize("name", ["lbfgs", "bundle"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-9])
def test_hinge_with_tiny_alpha_reaches_the_linear_programme(name, alpha):
    problem = random_problem(1, alpha, n_rows=25, n_features=4, seed=3)
    D = problem.differences
    n_pairs, n_features = D.shape
    lp = linprog(
        np.r_[np.zeros(n_features), np.full(n_pairs, 1.0 / n_pairs)],
        A_ub=np.hstack([-D, -np.eye(n_pairs)]),
        b_ub=-np.ones(n_pairs),
        bounds=[(None, None)] * n_features + [(0, None)] * n_pairs,
    )
    result = SOLVERS[name](tol=1e-5).minimize(problem)
    assert result.status == "converged"
    regularizer = 0.5 * alpha * np.sum(lp.x[:n_features] ** 2)
    assert lp.fun <= result.value + 1e-12
    assert result.bound <= lp.fun + regularizer + 1e-12


@pytest.mark.parametrize(("name", "power"), CASES)
@pytest.mark.parametrize("seed", range(4))
def test_badly_scaled_features_converge(name, power, seed):
    scales = 10.0 ** np.linspace(-3, 6, 10)
    problem = random_problem(power, 1e-4, n_rows=80, n_features=10, seed=seed, scales=scales)
    result = SOLVERS[name](tol=1e-3, max_iter=500).minimize(problem)
    assert result.status == "converged"


@pytest.mark.parametrize("power", [1, 2])
def test_on_bad_scales_the_diagonal_saves_half_the_iterations(power):
    def iterations(*, diagonal):
        scales = 10.0 ** np.linspace(-3, 6, 10)
        problem = random_problem(power, 1e-4, n_rows=80, n_features=10, scales=scales)
        if not diagonal:
            problem.curvature = lambda: np.zeros(10)
        return SOLVERS["lbfgs"](tol=1e-3).minimize(problem).n_iter

    assert iterations(diagonal=True) < 0.5 * iterations(diagonal=False)


@pytest.mark.parametrize("name", ["lbfgs", "bundle"])
def test_more_features_than_rows_converge(name):
    problem = random_problem(1, 1e-3, n_rows=15, n_features=60)
    assert SOLVERS[name](tol=1e-5).minimize(problem).status == "converged"


@pytest.mark.parametrize(("name", "power"), CASES)
def test_a_constant_feature_gets_no_weight(name, power):
    X, y = random_data(n_features=4)
    X[:, 2] = 7.0
    result = SOLVERS[name]().minimize(PairwiseProblem(X, y, 1e-2, power))
    assert result.status == "converged"
    assert result.w[2] == 0.0
