"""alpha="auto" along a path or down a default grid: a dense curve for few solutions, a certified model."""

import numpy as np
import pytest

from marginrank import KernelRankSVM, RankRLS, RankSVM, StructuredRankSVM
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate, pairwise_error
from marginrank.solvers.tracing import PathTracer
from marginrank.training import certified, descents

METRIC = "pairwise_error(weighting=queries)"  # the default
DENSE = np.geomspace(1.0, 1e-4, 41)
# What models of the curve may be off by is 2e-3 of the objective: on so few rows some pairs change sides.
NEAR = 0.02


def make_data(seed, n_rows=240, n_features=8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(n_rows), [-1.0, 0.5, 2.0])
    return X, y, np.arange(n_rows) // 10


X, Y, QID = make_data(0)
XV, YV, QV = make_data(1)
ON_SET = {"qid": QID, "eval_set": (XV, YV), "eval_qid": QV}
RANKERS = {
    "hinge": RankSVM,
    "squared hinge": lambda **p: RankSVM("squared_hinge", **p),
    "scaled": lambda **p: RankSVM(scale="standard", **p),
    "newton": lambda **p: RankSVM("squared_hinge", solver="newton", **p),
    "kernel": lambda **p: KernelRankSVM(n_components=20, random_state=0, **p),
    "structured": lambda **p: StructuredRankSVM("map", **{"metric": METRIC, **p}),
}
every_ranker = pytest.mark.parametrize("make", RANKERS.values(), ids=RANKERS)


def assert_is_best(model):
    """The figure is the best of the curve, or equal to it as far as the gap of the models tells."""
    lowest = model.validation_curve_.min()
    assert lowest <= model.best_score_ <= lowest * (1.0 + max(model.tol, 2e-3))


def error(model):
    return evaluate(YV, model.predict(XV), qid=QV, metrics=METRIC)[METRIC]


