"""Weights of planes for penalties with faces: as good as an independent maximum, from any start."""

import numpy as np
import pytest
from pairwise_problem import random_problem
from scipy.optimize import minimize

from marginrank.solvers.penalties import ElasticNet
from marginrank.solvers.plane_weights import improve_weights

PENALTIES = [
    ElasticNet(0.9),
    ElasticNet(0.0, low=0.0),
    ElasticNet(0.5, low=-0.1, high=0.2),
    ElasticNet(0.5, low=np.array([0.3] + [-np.inf] * 7), high=np.array([0.3] + [np.inf] * 7)),
]


def planes_of(power, alpha, n_planes=12):
    """Return the planes of a risk at random points, and the plane 0."""
    problem = random_problem(power, alpha)
    rng = np.random.default_rng(0)
    slopes, offsets = [np.zeros(problem.n_features)], [0.0]
    for w in 0.5 * rng.standard_normal((n_planes, problem.n_features)):
        point = problem.at(w)
        slopes.append(point.risk_gradient)
        offsets.append(point.risk - float(point.risk_gradient @ w))
    return np.array(slopes), np.array(offsets)


def proved(theta, slopes, offsets, penalty, alpha):
    return float(offsets @ theta) - penalty.conjugate(-(theta @ slopes), alpha)


def best_mixture(slopes, offsets, penalty, alpha):
    """Return the largest bound by scipy: of weights on the simplex, by sequential quadratic programming."""

    def minus(theta):
        w = penalty.minimizer(-(theta @ slopes), alpha)
        return -proved(theta, slopes, offsets, penalty, alpha), -(offsets + slopes @ w)

    n = len(offsets)
    starts = [np.full(n, 1.0 / n), *np.eye(n)]
    sums = {"type": "eq", "fun": lambda t: t.sum() - 1.0, "jac": lambda t: np.ones(n)}
    options = {"maxiter": 500, "ftol": 1e-14}
    found = [
        minimize(minus, t, jac=True, method="SLSQP", bounds=[(0, 1)] * n, constraints=sums, options=options)
        for t in starts
    ]
    return max(-one.fun for one in found)


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("alpha", [1e-3, 0.1])
@pytest.mark.parametrize("start", ["plane 0", "all"])
def test_weights_prove_as_much_as_the_best_mixture(penalty, power, alpha, start):
    slopes, offsets = planes_of(power, alpha)
    theta = np.zeros(len(offsets))
    theta[:] = np.eye(len(offsets))[0] if start == "plane 0" else 1.0 / len(offsets)
    before = proved(theta, slopes, offsets, penalty, alpha)
    improve_weights(theta, slopes, offsets, penalty, alpha, precision=1e-7)
    after = proved(theta, slopes, offsets, penalty, alpha)
    assert theta.min() >= 0.0
    assert theta.sum() == pytest.approx(1.0, abs=1e-12)
    assert after >= before - 1e-12
    best = best_mixture(slopes, offsets, penalty, alpha)
    assert after >= best - 1e-6 * (1.0 + abs(best))


def test_a_newest_plane_that_proves_nearly_all_is_not_missed():
    """Far planes and a tiny alpha: each step from the old weights would be short."""
    penalty, alpha = ElasticNet(0.5, low=0.0), 1e-6
    slopes, offsets = planes_of(2, alpha)
    slopes, offsets = np.vstack([slopes, np.full(8, 1e-9)]), np.append(offsets, 0.7)
    theta = np.full(len(offsets), 1.0 / (len(offsets) - 1))
    theta[-1] = 0.0
    improve_weights(theta, slopes, offsets, penalty, alpha, precision=1e-8)
    assert proved(theta, slopes, offsets, penalty, alpha) >= 0.7
