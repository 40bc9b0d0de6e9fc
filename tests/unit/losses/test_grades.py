"""Graded losses: more labels than grades, and what binning them may cost."""

import numpy as np
import pytest

from brute_force import view_of
from marginrank.exceptions import NothingToRankError
from marginrank.gains import gains_of, read_gain
from marginrank.losses.structured import (
    MOST_GRADES,
    Bins,
    TargetOptions,
    binning_bound,
    choose_bins,
    structured_loss,
)
from marginrank.losses.structured.discounts import discount_table, weight_at_stake
from marginrank.metrics import Metric, evaluate

SIZES = [30, 4, 25, 1, 60, 12]
DISCOUNT = discount_table("log2", max(SIZES))


def many_labels(seed=0, weighted=True):
    rng = np.random.default_rng(seed)
    weight = rng.uniform(0.2, 3.0, len(SIZES)) if weighted else None
    return view_of(SIZES, np.round(4 * rng.random(sum(SIZES)), 3), query_weight=weight)


def loss_of(gain, view, order):
    """One minus NDCG of each query under a ranking, by gains that stand for the labels."""
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    found = evaluate(gain, order, qid=qid, metrics=Metric("ndcg", gain="linear", empty="skip"))
    return 1.0 - next(iter(found.per_query.values()))


@pytest.mark.parametrize("gain", ["exponential", "linear"])
@pytest.mark.parametrize("most", [3, 8, MOST_GRADES])
def test_no_ranking_differs_by_more_than_the_bound(gain, most):
    view = many_labels()
    exact = gains_of(view.y, gain)
    bins = choose_bins(view, exact, DISCOUNT, ndcg=1.0, map=0.0, most=most)
    binned = bins.gains_of(view.y)
    bound = binning_bound(view, exact, binned, DISCOUNT)
    counted = np.array([len(set(part)) > 1 for part in np.split(binned, view.query_ptr[1:-1])])
    rng = np.random.default_rng(1)
    # At random, by the residuals (where they add up most), and against them.
    rankings = [*rng.normal(size=(20, len(exact))), exact - binned, binned - exact]
    for scores in rankings:
        off = np.abs(loss_of(exact, view, scores) - loss_of(binned, view, scores))[counted]
        assert np.average(off, weights=view.query_weight[counted]) <= bound * (1 + 1e-12)
    assert 0.0 < bound < (0.05 if most == MOST_GRADES else 1.0)


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0), (1.0, 2.0)])
def test_bins_are_as_many_as_there_may_be_and_their_thresholds_weigh_alike(weights):
    view = many_labels()
    gain = gains_of(view.y, "linear")
    bins = choose_bins(view, gain, DISCOUNT, ndcg=weights[0], map=weights[1])
    assert len(bins.thresholds) <= MOST_GRADES - 1
    assert len(bins.thresholds) > MOST_GRADES // 2
    assert set(bins.thresholds) <= set(view.y)
    assert np.all(np.diff(bins.thresholds) > 0)
    assert np.all(np.diff(bins.gains) >= 0)
    loss = structured_loss(view, "ndcg", options=TargetOptions(graded=True, gain="linear", bins=bins))
    assert len(np.unique(loss.y)) <= MOST_GRADES


def test_binned_labels_are_trained_as_if_they_were_the_gains_of_their_bins():
    view = many_labels()
    bins = Bins((1.0, 2.5), (0.25, 2.0, 7.0))
    scores = np.random.default_rng(2).normal(size=len(view.y))
    binned = structured_loss(view, "ndcg", options=TargetOptions(graded=True, bins=bins)).at(scores)
    by_hand = view._replace(y=np.array([0.25, 2.0, 7.0])[np.digitize(view.y, [1.0, 2.5])])
    same = structured_loss(by_hand, "ndcg", options=TargetOptions(graded=True, gain="linear")).at(scores)
    assert binned.value == same.value
    assert np.array_equal(binned.gradient, same.gradient)
    grades = structured_loss(view, "map", options=TargetOptions(graded=True, bins=bins)).at(scores)
    assert (
        grades.value == structured_loss(by_hand, "map", options=TargetOptions(graded=True)).at(scores).value
    )


def test_gains_of_extreme_size_are_binned_and_trained():
    rng = np.random.default_rng(3)
    for scale in (1e-300, 1e300):
        view = view_of([40, 40], scale * rng.random(80))
        bins = choose_bins(view, view.y, discount_table("log2", 40), ndcg=1.0, map=0.0)
        assert np.all(np.isfinite(bins.gains))
        bound = binning_bound(view, view.y, bins.gains_of(view.y), discount_table("log2", 40))
        assert 0.0 < bound < 0.1
        loss = structured_loss(view, "ndcg", options=TargetOptions(graded=True, gain="linear", bins=bins))
        assert 0.0 < loss.at(rng.normal(size=80)).value < np.inf


def test_labels_of_the_same_gain_are_one_grade():
    scores = np.random.default_rng(4).normal(size=6)
    y = np.array([0.0, 1.0, 2.0, 3.0, 1.0, 0.0])
    table = TargetOptions(graded=True, gain=read_gain({0: 0, 1: 2, 2: 2, 3: 5}))
    merged = TargetOptions(graded=True, gain="linear")
    one = structured_loss(view_of([6], y), "ndcg", options=table).at(scores)
    other = structured_loss(view_of([6], np.array([0.0, 2, 2, 5, 2, 0])), "ndcg", options=merged).at(scores)
    assert one.value == other.value
    with pytest.raises(NothingToRankError, match="nothing to rank"):
        structured_loss(view_of([2], [1.0, 2.0]), "ndcg", options=table)


@pytest.mark.parametrize("target", ["map", "ndcg"])
def test_many_grades_of_a_long_query_equal_their_binary_losses(target):
    """2,000 rows in 12 grades: one sort serves all thresholds, and gives what each gives alone."""
    rng = np.random.default_rng(5)
    y = rng.integers(12, size=2000).astype(float)
    scores = np.round(0.05 * y + rng.normal(size=2000), 2)  # ties, too
    view = view_of([2000], y)
    graded = structured_loss(view, target, options=TargetOptions(graded=True, gain="linear")).at(scores)
    discount = discount_table("log2", 2000)
    ideal = np.sort(y)[::-1] @ discount
    value = 0.0
    for t in range(1, 12):
        omega = discount[: int((y >= t).sum())].sum() / ideal if target == "ndcg" else 1 / 11
        value += omega * structured_loss(view, target, options=TargetOptions(relevance=t)).at(scores).value
    assert graded.value == pytest.approx(value, rel=1e-11)


def test_queries_of_one_row_have_nothing_at_stake_and_those_of_two_have_everything():
    assert weight_at_stake(np.array([0.25, 0.75]), DISCOUNT, np.array([0, 1, 3])) == 0.75


def test_the_highest_label_may_be_a_threshold():
    # Nearly all that counts lies between the two highest labels.
    view = view_of([12], [0.0, 1.0] + [2.0] * 5 + [3.0] * 5)
    gain = np.array([0.0, 0.01, 0.02, 100.0])[view.y.astype(int)]
    bins = choose_bins(view, gain, DISCOUNT, ndcg=1.0, map=0.0, most=2)
    assert bins.thresholds == (3.0,)