@every_ranker
def test_the_curve_on_a_validation_set_is_near_that_of_separate_models(make):
    model = make(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    np.testing.assert_allclose(model.alphas_, DENSE)
    for k in range(0, 41, 8):
        alone = make(alpha=DENSE[k], tol=1e-5).fit(X, Y, qid=QID)
        assert model.validation_curve_[k] == pytest.approx(error(alone), abs=NEAR)


@every_ranker
def test_the_chosen_model_is_trained_to_tol_and_measures_what_is_said(make):
    model = make(alpha="auto", tol=1e-5).fit(X, Y, **ON_SET)
    assert model.gap_ <= 1e-5
    alone = make(alpha=model.alpha_, tol=1e-5).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(alone.objective_, rel=2e-5)
    assert model.best_score_ == pytest.approx(error(model), abs=1e-12)
    if model.search_end_ != "passes":
        assert_is_best(model)


def test_the_choice_moves_on_until_no_model_of_the_curve_is_better(monkeypatch):
    measured = descents.Descent.measured
    # No trained model is as good as those of this path.
    monkeypatch.setattr(descents.Descent, "measured", lambda *arguments: measured(*arguments) - 0.5)
    model = RankSVM(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    assert_is_best(model)
    assert model.best_score_ == pytest.approx(error(model), abs=1e-12)
    assert model.validation_curve_.min() > 0.0


@every_ranker
def test_folds_give_a_curve_near_that_of_fitting_each_fold(make):
    splits = [(np.arange(120), np.arange(120, 240)), (np.arange(120, 240), np.arange(120))]
    model = make(alpha="auto", alphas=DENSE, cv=splits, tol=1e-4).fit(X, Y, qid=QID)
    if not isinstance(model, KernelRankSVM):  # whose folds share the map of all rows
        for k in range(0, 41, 10):
            errors = []
            for train, test in splits:
                part = make(alpha=DENSE[k], tol=1e-5).fit(X[train], Y[train], qid=QID[train])
                scores = part.predict(X[test])
                errors.append(pairwise_error(Y[test], scores, qid=QID[test], weighting="queries"))
            assert model.validation_curve_[k] == pytest.approx(np.mean(errors), abs=NEAR)
    whole = make(alpha=model.alpha_, tol=1e-4).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-4)
    assert_is_best(model)


def test_a_dense_curve_costs_much_less_than_the_same_grid_solved_one_by_one(monkeypatch):
    along = RankSVM(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    monkeypatch.setattr(certified, "path_pays", lambda alphas, tol: False)
    one_by_one = RankSVM(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    assert along.n_passes_ < 0.7 * one_by_one.n_passes_
    assert along.best_score_ <= one_by_one.best_score_ + 0.005


@pytest.mark.parametrize("folds", [False, True])
def test_where_the_path_stalls_the_grid_goes_on(monkeypatch, folds):
    solve = PathTracer._solve

    def stall(self, alpha, start):
        return None if alpha < 1e-2 else solve(self, alpha, start)

    monkeypatch.setattr(PathTracer, "_solve", stall)
    given = {"qid": QID} if folds else ON_SET
    model = RankSVM(alpha="auto", alphas=DENSE, cv=3).fit(X, Y, **given)
    assert model.alphas_[-1] < 2e-4
    assert np.isfinite(model.validation_curve_).all()
    assert model.gap_ <= 1e-3
    if not folds:
        alone = RankSVM(alpha=DENSE[-1]).fit(X, Y, qid=QID)
        assert model.validation_curve_[-1] == pytest.approx(error(alone), abs=NEAR)


def test_where_steps_get_dear_the_grid_goes_on(monkeypatch):
    monkeypatch.setattr(certified, "_DEAREST_STEP", 3.0)
    knots = []
    trace = certified.CertifiedTrainer.trace

    def counting(self, *arguments):
        tracer, status = trace(self, *arguments)
        knots.append((len(tracer.alphas), status))
        return tracer, status

    monkeypatch.setattr(certified.CertifiedTrainer, "trace", counting)
    model = RankSVM(alpha="auto", alphas=np.geomspace(10.0, 1e-7, 129)).fit(X, Y, **ON_SET)
    ((n_knots, status),) = knots
    assert (status, n_knots < 30) == ("stopped", True)
    assert len(model.alphas_) == 129
    alone = RankSVM(alpha=model.alphas_[-1]).fit(X, Y, qid=QID)
    assert model.validation_curve_[-1] == pytest.approx(error(alone), abs=NEAR)
    assert model.gap_ <= 1e-3


def test_a_path_that_stalls_at_once_is_a_grid(monkeypatch):
    monkeypatch.setattr(PathTracer, "_solve", lambda self, alpha, start: None)
    stalled = RankSVM(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    monkeypatch.setattr(certified, "path_pays", lambda alphas, tol: False)
    grid = RankSVM(alpha="auto", alphas=DENSE).fit(X, Y, **ON_SET)
    np.testing.assert_array_equal(stalled.validation_curve_, grid.validation_curve_)
    np.testing.assert_array_equal(stalled.coef_, grid.coef_)


@every_ranker
def test_an_interrupted_path_leaves_a_model_with_a_certificate(make):
    def interrupt(progress):
        if progress.alpha < 1e-2:
            raise KeyboardInterrupt

    model = make(alpha="auto", alphas=DENSE)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=interrupt, **ON_SET)
    assert 1e-2 <= model.alphas_[-1] <= model.alpha_
    assert len(model.validation_curve_) == len(model.alphas_) >= 10
    assert_is_best(model)
    assert model.best_score_ == pytest.approx(error(model), abs=1e-12)
    best = make(alpha=model.alpha_, tol=1e-7).fit(X, Y, qid=QID)
    assert model.lower_bound_ <= best.objective_ <= model.objective_ * (1 + 1e-9)
    assert model.gap_ == pytest.approx(1 - model.lower_bound_ / model.objective_)
    assert model.gap_ < 0.1


def test_a_path_interrupted_in_its_first_solution_leaves_that():
    def interrupt(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    model = RankSVM(alpha="auto", alphas=10.0**-6 * DENSE, tol=1e-6)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=interrupt, **ON_SET)
    assert model.alphas_.tolist() == [1e-6]
    assert model.coef_.any()


def test_interrupting_the_last_training_keeps_its_best_model():
    def interrupt(progress):
        # Alphas of the grid above its last one come after that only in the end.
        seen.append(progress.alpha)
        if progress.alpha in DENSE[1:-1] and min(seen) <= DENSE[-1] * (1 + 1e-9) and progress.iteration == 1:
            raise KeyboardInterrupt

    seen = []
    model = RankSVM(alpha="auto", alphas=DENSE, tol=1e-8)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, callbacks=interrupt, **ON_SET)
    assert len(model.alphas_) == 41
    assert model.gap_ < 1e-2


def test_a_callback_that_stops_every_solution_still_leaves_a_curve():
    model = RankSVM(alpha="auto").fit(X, Y, callbacks=lambda progress: progress.iteration >= 2, **ON_SET)
    assert np.isfinite(model.validation_curve_).all()
    assert model.validation_curve_.min() < 0.3


def test_callbacks_get_raw_coefficients_along_the_path():
    seen = []
    model = RankSVM(alpha="auto", alphas=DENSE, scale="standard")
    model.fit(100.0 * X, Y, qid=QID, eval_set=(100.0 * XV, YV), eval_qid=QV, callbacks=seen.append)
    assert len({progress.alpha for progress in seen}) > 10
    assert any(np.array_equal(progress.w, model.coef_) for progress in seen)


@every_ranker
def test_threads_do_not_change_a_bit_of_a_path(make):
    for given in (ON_SET, {"qid": QID}):
        one, two = (make(alpha="auto", cv=2, n_jobs=k).fit(X, Y, **given) for k in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.validation_curve_, two.validation_curve_)


def test_each_gamma_has_a_curve_of_its_own_range():
    model = KernelRankSVM(gamma="auto", gammas=[0.01, 0.1], alpha="auto", n_components=20, random_state=0)
    model.fit(X, Y, **ON_SET)
    assert model.alphas_.shape == model.validation_curve_.shape
    for row, gamma in enumerate((0.01, 0.1)):
        alone = KernelRankSVM(gamma=gamma, alpha="auto", n_components=20, random_state=0).fit(X, Y, **ON_SET)
        curve, rest = np.split(model.validation_curve_[row], [len(alone.validation_curve_)])
        np.testing.assert_array_equal(curve, alone.validation_curve_)
        assert np.isnan(rest).all()  # each went down as far as it paid
    assert model.best_score_ == pytest.approx(error(model), abs=1e-12)


def test_pairs_are_searched_along_a_path():
    pairs = np.random.default_rng(3).integers(len(Y), size=(800, 2))
    pairs = pairs[Y[pairs[:, 0]] > Y[pairs[:, 1]]]
    model = RankSVM(alpha="auto", alphas=DENSE).fit_pairs(X, pairs)
    assert len(model.alphas_) == 41
    assert (model.validation_std_ > 0.0).all()
    assert model.score(XV, YV) > 0.75


def test_one_standard_error_takes_a_larger_alpha_and_finishes_there():
    best, careful = (
        RankSVM(alpha="auto", alphas=DENSE, rule=rule).fit(X, Y, **ON_SET) for rule in ("best", "one_se")
    )
    assert careful.alpha_ >= best.alpha_
    best_at = int(np.flatnonzero(careful.validation_diff_std_ == 0.0)[0])
    behind = careful.best_score_ - careful.validation_curve_[best_at]
    assert behind <= 0.5 * careful.validation_diff_std_[careful.alphas_ == careful.alpha_][0]
    assert careful.gap_ <= 1e-3
    assert careful.best_score_ == pytest.approx(error(careful), abs=1e-12)


@pytest.mark.parametrize("gamma", [0.1, "auto"])
def test_the_picture_shows_the_curve_and_the_chosen_alpha(gamma):
    pytest.importorskip("matplotlib")
    model = KernelRankSVM(gamma=gamma, gammas=[0.01, 0.1], alpha="auto", n_components=20, random_state=0)
    (axis,) = model.fit(X, Y, **ON_SET).plot_search().axes
    curve, point = axis.lines[:2]
    row = int(np.flatnonzero(model.gammas_ == model.gamma_)[0]) if gamma == "auto" else slice(None)
    there = np.isfinite(model.validation_curve_[row])
    np.testing.assert_array_equal(curve.get_xdata(), model.alphas_[row][there])
    np.testing.assert_array_equal(curve.get_ydata(), model.validation_curve_[row][there])
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (model.alpha_, model.best_score_)
    assert len(axis.collections) == 2  # the standard errors of the figure and of its difference to the best
    assert axis.get_ylabel().split() == [METRIC, "on", "held-out", "rows"]


@pytest.mark.parametrize("cv", [3, None])
def test_the_picture_of_a_search_of_rank_rls_has_its_curve_and_says_what_the_bands_are(cv):
    pytest.importorskip("matplotlib")
    model = RankRLS(alpha="auto", cv=cv).fit(X, Y, qid=QID)
    (axis,) = model.plot_search().axes
    curve, point = axis.lines[:2]
    np.testing.assert_array_equal(curve.get_xdata(), model.alphas_)
    np.testing.assert_array_equal(curve.get_ydata(), model.validation_curve_)
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (model.alpha_, model.best_score_)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == [
        "± standard error of the figure",
        "± standard error of its difference to the best alpha",
        f"chosen: {model.best_score_:.4f} at alpha = {model.alpha_:.3g}",
    ]


@pytest.mark.parametrize("given", [ON_SET, {"qid": QID}], ids=["set", "folds"])
def test_the_picture_of_early_stopping_is_by_iteration(given):
    pytest.importorskip("matplotlib")
    model = RankRLS(regularization="early_stopping").fit(X, Y, **given)
    (axis,) = model.plot_search().axes
    np.testing.assert_array_equal(axis.lines[0].get_ydata(), model.validation_table_[0])
    point = axis.lines[1]
    assert (point.get_xdata()[0], point.get_ydata()[0]) == (model.best_iteration_, model.best_score_)


def test_without_a_search_there_is_nothing_to_draw():
    with pytest.raises(MarginRankError, match="not fitted yet"):
        RankSVM().plot_search()
    model = RankSVM(alpha="auto", alphas=[1.0, 0.1], cv=2).fit(X, Y, qid=QID)
    model.set_params(alpha=0.1).fit(X, Y, qid=QID)
    with pytest.raises(MarginRankError, match="no search to draw"):
        model.plot_search()
