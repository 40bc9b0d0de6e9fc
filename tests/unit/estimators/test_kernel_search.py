"""alpha="auto" and gamma="auto" of KernelRankSVM: curves of separate models, over maps computed once."""

import inspect
import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from marginrank import KernelRankSVM
from marginrank.exceptions import MarginRankError
from marginrank.feature_maps import NystroemFeatures
from marginrank.metrics import evaluate, pairwise_error
from marginrank.training import mapped_columns
from marginrank.training.selection import Search

ALPHAS, GAMMAS = [1.0, 1e-2, 1e-4], [0.05, 1.0, 20.0]
# The kernel alone: beside the columns, rounding at the narrowest tolerances is another matter.
SETTINGS = {"n_components": 25, "dtype": "float64", "random_state": 0, "tol": 1e-7, "linear_block": False}


def bent(seed, n_rows=120):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, 3))
    utility = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n_rows)
    return X, np.digitize(utility, np.quantile(utility, [0.4, 0.8])), np.arange(n_rows) // 10


# Which of so few gammas is the best does not matter here.
pytestmark = pytest.mark.filterwarnings("ignore:The best gamma")

X, Y, QID = bent(0)
XV, YV, QV = bent(1)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
@pytest.mark.parametrize("approximation", ["nystroem", "fourier"])
def test_on_a_validation_set_the_curve_is_that_of_separate_models(loss, approximation):
    settings = {**SETTINGS, "loss": loss, "approximation": approximation, "gamma": 1.0}
    model = KernelRankSVM(alpha="auto", alphas=ALPHAS, metric="ndcg@5", **settings)
    model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    for k, alpha in enumerate(ALPHAS):
        alone = KernelRankSVM(alpha=alpha, **settings).fit(X, Y, qid=QID)
        figure = evaluate(YV, alone.predict(XV), qid=QV, metrics="ndcg@5")["ndcg@5"]
        assert model.validation_curve_[k] == pytest.approx(figure, abs=5e-3)
    assert model.validation_curve_.shape == (3,)
    assert model.alpha_ == model.alphas_[np.argmax(model.validation_curve_)]


@pytest.mark.parametrize("metric", ["pairwise_error", "ndcg@5"])
def test_the_table_of_gammas_and_alphas_is_that_of_separate_models(metric):
    model = KernelRankSVM(
        gamma="auto", alpha="auto", gammas=GAMMAS[::-1], alphas=ALPHAS, metric=metric, **SETTINGS
    )
    model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    assert model.gammas_.tolist() == GAMMAS
    assert model.validation_curve_.shape == model.alphas_.shape == model.validation_std_.shape == (3, 3)
    for g, gamma in enumerate(GAMMAS):
        for a, alpha in enumerate(ALPHAS):
            assert model.alphas_[g, a] == alpha
            alone = KernelRankSVM(gamma=gamma, alpha=alpha, **SETTINGS).fit(X, Y, qid=QID)
            figure = evaluate(YV, alone.predict(XV), qid=QV, metrics=metric)[metric]
            assert model.validation_curve_[g, a] == pytest.approx(figure, abs=5e-3)
    better = np.argmax if metric == "ndcg@5" else np.argmin
    g, a = np.unravel_index(better(model.validation_curve_), (3, 3))
    assert (model.gamma_, model.alpha_) == (GAMMAS[g], ALPHAS[a])
    assert model.best_score_ == model.validation_curve_[g, a]
    chosen = KernelRankSVM(gamma=model.gamma_, alpha=model.alpha_, **SETTINGS).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(chosen.objective_, rel=1e-6)
    np.testing.assert_allclose(model.predict(XV), chosen.predict(XV), atol=1e-2)


def test_folds_give_the_curve_of_fitting_each_fold_in_the_space_of_all_rows():
    splits = [(np.arange(60), np.arange(60, 120)), (np.arange(60, 120), np.arange(60))]
    settings = {**SETTINGS, "alphas": ALPHAS, "gammas": GAMMAS}
    model = KernelRankSVM(gamma="auto", alpha="auto", cv=iter(splits), **settings).fit(X, Y, qid=QID)
    for g, gamma in enumerate(GAMMAS):
        mapping = NystroemFeatures(gamma=gamma, n_components=25, dtype="float64", random_state=0).fit(X)
        K = mapping.transform(X) @ mapping.transform(X).T
        for a, alpha in enumerate(ALPHAS):
            errors = []
            for train, test in splits:
                part = KernelRankSVM("precomputed", approximation="exact", alpha=alpha, tol=1e-7)
                part.fit(K[np.ix_(train, train)], Y[train], qid=QID[train])
                scores = part.predict(K[np.ix_(test, train)])
                errors.append(pairwise_error(Y[test], scores, qid=QID[test], weighting="queries"))
            assert model.validation_curve_[g, a] == pytest.approx(np.mean(errors), abs=5e-3)
    whole = KernelRankSVM(gamma=model.gamma_, alpha=model.alpha_, **SETTINGS).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-6)


