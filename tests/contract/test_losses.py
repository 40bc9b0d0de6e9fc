"""What every registered loss must hold: its definition, its derivatives, its invariances, the same bits."""

from itertools import pairwise

import numpy as np
import pytest

from brute_force import (
    MIXED_SIZES,
    explicit_pairs,
    pairs_of,
    query_pairs,
    random_pairs,
    random_view,
    relative_error,
    risk,
    view_of,
)
from marginrank.exceptions import NothingToRankError
from marginrank.losses import PREFERENCE_LOSSES, QUERY_LOSSES

# Sums of some 1e5 terms of order 1, in another order than the oracle's.
ROUNDING = 1e-12


class QueryCase:
    losses = QUERY_LOSSES

    def __init__(self, name, weight, weighting):
        self.name, self.weighting = name, weighting
        self.rng = np.random.default_rng(7)
        self.view = random_view(self.rng, weight=weight, query_weight=weight == "real")
        self.n_rows = len(self.view.y)
        self.pairs = query_pairs(self.view, weighting)

    def loss(self, n_threads=1):
        return QUERY_LOSSES[self.name](self.view, weighting=self.weighting, n_threads=n_threads)

    def permuted(self):
        """Return the loss with the rows of each query in another order, and that order."""
        ptr = self.view.query_ptr
        order = np.concatenate([first + self.rng.permutation(last - first) for first, last in pairwise(ptr)])
        weight = self.view.sample_weight
        view = self.view._replace(
            y=self.view.y[order], sample_weight=None if weight is None else weight[order]
        )
        return QUERY_LOSSES[self.name](view, weighting=self.weighting, n_threads=1), order


class PreferenceCase:
    losses = PREFERENCE_LOSSES

    def __init__(self, name, weighted, margins):
        self.name = name
        self.rng = np.random.default_rng(8)
        self.n_rows = 60
        self.training = random_pairs(self.rng, self.n_rows, weighted=weighted, margins=margins)
        self.pairs = explicit_pairs(self.training)

    def loss(self, n_threads=1):
        return PREFERENCE_LOSSES[self.name](self.training, self.n_rows, n_threads=n_threads)

    def permuted(self):
        """Return the loss with the rows renumbered and the pairs in another order."""
        order = self.rng.permutation(self.n_rows)
        number = np.argsort(order)
        pair_order = self.rng.permutation(len(self.training.pairs))
        moved = [None if part is None else part[pair_order] for part in self.training]
        training = self.training._replace(pairs=number[moved[0]], weight=moved[1], margin=moved[2])
        return PREFERENCE_LOSSES[self.name](training, self.n_rows, n_threads=1), order


CASES = {
    f"{name}-{weight or 'unweighted'}-{weighting}": (QueryCase, name, weight, weighting)
    for name in QUERY_LOSSES
    for weight in (None, "integer", "real")
    for weighting in ("pairs", "queries")
} | {
    f"{name}-preferences-{kind}": (PreferenceCase, name, *options)
    for name in PREFERENCE_LOSSES
    for kind, options in {"plain": (False, False), "weighted": (True, True)}.items()
}


SMOOTH = [key for key, (kind, name, *_) in CASES.items() if kind.losses[name].smooth]


def build(key):
    kind, *options = CASES[key]
    return kind(*options)


@pytest.fixture(params=CASES)
def case(request):
    return build(request.param)


@pytest.fixture(params=SMOOTH)
def smooth_case(request):
    return build(request.param)


def scores_away_from_kinks(case, distance):
    """Return scores at which no pair is closer to its margin than the distance."""
    while True:
        scores = case.rng.normal(size=case.n_rows)
        if np.abs(case.pairs.slacks(case.name, scores)).min() > distance:
            return scores


def test_is_registered_under_its_name(case):
    assert case.loss().name == case.name
    assert case.loss().n_rows == case.n_rows


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 30.0])
def test_value_and_gradient_equal_the_definition(case, spread):
    scores = spread * case.rng.normal(size=case.n_rows)
    point, want = case.loss().at(scores), risk(case.name, case.pairs, scores)
    assert point.value == pytest.approx(want.value, rel=ROUNDING)
    assert relative_error(point.gradient, want.gradient) < ROUNDING


def test_lattice_scores_at_the_margin_equal_the_definition(case):
    scores = 0.5 * case.rng.integers(6, size=case.n_rows)
    point, want = case.loss().at(scores), risk(case.name, case.pairs, scores)
    assert point.value == pytest.approx(want.value, rel=ROUNDING)
    assert relative_error(point.gradient, want.gradient) < ROUNDING


def test_hessian_product_equals_the_definition(smooth_case):
    case = smooth_case
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    want = risk(case.name, case.pairs, scores, direction)
    assert relative_error(case.loss().at(scores).hvp(direction), want.hvp) < ROUNDING


def test_gradient_matches_finite_differences(case):
    # Central differences of a function that is at most quadratic around here: only rounding is left, about
    # 1e-16 / h, so the step is as long as the distance to the nearest kink allows.
    loss, h = case.loss(), 1e-7
    scores = scores_away_from_kinks(case, 4 * h)
    gradient = loss.at(scores).gradient
    for _ in range(5):
        direction = case.rng.uniform(-1, 1, case.n_rows)
        slope = (loss.at(scores + h * direction).value - loss.at(scores - h * direction).value) / (2 * h)
        assert slope == pytest.approx(gradient @ direction, abs=1e-7)


