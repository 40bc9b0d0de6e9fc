"""What holds for every penalty: those in the registry, and some that the library does not have."""

import pickle

import numpy as np
import pytest
from test_solvers import Regression

from marginrank.exceptions import IncompatibleSolverError
from marginrank.solvers import SOLVERS
from marginrank.solvers.penalties import PENALTIES, ElasticNet
from toy_penalty import BoundedElasticNet

TOYS = [
    BoundedElasticNet(0.5),
    BoundedElasticNet(0.9, low=0.0),
    BoundedElasticNet(0.0, low=-0.2, high=0.3),
    BoundedElasticNet(0.3, low=0.1, high=0.4),  # 0 is not allowed
]
BOUNDED = [
    ElasticNet(0.9, low=0.0),
    ElasticNet(0.0, low=-0.2, high=0.3),
    ElasticNet(0.3, low=0.1, high=0.4),
    ElasticNet(
        0.7,
        low=np.array([0.0, -np.inf, -0.5, 0.2, -0.3, -1.0]),
        high=np.array([0.1, 0.0, 0.5, 0.2, np.inf, 2]),
    ),
]
EVERY = [*(make() for make in PENALTIES.values()), *BOUNDED, *TOYS]
ALPHA = 0.3

every_penalty = pytest.mark.parametrize("penalty", EVERY, ids=repr)


@pytest.fixture(name="rng")
def generator():
    return np.random.default_rng(0)


def allowed(penalty, rng, n=6):
    """Return allowed coefficients, some of them at kinks and bounds."""
    w = rng.standard_normal(n)
    w[rng.random(n) < 0.3] = 0.0
    return penalty.nearest(w)


@every_penalty
def test_it_is_a_frozen_value(penalty):
    assert pickle.loads(pickle.dumps(penalty)) == penalty
    assert hash(penalty) == hash(pickle.loads(pickle.dumps(penalty)))


@every_penalty
def test_it_is_never_negative_and_strongly_convex(penalty, rng):
    modulus = penalty.modulus(ALPHA)
    assert modulus > 0.0
    for _ in range(50):
        a, b = allowed(penalty, rng), allowed(penalty, rng)
        ends = 0.5 * (penalty.value(a, ALPHA) + penalty.value(b, ALPHA))
        middle = penalty.value(0.5 * (a + b), ALPHA)
        assert penalty.value(a, ALPHA) >= 0.0
        assert middle <= ends - modulus / 8.0 * float((a - b) @ (a - b)) + 1e-13


@every_penalty
def test_the_conjugate_is_the_largest_difference_and_reached_at_the_minimizer(penalty, rng):
    for _ in range(50):
        z = rng.standard_normal(6)
        conjugate, at = penalty.conjugate(z, ALPHA), penalty.minimizer(z, ALPHA)
        assert conjugate == pytest.approx(float(z @ at) - penalty.value(at, ALPHA), rel=1e-12, abs=1e-14)
        for _ in range(20):
            w = allowed(penalty, rng)
            assert float(z @ w) - penalty.value(w, ALPHA) <= conjugate + 1e-13


@every_penalty
def test_the_conjugate_with_an_error_holds_for_all_that_is_within_it(penalty, rng):
    for _ in range(50):
        z, error = rng.standard_normal(6), rng.random(6)
        highest = penalty.conjugate(z, ALPHA, error)
        for _ in range(20):
            assert penalty.conjugate(z + rng.uniform(-1.0, 1.0, 6) * error, ALPHA) <= highest * (1 + 1e-14)


@every_penalty
def test_slopes_of_the_minimizer_are_its_differences(penalty, rng):
    step = 1e-6
    for z in rng.standard_normal((40, 6)):
        ahead, behind = penalty.minimizer(z + step, ALPHA), penalty.minimizer(z - step, ALPHA)
        expected = (ahead - behind) / (2 * step)
        np.testing.assert_allclose(penalty.minimizer_slope(z, ALPHA), expected, atol=1e-6)


@every_penalty
def test_the_slope_along_a_direction_is_the_difference_of_values(penalty, rng):
    for _ in range(50):
        w = allowed(penalty, rng)
        direction = penalty.nearest(w + rng.standard_normal(6)) - w
        t = 1e-6
        difference = (penalty.value(w + t * direction, ALPHA) - penalty.value(w, ALPHA)) / t
        assert penalty.slope(w, direction, ALPHA) == pytest.approx(difference, abs=1e-5)


