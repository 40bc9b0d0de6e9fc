"""RankRLS against dense solves of its equations, written out with the matrices of the paper."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from marginrank import RankingData, RankRLS
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate, pairwise_error
from random_matrices import random_csr

# As exact as doubles are. The gap goes with the square of the error of the coefficients, so that no
# certificate in double precision is as good as that, and training says so.
EXACT = {"tol": 1e-24, "solver": "cg"}
pytestmark = pytest.mark.filterwarnings("ignore:.*rounding in double precision")


def make_data(seed=0, n_rows=60, n_features=6, n_queries=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features)) + 3.0
    y = X @ rng.standard_normal(n_features) + rng.standard_normal(n_rows)
    return X, y, rng.integers(n_queries, size=n_rows)


def laplacian(qid, weight=None, query_weight=None):
    """The matrix S - S P P' S of the centred, weighted squares, divided by the total weight."""
    s = np.ones(len(qid)) if weight is None else np.asarray(weight, dtype=float)
    v = np.ones(len(qid)) if query_weight is None else np.array([query_weight[q] for q in qid])
    L = np.zeros((len(qid), len(qid)))
    for q in np.unique(qid):
        rows = np.flatnonzero((qid == q) & (s > 0))
        if len(rows):
            part = np.diag(s[rows]) - np.outer(s[rows], s[rows]) / s[rows].sum()
            L[np.ix_(rows, rows)] = v[rows[0]] * part
    return L / np.sum(v * s)


def dense_solution(X, y, L, alpha):
    X = X.toarray() if sparse.issparse(X) else X
    return np.linalg.solve(2.0 * X.T @ L @ X + alpha * np.eye(X.shape[1]), 2.0 * X.T @ L @ y)


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 10.0])
@pytest.mark.parametrize("with_queries", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_equals_the_dense_solution_of_the_papers_equation(alpha, with_queries, kind):
    X, y, qid = make_data()
    L = laplacian(qid if with_queries else np.zeros(len(y)))
    model = RankRLS(alpha, **EXACT).fit(kind(X), y, qid=qid if with_queries else None)
    np.testing.assert_allclose(model.coef_, dense_solution(X, y, L, alpha), rtol=1e-8, atol=1e-9)
    residual = X @ model.coef_ - y
    value = residual @ L @ residual + 0.5 * alpha * model.coef_ @ model.coef_
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    assert model.gap_ <= 1e-10


def test_weights_equal_the_dense_solution_and_repetition():
    X, y, qid = make_data(1)
    weight = np.random.default_rng(2).integers(0, 4, size=len(y))
    query_weight = {q: 0.5 + q for q in range(7)}
    model = RankRLS(1e-2, **EXACT).fit(X, y, qid=qid, sample_weight=weight, query_weight=query_weight)
    L = laplacian(qid, weight, query_weight)
    np.testing.assert_allclose(model.coef_, dense_solution(X, y, L, 1e-2), rtol=1e-8)
    rows = np.repeat(np.arange(len(y)), weight)
    again = RankRLS(1e-2, **EXACT).fit(X[rows], y[rows], qid=qid[rows], query_weight=query_weight)
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-8)


def test_float32_and_memory_mapped_data_give_the_model_of_their_values(tmp_path):
    X, y, qid = make_data(3)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model = RankRLS(1e-2, **EXACT).fit(mapped, y, qid=qid)
    expected = dense_solution(X.astype(np.float32).astype(float), y, laplacian(qid), 1e-2)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale_is_that_of_divided_columns(scale):
    X, y, qid = make_data(4)
    X = X * np.geomspace(1e-3, 1e3, X.shape[1])
    divisor = X.std(axis=0) if scale == "standard" else np.ptp(X, axis=0)
    model = RankRLS(1e-2, scale=scale, **EXACT).fit(X, y, qid=qid)
    plain = RankRLS(1e-2, **EXACT).fit(X / divisor, y, qid=qid)
    np.testing.assert_allclose(model.coef_ * divisor, plain.coef_, rtol=1e-8)


