"""How far losses say that they may be off, against their definitions in exact arithmetic.

Rows are unit vectors, so coefficients are scores.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_losses import Queries, exact_gain, explicit_terms, query_risk, rational, structured_risk
from exact_objectives import PairTerm, pair_risk

from brute_force import random_pairs, view_of
from marginrank.gains import GainTable
from marginrank.losses import (
    PREFERENCE_LOSSES,
    QUERY_LOSSES,
    LeastSquaresLoss,
    LeastSquaresPreferences,
)
from marginrank.losses.structured import GRADED_TARGETS, STRUCTURED_TARGETS, TargetOptions, structured_loss

TABLE = GainTable.of({0: 0.1, 1: 0.7, 2: 0.7, 3: 3.3})
# Sizes of scores, and what is added to all of them.
SCORES = [(1.0, 0.0), (1e-9, 1.0), (1e6, 0.0), (3.0, -1e10)]


def unit_rows(n):
    return [tuple(Fraction(int(i == j)) for j in range(n)) for i in range(n)]


def labelled(rng, weighted):
    qid = np.repeat(np.arange(4), [3, 4, 2, 4])
    y = np.concatenate([[0, 1, 2], [0, 2, 1, 0], [1, 0], [1, 1, 3, 0]]).astype(float)
    weight = rng.uniform(0.1, 9.0, len(y)) if weighted else None
    of_query = rng.uniform(0.1, 2.0, 4) if weighted else None
    return y, qid, weight, of_query


def by_labels(name, weighting, weighted):
    rng = np.random.default_rng(3)
    y, qid, weight, of_query = labelled(rng, weighted)
    view = view_of(np.bincount(qid), y, weight=weight, query_weight=of_query)
    if name == "least_squares":
        loss = LeastSquaresLoss(view, n_threads=1)
    else:
        loss = QUERY_LOSSES[name](view, weighting=weighting, n_threads=1)
    return loss, query_risk(name, unit_rows(len(y)), Queries(y, qid, weight, of_query), weighting)


def by_pairs(name, weighted):
    training = random_pairs(np.random.default_rng(4), 8, 40, weighted=weighted, margins=weighted)
    make = LeastSquaresPreferences if name == "least_squares" else PREFERENCE_LOSSES[name]
    terms = explicit_terms(unit_rows(8), training.pairs, training.weight, training.margin)
    return make(training, 8, n_threads=1), pair_risk(name, terms, 8)


def by_target(target, feature_map, discount, rank_weight):
    y, qid, _, of_query = labelled(np.random.default_rng(5), True)
    view = view_of(np.bincount(qid), y, query_weight=of_query)
    options = TargetOptions(relevance=1.0, discount=discount, rank_weight=rank_weight)
    loss = structured_loss(view, target, feature_map, options)
    exact = structured_risk(
        unit_rows(len(y)),
        Queries(y, qid, None, of_query),
        [(target, None, 1.0)],
        feature_map=feature_map,
        relevance=Fraction(1),
        discount=discount,
        rank_weight=rank_weight,
    )
    return loss, exact


def by_grades(target, discount, gain):
    y, qid, _, of_query = labelled(np.random.default_rng(5), True)
    view = view_of(np.bincount(qid), y, query_weight=of_query)
    options = TargetOptions(discount=discount, graded=True, gain=gain)
    exact = structured_risk(
        unit_rows(len(y)),
        Queries(y, qid, None, of_query),
        [(target, None, 1.0)],
        feature_map="po",
        relevance=Fraction(1),
        discount=discount,
        rank_weight="fourth_root",
        gain=exact_gain(gain),
    )
    return structured_loss(view, target, "po", options), exact


CASES = (
    {
        f"{name}-{weighting}-{'weighted' if weighted else 'plain'}": (by_labels, name, weighting, weighted)
        for name in (*QUERY_LOSSES, "least_squares")
        for weighting in (("pairs", "queries") if name in QUERY_LOSSES else ("pairs",))
        for weighted in (False, True)
    }
    | {
        f"{name}-preferences-{'weighted' if weighted else 'plain'}": (by_pairs, name, weighted)
        for name in (*PREFERENCE_LOSSES, "least_squares")
        for weighted in (False, True)
    }
    | {
        f"{target}-{feature_map}-{discount}-{rank_weight}": (
            by_target,
            target,
            feature_map,
            discount,
            rank_weight,
        )
        for target, feature_map in STRUCTURED_TARGETS
        for discount in (("log2", "letor") if target == "ndcg" else ("log2",))
        for rank_weight in (("fourth_root", "discount") if feature_map == "dorm" else ("fourth_root",))
    }
    | {
        f"{target}-graded-{discount}-{gain}": (by_grades, target, discount, gain)
        for target, _ in GRADED_TARGETS
        for discount in (("log2", "letor") if target == "ndcg" else ("log2",))
        for gain in (("exponential", "linear", TABLE) if target == "ndcg" else ("linear",))
    }
)


@pytest.fixture(scope="module", params=CASES)
def case(request):
    make, *arguments = CASES[request.param]
    return make(*arguments)


def length_of(gradient):
    return sum(abs(g) for g in rational(gradient))


def sizes(point, scores):
    """Return the arguments of ``rounding`` for a point, a little upward."""
    return point.value, 1.001 * float(np.ptp(scores)), 1.001 * float(np.abs(point.gradient).sum())


def draws(loss, count=6):
    rng = np.random.default_rng(11)
    for size, offset in SCORES:
        for _ in range(count):
            yield size * rng.standard_normal(loss.n_rows) + offset


def test_the_risk_is_at_most_the_computed_one_and_its_rounding(case):
    loss, exact = case
    for scores in draws(loss):
        point = loss.at(scores)
        found = loss.rounding(*sizes(point, scores), scores)
        most = loss.risen(point.value + found.value, found.shift)
        assert exact.value(rational(scores)) <= Fraction(most) * (1 + Fraction(1, 2**52))


def test_the_plane_of_the_computed_gradient_holds_up_to_its_rounding(case):
    loss, exact = case
    rng = np.random.default_rng(12)
    for scores in draws(loss, 3):
        point = loss.at(scores)
        found = loss.rounding(*sizes(point, scores), scores)
        p, g = rational(scores), rational(point.gradient)
        for step in (0.0, 1e-9, 1.0, float(np.ptp(scores))):
            other = rational(scores + step * rng.standard_normal(loss.n_rows))
            height = sum(a * (b - c) for a, b, c in zip(g, other, p, strict=True))
            far = max(abs(a - b) for a, b in zip(other, p, strict=True)) + Fraction(found.shift)
            off = Fraction(found.value) + Fraction(found.slope) * far + length_of(g) * Fraction(found.shift)
            assert exact.at_least(other) >= Fraction(point.value) + height - off


def test_the_risk_rises_no_more_than_it_is_said_to(case):
    loss, exact = case
    rng = np.random.default_rng(13)
    for scores in draws(loss, 3):
        for shift in (2.0**-30, 0.5, 64.0):
            # Corners of the box, where a convex function is largest.
            there = [
                a + Fraction(shift) * int(sign)
                for a, sign in zip(rational(scores), rng.choice([-1, 1], loss.n_rows), strict=True)
            ]
            value = float(np.nextafter(float(exact.value(rational(scores))), np.inf))
            assert exact.value(there) <= Fraction(loss.risen(value, shift)) * (1 + Fraction(1, 2**52))


def test_no_gradient_is_longer_than_the_steepest(case):
    loss, _ = case
    for scores in draws(loss):
        point = loss.at(scores)
        assert float(np.abs(point.gradient).sum()) <= loss.steepest(point.value) * (1.0 + 1e-12)


def exact_pair_value(name, scores, y, weight):
    """Return the risk of one large query in fractions, pair by pair."""
    p, w = rational(scores), rational(weight)
    total, terms = Fraction(0), []
    for i in range(len(y)):
        for j in range(len(y)):
            if y[i] > y[j]:
                pair = w[i] * w[j]
                total += pair
                terms.append(PairTerm(pair, None, (p[i] - p[j],)))
    return pair_risk(name, terms, 1).value([Fraction(1)]) / total


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", QUERY_LOSSES)
def test_sums_over_the_sorted_scores_of_a_large_query_are_as_right_as_they_are_said_to_be(name, weighted):
    rng = np.random.default_rng(14)
    n = 330  # above what is compared pair by pair
    y, weight = rng.integers(0, 3, n).astype(float), rng.uniform(0.01, 5.0, n) if weighted else np.ones(n)
    view = view_of([n], y, weight=weight if weighted else None)
    loss = QUERY_LOSSES[name](view, weighting="pairs", n_threads=1)
    scores = 1e3 * rng.standard_normal(n)
    point = loss.at(scores)
    found = loss.rounding(*sizes(point, scores), scores)
    assert abs(Fraction(point.value) - exact_pair_value(name, scores, y, weight)) <= Fraction(found.value)
    assert found.value <= 1e-9 * point.value  # and that says something
