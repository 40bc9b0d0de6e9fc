"""KernelRankSVM with the columns beside the kernel: what each block weighs, wherever the rows come from."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginrank import KernelRankSVM, RankingData, RankingModel, RankRLS, RankSVM
from marginrank.losses import QUERY_LOSSES
from random_matrices import random_csr

SETTINGS = {"n_components": 25, "dtype": "float64", "random_state": 0}


def bent(seed, n_rows=200):
    """Return rows whose labels are partly linear in the columns."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 4)) * [1.0, 1.0, 3.0, 1.0]
    utility = np.sin(6 * X[:, 0]) + X[:, 2] + 0.1 * rng.normal(size=n_rows)
    return X, np.digitize(utility, np.quantile(utility, [0.4, 0.8])), np.arange(n_rows) // 10


X, Y, QID = bent(0)
XV, YV, QV = bent(1)
WEIGHT = 1.0 + np.arange(len(Y)) % 3


def trace(Z, groups, weight=None):
    """Return the sum of the variances of columns within groups of rows."""
    weight = np.ones(len(Z)) if weight is None else weight
    total = 0.0
    for group in np.unique(groups):
        rows, h = Z[groups == group], weight[groups == group]
        total += float(h @ np.square(rows - np.average(rows, axis=0, weights=h)).sum(axis=1))
    return total / weight.sum()


