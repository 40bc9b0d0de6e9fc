"""Means of a metric over queries: one figure, however many models are measured at a time."""

import numpy as np
import pytest

from marginrank.metrics.bootstrap import mean_interval
from marginrank.metrics.evaluator import weighted_mean, weighted_means
from marginrank.training.selection import Search


@pytest.fixture(params=[1, 7, 8, 9, 129, 1000])
def values(request):
    rng = np.random.default_rng(request.param)
    table = rng.random((5, request.param))
    table[:, rng.random(request.param) < 0.2] = np.nan
    table[:, 0] = 0.5
    return table


@pytest.mark.parametrize("weighted", [False, True])
def test_a_curve_has_the_bits_of_each_model_alone(values, weighted):
    weight = np.random.default_rng(0).random(values.shape[1]) if weighted else None
    alone = [weighted_mean(row, weight) for row in values]
    assert weighted_means(values, weight).tolist() == alone
    assert weighted_means(np.asfortranarray(values), weight).tolist() == alone
    alphas = np.geomspace(1.0, 1e-4, len(values))
    assert Search().select(alphas, values.T, weight).curve.tolist() == alone


def test_means_are_those_of_the_definition(values):
    weight = np.random.default_rng(1).random(values.shape[1])
    counts = ~np.isnan(values[0])
    expected = np.average(values[:, counts], axis=1, weights=weight[counts])
    np.testing.assert_allclose(weighted_means(values, weight), expected, rtol=1e-13)  # at most 1000 roundings


def test_nothing_counts_where_all_weights_are_zero():
    assert np.isnan(weighted_means(np.ones((2, 3)), np.zeros(3))).all()


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_of_means_hold_the_part_of_the_draws_that_is_asked_for(level):
    values = np.random.default_rng(0).random(40)
    low, high = mean_interval(values, None, level)
    rng = np.random.default_rng(1)
    means = np.array([rng.choice(values, 40).mean() for _ in range(2000)])
    assert low < values.mean() < high
    # 2,000 draws on both sides: a share has a standard error of 0.011 at most, and the ends have theirs.
    assert np.mean((low <= means) & (means <= high)) == pytest.approx(level, abs=0.06)
