"""Weights of planes whose Gram matrix has no digits left: in fractions, no mixture proves more."""

from fractions import Fraction

import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank._kernels import simplex_qp
from marginrank.solvers import SOLVERS
from marginrank.solvers.weights_from_slopes import improve_from_slopes

SCALES = 10.0 ** np.linspace(-3, 6, 10)
ALPHA = 1e-4


def planes_of(seed, n_planes=25):
    """Return the plane 0, and those of a risk with columns of very different units about its least value."""
    problem = random_problem(2, ALPHA, n_features=len(SCALES), scales=SCALES, seed=seed)
    best = SOLVERS["lbfgs"](tol=1e-6).minimize(problem).w
    rng = np.random.default_rng(seed)
    slopes, offsets = [np.zeros(len(SCALES))], [0.0]
    for w in best + 0.1 * rng.standard_normal((n_planes, len(SCALES))) / SCALES:
        point = problem.at(w)
        slopes.append(point.risk_gradient)
        offsets.append(point.risk - float(point.risk_gradient @ w))
    return np.array(slopes), np.array(offsets)


def exactly(values):
    return [Fraction(float(value)) for value in values]


def dot(one, two):
    return sum(a * b for a, b in zip(one, two, strict=True))


def solution(matrix, right):
    """Gauss and Jordan, in fractions."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for i in range(len(rows)):
        k = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        rows[i], rows[k] = rows[k], rows[i]
        for j in set(range(len(rows))) - {i}:
            factor = rows[j][i] / rows[i][i]
            rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def proved(theta, slopes, offsets, alpha):
    """What weights prove, exactly."""
    theta = exactly(theta)
    theta = [weight / sum(theta) for weight in theta]
    mean = [dot(theta, exactly(column)) for column in slopes.T]
    return dot(theta, exactly(offsets)) - dot(mean, mean) / (2 * Fraction(alpha))


def most(theta, slopes, offsets, alpha):
    """What no mixture proves more than: planes and penalty where those that carry weight are equally high."""
    alpha, active = Fraction(alpha), np.flatnonzero(theta)
    steep = [exactly(slopes[k]) for k in active]
    equations = [[*(dot(one, two) / alpha for two in steep), Fraction(1)] for one in steep]
    equations.append([*[Fraction(1)] * len(active), Fraction(0)])
    *weights, _ = solution(equations, [*exactly(offsets[active]), Fraction(1)])
    w = [-dot(weights, column) / alpha for column in zip(*steep, strict=True)]
    highest = max(Fraction(float(b)) + dot(exactly(a), w) for a, b in zip(slopes, offsets, strict=True))
    return highest + alpha * dot(w, w) / 2


STARTS = {"plane 0": lambda n: np.eye(n)[0].copy(), "all": lambda n: np.full(n, 1.0 / n)}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_no_mixture_proves_more(seed, start):
    slopes, offsets = planes_of(seed)
    theta = start(len(offsets))
    improve_from_slopes(theta, slopes, offsets, ALPHA, 1e-6)
    assert theta.min() >= 0.0
    assert theta.sum() == pytest.approx(1.0, abs=1e-14)
    assert most(theta, slopes, offsets, ALPHA) - proved(theta, slopes, offsets, ALPHA) <= 2e-6


def test_weights_that_are_best_stay():
    slopes, offsets = planes_of(seed=0)
    theta = STARTS["all"](len(offsets))
    improve_from_slopes(theta, slopes, offsets, ALPHA, 1e-6)
    again = theta.copy()
    improve_from_slopes(again, slopes, offsets, ALPHA, 1e-6)
    np.testing.assert_array_equal(again, theta)


def test_planes_that_are_the_same_or_flat_or_too_large_are_harmless():
    slopes = np.array([[0.0, 0.0], [1e9, 1e-2], [1e9, 1e-2], [-1e9, 1e-2], [0.0, 0.0]])
    theta = np.full(5, 0.2)
    improve_from_slopes(theta, slopes, np.array([0.0, 1.0, 1.0, 1.0, 0.5]), 1e-2, 1e-9)
    assert theta[1] + theta[2] == pytest.approx(0.5, rel=1e-6)
    assert theta[3] == pytest.approx(0.5, rel=1e-6)
    huge = np.full(2, 0.5)
    improve_from_slopes(huge, np.array([[0.0, 0.0], [1e300, 1.0]]), np.array([0.0, 1.0]), 1e-300, 1e-9)
    assert np.isfinite(huge).all()


@pytest.mark.parametrize("seed", range(10))
def test_what_the_quadratic_programme_leaves_only_rises(seed):
    slopes, offsets = planes_of(seed)
    theta = STARTS["plane 0"](len(offsets))
    simplex_qp(slopes @ slopes.T, offsets, ALPHA, theta, 1e-6, 100_000)
    before = proved(theta, slopes, offsets, ALPHA)
    improve_from_slopes(theta, slopes, offsets, ALPHA, 1e-6)
    assert proved(theta, slopes, offsets, ALPHA) >= before - Fraction(1e-12)