def test_several_targets_equal_one_after_the_other_in_as_many_passes_as_one():
    X, y, qid = make_data(5)
    Y = np.column_stack([y, -y + X[:, 0] ** 2, np.zeros(len(y)), np.arange(len(y))])
    model = RankRLS(1e-2, **EXACT).fit(X, Y, qid=qid)
    assert model.coef_.shape == (4, X.shape[1])
    passes = []
    for t in range(4):
        if t == 2:
            assert not model.coef_[t].any()
            continue
        alone = RankRLS(1e-2, **EXACT).fit(X, Y[:, t], qid=qid)
        np.testing.assert_allclose(model.coef_[t], alone.coef_, rtol=1e-8)
        np.testing.assert_allclose(model.predict(X)[:, t], alone.predict(X), rtol=1e-8)
        passes.append(alone.n_passes_)
    assert model.n_passes_ <= max(passes) + 1
    keep = [0, 1, 3]
    part = RankRLS(1e-2, **EXACT).fit(X, Y[:, keep], qid=qid)
    alone = [RankRLS(1e-2, **EXACT).fit(X, Y[:, t], qid=qid).score(X, Y[:, t], qid=qid) for t in keep]
    assert part.score(X, Y[:, keep], qid=qid) == pytest.approx(np.mean(alone))


def test_a_model_of_several_targets_says_why_it_makes_no_model_file():
    X, y, _ = make_data()
    model = RankRLS().fit(X, np.column_stack([y, -y]))
    with pytest.raises(MarginRankError, match="scores one target"):
        model.to_model()


def incidence(pairs, n_rows):
    M = np.zeros((len(pairs), n_rows))
    M[np.arange(len(pairs)), pairs[:, 0]] = 1.0
    M[np.arange(len(pairs)), pairs[:, 1]] -= 1.0
    return M


def test_pairs_equal_the_dense_solution_with_magnitudes_and_weights():
    X, _, _ = make_data(6)
    rng = np.random.default_rng(7)
    pairs = np.array([rng.choice(len(X), size=2, replace=False) for _ in range(200)])
    magnitude, weight = rng.random(200), rng.integers(0, 3, size=200).astype(float)
    model = RankRLS(1e-3, **EXACT).fit_pairs(X, pairs, magnitude=magnitude, weight=weight)
    Z, V = incidence(pairs, len(X)) @ X, np.diag(weight) / weight.sum()
    expected = np.linalg.solve(2 * Z.T @ V @ Z + 1e-3 * np.eye(X.shape[1]), 2 * Z.T @ V @ magnitude)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-8)
    assert model.n_pairs_ == np.count_nonzero(weight)


def test_all_pairs_of_one_ranking_ties_included_equal_the_scored_form():
    X, y, _ = make_data(8)
    y = np.round(y)  # with ties
    m = len(y)
    i, j = np.triu_indices(m, 1)
    up = y[i] >= y[j]
    pairs = np.column_stack([np.where(up, i, j), np.where(up, j, i)])
    by_pairs = RankRLS(2 * m / (m - 1) * 1e-2, **EXACT).fit_pairs(X, pairs, magnitude=np.abs(y[i] - y[j]))
    scored = RankRLS(1e-2, **EXACT).fit(X, y)
    np.testing.assert_allclose(by_pairs.coef_, scored.coef_, rtol=1e-8)
    distinct = y[i] != y[j]
    untied = RankRLS(2 * m / (m - 1) * 1e-2, **EXACT).fit_pairs(
        X, pairs[distinct], magnitude=np.abs(y[i] - y[j])[distinct]
    )
    assert np.abs(untied.coef_ - scored.coef_).max() > 1e-3  # dropping the ties is another problem


