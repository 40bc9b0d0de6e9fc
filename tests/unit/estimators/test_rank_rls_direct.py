"""The direct solver of RankRLS: the same models as conjugate gradients, and exact leave-query-out."""

import numpy as np
import pytest
from scipy import sparse

from marginrank import RankRLS
from marginrank.metrics import evaluate
from random_matrices import random_csr

ALPHAS = np.array([10.0, 1e-1, 1e-3])
# As exact as doubles are; no certificate in double precision is, and training says so.
EXACT = 1e-24
pytestmark = pytest.mark.filterwarnings("ignore:.*rounding in double precision")


def make_data(seed=0, n_rows=90, n_features=7, n_queries=9):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = X[:, 0] - X[:, 1] + 2.0 * rng.standard_normal(n_rows)
    return X, y, rng.integers(n_queries, size=n_rows)


@pytest.mark.parametrize("n_features", [7, 150])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("with_queries", [True, False])
def test_direct_and_iterated_models_are_the_same(n_features, kind, with_queries):
    X, y, qid = make_data(n_features=n_features)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    fit = {"qid": qid if with_queries else None, "sample_weight": weight}
    direct = RankRLS(1e-2, solver="direct").fit(kind(X), y, **fit)
    iterated = RankRLS(1e-2, solver="cg", tol=EXACT).fit(kind(X), y, **fit)
    np.testing.assert_allclose(direct.coef_, iterated.coef_, rtol=1e-7, atol=1e-10)
    assert direct.objective_ == pytest.approx(iterated.objective_, rel=1e-9)
    assert direct.gap_ <= 1e-9
    assert (direct.solver_, direct.n_iter_, iterated.solver_) == ("direct", 0, "cg")


@pytest.mark.parametrize("metric", ["pairwise_error", "pairwise_error(weighting=queries)", "kendall"])
def test_leave_query_out_selects_by_what_refitting_without_each_query_gives(metric):
    X, y, qid = make_data(2)
    model = RankRLS("auto", alphas=ALPHAS, metric=metric, solver="direct", cv=None).fit(X, y, qid=qid)
    ids = list(dict.fromkeys(qid.tolist()))
    values, pairs = np.empty((len(ids), len(ALPHAS))), np.ones((len(ids), 1))
    for row, query in enumerate(ids):
        out = qid == query
        if metric == "pairwise_error":
            pairs[row] = np.sum(y[out][:, None] > y[out])
        for k, alpha in enumerate(ALPHAS):
            rest = RankRLS(alpha, solver="cg", tol=EXACT).fit(X[~out], y[~out], qid=qid[~out])
            values[row, k] = evaluate(y[out], rest.predict(X[out]), metrics=metric)[metric]
    mean = (pairs * values).sum(axis=0) / pairs.sum()
    np.testing.assert_allclose(model.validation_curve_, mean, atol=EXACT)
    # The error of a ratio of sums over queries; with equal weights that of a mean.
    influence = pairs / pairs.mean() * (values - mean)
    error = np.sqrt((influence**2).sum(axis=0) / (len(ids) - 1) / len(ids))
    np.testing.assert_allclose(model.validation_std_, error, atol=EXACT)
    best = mean.argmax() if metric == "kendall" else mean.argmin()
    assert model.alpha_ == ALPHAS[best]
    change = values - values[:, best : best + 1]
    influence = pairs / pairs.mean() * (change - (mean - mean[best]))
    error = np.sqrt((influence**2).sum(axis=0) / (len(ids) - 1) / len(ids))
    np.testing.assert_allclose(model.validation_diff_std_, error, atol=EXACT)
    np.testing.assert_array_equal(
        model.coef_, RankRLS(model.alpha_, solver="direct").fit(X, y, qid=qid).coef_
    )


def test_leave_query_out_of_several_targets_is_the_mean_of_each():
    X, y, qid = make_data(3)
    Y = np.column_stack([y, X[:, 2] + np.random.default_rng(4).standard_normal(len(y))])
    both = RankRLS("auto", alphas=ALPHAS, solver="direct", cv=None).fit(X, Y, qid=qid)
    curves = [
        RankRLS("auto", alphas=ALPHAS, solver="direct", cv=None).fit(X, Y[:, t], qid=qid).validation_curve_
        for t in range(2)
    ]
    np.testing.assert_allclose(both.validation_curve_, np.mean(curves, axis=0), atol=EXACT)