@pytest.mark.parametrize("scale", [None, "standard"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no weights", "weights"])
def test_each_block_is_divided_by_the_root_of_its_trace_within_queries(scale, weight):
    model = KernelRankSVM(scale=scale, **SETTINGS).fit(X, Y, qid=QID, sample_weight=weight)
    rows = X if scale is None else X / model.column_scale_
    mapped, linear = model.block_scale_
    assert mapped == pytest.approx(np.sqrt(trace(model.feature_map_.transform(rows), QID, weight)), rel=1e-9)
    assert linear == pytest.approx(np.sqrt(trace(rows, QID, weight)), rel=1e-9)


def test_rows_that_pairs_connect_take_the_place_of_a_query():
    pairs = np.array([[0, 1], [1, 5], [7, 3], [9, 3]])
    groups = np.arange(len(X))
    groups[[0, 1, 5]], groups[[3, 7, 9]] = 0, 3
    model = KernelRankSVM(**SETTINGS).fit_pairs(X, pairs)
    assert model.block_scale_[0] == pytest.approx(
        np.sqrt(trace(model.feature_map_.transform(X), groups)), rel=1e-9
    )
    assert model.block_scale_[1] == pytest.approx(np.sqrt(trace(X, groups)), rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_all_pairs_of_queries_train_the_model_of_the_queries(loss):
    order = np.argwhere((QID[:, None] == QID) & (Y[:, None] > Y))
    settings = {**SETTINGS, "loss": loss, "alpha": 1e-1, "tol": 1e-6}
    by_pairs = KernelRankSVM(**settings).fit_pairs(X, order)
    by_queries = KernelRankSVM(**settings).fit(X, Y, qid=QID)
    assert by_pairs.block_scale_ == pytest.approx(by_queries.block_scale_, rel=1e-9)
    assert by_pairs.objective_ == pytest.approx(by_queries.objective_, rel=2e-6)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
@pytest.mark.parametrize("store", ["memory", "recompute"])
def test_least_squares_is_rank_rls_over_both_blocks(storage, store):
    settings = {**SETTINGS, "loss": "least_squares", "alpha": 1e-2, "tol": 1e-6, "scale": "standard"}
    model = KernelRankSVM(store=store, **settings).fit(storage(X), Y, qid=QID)
    rows = X / model.column_scale_
    mapped, linear = model.block_scale_
    Z = np.hstack([model.feature_map_.transform(rows) / mapped, rows / linear])
    rls = RankRLS(1e-2, scale=None, solver="direct").fit(Z, Y, qid=QID)
    assert model.objective_ == pytest.approx(rls.objective_, rel=2e-6)
    reach = np.sqrt(2 * 1e-6 * model.objective_ / 1e-2)  # of a gap of tol
    np.testing.assert_allclose(model.coef_, rls.coef_[:-4] / mapped, atol=reach / mapped)
    np.testing.assert_allclose(model.linear_coef_ * linear * model.column_scale_, rls.coef_[-4:], atol=reach)


@pytest.mark.parametrize("approximation", ["nystroem", "fourier", "exact"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_objective_is_that_of_the_scores_and_of_both_penalties(approximation, loss):
    model = KernelRankSVM(approximation=approximation, loss=loss, scale="minmax", alpha=1e-2, **SETTINGS)
    model.fit(X, Y, qid=QID)
    view = RankingData(X, Y, qid=QID).training_view()
    risk = QUERY_LOSSES[loss](view, weighting="pairs", n_threads=1).at(model.predict(X)).value
    mapped, linear = model.block_scale_
    blocks = (model.coef_ * mapped, model.linear_coef_ * linear * model.column_scale_)
    penalty = 0.5e-2 * sum(float(block @ block) for block in blocks)
    # It is a bound, with all that rounding may have done on the safe side.
    assert risk + penalty <= model.objective_ * (1 + 1e-12)
    assert model.objective_ == pytest.approx(risk + penalty, rel=1e-6)
    assert model.gap_ <= 1e-3


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
def test_sparse_rows_train_the_model_of_dense_ones(loss):
    rows = X * (X > 0.3)
    settings = {**SETTINGS, "gamma": 0.5, "loss": loss, "alpha": 1e-1, "tol": 1e-6, "scale": None}
    dense = KernelRankSVM(**settings).fit(rows, Y, qid=QID)
    other = KernelRankSVM(**settings).fit(sparse.csr_array(rows), Y, qid=QID)
    assert other.objective_ == pytest.approx(dense.objective_, rel=2e-6)
    np.testing.assert_allclose(other.predict(sparse.csr_array(rows)), dense.predict(rows), atol=5e-3)


def test_wide_sparse_rows_are_never_made_dense():
    rows = random_csr((3000, 100_000), 2e-5, np.random.default_rng(3))
    y = np.asarray(rows[:, :25_000].sum(axis=1)).ravel() > 0.0
    tracemalloc.start()
    try:
        model = KernelRankSVM(n_components=10, tol=0.5, random_state=0).fit(rows, y)
        model.predict(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert model.linear_coef_.shape == (100_000,)
    assert peak < 1e9, "Dense rows would take 2.4 GB; a solver's vectors of one number a column are few."


def test_folds_of_recomputed_features_choose_as_those_of_stored_ones():
    settings = {**SETTINGS, "alpha": "auto", "alphas": [1.0, 1e-1, 1e-2], "gamma": 0.5, "cv": 3, "tol": 1e-6}
    stored, recomputed = (
        KernelRankSVM(store=store, **settings).fit(X, Y, qid=QID) for store in ("memory", "recompute")
    )
    np.testing.assert_allclose(recomputed.validation_curve_, stored.validation_curve_, atol=1e-2)
    assert recomputed.objective_ == pytest.approx(
        KernelRankSVM(**{**settings, "alpha": recomputed.alpha_}).fit(X, Y, qid=QID).objective_, rel=1e-5
    )


def test_large_offsets_and_constant_columns_change_no_order():
    moved = np.hstack([X + np.array([0.0, 1e9, 0.0, 0.0]), np.full((len(X), 1), 1.7e18), QID[:, None] * 1e6])
    settings = {**SETTINGS, "gamma": 0.5, "alpha": 1e-2, "tol": 1e-6, "scale": None}
    model = KernelRankSVM(**settings).fit(moved, Y, qid=QID)
    assert model.linear_coef_[4:].tolist() == [0.0, 0.0]
    assert model.block_scale_[1] == pytest.approx(np.sqrt(trace(X, QID)), rel=1e-6)


def test_what_is_linear_is_learnt_whatever_the_kernel_sees():
    rng = np.random.default_rng(5)
    rows, test = rng.normal(size=(2, 400, 10))
    w, qid = rng.normal(size=10), np.arange(400) // 20
    alone, beside = (
        KernelRankSVM(gamma=5.0, linear_block=linear, n_components=50, random_state=0)
        .fit(rows, rows @ w, qid=qid)
        .score(test, test @ w, qid=qid)
        for linear in (False, True)
    )
    assert alone < 0.8  # a kernel so narrow that every row is far from every other
    assert beside > RankSVM().fit(rows, rows @ w, qid=qid).score(test, test @ w, qid=qid) - 0.03


def test_threads_do_not_change_a_bit():
    settings = {"n_components": 25, "alpha": "auto", "cv": 3, "random_state": 0}
    one, two = (KernelRankSVM(n_jobs=k, **settings).fit(X, Y, qid=QID) for k in (1, 2))
    np.testing.assert_array_equal(one.linear_coef_, two.linear_coef_)
    np.testing.assert_array_equal(one.predict(XV), two.predict(XV))


def test_scalers_of_a_pipeline_are_folded_into_both_blocks():
    pipeline = make_pipeline(StandardScaler(), KernelRankSVM(**SETTINGS)).fit(X, Y)
    model = RankingModel.from_estimator(pipeline)
    np.testing.assert_allclose(model.predict(XV), pipeline.predict(XV), atol=1e-9)
    assert model.linear_coef.shape == (4,)
