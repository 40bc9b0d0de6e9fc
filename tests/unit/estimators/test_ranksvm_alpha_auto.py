"""alpha="auto" and validation sets of RankSVM."""

import numpy as np
import pytest

from marginrank import RankingData, RankSVM
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate, pairwise_error

ALPHAS = [1.0, 1e-2, 1e-4]


def make_data(seed, n_rows=120, n_features=15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 1.5 * rng.standard_normal(n_rows), [-1.0, 0.5, 2.0])
    return X, y, np.arange(n_rows) // 10


X, Y, QID = make_data(0)
XV, YV, QV = make_data(1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("metric", ["pairwise_error", "ndcg@5"])
def test_on_a_validation_set_the_curve_is_that_of_separate_models(loss, metric):
    model = RankSVM(loss, alpha="auto", alphas=ALPHAS, metric=metric, tol=1e-7)
    model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    for k, alpha in enumerate(ALPHAS):
        alone = RankSVM(loss, alpha=alpha, tol=1e-7).fit(X, Y, qid=QID)
        figure = evaluate(YV, alone.predict(XV), qid=QV, metrics=metric)[metric]
        assert model.validation_curve_[k] == pytest.approx(figure, abs=2e-3)
        if alpha == model.alpha_:
            np.testing.assert_allclose(model.coef_, alone.coef_, rtol=2e-2, atol=2e-2)
    better = np.argmax if metric == "ndcg@5" else np.argmin
    assert model.alpha_ == model.alphas_[better(model.validation_curve_)]
    assert model.best_score_ == model.validation_curve_[better(model.validation_curve_)]
    assert model.gap_ <= 1e-7


def test_warm_starts_along_the_grid_cost_less_than_separate_models():
    grid = np.logspace(0, -5, 11)
    model = RankSVM(alpha="auto", alphas=grid).fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    separate = sum(RankSVM(alpha=a).fit(X, Y, qid=QID).n_passes_ for a in grid)
    assert model.n_passes_ < 0.8 * separate


def test_folds_give_the_curve_of_fitting_each_fold():
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    model = RankSVM(alpha="auto", alphas=ALPHAS, cv=splits, tol=1e-7).fit(X, Y, qid=QID)
    for k, alpha in enumerate(ALPHAS):
        errors = []
        for train, test in splits:
            part = RankSVM(alpha=alpha, tol=1e-7).fit(X[train], Y[train], qid=QID[train])
            errors.append(pairwise_error(Y[test], part.predict(X[test]), qid=QID[test], weighting="queries"))
        assert model.validation_curve_[k] == pytest.approx(np.mean(errors), abs=2e-3)
    whole = RankSVM(alpha=model.alpha_, tol=1e-7).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)


def test_pairs_and_one_ranking_are_searched_too():
    rng = np.random.default_rng(3)
    pairs = rng.integers(len(Y), size=(500, 2))
    pairs = pairs[Y[pairs[:, 0]] > Y[pairs[:, 1]]]
    by_pairs = RankSVM(alpha="auto", alphas=ALPHAS).fit_pairs(X, pairs)
    one_ranking = RankSVM(alpha="auto", alphas=ALPHAS, cv=3).fit(X, Y)
    for model in (by_pairs, one_ranking):
        assert model.alpha_ in ALPHAS
        assert model.score(XV, YV) > 0.6
        assert (model.validation_std_ > 0.0).all()


def test_the_default_grid_finds_as_good_a_model_whatever_the_units():
    figures = []
    for unit in (1e-4, 1.0, 1e4):
        model = RankSVM(alpha="auto").fit(unit * X, Y, qid=QID, eval_set=(unit * XV, YV), eval_qid=QV)
        figures.append(model.best_score_)
        assert model.alphas_[0] > model.alpha_ > model.alphas_[-1] or model.best_score_ < 0.4
    assert np.ptp(figures) < 5e-3


def test_a_given_alpha_records_every_iteration_of_every_set():
    seen = []
    model = RankSVM().fit(
        X,
        Y,
        qid=QID,
        eval_set=[RankingData(X, Y, qid=QID), (XV, YV)],
        eval_qid=[None, QV],
        eval_metric=["ndcg@5", "pairwise_error"],
        callbacks=lambda progress: seen.append(progress.w.copy()) and None,
    )
    record = model.evals_result_
    assert list(record) == ["validation_0", "validation_1"]
    assert len(seen) == len(record["validation_1"]["ndcg@5"]) == len(model.history_)
    for w, figure in zip(seen, record["validation_1"]["ndcg@5"], strict=True):
        assert evaluate(YV, XV @ w, qid=QV, metrics="ndcg@5")["ndcg@5"] == pytest.approx(figure)
    assert model.best_score_ == max(record["validation_1"]["ndcg@5"])
    assert record["validation_1"]["ndcg@5"][model.best_iteration_] == model.best_score_


def test_callbacks_get_raw_coefficients_whatever_the_scale():
    seen = []
    model = RankSVM(scale="standard").fit(
        100.0 * X, Y, qid=QID, callbacks=lambda p: seen.append(p.w) and None
    )
    np.testing.assert_array_equal(seen[-1], model.coef_)
    assert all(progress.w is None for progress in model.history_)


def test_interrupting_a_search_on_a_validation_set_keeps_the_best_finished_alpha():
    def interrupt(progress):
        if progress.alpha == ALPHAS[-1]:
            raise KeyboardInterrupt

    model = RankSVM(alpha="auto", alphas=ALPHAS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV, callbacks=interrupt)
    assert model.alpha_ in ALPHAS[:2]
    finished = RankSVM(alpha="auto", alphas=ALPHAS[:2]).fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    np.testing.assert_array_equal(model.coef_, finished.coef_)


def test_a_fit_with_a_given_alpha_forgets_an_earlier_search():
    model = RankSVM(alpha="auto", alphas=ALPHAS).fit(X, Y, qid=QID)
    assert hasattr(model, "validation_curve_")
    model.set_params(alpha=1e-3).fit(X, Y, qid=QID)
    assert model.alpha_ == 1e-3
    assert not hasattr(model, "validation_curve_")


def test_threads_do_not_change_a_bit():
    one, two = (RankSVM(alpha="auto", alphas=ALPHAS, n_jobs=k).fit(X, Y, qid=QID) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_the_model_file_knows_the_chosen_alpha():
    model = RankSVM(alpha="auto", alphas=ALPHAS).fit(X, Y, qid=QID)
    assert model.to_model().metadata["alpha"] == model.alpha_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rule": "median"}, "rule must be"),
        ({"cv": 50}, "there are 12 queries"),
        ({"alphas": [0.0]}, "alphas must be a list of positive, finite numbers"),
        ({"metric": "nonsense"}, "metric"),
    ],
)
def test_searches_that_cannot_work_are_refused(parameters, message):
    with pytest.raises(MarginRankError, match=message):
        RankSVM(alpha="auto", **parameters).fit(X, Y, qid=QID)