@pytest.mark.parametrize("selection", ["folds", "rows", "set", "splits"])
def test_direct_and_iterated_curves_are_the_same(selection):
    X, y, qid = make_data(5)
    Xv, yv, qv = make_data(6)
    splits = [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))]
    fit = {"qid": None if selection == "rows" else qid}
    if selection == "set":
        fit |= {"eval_set": (Xv, yv), "eval_qid": qv}
    cv = splits if selection == "splits" else 3
    models = [
        RankRLS("auto", alphas=ALPHAS, cv=cv, scale="standard", solver=solver, tol=EXACT).fit(X, y, **fit)
        for solver in ("direct", "cg")
    ]
    np.testing.assert_allclose(models[0].validation_curve_, models[1].validation_curve_, atol=EXACT)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-7)
    assert models[0].validation_table_.shape == (3, 1)


def test_auto_takes_the_direct_solver_for_few_features_and_iterates_for_many_sparse_ones():
    X, y, qid = make_data()
    assert RankRLS().fit(X, y, qid=qid).solver_ == "direct"
    many = random_csr((3_000, 40_000), 1e-3, np.random.default_rng(0))
    assert RankRLS(1.0, tol=0.1).fit(many, np.arange(3_000.0)).solver_ == "cg"


def test_without_queries_there_is_none_to_leave_out_and_rows_are_in_folds():
    X, y, _ = make_data(7)
    plain = RankRLS("auto", alphas=ALPHAS, solver="direct", cv=None).fit(X, y)
    five = RankRLS("auto", alphas=ALPHAS, solver="direct", cv=5).fit(X, y)
    np.testing.assert_array_equal(plain.validation_curve_, five.validation_curve_)
    assert np.isfinite(plain.validation_std_).all()


def test_one_standard_error_takes_a_stronger_regularisation():
    X, y, qid = make_data(8, n_rows=200)
    best = RankRLS("auto", solver="direct", cv=None).fit(X, y, qid=qid)
    modest = RankRLS("auto", rule="one_se", solver="direct", cv=None).fit(X, y, qid=qid)
    assert modest.alpha_ >= best.alpha_
    index = int(np.flatnonzero(best.alphas_ == best.alpha_)[0])
    chosen = int(np.flatnonzero(modest.alphas_ == modest.alpha_)[0])
    limit = best.validation_curve_[index] + best.validation_std_[index]
    assert best.validation_curve_[chosen] <= limit


def test_callbacks_are_told_the_result():
    X, y, qid = make_data()
    seen = []
    model = RankRLS(solver="direct").fit(X, y, qid=qid, callbacks=seen.append)
    assert seen == model.history_
    assert seen[0].value == model.objective_


def test_threads_do_not_change_a_bit():
    X, y, qid = make_data(9, n_rows=400, n_features=20)
    one, two = (RankRLS("auto", n_jobs=k, solver="direct", cv=None).fit(X, y, qid=qid) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.validation_curve_, two.validation_curve_)


def test_auto_iterates_where_a_gram_matrix_would_lose_small_columns():
    X, y, qid = make_data(10)
    far_apart = X * np.geomspace(1e-8, 1e3, X.shape[1])
    model = RankRLS(1e-12, tol=1e-6, max_iter=5000, scale=None).fit(far_apart, y, qid=qid)
    direct = RankRLS(1e-12, solver="direct", scale=None).fit(far_apart, y, qid=qid)
    assert direct.gap_ > 1e-3
    assert model.solver_ == "cg"


@pytest.mark.parametrize("solver", ["direct", "cg"])
@pytest.mark.parametrize("tied", [0, 1])
def test_a_target_without_differences_is_learnt_as_zero_and_does_not_vote(solver, tied):
    X, y, qid = make_data(11)
    Y = np.column_stack([y, y])
    Y[:, tied] = 4.0
    both = RankRLS("auto", alphas=ALPHAS, solver=solver, cv=3, tol=EXACT).fit(X, Y, qid=qid)
    alone = RankRLS("auto", alphas=ALPHAS, solver=solver, cv=3, tol=EXACT).fit(X, y, qid=qid)
    np.testing.assert_allclose(both.coef_[1 - tied], alone.coef_, rtol=1e-8)
    np.testing.assert_allclose(both.coef_[tied], 0.0, atol=EXACT)
    np.testing.assert_allclose(both.validation_curve_, alone.validation_curve_, atol=EXACT)
