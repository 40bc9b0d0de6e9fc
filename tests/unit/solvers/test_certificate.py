"""What a certificate promises of its bound, whatever the planes say."""

import numpy as np
import pytest
from pairwise_problem import random_problem

from marginrank.solvers.certificate import Certificate


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
