"""What a certificate promises of its bound, whatever the planes say."""

from types import SimpleNamespace

import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.rounding import PlaneRounding
from marginrank.solvers.certificate import Certificate, relative_gap
from marginrank.solvers.penalties import SQUARED_NORM
from marginrank.solvers.planes import CuttingPlanes
from toy_penalty import BoundedElasticNet


@pytest.fixture
def certificate():
    problem = random_problem(alpha=1e-2)
    found = Certificate(problem, tol=1e-6)
    found.cut(problem.at(np.zeros(problem.n_features)))
    return found


def test_the_bound_never_falls(certificate, monkeypatch):
    bounds = iter([0.5, 0.25, 0.125])
    monkeypatch.setattr(certificate.planes, "bound", lambda precision: next(bounds) * certificate.value)
    for _ in range(3):
        certificate.report()
    assert [entry.bound for entry in certificate.history] == [0.5 * certificate.value] * 3


def test_the_bound_never_exceeds_the_value(certificate, monkeypatch):
    monkeypatch.setattr(certificate.planes, "bound", lambda precision: 2.0 * certificate.value)
    assert certificate.report() == "converged"
    assert certificate.bound == certificate.value
    assert certificate.gap == 0.0


class Absolute:
    """``|w - 100|`` and a penalty: exact, with a kink."""

    n_features, columns, smooth, passes = 1, None, False, 0.0

    def __init__(self, penalty, alpha=0.1):
        self.penalty, self.alpha = penalty, alpha

    def at(self, w):
        risk, slope = abs(float(w[0]) - 100.0), np.sign(w - 100.0)
        value = risk + self.penalty.value(w, self.alpha)
        return SimpleNamespace(
            w=w, value=value, risk=risk, risk_gradient=slope, value_error=0.0, plane_rounding=PlaneRounding()
        )


def test_planes_that_were_found_with_another_penalty_prove_nothing_false():
    known = CuttingPlanes(0.1, 1)
    squared_norm = Certificate(Absolute(SQUARED_NORM), tol=1e-6, planes=known)
    squared_norm.cut(squared_norm.objective.at(np.zeros(1)))
    squared_norm.report()
    objective = Absolute(BoundedElasticNet(0.9))
    certificate = Certificate(objective, tol=1e-6, planes=known)
    certificate.observe(objective.at(np.zeros(1)))
    certificate.report()
    assert certificate.bound <= objective.at(np.array([91.0])).value  # the optimum: 0.1 (0.1 w + 0.9) = 1


def test_the_start_is_iteration_zero(certificate):
    certificate.report()
    assert certificate.iteration == 0
    certificate.report()
    assert certificate.iteration == 1


@pytest.mark.parametrize(("upper", "bound"), [(0.0, 0.0), (1.0, 1.0), (1.0, 2.0)])
def test_what_is_no_larger_than_its_bound_has_no_gap(upper, bound):
    assert relative_gap(upper, bound) == 0.0
