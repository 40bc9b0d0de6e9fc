"""RankSVM against LinearSVC and scipy on problems small enough to write out all pairs.

The reference minimum is a little above the true one (about 1e-9), which only makes it easier to be within
the certified gap of it by as much; the allowance below covers the other direction.
"""

import numpy as np
import pytest
from explicit_pairs import (
    minimum_by_linear_svc,
    minimum_by_scipy,
    minimum_without_regularization,
    problem_over_pairs,
    problem_over_queries,
)
from scipy import sparse

from marginrank import RankSVM

LOSSES = ["hinge", "squared_hinge"]
SOLVERS = [("hinge", "lbfgs"), ("hinge", "bundle")] + [
    ("squared_hinge", name) for name in ("lbfgs", "bundle", "newton")
]
ALLOWANCE = 1e-7


def small_case(seed=0, n_rows=36, n_features=4, n_queries=4, levels=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
    if levels:
        y = np.digitize(y, np.quantile(y, np.arange(1, levels) / levels)).astype(float)
    return X, y, rng.integers(n_queries, size=n_rows)


def assert_within_the_certified_gap(model, problem, minimum):
    assert model.gap_ <= model.tol
    assert model.objective_ == pytest.approx(problem.value(model.coef_), rel=1e-10)
    assert model.objective_ >= minimum * (1 - ALLOWANCE)
    assert model.objective_ - minimum <= model.gap_ * model.objective_ * (1 + ALLOWANCE) + 1e-12


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
@pytest.mark.parametrize("levels", [None, 2, 4], ids=["real labels", "two levels", "four levels"])
@pytest.mark.parametrize("grouped", [False, True], ids=["global", "queries"])
def test_optimum_agrees_with_linear_svc(loss, alpha, levels, grouped):
    X, y, qid = small_case(levels=levels)
    qid = qid if grouped else None
    problem = problem_over_queries(X, y, qid, alpha=alpha, loss=loss)
    model = RankSVM(loss, alpha=alpha, tol=1e-5).fit(X, y, qid=qid)
    assert model.n_pairs_ == len(problem.weight)
    assert_within_the_certified_gap(model, problem, minimum_by_linear_svc(problem))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weighting", ["pairs", "queries"])
@pytest.mark.parametrize("rows_weighted", [False, True], ids=["rows alike", "rows weighted"])
@pytest.mark.parametrize("queries_weighted", [False, True], ids=["queries alike", "queries weighted"])
def test_weighted_optimum_agrees_with_linear_svc(loss, weighting, rows_weighted, queries_weighted):
    X, y, qid = small_case(seed=1)
    rng = np.random.default_rng(2)
    options = {}
    if rows_weighted:
        options["sample_weight"] = rng.random(len(y)) * (rng.random(len(y)) < 0.9)
    if queries_weighted:
        options["query_weight"] = dict(enumerate([0.5, 2.0, 0.0, 1.0]))
    problem = problem_over_queries(X, y, qid, weighting=weighting, alpha=1e-2, loss=loss, **options)
    model = RankSVM(loss, alpha=1e-2, weighting=weighting, tol=1e-5).fit(X, y, qid=qid, **options)
    positive = problem._replace(
        differences=problem.differences[problem.weight > 0],
        weight=problem.weight[problem.weight > 0],
        margin=problem.margin[problem.weight > 0],
    )
    assert_within_the_certified_gap(model, problem, minimum_by_linear_svc(positive))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("margin", [None, 2.5, "each its own"])
@pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])
def test_optimum_over_pairs_agrees_with_linear_svc(loss, margin, weighted):
    X, _, _ = small_case(seed=3)
    rng = np.random.default_rng(4)
    pairs = np.array([rng.choice(36, 2, replace=False) for _ in range(80)])
    weight = rng.random(80) if weighted else None
    margin = 0.2 + 2 * rng.random(80) if margin == "each its own" else margin
    problem = problem_over_pairs(X, pairs, weight, margin, alpha=1e-2, loss=loss)
    model = RankSVM(loss, alpha=1e-2, tol=1e-5).fit_pairs(X, pairs, weight=weight, margin=margin)
    assert_within_the_certified_gap(model, problem, minimum_by_linear_svc(problem))