def test_each_map_is_fitted_once_and_its_features_made_once(monkeypatch):
    fitted, made = [], []
    fit, rows = NystroemFeatures.fit, mapped_columns.MappedRows

    def counting_fit(self, X, y=None, sample_weight=None):
        fitted.append(self.gamma)
        return fit(self, X, y, sample_weight)

    def counting_rows(mapping, X, **settings):
        made.append(len(X))
        return rows(mapping, X, **settings)

    monkeypatch.setattr(NystroemFeatures, "fit", counting_fit)
    monkeypatch.setattr(mapped_columns, "MappedRows", counting_rows)
    settings = {**SETTINGS, "gammas": GAMMAS, "alphas": ALPHAS}
    KernelRankSVM(gamma="auto", alpha="auto", cv=3, **settings).fit(X, Y, qid=QID)
    assert fitted == GAMMAS
    # One matrix at a time for each gamma, whatever the number of folds and alphas, and that of the winner
    # once more.
    assert made == [120] * 4
    made.clear()
    model = KernelRankSVM(gamma="auto", alpha="auto", **settings)
    model.fit(X, Y, qid=QID, eval_set=(XV[:50], YV[:50]), eval_qid=QV[:50])
    assert sorted(made) == [50] * 3 + [120] * 3


def test_gamma_alone_is_searched_at_the_given_alpha():
    model = KernelRankSVM(gamma="auto", gammas=GAMMAS, alpha=1e-2, cv=3, **SETTINGS).fit(X, Y, qid=QID)
    assert model.alpha_ == 1e-2
    assert model.validation_curve_.shape == (3, 1)
    assert model.gamma_ == GAMMAS[int(np.argmin(model.validation_curve_[:, 0]))]


@pytest.mark.parametrize("linear_block", [False, True])
def test_the_default_grid_of_gammas_follows_the_units_of_the_columns(linear_block):
    settings = {"gamma": "auto", "cv": 2, "n_components": 10, "linear_block": linear_block}
    centre, factors = 1.0 / (3 * X.var()), [1 / 64, 1 / 16, 1 / 4, 1, 4]
    if linear_block:
        centre, factors = 0.25 / np.median(pdist(X, "sqeuclidean")), [1 / 4, 1, 4]
    for unit in (1.0, 10.0, 2.0**20):
        gammas = KernelRankSVM(random_state=0, **settings).fit(unit * X, Y, qid=QID).gammas_
        # The grid, and what lies beyond an end of it that is the best. How far that goes may differ between
        # units: landmarks are drawn by what the rows contain.
        steps = np.round(np.log(gammas * unit**2 / centre) / np.log(4.0), 6)
        assert set(np.log(factors) / np.log(4.0)) <= set(steps)
        np.testing.assert_array_equal(np.diff(steps), 1.0)
        assert len(steps) <= len(factors) + 4


def rapid(seed):
    """Return rows whose labels go up and down in a tenth of their range: only a narrow kernel sees that."""
    rows = np.random.default_rng(seed).random((300, 1))
    return rows, np.round(2 * np.sin(60 * rows[:, 0])), np.arange(300) // 10


@pytest.mark.parametrize("on_set", [False, True], ids=["folds", "set"])
def test_a_default_grid_goes_on_beyond_an_end_that_is_the_best(on_set):
    rows, y, qid = rapid(0)
    XW, yw, qw = rapid(1)
    settings = {"n_components": 100, "random_state": 0, "linear_block": False, "cv": 3}
    model = KernelRankSVM(gamma="auto", **settings)
    model.fit(rows, y, qid=qid, **({"eval_set": (XW, yw), "eval_qid": qw} if on_set else {}))
    assert len(model.gammas_) > 5
    np.testing.assert_allclose(model.gammas_[1:] / model.gammas_[:-1], 4.0)
    np.testing.assert_allclose(model.gammas_[:5] * rows.var(), [1 / 64, 1 / 16, 1 / 4, 1, 4], rtol=1e-9)
    row = int(np.flatnonzero(model.gammas_ == model.gamma_)[0])
    assert row > 4
    assert model.best_score_ == model.validation_curve_[row, 0] == model.validation_curve_.min()
    alone = KernelRankSVM(gamma=model.gamma_, **settings).fit(rows, y, qid=qid)
    assert model.objective_ == pytest.approx(alone.objective_, rel=2e-3)


def test_the_end_of_a_grid_of_the_users_is_warned_of():
    rows, y, qid = rapid(0)
    model = KernelRankSVM(gamma="auto", gammas=[1.0, 5.0, 25.0], n_components=100, cv=3, linear_block=False)
    with pytest.warns(UserWarning, match="The best gamma, 25, is the largest of gammas; try larger ones"):
        model.fit(rows, y, qid=qid)


