"""Losses are values: they travel, are cut into queries, and compile themselves where they are evaluated."""

import pickle
from copy import copy
from typing import get_args

import numpy as np
import pytest

from brute_force import random_pairs, random_view
from marginrank.exceptions import MarginRankError
from marginrank.losses import (
    LARGEST_QUADRATIC,
    PREFERENCE_LOSSES,
    QUERY_LOSSES,
    HingeLoss,
    HingePreferences,
    LeastSquaresLoss,
    LeastSquaresPreferences,
)
from marginrank.losses.base import Cost
from marginrank.losses.structured import (
    STRUCTURED_TARGETS,
    Bins,
    CombinedLoss,
    TargetOptions,
    structured_loss,
)

SIZES = [3, 40, 2, 7, 1, 64, 330, 5, *[9] * 20, 2]
PTR = np.concatenate(([0], np.cumsum(SIZES)))


def weighted():
    return random_view(np.random.default_rng(3), SIZES, weight="real", query_weight=True)


def plain():
    return random_view(np.random.default_rng(3), SIZES, query_weight=True)


def queries(kind, weighting):
    return lambda n_threads: kind(weighted(), weighting=weighting, n_threads=n_threads)


def pairs(kind):
    training = random_pairs(np.random.default_rng(4), int(PTR[-1]), weighted=True, margins=True)
    return lambda n_threads: kind(training, int(PTR[-1]), n_threads=n_threads)


def target(name, feature_map, options=None):
    return lambda n_threads: structured_loss(plain(), name, feature_map, options, n_threads=n_threads)


def combined(n_threads):
    graded = structured_loss(plain(), "ndcg", "po", TargetOptions(graded=True))
    parts = [(0.3, structured_loss(plain(), "map")), (2.0, structured_loss(plain(), "auc")), (0.5, graded)]
    return CombinedLoss(plain(), parts, n_threads=n_threads)


LOSSES = (
    {
        f"{name}-{weighting}": queries(kind, weighting)
        for name, kind in QUERY_LOSSES.items()
        for weighting in ("pairs", "queries")
    }
    | {f"{name}-preferences": pairs(kind) for name, kind in PREFERENCE_LOSSES.items()}
    | {"-".join(key): target(*key) for key in STRUCTURED_TARGETS}
    | {
        "ndcg@3": target("ndcg", "po", TargetOptions(cutoff=3)),
        "map-graded": target("map", "po", TargetOptions(graded=True)),
        "ndcg-graded": target("ndcg", "po", TargetOptions(graded=True)),
        "ndcg-binned": target("ndcg", "po", TargetOptions(graded=True, bins=Bins((2.0,), (0.5, 4.0)))),
        "ndcg@3-graded": target("ndcg", "po", TargetOptions(cutoff=3, graded=True, gain="linear")),
        "combined": combined,
        "least-squares": lambda n_threads: LeastSquaresLoss(weighted(), n_threads=n_threads),
        "least-squares-preferences": pairs(LeastSquaresPreferences),
    }
)


@pytest.fixture(params=LOSSES, name="build")
def build_of_kind(request):
    return LOSSES[request.param]


def scores_and_direction(loss):
    return np.random.default_rng(5).normal(size=(2, loss.n_rows))


def figures(loss):
    """Return everything that a loss says, as numbers."""
    scores, direction = scores_and_direction(loss)
    point = loss.at(scores)
    row_weight, ptr = loss.curvature()
    rounding = loss.rounding(point.value, float(np.ptp(scores)), 1.0, scores)
    bounds = loss.risen(point.value, 0.1), loss.steepest(point.value)
    numbers = (point.value, rounding.value, rounding.slope, rounding.shift, *bounds)
    return [np.array(numbers), point.gradient, point.hvp(direction), row_weight, ptr]