@every_penalty
def test_the_smallest_subgradient_gives_a_plane_and_vanishes_at_the_minimizer(penalty, rng):
    for _ in range(50):
        w, gradient = allowed(penalty, rng), rng.standard_normal(6)
        slope = penalty.smallest_subgradient(w, gradient, ALPHA)
        here = float(gradient @ w) + penalty.value(w, ALPHA)
        for _ in range(20):
            v = allowed(penalty, rng)
            there = float(gradient @ v) + penalty.value(v, ALPHA)
            assert there >= here + float(slope @ (v - w)) - 1e-12
        best = penalty.minimizer(-gradient, ALPHA)
        np.testing.assert_allclose(penalty.smallest_subgradient(best, gradient, ALPHA), 0.0, atol=1e-14)


@every_penalty
def test_steps_end_where_coefficients_are_allowed(penalty, rng):
    for _ in range(50):
        w = allowed(penalty, rng)
        gradient = penalty.smallest_subgradient(w, rng.standard_normal(6), ALPHA)
        end = w + penalty.allowed_step(w, 3.0 * rng.standard_normal(6), gradient)
        np.testing.assert_allclose(end, penalty.nearest(end), atol=1e-15)
        assert float(np.linalg.norm(w)) <= penalty.farthest(penalty.value(w, ALPHA), ALPHA) * (1 + 1e-12)


@every_penalty
def test_no_rounding_takes_a_step_beyond_what_is_allowed(penalty, rng):
    for _ in range(2000):
        w = penalty.nearest(rng.standard_normal(6) * 10.0 ** rng.uniform(-8, 2, 6))
        target = penalty.nearest(w + rng.standard_normal(6) * 10.0 ** rng.uniform(-8, 2, 6))
        end = w + penalty.step_to(w, target)
        assert np.isfinite(penalty.value(end, ALPHA))
        np.testing.assert_allclose(end, target, rtol=1e-15, atol=4e-16 * np.abs(w).max())


@every_penalty
def test_a_smooth_one_has_the_gradient_and_the_hessian_of_its_values(penalty, rng):
    if not penalty.smooth:
        assert penalty in [*BOUNDED, *TOYS, ElasticNet()]
        return
    w, v, t = rng.standard_normal(6), rng.standard_normal(6), 1e-5
    gradient = penalty.smallest_subgradient(w, np.zeros(6), ALPHA)
    difference = (penalty.value(w + t * v, ALPHA) - penalty.value(w - t * v, ALPHA)) / (2 * t)
    assert float(gradient @ v) == pytest.approx(difference, rel=1e-8)
    ahead, behind = (penalty.smallest_subgradient(w + s * t * v, np.zeros(6), ALPHA) for s in (1, -1))
    np.testing.assert_allclose(penalty.hvp(w, v, ALPHA), (ahead - behind) / (2 * t), rtol=1e-8)


def optimum_by_proximal_steps(objective):
    """Return the optimum of a regression by squares: an independent method, to the last digits."""
    X, target, alpha, penalty = objective.X, objective.target, objective.alpha, objective.penalty
    step = 1.0 / (2.0 * np.linalg.norm(X, 2) ** 2 / len(X))
    w = penalty.nearest(np.zeros(X.shape[1]))
    for _ in range(5000):
        ahead = w - step * 2.0 * X.T @ (X @ w - target) / len(X)
        # The proximal step: the minimiser of P(v) + ||v - ahead||^2 / (2 step), coefficient by coefficient.
        low, high = np.full(len(w), -1e3), np.full(len(w), 1e3)
        for _ in range(80):
            middle = 0.5 * (low + high)
            v = penalty.minimizer((ahead - middle) / step, alpha)
            low, high = np.where(v > middle, middle, low), np.where(v > middle, high, middle)
        w, before = penalty.nearest(0.5 * (low + high)), w
        if np.abs(w - before).max() < 1e-15:
            break
    return objective.at(w).value


@every_penalty
@pytest.mark.parametrize("name", ["lbfgs", "bundle"])
def test_solvers_reach_the_certified_optimum(name, penalty):
    objective = Regression(power=2, alpha=ALPHA, penalty=penalty)
    optimum = optimum_by_proximal_steps(Regression(power=2, alpha=ALPHA, penalty=penalty))
    result = SOLVERS[name](tol=1e-7).minimize(objective)
    assert result.status == "converged"
    assert result.bound <= optimum * (1 + 1e-12)
    assert result.value == pytest.approx(optimum, rel=2e-7)
    np.testing.assert_array_equal(penalty.nearest(result.w), result.w)


@every_penalty
@pytest.mark.parametrize("name", ["lbfgs", "bundle"])
def test_solvers_certify_a_risk_with_kinks_too(name, penalty):
    result = SOLVERS[name](tol=1e-5).minimize(Regression(power=1, alpha=ALPHA, penalty=penalty))
    assert result.status == "converged"
    assert result.gap <= 1e-5


def test_newton_refuses_a_penalty_without_a_gradient():
    with pytest.raises(IncompatibleSolverError, match="a gradient, which 'bounded_elastic_net'"):
        SOLVERS["newton"]().minimize(Regression(power=2, penalty=TOYS[0]))
