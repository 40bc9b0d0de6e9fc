from fractions import Fraction

import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.solvers.planes import CuttingPlanes


def add_planes(planes, problem, points):
    for w in points:
        point = problem.at(w)
        planes.add(point.risk_gradient, point.risk - point.risk_gradient @ w)


def random_points(n_points, n_features, seed=0):
    return 0.5 * np.random.default_rng(seed).standard_normal((n_points, n_features))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 10.0])
def test_bound_never_exceeds_the_objective_anywhere(power, alpha):
    problem = random_problem(power, alpha)
    planes = CuttingPlanes(alpha, problem.n_features)
    probes = np.vstack([np.zeros(8), random_points(200, 8, seed=1), -planes.minimizer()])
    lowest = min(problem.value(w) for w in probes)
    for w in random_points(30, 8):
        add_planes(planes, problem, [w])
        assert planes.bound(1e-9) <= lowest + 1e-12


def test_bound_holds_even_when_the_programme_stops_at_once():
    problem = random_problem(alpha=1e-3)
    planes = CuttingPlanes(problem.alpha, problem.n_features)
    add_planes(planes, problem, random_points(20, 8))
    assert planes.bound(precision=1e6) <= planes.bound(precision=1e-9)


def test_without_planes_the_bound_is_zero_and_the_minimizer_the_origin():
    planes = CuttingPlanes(0.1, 3)
    assert planes.bound(1e-9) == 0.0
    np.testing.assert_array_equal(planes.minimizer(), np.zeros(3))


def test_bound_is_the_value_of_the_model_at_its_minimizer():
    problem = random_problem(alpha=1e-2)
    planes = CuttingPlanes(problem.alpha, problem.n_features)
    points = random_points(25, 8)
    add_planes(planes, problem, points)
    bound = planes.bound(1e-12)
    w = planes.minimizer()
    gradients = [problem.at(v).risk_gradient for v in points]
    heights = [problem.at(v).risk + g @ (w - v) for v, g in zip(points, gradients, strict=True)]
    model = max(0.0, *heights) + 0.5 * problem.alpha * w @ w
    assert model == pytest.approx(bound, abs=1e-9)  # strong duality


def test_the_plane_of_one_point_is_at_least_as_good_as_the_strong_convexity_bound():
    problem = random_problem(power=2, alpha=0.5)
    planes = CuttingPlanes(problem.alpha, problem.n_features)
    point = problem.at(random_points(1, 8)[0])
    planes.add(point.risk_gradient, point.risk - point.risk_gradient @ point.w)
    gradient = point.risk_gradient + problem.alpha * point.w
    assert planes.bound(1e-12) >= point.value - gradient @ gradient / (2 * problem.alpha) - 1e-12


def test_bound_grows_with_the_planes():
    problem = random_problem(alpha=1e-3)
    planes = CuttingPlanes(problem.alpha, problem.n_features)
    bounds = []
    for w in random_points(40, 8):
        add_planes(planes, problem, [w])
        bounds.append(planes.bound(1e-12))
    assert np.all(np.diff(bounds) >= -1e-10)


def test_idle_planes_are_dropped_above_the_capacity_and_the_bound_stays():
    problem = random_problem(alpha=1.0)
    planes = CuttingPlanes(problem.alpha, problem.n_features, capacity=12)
    everything = CuttingPlanes(problem.alpha, problem.n_features, capacity=1000)
    previous = 0.0
    for w in random_points(100, 8):
        add_planes(planes, problem, [w])
        add_planes(everything, problem, [w])
        bound = planes.bound(1e-12)
        assert previous - 1e-10 <= bound <= everything.bound(1e-12) + 1e-10
        previous = bound
        assert len(planes) <= 12


def test_planes_that_all_carry_weight_are_kept():
    n = 10
    planes = CuttingPlanes(alpha=1.0, n_features=n, capacity=4)
    for k in range(n):
        planes.add(np.eye(n)[k], 1.0)
        planes.bound(1e-14)
    assert len(planes) == n + 1
    assert planes.bound(1e-14) == pytest.approx(1.0 - 1.0 / (2 * n))


def test_equal_planes_are_harmless():
    planes = CuttingPlanes(alpha=0.1, n_features=2)
    for _ in range(5):
        planes.add(np.array([1.0, 0.0]), 0.5)
        planes.add(np.array([-1.0, 0.0]), 0.5)
    assert planes.bound(1e-12) == pytest.approx(0.5)
    assert planes.theta.sum() == pytest.approx(1.0)


def test_the_parts_of_a_bound_prove_it_at_every_other_alpha():
    problem = random_problem(alpha=1e-2)
    planes = CuttingPlanes(problem.alpha, problem.n_features)
    add_planes(planes, problem, random_points(20, 8))
    bound = planes.bound(1e-9)
    parts = Fraction(planes.level) - Fraction(planes.length) ** 2 / (2 * Fraction(problem.alpha))
    assert Fraction(bound) <= parts
    assert bound == pytest.approx(float(parts), rel=1e-14)
    level, length = planes.level, planes.length
    for alpha in (1e-3, 1e-1):
        planes.alpha = alpha
        assert level - length**2 / (2 * alpha) <= planes.bound(1e-9) + 1e-9
