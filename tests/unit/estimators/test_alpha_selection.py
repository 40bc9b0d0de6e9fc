"""What alpha is chosen by, for every ranker and engine: the metric asked for, on rows not trained on."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from marginrank import RankRLS, RankSVM
from marginrank.exceptions import MarginRankError

ENGINES = [
    RankSVM(alpha="auto"),
    RankRLS("auto", solver="cg"),
    RankRLS("auto", solver="direct"),
    RankRLS("auto", regularization="hybrid"),
]


def graded(seed, n_rows=120, n_features=15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 1.5 * rng.standard_normal(n_rows), [-1.0, 0.5, 2.0])
    return X, y, np.arange(n_rows) // 10


def noise(seed, n_rows=60, n_features=80):
    """Labels that have nothing to do with X: no honest fold ranks them, though rows trained on can be."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_rows, n_features)), rng.standard_normal(n_rows)


@pytest.mark.parametrize("model", ENGINES, ids=repr)
def test_eval_metric_selects_in_its_own_direction(model):
    X, y, qid = graded(0)
    Xv, yv, qv = graded(1)
    fit = {"qid": qid, "eval_set": (Xv, yv), "eval_qid": qv}
    fitted = clone(model).fit(X, y, eval_metric="ndcg@5", **fit)
    named = clone(model).set_params(metric="ndcg@5").fit(X, y, **fit)
    assert np.ptp(fitted.validation_curve_) > 0.0
    assert fitted.best_score_ >= (1.0 - 2e-3) * fitted.validation_curve_.max()  # what counts as equal
    assert fitted.alpha_ == named.alpha_


@pytest.mark.parametrize("model", ENGINES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_folds_of_weighted_rows_hold_out_what_they_say(model, weighted):
    X, y = noise(2)
    weight = np.full(len(y), 2.0) if weighted else None
    fitted = clone(model).set_params(alphas=[1e-6], cv=5).fit(X, y, sample_weight=weight)
    assert fitted.best_score_ > 0.3  # trained on what it is measured on, a model would have 0


@pytest.mark.parametrize("model", ENGINES, ids=repr)
def test_a_splitter_that_draws_at_random_is_asked_once(model):
    X, y = noise(3)
    splitter = KFold(5, shuffle=True, random_state=np.random.RandomState(0))  # another answer to each call
    fitted = clone(model).set_params(alphas=[1e-6], cv=splitter).fit(X, y)
    assert fitted.best_score_ > 0.3  # see above
    clone(model).set_params(alphas=[1e-6], cv=KFold(5).split(X)).fit(X, y)  # runs out after one use


@pytest.mark.parametrize("cv", ["five", [1, 2], [(np.arange(5),)], 2.5], ids=repr)
def test_folds_that_are_none_are_refused(cv):
    X, y, qid = graded(4)
    with pytest.raises(MarginRankError, match="cv must be a number of folds, a splitter, or a list"):
        RankRLS("auto", cv=cv).fit(X, y, qid=qid)


def test_early_stopping_by_folds_takes_as_many_iterations_as_it_says():
    for seed in range(5):
        X, y = noise(seed, n_features=5)
        model = RankRLS(regularization="early_stopping").fit(X, y)
        assert model.n_iter_ == model.best_iteration_
        assert model.best_score_ == model.validation_table_.min()


def test_the_direct_solver_is_refused_for_pairs():
    X, _, _ = graded(5)
    with pytest.raises(MarginRankError, match="direct solver"):
        RankRLS(solver="direct").fit_pairs(X, [[0, 1], [2, 3]])


@pytest.mark.parametrize("alpha", [1e-2, "auto"])
@pytest.mark.parametrize("regularization", ["tikhonov", "early_stopping", "hybrid"])
def test_several_targets_are_selected_on_a_validation_set_too(alpha, regularization):
    X, y, qid = graded(6)
    Xv, yv, qv = graded(7)
    model = RankRLS(alpha, regularization=regularization, solver="cg")
    both = {"eval_set": (Xv, np.column_stack([yv, -yv])), "eval_qid": qv}
    model.fit(X, np.column_stack([y, -y]), qid=qid, **both)
    one = clone(model).fit(X, y, qid=qid, eval_set=(Xv, yv), eval_qid=qv)
    assert model.alpha_ == one.alpha_
    np.testing.assert_allclose(model.coef_, [one.coef_, -one.coef_], rtol=1e-12)


def test_score_wants_a_column_for_each_target():
    X, y, qid = graded(8)
    two = RankRLS().fit(X, np.column_stack([y, -y]), qid=qid)
    with pytest.raises(MarginRankError, match="column for each target of the model; got 1 for 2"):
        two.score(X, y, qid=qid)
    one = RankRLS().fit(X, y[:, None], qid=qid)
    assert one.score(X, y, qid=qid) == one.score(X, y[:, None], qid=qid)


def test_a_validation_set_without_comparable_rows_selects_nothing():
    X, y, qid = graded(9)
    tied = {"eval_set": (X, np.zeros(len(y))), "eval_qid": qid}
    for regularization in ("early_stopping", "hybrid"):
        with pytest.raises(MarginRankError, match="no query there counts"):
            RankRLS(1e-2, regularization=regularization).fit(X, y, qid=qid, **tied)
    assert np.isnan(RankRLS(1e-2, solver="cg").fit(X, y, qid=qid, **tied).best_score_)


@pytest.mark.parametrize("regularization", ["early_stopping", "hybrid"])
def test_a_fold_without_comparable_rows_does_not_count(regularization):
    X, y, qid = graded(10)
    y[:40] = 1
    tied, halves = np.arange(40), (np.arange(40, 80), np.arange(80, 120))
    cv = [halves, halves[::-1]]
    plain = RankRLS(1e-3, regularization=regularization, cv=cv).fit(X, y, qid=qid)
    model = RankRLS(1e-3, regularization=regularization, cv=[*cv, (halves[0], tied)]).fit(X, y, qid=qid)
    assert plain.best_iteration_ > 0
    np.testing.assert_array_equal(model.coef_, plain.coef_)
