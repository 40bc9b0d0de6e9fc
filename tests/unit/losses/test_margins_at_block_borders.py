"""Pairs whose scores differ by exactly the margin, where one thread's share of a long ranking ends.

A share begins with the partners of its first row, found by bisection: one that is just not active must not be
counted again. Scores lie on a grid, so that whole groups of rows sit at the borders, and sums are exact.
"""

import numpy as np
import pytest

from marginrank import RankingData
from marginrank.losses import QUERY_LOSSES

N = 70_001  # above 65,536 rows counts are shared between threads, above 32,768 sums are cut into blocks
STEP = 0.25


def by_groups(name, y, scores):
    """Value and gradient from the counts of rows by label and score: no pair is left out, none rounds."""
    levels, labels = np.unique(scores), np.unique(y)
    count = np.array(
        [[np.sum((y == label) & (scores == s)) for s in levels] for label in labels], dtype=float
    )
    slack = 1.0 - (levels[:, None] - levels[None, :])  # winner's score by row, loser's by column
    slack = np.where(slack > 0.0, slack, 0.0)
    cost, slope = (slack, (slack > 0.0) * 1.0) if name == "hinge" else (slack**2, 2.0 * slack)
    total = value = 0.0
    gradient = np.zeros_like(count)
    for winner in range(len(labels)):
        for loser in range(winner):
            pairs = np.outer(count[winner], count[loser])
            total += pairs.sum()
            value += (pairs * cost).sum()
            gradient[winner] -= slope @ count[loser]
            gradient[loser] += slope.T @ count[winner]
    place = np.searchsorted(labels, y), np.searchsorted(levels, scores)
    return value / total, gradient[place] / total


@pytest.mark.parametrize("name", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("n_threads", [1, 2, 3, 5])
@pytest.mark.parametrize("n_labels", [2, 40])
def test_a_difference_of_exactly_the_margin_is_no_loss_at_any_border(name, n_threads, n_labels):
    rng = np.random.default_rng(n_labels)
    scores = STEP * rng.integers(-12, 13, size=N)
    y = rng.integers(n_labels, size=N).astype(float)
    view = RankingData(np.zeros((N, 1)), y).training_view()
    point = QUERY_LOSSES[name](view, weighting="pairs", n_threads=n_threads).at(scores)
    value, gradient = by_groups(name, y, scores)
    assert point.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(point.gradient, gradient, rtol=1e-9, atol=1e-15)
