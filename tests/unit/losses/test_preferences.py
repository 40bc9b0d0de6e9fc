"""Losses over explicit pairs: margins, weights, duplicates and contradictions."""

import numpy as np
import pytest

from brute_force import explicit_pairs, pairs_of, random_pairs, relative_error, risk
from marginrank.data import RankingData
from marginrank.losses import PREFERENCE_LOSSES

every_loss = pytest.mark.parametrize("name", PREFERENCE_LOSSES)
margin_losses = pytest.mark.parametrize("name", ["hinge", "squared_hinge"])


def value_of(name, training, scores):
    return PREFERENCE_LOSSES[name](training, len(scores), n_threads=1).at(np.asarray(scores, float)).value


@margin_losses
def test_the_first_of_a_pair_is_the_winner(name):
    training = pairs_of([[1, 0]])
    assert value_of(name, training, [0.0, 1.0]) == 0.0
    assert value_of(name, training, [1.0, 0.0]) == (2.0 if name == "hinge" else 4.0)


@margin_losses
def test_a_margin_of_zero_asks_for_the_order_only(name):
    training = pairs_of([[0, 1]], margin=np.zeros(1))
    loss = PREFERENCE_LOSSES[name](training, 2, n_threads=1)
    for scores in ([0.0, 0.0], [1e-300, 0.0], [5.0, 1.0]):
        point = loss.at(np.array(scores))
        assert point.value == 0.0
        assert not point.gradient.any()
    assert loss.at(np.array([0.0, 0.5])).value == (0.5 if name == "hinge" else 0.25)


@margin_losses
def test_each_pair_has_its_own_margin(name):
    training = pairs_of([[0, 1], [0, 2]], margin=np.array([0.5, 3.0]))
    slack = np.array([0.0, 2.0])  # the first pair is exactly at its margin
    want = (slack if name == "hinge" else slack**2).mean()
    assert value_of(name, training, [1.0, 0.5, 0.0]) == want


@every_loss
def test_a_pair_given_twice_counts_twice(name):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=3)
    twice = value_of(name, pairs_of([[0, 1], [0, 1], [2, 1]]), scores)
    weighted = value_of(name, pairs_of([[0, 1], [2, 1]], weight=np.array([2.0, 1.0])), scores)
    assert twice == pytest.approx(weighted, rel=1e-15)


@margin_losses
def test_contradicting_pairs_both_count(name):
    training = pairs_of([[0, 1], [1, 0]])
    assert value_of(name, training, [0.0, 0.0]) == 1.0
    loss = PREFERENCE_LOSSES[name](training, 2, n_threads=1)
    assert not loss.at(np.zeros(2)).gradient.any()
    assert value_of(name, training, [3.0, 0.0]) == (2.0 if name == "hinge" else 8.0)


@every_loss
def test_rows_without_a_pair_have_no_gradient(name):
    loss = PREFERENCE_LOSSES[name](pairs_of([[4, 2]]), 6, n_threads=1)
    assert np.flatnonzero(loss.at(np.zeros(6)).gradient).tolist() == [2, 4]


@every_loss
def test_random_pairs_equal_the_definition(name):
    rng = np.random.default_rng(2)
    for _ in range(200):
        n_rows = int(rng.integers(2, 30))
        training = random_pairs(
            rng,
            n_rows,
            int(rng.integers(8, 60)),
            weighted=bool(rng.integers(2)),
            margins=bool(rng.integers(2)),
        )
        scores, direction = 0.5 * rng.integers(-4, 5, size=(2, n_rows))
        loss = PREFERENCE_LOSSES[name](training, n_rows, n_threads=1)
        point, want = loss.at(scores), risk(name, explicit_pairs(training), scores, direction)
        assert point.value == pytest.approx(want.value, rel=1e-13)
        assert np.abs(point.gradient - want.gradient).max() < 1e-13
        if loss.smooth:
            assert np.abs(point.hvp(direction) - want.hvp).max() < 1e-13


@every_loss
@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_of_many_pairs_do_not_depend_on_the_threads(name, n_threads):
    rng = np.random.default_rng(3)
    training = random_pairs(rng, 5000, 300_000, weighted=True, margins=True)
    scores, direction = rng.normal(size=(2, 5000))
    one = PREFERENCE_LOSSES[name](training, 5000, n_threads=1).at(scores)
    many = PREFERENCE_LOSSES[name](training, 5000, n_threads=n_threads).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)
    assert np.array_equal(many.hvp(direction), one.hvp(direction))
    assert relative_error(one.gradient, risk(name, explicit_pairs(training), scores).gradient) < 1e-12


@every_loss
def test_pairs_of_no_weight_are_as_if_they_were_not_there(name):
    X = np.array([[0.3], [1.0], [-0.5]])
    data = RankingData(X, pairs=[[0, 1], [1, 2], [2, 0]], pair_weight=[1, 0, 3], pair_margin=[1, 9, 2])
    expected = pairs_of([[0, 1], [2, 0]], weight=np.array([1.0, 3.0]), margin=np.array([1.0, 2.0]))
    assert value_of(name, data.training_pairs(), X[:, 0]) == value_of(name, expected, X[:, 0])
