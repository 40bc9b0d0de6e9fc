"""What the bundle solver does where rounding rules; that it converges is in ``contract/test_solvers.py``."""

from types import SimpleNamespace

import numpy as np
import pytest

from marginrank import RankSVM
from marginrank.solvers.bundle import _next_centre
from marginrank.solvers.penalties import SQUARED_NORM


@pytest.mark.parametrize(("far", "expected"), [(1.0, 1.0), (1e9, 4.0)])
def test_no_centre_is_farther_from_the_origin_than_the_optimum_can_be(far, expected):
    """With alpha = 1/4 and the value 2, ``alpha/2 ||w||^2`` is at most 2 within 4 of the origin."""
    certificate = SimpleNamespace(
        planes=SimpleNamespace(minimizer=lambda: far * np.array([0.6, -0.8])),
        best=SimpleNamespace(value=2.0),
        objective=SimpleNamespace(alpha=0.25, penalty=SQUARED_NORM),
    )
    np.testing.assert_allclose(_next_centre(certificate), expected * np.array([0.6, -0.8]), rtol=1e-15)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_huge_columns_do_not_lead_out_of_the_numbers():
    """Any warning but that of the gap is an error: planes of points ever farther away used to overflow."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5)) * [1e-2, 1e12, 1e1, 1e4, 1e-2] + [1e9, 0.0, 1e13, 0.0, 0.0]
    model = RankSVM("squared_hinge", alpha=4e-3, tol=1e-6).fit(X, np.arange(12) % 3, qid=np.arange(12) // 4)
    assert np.isfinite(model.coef_).all()
