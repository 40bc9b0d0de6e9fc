"""Bounds of planes that are known up to their rounding, in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from marginrank.rounding import PlaneRounding
from marginrank.solvers.planes import CuttingPlanes


def fractions(values):
    return [Fraction(float(value)) for value in values]


def exact_optimum_is_at_most(planes, w, alpha):
    """Return the value of ``max(0, a_k.w + b_k) + alpha/2 ||w||^2`` at one w, for planes in fractions."""
    heights = [sum(a * x for a, x in zip(slope, w, strict=True)) + offset for slope, offset in planes]
    return max(Fraction(0), *heights) + Fraction(alpha) / 2 * sum(x * x for x in w)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 1.0, 1e6])
@pytest.mark.parametrize("slope_error", [0.0, 1e-12, 1e-3])
@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_for_all_planes_that_may_have_been_meant(seed, slope_error, alpha):
    rng = np.random.default_rng(seed)
    columns = 10.0 ** rng.integers(-3, 8, 6)
    planes = CuttingPlanes(alpha, 6)
    planes.columns = columns
    lengths = rng.uniform(0.5, 2.0, 12)
    slopes = columns * rng.uniform(-1.0, 1.0, (12, 6)) * lengths[:, None]
    offsets = rng.uniform(-1.0, 1.0, 12)
    for slope, offset, length in zip(slopes, offsets, lengths, strict=True):
        planes.add(slope, offset, PlaneRounding(slope_error, slope_error, length))
    bound = Fraction(planes.bound(1e-12))
    w = planes.minimizer()
    # The worst that may have been meant at the minimiser, where bound and value meet but for that.
    meant = [
        (
            [
                a - Fraction(slope_error) * Fraction(float(c)) * int(np.sign(x))
                for a, c, x in zip(fractions(slope), columns, w, strict=True)
            ],
            Fraction(float(offset)) - Fraction(slope_error),
        )
        for slope, offset in zip(slopes, offsets, strict=True)
    ]
    assert bound <= exact_optimum_is_at_most(meant, fractions(w), alpha)


def test_the_weights_of_a_bound_leave_nothing_for_a_plane_that_is_alone():
    # With one plane R >= 1/3 the optimum is 1/3 of it; a bound above would come of weights above 1.
    planes = CuttingPlanes(1.0, 1)
    planes.add(np.zeros(1), 1 / 3)
    assert Fraction(planes.bound(1e-15)) <= Fraction(1 / 3)
    assert planes.bound(1e-15) == pytest.approx(1 / 3, rel=1e-14)


def test_a_huge_column_does_not_spoil_the_others():
    def bound(columns):
        planes = CuttingPlanes(1e-3, len(columns))
        planes.columns = np.array(columns)
        slope = np.zeros(len(columns))
        slope[0] = 1e-2
        planes.add(slope, 0.7, PlaneRounding(0.0, 1e-16, 1.0))
        return planes.bound(1e-12)

    # An error of 1e-8 in every entry of the slope would cost 1e-7 of the bound.
    assert bound([1.0, 1e8]) == pytest.approx(bound([1.0, 1.0]), rel=1e-11)


def test_errors_that_are_not_known_prove_nothing():
    planes = CuttingPlanes(1.0, 2)
    planes.add(np.array([1.0, 0.0]), 0.5, PlaneRounding(0.0, np.inf, 1.0))
    assert planes.bound(1e-12) <= 0.0
