"""Values of a kernel machine enclose what fractions give for the same matrix, duals and weights."""

from fractions import Fraction

import numpy as np
import pytest

from marginrank.paths.graphs import GraphPairs
from marginrank.paths.kernel_certificate import certified_values, machine_coefficients, row_roots


def exact_values(K, pairs, beta, coef, alpha):
    """Return the objective at these coefficients, and the dual value of these duals, as fractions."""
    n = len(K)
    K = [[Fraction(float(x)) for x in row] for row in K]
    weight, margin, beta, coef = (
        [Fraction(float(x)) for x in v] for v in (pairs.weight, pairs.margin, beta, coef)
    )
    alpha, total = Fraction(alpha), sum(weight)

    def quadratic(c):
        return sum(c[i] * K[i][j] * c[j] for i in range(n) for j in range(n))

    scores = [sum(K[i][j] * coef[j] for j in range(n)) for i in range(n)]
    ends = list(zip(pairs.winner, pairs.loser, strict=True))
    slacks = [max(Fraction(0), m - (scores[i] - scores[j])) for (i, j), m in zip(ends, margin, strict=True)]
    primal = sum(w * s for w, s in zip(weight, slacks, strict=True)) / total + alpha / 2 * quadratic(coef)
    own = [Fraction(0)] * n
    for (i, j), b in zip(ends, beta, strict=True):
        own[i] += b / (alpha * total)
        own[j] -= b / (alpha * total)
    dual = sum(m * b for m, b in zip(margin, beta, strict=True)) / total - alpha / 2 * quadratic(own)
    return primal, dual


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(8))
def test_the_values_enclose_the_exact_ones_closely(seed, scale):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(7, 3)) * scale
    K = Z @ Z.T
    winner = rng.integers(7, size=20)
    loser = (winner + rng.integers(1, 7, 20)) % 7
    pairs = GraphPairs(winner, loser, rng.lognormal(size=20), rng.choice([0.5, 1.0, 2.0], 20))
    beta = pairs.weight * rng.choice([0.0, 1.0, rng.random()], 20)
    alpha = float(10.0 ** rng.uniform(-3, 3)) * scale**2
    coef = machine_coefficients(pairs, beta, 7)[0] / (alpha * float(pairs.weight.sum()))
    primal, dual = exact_values(K, pairs, beta, coef, alpha)
    upper, lower = certified_values(K, row_roots(K), pairs, beta, alpha)
    assert Fraction(upper) >= primal
    assert Fraction(lower) <= max(dual, Fraction(0))
    # About 1e3 roundings, of terms that are larger than their sum.
    size = float(primal + abs(dual))
    assert upper - float(primal) <= 1e-12 * size
    assert float(dual) <= 0.0 or float(dual) - lower <= 1e-12 * size


def test_roots_bound_every_entry():
    K = np.random.default_rng(0).normal(size=(6, 6)) * 10.0 ** np.arange(-3, 3)
    K = K + K.T
    roots = row_roots(K)
    assert np.all(np.abs(K) <= np.outer(roots, roots))
