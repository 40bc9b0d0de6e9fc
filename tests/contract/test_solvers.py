"""What holds for every solver in the registry, on risks that have nothing to do with ranking."""

import numpy as np
import pytest

from marginrank.rounding import PlaneRounding
from marginrank.solvers import SOLVERS, QuasiNewton
from marginrank.solvers.penalties import SQUARED_NORM


class Regression:
    """``mean |X w - t|^power + P(w)``: convex and nonnegative is all that solvers ask for."""

    columns = None

    def __init__(self, power=2, alpha=1e-2, target=None, seed=0, penalty=SQUARED_NORM):
        rng = np.random.default_rng(seed)
        self.X = rng.standard_normal((50, 6))
        self.target = self.X @ rng.standard_normal(6) + rng.standard_normal(50) if target is None else target
        self.alpha, self.power, self.n_features, self.smooth, self.passes = alpha, power, 6, power == 2, 0.0
        self.penalty = penalty
        self.interrupt_at = np.inf

    def at(self, w):
        if self.passes >= self.interrupt_at:
            raise KeyboardInterrupt
        self.passes += 0.5
        return RegressionPoint(self, w)

    def smoothed(self, width):
        return None

    def curvature(self):
        return 2.0 * np.mean(self.X**2, axis=0)


class RegressionPoint:
    value_error = 0.0
    plane_rounding = PlaneRounding()

    def __init__(self, objective, w):
        self.objective, self.w = objective, w
        self.residual = objective.X @ w - objective.target
        self.risk = float(np.mean(np.abs(self.residual) ** objective.power))
        self.value = self.risk + objective.penalty.value(w, objective.alpha)
        inner = np.sign(self.residual) if objective.power == 1 else 2.0 * self.residual
        self.risk_gradient = inner @ objective.X / len(inner)

    def hvp(self, v):
        X = self.objective.X
        self.objective.passes += 1.0
        return 2.0 * X.T @ (X @ v) / len(X) + self.objective.penalty.hvp(self.w, v, self.objective.alpha)

    def along(self, direction):
        return RegressionLine(self, direction)


class RegressionLine:
    def __init__(self, start, direction):
        self.start, self.direction = start, direction

    def at(self, t):
        return self.start.objective.at(self.start.w + t * self.direction)

    def slope(self, point):
        objective = point.objective
        penalty = objective.penalty.slope(point.w, self.direction, objective.alpha)
        return float(point.risk_gradient @ self.direction) + penalty


def objective_for(name, **options):
    return Regression(power=2 if name == "newton" else 1, **options)


every_solver = pytest.mark.parametrize("name", SOLVERS)


@every_solver
def test_reaches_the_gap_that_is_asked_for(name):
    result = SOLVERS[name](tol=1e-6).minimize(objective_for(name))
    assert result.status == "converged"
    assert 0.0 <= result.gap <= 1e-6
    assert result.gap == pytest.approx((result.value - result.bound) / result.value)


@every_solver
def test_least_squares_agrees_with_the_normal_equations(name):
    objective = Regression(power=2)
    X, target, alpha = objective.X, objective.target, objective.alpha
    w = np.linalg.solve(2.0 * X.T @ X / 50 + alpha * np.eye(6), 2.0 * X.T @ target / 50)
    optimum = objective.at(w).value
    result = SOLVERS[name](tol=1e-8).minimize(objective)
    assert result.value == pytest.approx(optimum, rel=1e-8)
    assert result.bound <= optimum * (1 + 1e-13)


@every_solver
def test_history_is_monotone_and_ends_with_the_result(name):
    result = SOLVERS[name](tol=1e-5).minimize(objective_for(name))
    values = [p.value for p in result.history]
    bounds = [p.bound for p in result.history]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)
    assert all(p.gap >= 0.0 and p.bound <= p.value for p in result.history)
    assert [p.iteration for p in result.history] == list(range(result.n_iter + 1))
    last = result.history[-1]
    assert (last.value, last.bound, last.gap) == (result.value, result.bound, result.gap)


@every_solver
def test_result_is_a_point_of_the_objective(name):
    objective = objective_for(name)
    result = SOLVERS[name]().minimize(objective)
    assert objective.at(result.w).value == pytest.approx(result.value, rel=1e-13)


@every_solver
def test_callback_sees_every_iteration(name):
    seen = []
    result = SOLVERS[name]().minimize(objective_for(name), callback=seen.append)
    assert seen == list(result.history)


@every_solver
def test_callback_can_stop(name):
    result = SOLVERS[name](tol=1e-9).minimize(objective_for(name), callback=lambda p: p.iteration == 2)
    assert result.status == "stopped"
    assert result.n_iter == 2


@every_solver
def test_max_iter_is_respected(name):
    result = SOLVERS[name](tol=1e-12, max_iter=2).minimize(objective_for(name))
    assert result.status == "max_iter"
    assert result.n_iter == 2


@every_solver
def test_ctrl_c_leaves_the_best_point_so_far(name):
    objective = objective_for(name)
    objective.interrupt_at = 3.0
    result = SOLVERS[name](tol=1e-12).minimize(objective)
    assert result.status == "interrupted"
    assert result.value < result.history[0].value
    assert result.bound <= result.value


@every_solver
def test_ctrl_c_before_the_first_point_is_raised(name):
    objective = objective_for(name)
    objective.interrupt_at = 0.0
    with pytest.raises(KeyboardInterrupt):
        SOLVERS[name]().minimize(objective)


@every_solver
def test_ctrl_c_in_a_callback_leaves_the_best_point(name):
    def interrupt(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    result = SOLVERS[name](tol=1e-12).minimize(objective_for(name), callback=interrupt)
    assert result.status == "interrupted"
    assert result.n_iter == 1


@every_solver
def test_an_objective_that_is_zero_at_the_start_is_done_there(name):
    result = SOLVERS[name]().minimize(objective_for(name, target=np.zeros(50)))
    assert (result.status, result.value, result.gap, result.n_iter) == ("converged", 0.0, 0.0, 0)
    np.testing.assert_array_equal(result.w, np.zeros(6))


@every_solver
def test_a_warm_start_at_the_optimum_does_not_get_worse(name):
    optimum = SOLVERS[name](tol=1e-7).minimize(objective_for(name))
    again = SOLVERS[name](tol=1e-7).minimize(objective_for(name), optimum.w)
    assert again.status == "converged"
    assert again.value <= optimum.value * (1 + 1e-14)


@every_solver
def test_the_starting_point_is_left_alone(name):
    w0 = np.ones(6)
    SOLVERS[name]().minimize(objective_for(name), w0)
    np.testing.assert_array_equal(w0, np.ones(6))


@every_solver
def test_a_far_start_converges_too(name):
    result = SOLVERS[name](tol=1e-4).minimize(objective_for(name), 1e4 * np.ones(6))
    assert result.status == "converged"


@every_solver
@pytest.mark.parametrize("alpha", [1e-10, 1e4])
def test_extreme_alpha_converges(name, alpha):
    result = SOLVERS[name](tol=1e-5).minimize(objective_for(name, alpha=alpha))
    assert result.status == "converged"


@every_solver
def test_the_same_run_gives_the_same_bits(name):
    first, second = (SOLVERS[name](tol=1e-6).minimize(objective_for(name)) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)
    assert first.bound == second.bound


def test_a_tolerance_of_zero_ends_at_rounding():
    result = QuasiNewton(tol=0.0, max_iter=2000).minimize(Regression(power=1, alpha=1e-6))
    assert result.status == "stalled"
    assert 0.0 <= result.gap < 1e-12
