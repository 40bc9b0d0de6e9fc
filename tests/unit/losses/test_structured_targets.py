"""Structured targets: what each one is in closed form, what is degenerate, what is refused, and training."""

import numpy as np
import pytest

from brute_force import relative_error, view_of
from marginrank.designs import MatrixDesign
from marginrank.exceptions import MarginRankError
from marginrank.losses import HingeLoss
from marginrank.losses.structured import (
    LARGEST_ASSIGNMENT,
    STRUCTURED_TARGETS,
    CombinedLoss,
    TargetOptions,
    structured_loss,
)
from marginrank.solvers import Bundle, QuasiNewton
from marginrank.solvers.objective import Objective

every_target = pytest.mark.parametrize(("target", "feature_map"), STRUCTURED_TARGETS)
both_solvers = pytest.mark.parametrize("solver", [Bundle, QuasiNewton])


def problem(rng, *, n_queries=40, noise=1.0, grades=3):
    """Return X and a view whose labels follow a hidden direction of X."""
    sizes = rng.integers(5, 25, n_queries)
    X = rng.normal(size=(sizes.sum(), 6))
    utility = X[:, 0] - 0.5 * X[:, 1] + noise * rng.normal(size=len(X))
    y = np.digitize(utility, [0.5, 1.5][: grades - 1]).astype(np.float64)
    return X, view_of(sizes, y)


def minimize(solver, X, loss, alpha, tol=1e-3):
    return solver(tol=tol).minimize(Objective(MatrixDesign(X, n_threads=2), loss, alpha))


@pytest.mark.parametrize("sizes", [(2, 30, 320), (321, 900)])
def test_auc_is_the_hinge_at_twice_the_scores(sizes):
    rng = np.random.default_rng(0)
    view = view_of(sizes, rng.integers(4, size=sum(sizes)))
    auc = structured_loss(view, "auc")
    hinge = HingeLoss(view, weighting="queries", n_threads=1)
    for scores in (rng.normal(size=sum(sizes)), 0.25 * rng.integers(6, size=sum(sizes))):
        here, there = auc.at(scores), hinge.at(2.0 * scores)
        assert here.value == pytest.approx(there.value, rel=1e-14)
        assert relative_error(here.gradient, 2.0 * there.gradient) < 1e-14


@both_solvers
def test_auc_has_half_the_coefficients_of_the_hinge_at_a_quarter_of_alpha(solver):
    X, view = problem(np.random.default_rng(1))
    hinge = HingeLoss(view, weighting="queries", n_threads=1)
    ranker = minimize(solver, X, hinge, 0.02 / 4, tol=1e-9)
    structured = minimize(solver, X, structured_loss(view, "auc"), 0.02, tol=1e-9)
    assert structured.value == pytest.approx(ranker.value, rel=1e-8)
    # A relative gap of 1e-9 leaves sqrt(2 gap J / alpha) of w open.
    assert np.allclose(structured.w, 0.5 * ranker.w, atol=np.sqrt(2e-9 * ranker.value / 0.005))


@both_solvers
@every_target
def test_certificate_holds_while_training(solver, target, feature_map):
    X, view = problem(np.random.default_rng(2))
    result = minimize(solver, X, structured_loss(view, target, feature_map, n_threads=2), 1e-2)
    assert result.status == "converged"
    assert result.gap <= 1e-3
    exact = minimize(Bundle, X, structured_loss(view, target, feature_map), 1e-2, tol=1e-6)
    for entry in result.history:
        # No bound on the way may exceed what a longer run attains.
        assert 0.0 <= entry.bound <= exact.value * (1.0 + 1e-12)
        assert entry.gap >= 0.0
    assert result.value <= exact.value / (1.0 - 1e-3)


