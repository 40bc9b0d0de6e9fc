"""What the least-squares losses must hold: all pairs written out, derivatives, invariances, the same bits."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from brute_force import MIXED_SIZES, pairs_of, random_pairs, random_view, relative_error, view_of
from marginrank.data import RankingData
from marginrank.designs import MatrixDesign
from marginrank.exceptions import NothingToRankError
from marginrank.losses import LeastSquaresLoss, LeastSquaresPreferences

ROUNDING = 1e-12


def written_out(rows, coefficient, wanted, scores, direction):
    """Return value, gradient and Hessian product of a sum of squares over pairs of rows."""
    i, j = rows
    n = len(scores)
    gap = scores[i] - scores[j] - wanted

    def scatter(amount):
        return np.bincount(i, amount, n) - np.bincount(j, amount, n)

    turn = direction[i] - direction[j]
    return coefficient @ gap**2, scatter(2 * coefficient * gap), scatter(2 * coefficient * turn)


class QueryCase:
    """All pairs of each query, tied ones too: ``s_i s_j / sum_q s`` each, and the whole over the weight."""

    def __init__(self, weight, sizes=MIXED_SIZES):
        self.rng = np.random.default_rng(11)
        self.view = random_view(self.rng, sizes, weight=weight, query_weight=weight == "real")
        self.n_rows = len(self.view.y)

    def loss(self, n_threads=1):
        return LeastSquaresLoss(self.view, n_threads=n_threads)

    def definition(self, scores, direction):
        view = self.view
        s = np.ones(self.n_rows) if view.sample_weight is None else view.sample_weight
        v = np.ones(len(view.query_ptr) - 1) if view.query_weight is None else view.query_weight
        rows, coefficient = [], []
        for q, (first, last) in enumerate(pairwise(view.query_ptr)):
            i, j = np.triu_indices(last - first, 1)
            rows.append((first + i, first + j))
            coefficient.append(v[q] * s[first + i] * s[first + j] / s[first:last].sum())
        i, j = (np.concatenate(part) for part in zip(*rows, strict=True))
        total = v @ np.add.reduceat(s, view.query_ptr[:-1])
        return written_out(
            (i, j), np.concatenate(coefficient) / total, view.y[i] - view.y[j], scores, direction
        )

    def permuted(self):
        ptr = self.view.query_ptr
        order = np.concatenate([first + self.rng.permutation(last - first) for first, last in pairwise(ptr)])
        weight = self.view.sample_weight
        view = self.view._replace(
            y=self.view.y[order], sample_weight=None if weight is None else weight[order]
        )
        return LeastSquaresLoss(view, n_threads=1), order


class PreferenceCase:
    """Explicit pairs; magnitudes may be negative or zero."""

    def __init__(self, weighted, magnitudes):
        self.rng = np.random.default_rng(12)
        self.n_rows = 60
        training = random_pairs(self.rng, self.n_rows, weighted=weighted)
        margin = self.rng.normal(size=len(training.pairs)) if magnitudes else None
        if magnitudes:
            margin[::5] = 0.0
        self.training = training._replace(margin=margin)

    def loss(self, n_threads=1):
        return LeastSquaresPreferences(self.training, self.n_rows, n_threads=n_threads)

    def definition(self, scores, direction):
        pairs, weight, margin = self.training
        weight = np.ones(len(pairs)) if weight is None else weight
        wanted = 1.0 if margin is None else margin
        return written_out(pairs.T, weight / weight.sum(), wanted, scores, direction)

    def permuted(self):
        order = self.rng.permutation(self.n_rows)
        moved = self.training._replace(pairs=np.argsort(order)[self.training.pairs])
        return LeastSquaresPreferences(moved, self.n_rows, n_threads=1), order


CASES = {
    "unweighted": lambda: QueryCase(None),
    "integer weights": lambda: QueryCase("integer"),
    "real weights": lambda: QueryCase("real"),
    "one ranking": lambda: QueryCase("real", [900]),
    "pairs": lambda: PreferenceCase(False, False),
    "weighted pairs with magnitudes": lambda: PreferenceCase(True, True),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


@pytest.mark.parametrize("spread", [0.0, 1.0, 100.0])
def test_equals_all_pairs_written_out(case, spread):
    scores, direction = spread * case.rng.normal(size=case.n_rows), case.rng.normal(size=case.n_rows)
    point = case.loss().at(scores)
    value, gradient, product = case.definition(scores, direction)
    assert point.value == pytest.approx(value, rel=ROUNDING)
    assert relative_error(point.gradient, gradient) < ROUNDING
    assert relative_error(point.hvp(direction), product) < ROUNDING


def test_derivatives_match_finite_differences(case):
    # Central differences of a quadratic are exact but for rounding, so the step may be long.
    loss, h = case.loss(), 0.1
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    here, ahead, behind = loss.at(scores), loss.at(scores + h * direction), loss.at(scores - h * direction)
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(here.gradient @ direction, rel=1e-10)
    assert relative_error((ahead.gradient - behind.gradient) / (2 * h), here.hvp(direction)) < 1e-12


def test_row_order_does_not_matter(case):
    other, order = case.permuted()
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    here, there = case.loss().at(scores), other.at(scores[order])
    assert there.value == pytest.approx(here.value, rel=ROUNDING)
    assert relative_error(there.gradient, here.gradient[order]) < ROUNDING
    assert relative_error(there.hvp(direction[order]), here.hvp(direction)[order]) < ROUNDING


def test_shifted_scores_change_nothing(case):
    # A lattice on which adding 2^20 is exact, so that only the loss could lose digits.
    scores, direction = np.round(case.rng.normal(size=(2, case.n_rows)) * 2**20) / 2**20
    loss = case.loss()
    here, there = loss.at(scores), loss.at(scores + 2.0**20)
    assert there.value == pytest.approx(here.value, rel=1e-14)
    assert relative_error(there.gradient, here.gradient) < 1e-14
    assert relative_error(here.hvp(direction + 2.0**20), here.hvp(direction)) < 1e-14


def test_gradient_and_hessian_product_ignore_constants(case):
    point = case.loss().at(case.rng.normal(size=case.n_rows))
    assert point.gradient.sum() == pytest.approx(0.0, abs=1e-13)
    assert np.abs(point.hvp(np.ones(case.n_rows))).max() < 1e-15


def test_the_hessian_does_not_depend_on_the_scores(case):
    loss = case.loss()
    scores, elsewhere, direction = case.rng.normal(size=(3, case.n_rows))
    assert np.array_equal(loss.at(scores).hvp(direction), loss.at(elsewhere).hvp(direction))


@pytest.mark.parametrize("n_threads", [2, 4])
def test_bits_do_not_depend_on_the_threads(case, n_threads):
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    one, many = case.loss(1).at(scores), case.loss(n_threads).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)
    assert np.array_equal(many.hvp(direction), one.hvp(direction))


@pytest.mark.parametrize("n_threads", [2, 4])
def test_one_long_ranking_has_the_same_bits_for_any_threads(n_threads):
    case = QueryCase("real", [70_001, 3])
    scores, direction = case.rng.normal(size=(2, case.n_rows))
    one, many = case.loss(1).at(scores), case.loss(n_threads).at(scores)
    assert many.value == one.value
    assert np.array_equal(many.gradient, one.gradient)
    assert np.array_equal(many.hvp(direction), one.hvp(direction))


def test_a_long_ranking_equals_centred_errors():
    case = QueryCase("real", [70_001])
    scores = case.rng.normal(size=case.n_rows)
    s, e = case.view.sample_weight, scores - case.view.y
    centred = e - np.average(e, weights=s)
    point = case.loss(2).at(scores)
    assert point.value == pytest.approx(np.average(centred**2, weights=s), rel=ROUNDING)
    assert relative_error(point.gradient, 2 * s * centred / s.sum()) < ROUNDING


def test_weights_mean_repetition():
    case = QueryCase("integer", [4, 9, 1, 30])
    view = case.view
    times = view.sample_weight.astype(int)
    sizes = np.add.reduceat(times, view.query_ptr[:-1])
    repeated = LeastSquaresLoss(view_of(sizes, np.repeat(view.y, times)), n_threads=1)
    scores = case.rng.normal(size=case.n_rows)
    here, there = case.loss().at(scores), repeated.at(np.repeat(scores, times))
    assert here.value == pytest.approx(there.value, rel=ROUNDING)
    first = np.concatenate(([0], np.cumsum(times)[:-1]))
    assert relative_error(np.add.reduceat(there.gradient, first), here.gradient) < ROUNDING
    assert case.loss().total_weight == repeated.total_weight


def test_rows_of_no_weight_change_nothing_and_are_not_pulled():
    rng = np.random.default_rng(13)
    y, scores = rng.integers(3, size=12).astype(float), rng.normal(size=12)
    weight = rng.lognormal(size=12)
    weight[[0, 5, 11]] = 0.0
    kept = weight > 0
    whole = LeastSquaresLoss(view_of([6, 6], y, weight=weight), n_threads=1)
    data = RankingData(np.zeros((12, 1)), y, group=[6, 6], sample_weight=weight)
    part = LeastSquaresLoss(data.training_view(), n_threads=1)
    here, there = whole.at(scores), part.at(scores[kept])
    assert here.value == pytest.approx(there.value, rel=ROUNDING)
    assert relative_error(here.gradient[kept], there.gradient) < ROUNDING
    assert not here.gradient[~kept].any()
    assert whole.total_weight == pytest.approx(part.total_weight)


def test_total_weight_counts_rows_alone_in_their_query():
    view = view_of(
        [1, 2], [5.0, 0.0, 2.0], weight=np.array([3.0, 1.0, 2.0]), query_weight=np.array([2.0, 0.5])
    )
    loss = LeastSquaresLoss(view, n_threads=1)
    assert loss.total_weight == 7.5
    assert loss.n_pairs == 1
    # errors 0 and -2 of weights 1 and 2 around their mean -4/3
    assert loss.at(np.zeros(3)).value == pytest.approx(0.5 * (16 / 9 + 2 * 4 / 9) / 7.5, rel=ROUNDING)


@pytest.mark.parametrize("sizes", [(1,), (400,), (1, 1, 1), (3, 400, 1)])
def test_without_a_comparable_pair_there_is_nothing_to_rank(sizes):
    with pytest.raises(NothingToRankError, match="nothing to rank"):
        LeastSquaresLoss(view_of(sizes, np.full(sum(sizes), 2.0)), n_threads=1)


@pytest.mark.parametrize("weight", [None, "real"])
def test_curvature_gives_the_diagonal_of_the_hessian_exactly(weight):
    case = QueryCase(weight)
    X = case.rng.normal(size=(case.n_rows, 4))
    loss, design = case.loss(), MatrixDesign(X, n_threads=1)
    point = loss.at(np.zeros(case.n_rows))
    diagonal = [x @ point.hvp(np.ascontiguousarray(x)) for x in X.T]
    assert relative_error(design.centred_squares(*loss.curvature()), diagonal) < ROUNDING


def test_curvature_of_pairs_is_the_diagonal_of_the_hessian_in_score_space():
    loss = PreferenceCase(True, True).loss()
    point = loss.at(np.zeros(loss.n_rows))
    diagonal = [point.hvp(unit)[row] for row, unit in enumerate(np.eye(loss.n_rows))]
    assert relative_error(loss.curvature()[0], diagonal) < ROUNDING


@pytest.mark.parametrize("weight", [None, "real"])
def test_a_design_fuses_the_loss(weight):
    case = QueryCase(weight, [1, 2, 30, 7, 330] + [9] * 80)
    X = case.rng.normal(size=(case.n_rows, 13))
    loss, design = case.loss(), MatrixDesign(X, n_threads=2)
    assert design.fuses(loss)
    w, v = case.rng.normal(size=(2, 13))
    found = design.evaluate(w, loss)
    apart = loss.at(X @ w)
    assert found.value == pytest.approx(apart.value, rel=ROUNDING)
    assert relative_error(found.score_gradient, apart.gradient) < ROUNDING
    assert relative_error(found.gradient, X.T @ apart.gradient) < ROUNDING
    assert relative_error(design.hvp(w, v, loss, found.scores), X.T @ apart.hvp(X @ v)) < ROUNDING


def test_label_differences_as_magnitudes_give_the_scored_form():
    """All pairs of one ranking, tied ones included: (m - 1) / 2 m times their mean is the mean over rows."""
    rng = np.random.default_rng(14)
    m = 40
    y, scores = rng.integers(4, size=m).astype(float), rng.normal(size=m)
    pairs = np.array(list(combinations(range(m), 2)))
    magnitude = y[pairs[:, 0]] - y[pairs[:, 1]]
    by_pair = LeastSquaresPreferences(pairs_of(pairs, margin=magnitude), m, n_threads=1).at(scores)
    by_row = LeastSquaresLoss(view_of([m], y), n_threads=1).at(scores)
    assert by_row.value == pytest.approx((m - 1) / (2 * m) * by_pair.value, rel=ROUNDING)
    assert relative_error((m - 1) / (2 * m) * by_pair.gradient, by_row.gradient) < ROUNDING


def test_what_rounding_may_do_shrinks_with_the_risk_however_far_scores_reach():
    loss = QueryCase(None).loss()
    small, large = (loss.rounding(value, reach=1e3, length=0.0) for value in (1e-12, 1e2))
    assert 0.0 < small.slope < 1e-5 * large.slope
    assert 0.0 < small.value < 1e-12 * large.value
