"""Planes of the smoothed hinge lie below the hinge itself, in exact arithmetic and without an allowance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_losses import Queries, query_risk, rational

from brute_force import view_of
from marginrank.losses import QUERY_LOSSES

WIDTHS = [1.0, 0.1, 1e-3, 1e-12]
# Sizes of scores, and what is added to all of them.
SCORES = [(0.0, 0.0), (1.0, 0.0), (1e-9, 1.0), (1e6, 0.0), (3.0, -1e10)]


def unit_rows(n):
    return [tuple(Fraction(int(i == j)) for j in range(n)) for i in range(n)]


@pytest.fixture(scope="module", params=[(w, f) for w in ("pairs", "queries") for f in (False, True)])
def case(request):
    weighting, weighted = request.param
    rng = np.random.default_rng(3)
    qid = np.repeat(np.arange(4), [3, 4, 2, 5])
    y = np.concatenate([[0, 1, 2], [0, 2, 1, 0], [1, 0], [1, 1, 3, 0, 2]]).astype(float)
    weight = rng.uniform(0.1, 9.0, len(y)) if weighted else None
    of_query = rng.uniform(0.1, 2.0, 4) if weighted else None
    view = view_of(np.bincount(qid), y, weight=weight, query_weight=of_query)
    loss = QUERY_LOSSES["hinge"](view, weighting=weighting, n_threads=1)
    return loss, query_risk("hinge", unit_rows(len(y)), Queries(y, qid, weight, of_query), weighting)


def others(rng, scores):
    """Scores near and far, and such that put many pairs at their kinks."""
    n = len(scores)
    for step in (0.0, 1e-9, 1e-2, 1.0, 1e3):
        yield scores + step * rng.standard_normal(n)
    yield rng.integers(-2, 3, n).astype(float)


@pytest.mark.parametrize("width", WIDTHS)
def test_level_and_gradient_are_a_plane_of_the_hinge_up_to_their_rounding(case, width):
    hinge, exact = case
    smoothed = hinge.smoothed(width)
    rng = np.random.default_rng(7)
    for size, offset in SCORES:
        scores = size * rng.standard_normal(hinge.n_rows) + offset
        gradient = rational(smoothed.at(scores).gradient)
        level, rounding = smoothed.level(scores)
        for other in others(rng, scores):
            there = rational(other)
            plane = Fraction(level) + sum(g * p for g, p in zip(gradient, there, strict=True))
            # What the slope is off is charged by columns; here a column is a row, of size 1.
            charged = Fraction(rounding.value) + Fraction(rounding.slope) * max(abs(p) for p in there)
            assert plane - charged <= exact.at_least(there)


@pytest.mark.parametrize("width", WIDTHS[:3])
def test_the_plane_touches_the_hinge_where_no_pair_is_near_its_kink(case, width):
    """Without this the test above would hold for planes far below."""
    hinge, _ = case
    scores = 8.0 * np.random.default_rng(1).permutation(hinge.n_rows).astype(float)
    smoothed = hinge.smoothed(width)
    level, _ = smoothed.level(scores)
    height = level + float(smoothed.at(scores).gradient @ scores)
    assert height == pytest.approx(hinge.at(scores).value, rel=1e-12)
    assert smoothed.at(scores).value == pytest.approx(hinge.at(scores).value, rel=1e-12)