@both_solvers
@pytest.mark.parametrize(("target", "feature_map"), [key for key in STRUCTURED_TARGETS if key[1] != "dorm"])
def test_separable_data_reach_zero_risk(solver, target, feature_map):
    # Two labels with a gap between them: some multiple of the first column has no loss.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0.0).astype(np.float64)
    X[:, 0] += np.where(y > 0.0, 1.0, -1.0)
    loss = structured_loss(view_of([20, 20, 20], y), target, feature_map)
    result = minimize(solver, X, loss, 1e-9, tol=0.1)
    assert loss.at(X @ result.w).value < 1e-6


def test_dorm_reaches_zero_risk_where_equal_labels_have_equal_rows():
    y = np.tile([0.0, 1.0, 1.0, 2.0], 5)
    loss = structured_loss(view_of([4] * 5, y), "ndcg", "dorm")
    result = minimize(Bundle, y[:, None], loss, 1e-9, tol=0.1)
    assert loss.at(y * result.w[0]).value < 1e-6


def test_dorm_charges_equal_labels_with_different_scores():
    loss = structured_loss(view_of([3], [1, 0, 0]), "ndcg", "dorm")
    assert loss.at(np.array([50.0, 1.0, 0.0])).value > 0.01


@pytest.mark.parametrize("feature_map", ["po", "mrr"])
def test_a_cutoff_makes_every_risk_at_the_origin_one(feature_map):
    y = np.zeros(40)
    y[[3, 30]] = 1.0
    scores = np.zeros(40)
    cut = structured_loss(view_of([40], y), "mrr", feature_map, TargetOptions(cutoff=10))
    uncut = structured_loss(view_of([40], y), "mrr", feature_map)
    assert cut.at(scores).value == 1.0
    assert uncut.at(scores).value < 1.0


def test_truncated_ndcg_is_not_the_greedy_merge():
    options = TargetOptions(cutoff=2, discount="letor")
    loss = structured_loss(view_of([3], [1, 0, 0]), "ndcg", "po", options)
    assert loss.at(np.array([0.0, -0.1, -0.1])).value == pytest.approx(0.8, rel=1e-15)


def test_a_cutoff_beyond_the_longest_query_changes_nothing():
    rng = np.random.default_rng(4)
    view = view_of([7, 30], rng.integers(2, size=37))
    scores = rng.normal(size=37)
    for target, feature_map in (("ndcg", "po"), ("mrr", "po"), ("mrr", "mrr"), ("ndcg", "dorm")):
        far = structured_loss(view, target, feature_map, TargetOptions(cutoff=1000)).at(scores)
        none = structured_loss(view, target, feature_map).at(scores)
        assert far.value == none.value
        assert np.array_equal(far.gradient, none.gradient)


def test_relevance_decides_which_rows_are_good():
    rng = np.random.default_rng(5)
    grades = rng.integers(4, size=30).astype(np.float64)
    scores = rng.normal(size=30)
    for target, feature_map in (("map", "po"), ("ndcg", "po"), ("mrr", "po"), ("mrr", "mrr")):
        graded = structured_loss(view_of([30], grades), target, feature_map, TargetOptions(relevance=2.0))
        binary = structured_loss(view_of([30], grades >= 2.0), target, feature_map)
        assert graded.at(scores).value == binary.at(scores).value


def test_a_long_query_has_the_value_of_its_programme():
    """NDCG of 2,000 rows against V_t(j) written out, with and without a cut-off."""
    rng = np.random.default_rng(6)
    y = (rng.random(2000) < 0.2).astype(np.float64)
    scores = 0.02 * rng.normal(size=2000) + 0.01 * y
    good, bad = np.sort(scores[y > 0])[::-1], np.sort(scores[y == 0])[::-1]
    above = np.concatenate(([0.0], np.cumsum(bad)))
    for cutoff in (None, 10, 700):
        discount = 1.0 / np.log2(np.arange(2.0, 2002.0))
        discount[cutoff or 2000 :] = 0.0
        value = np.zeros(len(bad) + 1)
        for t, score in enumerate(good):
            pairs = 2.0 / (len(good) * len(bad)) * (above - np.arange(len(bad) + 1) * score)
            loss_term = discount[t : t + len(bad) + 1] / discount[: len(good)].sum()
            value = np.maximum.accumulate(value) - loss_term + pairs
        loss = structured_loss(view_of([2000], y), "ndcg", "po", TargetOptions(cutoff=cutoff))
        assert loss.at(scores).value == pytest.approx(1.0 + value.max(), rel=1e-11)