def assert_same(loss, other):
    for one, two in zip(figures(loss), figures(other), strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("evaluated", [False, True], ids=["before evaluation", "after evaluation"])
def test_a_pickled_loss_gives_the_same_bits(build, evaluated):
    loss = build(1)
    if evaluated:
        figures(loss)
    assert_same(pickle.loads(pickle.dumps(loss)), loss)


def test_what_is_pickled_does_not_depend_on_what_was_evaluated(build):
    loss = build(1)
    before = pickle.dumps(loss)
    figures(loss)
    assert len(pickle.dumps(loss)) == len(before)
    assert "compiled" in vars(loss)
    assert "compiled" not in vars(pickle.loads(before))
    assert "compiled" not in vars(copy(loss))


def test_the_threads_of_a_loss_change_no_bit(build):
    loss = build(1)
    many = loss.with_threads(3)
    assert (many.n_threads, loss.n_threads) == (3, 1)
    assert_same(many, loss)
    assert_same(build(3), loss)


def test_parts_add_up_to_the_whole(build):
    loss = build(1)
    scores, direction = scores_and_direction(loss)
    whole = loss.at(scores)
    middle = loss.n_queries // 2
    bounds = [(0, middle), (middle, loss.n_queries)] if middle else [(0, 1)]
    points, products = [], []
    for first, last in bounds:
        part, rows = loss.part(first, last), slice(loss.query_ptr[first], loss.query_ptr[last])
        assert part.n_rows == rows.stop - rows.start
        assert np.array_equal(part.query_ptr, loss.query_ptr[first : last + 1] - rows.start)
        points.append(part.at(scores[rows]))
        products.append(points[-1].hvp(direction[rows]))
    # Sums of the same terms, in another order.
    assert sum(point.value for point in points) == pytest.approx(whole.value, rel=1e-12)
    assert np.array_equal(np.concatenate([point.gradient for point in points]), whole.gradient)
    assert np.array_equal(np.concatenate(products), whole.hvp(direction))


def test_the_part_of_all_queries_is_the_loss(build):
    loss = build(1)
    assert_same(loss.part(0, loss.n_queries), loss)


def test_parts_of_a_part_are_parts(build):
    loss = build(1)
    # Explicit pairs are one query; elsewhere these are the queries 6 and 7, of 330 and of 5 rows.
    outer, inner = ((0, 1), (0, 1)) if loss.n_queries == 1 else ((5, 10), (1, 3))
    assert_same(loss.part(*outer).part(*inner), loss.part(outer[0] + inner[0], outer[0] + inner[1]))


def test_a_loss_knows_its_queries(build):
    loss = build(1)
    assert loss.n_rows == PTR[-1]
    assert loss.query_ptr[0] == 0
    assert loss.query_ptr[-1] == loss.n_rows
    assert loss.n_queries == len(loss.query_ptr) - 1
    assert loss.longest_query == np.diff(loss.query_ptr).max()


def test_a_loss_declares_its_cost(build):
    assert build(1).cost in get_args(Cost)


class EveryPair(HingeLoss):
    """A loss that says that it looks at every pair."""

    name = "every_pair"
    cost = "quadratic"


def test_a_long_query_is_refused_where_the_cost_is_quadratic():
    def view(size):
        return random_view(np.random.default_rng(0), [size, 3])

    options = {"weighting": "pairs", "n_threads": 1}
    assert EveryPair(view(LARGEST_QUADRATIC), **options).n_pairs > 0
    with pytest.raises(MarginRankError, match=r"loss='every_pair' .* up to 20000 rows; .* has 20001\. Use"):
        EveryPair(view(LARGEST_QUADRATIC + 1), **options)
    assert HingeLoss(view(LARGEST_QUADRATIC + 1), **options).n_pairs > 0


def test_any_number_of_rows_is_taken_where_the_cost_is_linear():
    n_rows = LARGEST_QUADRATIC + 1
    training = random_pairs(np.random.default_rng(0), n_rows, weighted=False, margins=False)
    assert HingePreferences(training, n_rows, n_threads=1).longest_query == n_rows