def test_one_standard_error_moves_alpha_and_not_gamma():
    settings = {**SETTINGS, "gammas": GAMMAS, "alphas": ALPHAS, "cv": 4}
    best, sparing = (
        KernelRankSVM(gamma="auto", alpha="auto", rule=rule, **settings).fit(X, Y, qid=QID)
        for rule in ("best", "one_se")
    )
    assert sparing.gamma_ == best.gamma_
    assert sparing.alpha_ >= best.alpha_
    row = int(np.flatnonzero(best.gammas_ == best.gamma_)[0])
    limit = best.validation_curve_[row].min() + best.validation_std_[row].max()
    assert sparing.best_score_ <= limit


def test_pairs_and_recomputed_features_are_searched_too():
    rng = np.random.default_rng(3)
    pairs = rng.integers(len(Y), size=(400, 2))
    pairs = pairs[Y[pairs[:, 0]] > Y[pairs[:, 1]]]
    settings = {"gamma": "auto", "gammas": GAMMAS, "alpha": "auto", "alphas": ALPHAS, "cv": 3}
    settings |= {"n_components": 20, "dtype": "float64", "tol": 1e-6, "linear_block": False}
    tables = [
        KernelRankSVM(store=store, random_state=0, **settings).fit_pairs(X, pairs).validation_curve_
        for store in ("memory", "recompute")
    ]
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-2)
    assert tables[0].min() < 0.3


def test_threads_do_not_change_a_bit():
    one, two = (
        KernelRankSVM(
            gamma="auto",
            alpha="auto",
            gammas=GAMMAS,
            alphas=ALPHAS,
            n_components=20,
            random_state=0,
            n_jobs=k,
        ).fit(X, Y, qid=QID)
        for k in (1, 2)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.validation_curve_, two.validation_curve_)


def test_interrupting_a_search_keeps_the_best_finished_place():
    def interrupt(progress):
        seen.append(progress.alpha)
        if seen.count(ALPHAS[1]) and seen[-1] == ALPHAS[0] and ALPHAS[2] in seen:
            raise KeyboardInterrupt  # at the first alpha of the second gamma

    seen = []
    model = KernelRankSVM(gamma="auto", alpha="auto", gammas=GAMMAS, alphas=ALPHAS, **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV, callbacks=interrupt)
    assert model.gammas_.tolist() == GAMMAS[:1]
    assert model.gamma_ == GAMMAS[0]
    finished = KernelRankSVM(gamma=GAMMAS[0], alpha="auto", alphas=ALPHAS, **SETTINGS)
    finished.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    np.testing.assert_array_equal(model.predict(XV), finished.predict(XV))


def test_a_given_place_forgets_an_earlier_search():
    model = KernelRankSVM(gamma="auto", gammas=GAMMAS, cv=2, **SETTINGS).fit(X, Y, qid=QID)
    assert hasattr(model, "gammas_")
    model.set_params(gamma=1.0).fit(X, Y, qid=QID)
    assert not hasattr(model, "gammas_")
    assert not hasattr(model, "validation_curve_")


def test_a_given_place_records_every_iteration_on_the_validation_set():
    model = KernelRankSVM(gamma=1.0, alpha=1e-2, **SETTINGS)
    model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV, eval_metric="ndcg@5")
    figures = model.evals_result_["validation_0"]["ndcg@5"]
    assert len(figures) == len(model.history_)
    final = evaluate(YV, model.predict(XV), qid=QV, metrics="ndcg@5")["ndcg@5"]
    assert figures[-1] == pytest.approx(final, abs=1e-6)


def test_the_model_file_knows_what_was_chosen():
    model = KernelRankSVM(gamma="auto", gammas=GAMMAS, cv=2, **SETTINGS).fit(X, Y, qid=QID)
    saved = model.to_model()
    assert saved.metadata["alpha"] == model.alpha_
    assert saved.feature_map.gamma_ == model.gamma_


def test_all_fitted_attributes_are_documented():
    searched = KernelRankSVM(gamma="auto", gammas=GAMMAS, cv=2, **SETTINGS).fit(X, Y, qid=QID)
    recorded = KernelRankSVM(gamma=1.0, **SETTINGS).fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    attributes = inspect.getdoc(KernelRankSVM).split("Attributes\n")[1].split("See Also\n")[0]
    headings = " ".join(line for line in attributes.splitlines() if line and not line.startswith(" "))
    for name in {*vars(searched), *vars(recorded)}:
        if name.endswith("_") and not name.startswith("_"):
            assert re.search(rf"\b{name}\b", headings), name


def test_first_of_equal_rows_is_the_best():
    alphas, curve = np.array([1.0, 0.1]), np.array([[0.3, 0.2]])
    selection = Search().select(alphas, curve)
    assert Search().best_of([selection, selection]) == 0


def test_too_few_queries_for_the_folds_are_counted():
    with pytest.raises(MarginRankError, match="cv=50 wants as many folds, but there are 12 queries"):
        KernelRankSVM(gamma="auto", cv=50, **SETTINGS).fit(X, Y, qid=QID)