def test_dorm_refuses_long_queries_of_many_grades_only():
    n = LARGEST_ASSIGNMENT + 1
    many = view_of([n], np.arange(n) % 9)
    with pytest.raises(MarginRankError, match=rf"up to {LARGEST_ASSIGNMENT} rows.*has {n}.*feature_map='po'"):
        structured_loss(many, "ndcg", "dorm")
    scores = np.random.default_rng(7).normal(size=n)
    assert structured_loss(many, "ndcg", "dorm", TargetOptions(rank_weight="discount")).at(scores).value > 0.0
    assert structured_loss(view_of([n], np.arange(n) % 2), "ndcg", "dorm").at(scores).value > 0.0


@pytest.mark.parametrize(
    ("target", "feature_map", "options", "message"),
    [
        ("precision", "po", {}, "Unknown structured target 'precision'; known are auc, map, ndcg, mrr"),
        ("map", "dorm", {}, "The target 'map' has the feature maps po; got 'dorm'"),
        ("map", "po", {"cutoff": 10}, "map is trained on the whole ranking and has no cut-off; got 10"),
        ("auc", "po", {"cutoff": 10}, "auc is trained on the whole ranking"),
        ("mrr", "po", {"cutoff": 0}, "The cut-off must be an integer of at least 1; got 0"),
        ("ndcg", "po", {"discount": "ln"}, "discount must be 'log2' or 'letor'; got 'ln'"),
        ("ndcg", "dorm", {"rank_weight": "x"}, "rank_weight must be 'fourth_root' or 'discount'; got 'x'"),
        ("ndcg", "po", {"relevance": 9.0}, r"good is a label of at least 9\).*nothing to rank"),
    ],
)
def test_what_cannot_be_trained_is_said(target, feature_map, options, message):
    with pytest.raises(MarginRankError, match=message):
        structured_loss(view_of([3], [0, 1, 2]), target, feature_map, TargetOptions(**options))


@pytest.mark.parametrize("y", [[-1.0, 0.0, 1.0], [0.0, 1.0, 60.0]])
def test_dorm_needs_labels_that_are_gains(y):
    with pytest.raises(MarginRankError, match="needs labels from 0 to 50; got"):
        structured_loss(view_of([3], y), "ndcg", "dorm")


@pytest.mark.parametrize("weights", [[], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
def test_combinations_need_positive_weights(weights):
    view = view_of([3], [0, 1, 2])
    loss = structured_loss(view, "map")
    with pytest.raises(MarginRankError, match="at least one target, and positive weights"):
        CombinedLoss(view, [(weight, loss) for weight in weights], n_threads=1)


def test_fused_training_equals_evaluation_of_all_scores():
    """More than 64 small queries run fused with a dense design: same value and gradient as apart."""
    X, view = problem(np.random.default_rng(8), n_queries=80)
    parts = [(1.0, structured_loss(view, *key)) for key in STRUCTURED_TARGETS]
    loss = CombinedLoss(view, parts, n_threads=2)
    design = MatrixDesign(X, n_threads=2)
    objective = Objective(design, loss, 1e-2)
    assert objective.fused
    w = np.random.default_rng(9).normal(size=X.shape[1])
    point, apart = objective.at(w), loss.at(X @ w)
    assert point.risk == pytest.approx(apart.value, rel=1e-13)
    assert relative_error(point.risk_gradient, X.T @ apart.gradient) < 1e-12