def test_hessian_product_matches_finite_differences(smooth_case):
    case = smooth_case
    loss, h = case.loss(), 1e-7
    scores = scores_away_from_kinks(case, 4 * h)
    direction = case.rng.uniform(-1, 1, case.n_rows)
    ahead, behind = loss.at(scores + h * direction).gradient, loss.at(scores - h * direction).gradient
    assert relative_error((ahead - behind) / (2 * h), loss.at(scores).hvp(direction)) < 1e-7


def test_every_gradient_is_a_cutting_plane(case):
    loss = case.loss()
    points = [0.5 * case.rng.integers(7, size=case.n_rows), *case.rng.normal(size=(4, case.n_rows))]
    at = [loss.at(scores) for scores in points]
    for p, here in zip(points, at, strict=True):
        for q, there in zip(points, at, strict=True):
            assert there.value >= here.value + here.gradient @ (q - p) - 1e-12
            assert there.value >= 0.0


def test_row_order_does_not_matter(case):
    other, order = case.permuted()
    for scores in (case.rng.normal(size=case.n_rows), 0.5 * case.rng.integers(7, size=case.n_rows)):
        here, there = case.loss().at(scores), other.at(scores[order])
        assert there.value == pytest.approx(here.value, rel=ROUNDING)
        assert relative_error(there.gradient, here.gradient[order]) < ROUNDING


def test_shifted_scores_change_nothing(case):
    # Rounding the shifted scores moves each by up to 6e-11, so no more than that may show: no pair is so near
    # to its margin that it could change sides.
    scores = scores_away_from_kinks(case, 1e-9)
    loss = case.loss()
    here, there = loss.at(scores), loss.at(scores + 1e6)
    assert there.value == pytest.approx(here.value, abs=1e-9)
    assert np.abs(there.gradient - here.gradient).max() < 1e-9
    if loss.smooth:
        direction = case.rng.normal(size=case.n_rows)
        assert np.abs(there.hvp(direction) - here.hvp(direction)).max() < 1e-9


def test_gradient_and_hessian_product_ignore_constants(case):
    point = case.loss().at(case.rng.normal(size=case.n_rows))
    assert point.gradient.sum() == pytest.approx(0.0, abs=1e-13)
    assert np.abs(point.hvp(np.ones(case.n_rows))).max() < 1e-13


@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_do_not_depend_on_the_threads(case, n_threads):
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    one, many = case.loss(1).at(scores), case.loss(n_threads).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)
    assert np.array_equal(many.hvp(direction), one.hvp(direction))


def test_an_earlier_point_is_not_changed_by_a_later_one(case):
    loss = case.loss()
    scores, elsewhere, direction = case.rng.normal(size=(3, case.n_rows))
    point = loss.at(scores)
    gradient, product = point.gradient.copy(), point.hvp(direction)
    loss.at(elsewhere).hvp(direction)
    assert np.array_equal(point.gradient, gradient)
    assert np.array_equal(point.hvp(direction), product)


def test_curvature_is_the_diagonal_of_the_hessian_at_equal_scores(smooth_case):
    case = smooth_case
    loss = case.loss()
    by_row, query_ptr = loss.curvature()
    point = loss.at(np.zeros(case.n_rows))
    rows = case.rng.choice(case.n_rows, 20, replace=False)
    diagonal = [point.hvp(np.eye(1, case.n_rows, row)[0])[row] for row in rows]
    margins = case.pairs.margin is not None  # with a margin of its own a pair may bend less at equal scores
    assert query_ptr[0] == 0
    assert query_ptr[-1] == case.n_rows
    if margins:
        assert np.all(by_row[rows] >= np.array(diagonal) - 1e-15)
    else:
        assert relative_error(by_row[rows], diagonal) < ROUNDING


@pytest.mark.parametrize("name", QUERY_LOSSES)
@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("sizes", [(1,), (4,), (400,), (1, 1, 1), (3, 400, 1)])
def test_without_a_comparable_pair_there_is_nothing_to_rank(name, weighting, sizes):
    view = view_of(sizes, np.full(sum(sizes), 2.0))
    with pytest.raises(NothingToRankError, match="nothing to rank"):
        QUERY_LOSSES[name](view, weighting=weighting, n_threads=1)


@pytest.mark.parametrize("name", sorted(QUERY_LOSSES.keys() & PREFERENCE_LOSSES.keys()))
def test_pairs_written_out_from_labels_equal_the_query_loss(name):
    rng = np.random.default_rng(9)
    view = random_view(rng, MIXED_SIZES, weight="integer")
    written = query_pairs(view)
    pairs = np.column_stack([written.winner, written.loser])
    by_label = QUERY_LOSSES[name](view, weighting="pairs", n_threads=2)
    by_pair = PREFERENCE_LOSSES[name](pairs_of(pairs, weight=written.coefficient), len(view.y), n_threads=2)
    scores, direction = rng.normal(size=(2, len(view.y)))
    one, other = by_label.at(scores), by_pair.at(scores)
    assert one.value == pytest.approx(other.value, rel=ROUNDING)
    assert relative_error(one.gradient, other.gradient) < ROUNDING
    assert relative_error(one.hvp(direction), other.hvp(direction)) < ROUNDING