def noisy(seed=10, n_rows=120, n_features=80):
    """More noise than signal, so that iterating on makes validation worse."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2 * n_rows, n_features))
    y = X[:, :3].sum(axis=1) + 3.0 * rng.standard_normal(2 * n_rows)
    qid = np.arange(2 * n_rows) // 12
    half = slice(0, n_rows), slice(n_rows, None)
    return [(X[part], y[part], qid[part]) for part in half]


def test_early_stopping_keeps_the_best_iterate_though_later_ones_are_worse():
    (X, y, qid), (Xv, yv, qv) = noisy()
    model = RankRLS(regularization="early_stopping").fit(X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qv)
    curve = model.validation_table_[0]
    assert model.best_iteration_ == np.argmin(curve)
    assert len(curve) == model.best_iteration_ + 11  # ten iterations without improvement
    assert curve[-1] > curve.min()
    assert (model.alpha_, model.lower_bound_) == (0.0, 0.0)
    name = "pairwise_error(weighting=queries)"
    found = evaluate(yv, model.predict(Xv), qid=qv, metrics=name)[name]
    assert found == pytest.approx(model.best_score_)
    assert model.best_score_ == curve.min()
    assert model.evals_result_["validation_0"][name] == curve.tolist()


@pytest.mark.parametrize("metric", ["pairwise_error", "ndcg(gain=linear)@5"])
def test_the_table_of_a_grid_is_that_of_grids_of_one_alpha(metric):
    (X, y, qid), (Xv, yv, qv) = noisy(11)
    y, yv = y - y.min(), yv - yv.min() + 10.0
    alphas = np.array([10.0, 1e-1, 1e-3])
    fit = {"qid": qid, "eval_set": (Xv, yv), "eval_qid": qv}
    grid = RankRLS("auto", alphas=alphas, metric=metric, tol=1e-8, solver="cg").fit(X, y, **fit)
    assert grid.validation_table_.shape == (3, grid.n_iter_ + 1)
    for k, alpha in enumerate(alphas):
        alone = RankRLS("auto", alphas=[alpha], metric=metric, tol=1e-8, solver="cg").fit(X, y, **fit)
        row = alone.validation_table_[0]
        np.testing.assert_allclose(grid.validation_table_[k, : len(row)], row, atol=1e-12)
        assert grid.validation_curve_[k] == pytest.approx(row[-1])
        if alpha == grid.alpha_:
            np.testing.assert_allclose(grid.coef_, alone.coef_, rtol=1e-7)
    assert grid.n_passes_ < alone.n_passes_ + 3


def test_hybrid_takes_the_best_alpha_at_its_best_iteration():
    (X, y, qid), (Xv, yv, qv) = noisy(12)
    model = RankRLS("auto", regularization="hybrid", alphas=np.logspace(-6, 1, 8)).fit(
        X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qv
    )
    table = model.validation_table_
    assert model.best_score_ == table.min()
    row = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
    assert table[row, model.best_iteration_] == table.min()
    assert pairwise_error(yv, model.predict(Xv), qid=qv, weighting="queries") == pytest.approx(table.min())


@pytest.mark.parametrize("regularization", ["tikhonov", "early_stopping", "hybrid"])
def test_without_a_validation_set_folds_decide(regularization):
    (X, y, qid), (Xv, yv, qv) = noisy(13)
    model = RankRLS("auto", regularization=regularization, cv=4, solver="cg", alphas=[1e-4, 1e-2, 1.0])
    model.fit(X, y, qid=qid)
    assert model.score(Xv, yv, qid=qv) > 0.55
    if regularization == "tikhonov":
        plain = RankRLS(model.alpha_, solver="cg").fit(X, y, qid=qid)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    else:
        assert model.n_iter_ == model.best_iteration_
        assert model.validation_table_.min() == model.best_score_
    again = RankRLS("auto", regularization=regularization, cv=4, solver="cg", alphas=[1e-4, 1e-2, 1.0])
    np.testing.assert_array_equal(again.fit(X, y, qid=qid).coef_, model.coef_)


def test_a_curve_by_folds_is_that_of_fitting_each_fold():
    (X, y, qid), _ = noisy(14)
    fold = np.arange(len(y)) % 3 == 0
    splits = [(np.flatnonzero(~fold), np.flatnonzero(fold)), (np.flatnonzero(fold), np.flatnonzero(~fold))]
    alphas = [1.0, 1e-2]
    model = RankRLS("auto", alphas=alphas, cv=splits, solver="cg", tol=1e-10).fit(X, y, qid=qid)
    for k, alpha in enumerate(alphas):
        errors = []
        for train, test in splits:
            part = RankRLS(alpha, tol=1e-10, solver="cg").fit(X[train], y[train], qid=qid[train])
            scores = part.predict(X[test])
            errors.append(pairwise_error(y[test], scores, qid=qid[test], weighting="queries"))
        assert model.validation_curve_[k] == pytest.approx(np.mean(errors), abs=1e-12)
        assert model.validation_std_[k] == pytest.approx(np.std(errors, ddof=1) / np.sqrt(2), abs=1e-12)


def test_pairs_are_selected_by_folds_over_pairs():
    (X, y, _), _ = noisy(15)
    rng = np.random.default_rng(16)
    pairs = rng.integers(len(y), size=(400, 2))
    pairs = pairs[y[pairs[:, 0]] > y[pairs[:, 1]]]
    model = RankRLS("auto", alphas=[10.0, 1e-1, 1e-3]).fit_pairs(X, pairs)
    assert model.alpha_ in (10.0, 1e-1, 1e-3)
    assert (model.validation_curve_ > 0.0).all()
    assert (model.validation_curve_ < 0.5).all()
    early = RankRLS(regularization="early_stopping").fit_pairs(X, pairs, eval_set=(X, y))
    assert early.best_score_ == pytest.approx(1 - early.score(X, y))


def test_interrupting_keeps_the_best_iterate_so_far():
    (X, y, qid), (Xv, yv, qv) = noisy(17)

    def interrupt(progress):
        if progress.iteration == 12:
            raise KeyboardInterrupt

    model = RankRLS(regularization="early_stopping", max_iter=50)
    fit = {"qid": qid, "eval_set": (Xv, yv), "eval_qid": qv}
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, callbacks=interrupt, **fit)
    curve = model.validation_table_[0]
    found = evaluate(yv, model.predict(Xv), qid=qv, metrics="pairwise_error")["pairwise_error"]
    assert found == pytest.approx(curve.min())


def test_callbacks_see_the_validation_figure_fall_and_can_stop():
    (X, y, qid), (Xv, yv, qv) = noisy(18)
    seen = []

    def stop(progress):
        seen.append(progress.validation)
        return progress.iteration == 4

    model = RankRLS(1e-3, solver="cg").fit(X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qv, callbacks=stop)
    assert model.n_iter_ == 4
    assert seen == np.minimum.accumulate(model.validation_table_[0]).tolist()


def test_validation_on_several_sets_and_metrics_is_recorded_and_the_last_selects():
    (X, y, qid), (Xv, yv, qv) = noisy(19)
    fit = {"eval_set": [(X, y), (Xv, yv)], "eval_qid": [qid, qv], "eval_metric": ["kendall", "auc(rel=0)"]}
    model = RankRLS(regularization="early_stopping").fit(X, y, qid=qid, **fit)
    record = model.evals_result_
    assert set(record) == {"validation_0", "validation_1"}
    assert max(record["validation_1"]["kendall"]) == model.best_score_
    assert len(record["validation_0"]["auc(rel=0)"]) == model.n_iter_ + 1


@pytest.mark.parametrize("alpha", [1e-9, 1e-5, 1e-1, 1e4])
@pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
def test_training_ends_at_the_certified_gap_and_not_before(alpha, shape):
    rng = np.random.default_rng(22)
    X = sparse.csr_array(random_csr(shape, 0.2, rng)) * np.geomspace(1, 20, shape[1])
    y, qid = X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0]), np.arange(shape[0]) // 10
    model = RankRLS(alpha, solver="cg", scale=None).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert all(step.gap > 1e-3 or step.value > 0.99 * model.history_[0].value for step in model.history_[:-1])
    exact = RankRLS(alpha, solver="direct", scale=None).fit(X, y, qid=qid)
    assert model.objective_ <= (1 + 1.001e-3) * exact.objective_
    assert model.coef_.any()  # also where w = 0 is nearly as good


@pytest.mark.parametrize("alpha", [1e-8, 1e-3])
def test_a_gap_of_which_rounding_takes_a_third_is_reached(alpha):
    X, y, qid = make_data(24)
    rounding = RankRLS(alpha, **EXACT).fit(X, y, qid=qid).gap_
    assert 0.0 < rounding < 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RankRLS(alpha, tol=3.0 * rounding, solver="cg").fit(X, y, qid=qid)
    assert model.gap_ <= 3.0 * rounding


@pytest.mark.parametrize("by_folds", [False, True])
def test_the_model_of_a_search_has_the_certified_gap(by_folds):
    (X, y, qid), (Xv, yv, qv) = noisy(23)
    given = {} if by_folds else {"eval_set": (Xv, yv), "eval_qid": qv}
    for alphas in (None, [1e-3], [1e-9, 1e-2]):
        model = RankRLS("auto", alphas=alphas, solver="cg").fit(X, y, qid=qid, **given)
        assert model.gap_ <= 1e-3


def test_too_few_iterations_warn():
    (X, y, qid), _ = noisy(20)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations at a certified gap of"):
        RankRLS(1e-8, solver="cg", max_iter=2).fit(X, y, qid=qid)


def test_threads_do_not_change_a_bit():
    (X, y, qid), (Xv, yv, qv) = noisy(21)
    fit = {"qid": qid, "eval_set": (Xv, yv), "eval_qid": qv}
    one, two = (RankRLS("auto", n_jobs=k, solver="cg").fit(X, y, **fit) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.validation_table_, two.validation_table_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"regularization": "ridge"}, "regularization must be one of"),
        ({"alpha": 0}, "positive, finite number or 'auto'"),
        ({"alpha": "best"}, "positive, finite number or 'auto'"),
        ({"alpha": "auto", "alphas": [-1]}, "alphas must be a list of positive, finite numbers"),
        ({"solver": "newton"}, "solver must be one of"),
        ({"solver": "direct", "regularization": "hybrid"}, "the direct solver has none"),
        ({"tol": 0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"metric": "accuracy"}, "metric"),
    ],
)
def test_wrong_parameters_are_refused_before_any_work(parameters, message):
    X, y, qid = make_data()
    with pytest.raises(MarginRankError, match=message):
        RankRLS(**parameters).fit(X, y, qid=qid)


def test_wrong_validation_sets_are_refused():
    X, y, qid = make_data()
    fits = [
        ({"eval_qid": qid}, "give eval_set too"),
        ({"eval_set": (X, y)}, "Pass eval_qid"),
        ({"eval_set": (X[:, :3], y), "eval_qid": qid}, "features"),
        ({"eval_set": [X, y], "eval_qid": qid}, "eval_set must be"),
        ({"eval_set": [(X, y)], "eval_qid": [qid, qid]}, "one array of ids for each set"),
        ({"eval_set": (X, np.column_stack([y, y])), "eval_qid": qid}, "as many columns of y"),
        ({"eval_set": (X, y), "eval_qid": qid, "eval_metric": "nonsense"}, "metric"),
    ]
    for wrong, message in fits:
        with pytest.raises(ValueError, match=message):
            RankRLS().fit(X, y, qid=qid, **wrong)


def test_ranking_data_carry_everything():
    X, y, qid = make_data()
    data = RankingData(X, y, qid=qid)
    by_data = RankRLS(1e-2).fit(data, eval_set=data)
    plain = RankRLS(1e-2).fit(X, y, qid=qid, eval_set=(X, y), eval_qid=qid)
    np.testing.assert_array_equal(by_data.coef_, plain.coef_)
    assert by_data.evals_result_ == plain.evals_result_