@pytest.mark.parametrize("loss", LOSSES)
def test_optimum_over_pairs_with_margins_of_zero_agrees_with_scipy(loss):
    X, _, _ = small_case(seed=5)
    rng = np.random.default_rng(6)
    pairs = np.array([rng.choice(36, 2, replace=False) for _ in range(30)])
    margin = np.where(np.arange(30) % 3 == 0, 0.0, 1.0 + rng.random(30))
    problem = problem_over_pairs(X, pairs, rng.random(30), margin, alpha=0.1, loss=loss)
    model = RankSVM(loss, alpha=0.1, tol=1e-5).fit_pairs(X, pairs, weight=problem.weight, margin=margin)
    assert_within_the_certified_gap(model, problem, minimum_by_scipy(problem))


@pytest.mark.parametrize("loss", LOSSES)
def test_all_pairs_written_out_are_the_same_problem(loss):
    X, y, qid = small_case(seed=7)
    pairs = [(j, i) for i in range(36) for j in range(36) if qid[i] == qid[j] and y[i] < y[j]]
    by_label = RankSVM(loss, alpha=1e-2, tol=1e-7).fit(X, y, qid=qid)
    by_pair = RankSVM(loss, alpha=1e-2, tol=1e-7).fit_pairs(X, pairs)
    assert by_label.objective_ == pytest.approx(by_pair.objective_, rel=1e-7)
    assert by_label.n_pairs_ == by_pair.n_pairs_


@pytest.mark.parametrize("loss", LOSSES)
def test_many_small_queries_agree_with_linear_svc(loss):
    # More than 64 queries: products and loss run fused, chunk by chunk.
    X, y, qid = small_case(seed=8, n_rows=400, n_queries=80, levels=3)
    problem = problem_over_queries(X, y, qid, alpha=1e-2, loss=loss)
    for matrix in (X, sparse.csr_array(X)):
        model = RankSVM(loss, alpha=1e-2, tol=1e-5).fit(matrix, y, qid=qid)
        assert_within_the_certified_gap(model, problem, minimum_by_linear_svc(problem))


# The certificate


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4, 1e-6])
def test_the_reported_gap_is_a_true_bound(loss, solver, alpha, tol):
    X, y, qid = small_case(seed=9)
    minimum = RankSVM(loss, alpha=alpha, tol=1e-10).fit(X, y, qid=qid).objective_
    model = RankSVM(loss, alpha=alpha, tol=tol, solver=solver).fit(X, y, qid=qid)
    assert model.gap_ <= tol
    assert model.objective_ - minimum <= model.gap_ * model.objective_ + 1e-12


@pytest.mark.parametrize(("loss", "solver"), SOLVERS)
def test_the_gap_is_a_true_bound_at_every_iteration(loss, solver):
    X, y, qid = small_case(seed=10)
    minimum = minimum_by_linear_svc(problem_over_queries(X, y, qid, alpha=1e-2, loss=loss))
    for progress in RankSVM(loss, alpha=1e-2, tol=1e-6, solver=solver).fit(X, y, qid=qid).history_:
        assert progress.bound <= minimum * (1 + 1e-12)
        assert progress.value - minimum <= progress.gap * progress.value + 1e-12


@pytest.mark.parametrize("solver", ["lbfgs", "bundle"])
@pytest.mark.parametrize("size", [1e9, 1e12, 1e15, 1e18])
@pytest.mark.filterwarnings("ignore")  # it may say that it did not converge, but not that it did
def test_the_gap_is_a_true_bound_for_huge_features(solver, size):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((40, 4)), rng.integers(3, size=40).astype(float)
        # The regulariser is below 1e-20, so the optimum is that of the hinge alone.
        minimum = minimum_without_regularization(problem_over_queries(X, y, alpha=0.0, loss="hinge"))
        model = RankSVM(solver=solver).fit(size * X, y)
        assert model.objective_ - minimum <= model.gap_ * model.objective_ + 1e-9


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("solver", ["lbfgs", "bundle"])
def test_the_gap_is_a_true_bound_with_a_time_in_nanoseconds(solver):
    X, y, _ = small_case(seed=12)
    days = X[:, 0].copy()
    X[:, 0] = 1.7e18 + 8.64e13 * days
    reference = X.copy()
    reference[:, 0] = days
    minimum = minimum_without_regularization(problem_over_queries(reference, y, alpha=0.0, loss="hinge"))
    model = RankSVM(solver=solver, alpha=1e-12).fit(X, y)
    assert model.objective_ - minimum <= model.gap_ * model.objective_ + 1e-6
