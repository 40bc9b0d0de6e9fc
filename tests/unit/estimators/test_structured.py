"""StructuredRankSVM: what it trains for, its certificate, and how it behaves as an estimator."""

import warnings

import numpy as np
import pytest
from ranking_cases import same_minimum
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginrank import RankingData, RankingModel, RankSVM, StructuredRankSVM
from marginrank.exceptions import ZeroModelWarning
from marginrank.losses.structured import TargetOptions, structured_loss
from marginrank.metrics import evaluate, pairwise_error
from marginrank.training.certified import CertifiedTrainer

COMBO = {"map": 1.0, "ndcg@10": 0.5, "mrr@5": 2.0}
WELL_POSED = ["auc", "map", "ndcg@10", "mrr@10", COMBO]
every_target = pytest.mark.parametrize("target", WELL_POSED, ids=str)


def make_data(seed, n_queries=30, size=15, noise=1.0):
    """Labels 0 to 2 that follow two of six columns; the same size for every query, rows mixed up."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * size, 6))
    y = np.digitize(X[:, 0] - 0.5 * X[:, 1] + noise * rng.standard_normal(len(X)), [0.7, 1.5])
    return X, y, rng.permutation(np.arange(len(X)) % n_queries)


X, Y, QID = make_data(0)
XV, YV, QV = make_data(1)


def risk(model, X, y, qid, *targets):
    """The sum of the structured losses at the model's scores, put together by hand."""
    view = RankingData(X, y, qid=qid).training_view()
    scores = X @ model.coef_ if view.rows is None else (X @ model.coef_)[view.rows]
    return sum(
        weight * structured_loss(view, name, "po", TargetOptions(**options)).at(scores).value
        for name, weight, options in targets
    )


def bounds_from_above(objective, value):
    """Whether an objective is what a value is at most: above it by rounding, and not by more."""
    return value <= objective <= value * (1.0 + 1e-10)


# What is trained


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("auc", [("auc", 1.0, {})]),
        ("ndcg@10", [("ndcg", 1.0, {"graded": True})]),
        ({"map": 3.0}, [("map", 3.0, {"graded": True})]),
        (COMBO, [("map", 1.0, {"graded": True}), ("ndcg", 0.5, {"graded": True}), ("mrr", 2.0, {})]),
    ],
    ids=str,
)
def test_the_objective_is_the_risk_of_the_target_without_its_cutoff(target, parts):
    model = StructuredRankSVM(target, alpha=1e-2).fit(X, Y, qid=QID)
    expected = risk(model, X, Y, QID, *parts) + 0.5e-2 * model.coef_ @ model.coef_
    assert bounds_from_above(model.objective_, expected)


def test_truncate_trains_with_the_cutoffs_of_those_that_have_one():
    # One good row among five: w = 0 is not the best model even with a cut-off.
    rng = np.random.default_rng(5)
    x = rng.standard_normal((200, 3))
    qid, y = np.arange(200) // 5, (np.arange(200) % 5 == 0).astype(int)
    x[y == 1] += 1.5
    model = StructuredRankSVM({"map": 1.0, "ndcg@3": 2.0}, truncate=True, alpha=1e-2).fit(x, y, qid=qid)
    expected = risk(model, x, y, qid, ("map", 1.0, {}), ("ndcg", 2.0, {"cutoff": 3}))
    assert bounds_from_above(model.objective_, expected + 0.5e-2 * model.coef_ @ model.coef_)


def test_relevance_and_discount_reach_the_loss():
    model = StructuredRankSVM("ndcg", relevance=2, discount="letor", alpha=1e-2).fit(X, Y, qid=QID)
    expected = risk(model, X, Y, QID, ("ndcg", 1.0, {"relevance": 2.0, "discount": "letor"}))
    assert bounds_from_above(model.objective_, expected + 0.5e-2 * model.coef_ @ model.coef_)
    assert model.relevance_ == 2


@pytest.mark.parametrize(
    ("labels", "lowest_good"),
    [((0, 1, 2), 1.0), ((1, 2, 3), 2.0), ((-1.0, -0.5, 0.25), -0.5), ((0.0, 0.5, 3.5), 1.0)],
)
def test_good_labels_begin_at_1_or_above_the_lowest(labels, lowest_good):
    y = np.array(labels)[Y]
    model = StructuredRankSVM("mrr").fit(X, y, qid=QID)
    assert model.relevance_ == lowest_good
    assert model.thresholds_.tolist() == [lowest_good]
    good = (y >= lowest_good).astype(int)
    same = StructuredRankSVM("mrr").fit(X, good, qid=QID)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    # With two labels, one of them good, there are no grades.
    two = StructuredRankSVM("map").fit(X, np.where(good, max(labels), min(labels)), qid=QID)
    assert two.relevance_ is not None
    np.testing.assert_array_equal(two.coef_, StructuredRankSVM("map").fit(X, good, qid=QID).coef_)


def test_structured_auc_is_the_hinge_ranker_at_half_its_coefficients():
    auc = StructuredRankSVM("auc", alpha=0.02, tol=1e-8).fit(X, Y, qid=QID)
    hinge = RankSVM(weighting="queries", alpha=0.005, tol=1e-8).fit(X, Y, qid=QID)
    assert auc.objective_ == pytest.approx(hinge.objective_, rel=2e-8)
    # Each minimum is known to sqrt(2 gap J / alpha).
    reach = 2 * np.sqrt(2e-8 * hinge.objective_ / 0.005)
    np.testing.assert_allclose(auc.coef_, hinge.coef_ / 2, atol=reach)


@pytest.mark.parametrize("target", ["auc", "map", "ndcg", "mrr", {"map": 1.0, "mrr": 1.0}], ids=str)
def test_separable_data_reach_zero_loss(target):
    x, y, qid = make_data(2, noise=0.0)
    y = (y > 0).astype(int)
    x[:, 0] += y
    model = StructuredRankSVM(target, alpha=1e-8, tol=0.1).fit(x, y, qid=qid)
    assert model.objective_ < 1e-4
    assert model.score(x, y, qid=qid) == 1.0


def test_dorm_takes_graded_labels():
    # Two columns, one for each step of the labels: gains 0, 1 and 3 tell them apart, good and bad do not.
    rng = np.random.default_rng(6)
    y = np.tile([0, 1, 2, 0], 40)
    x = np.column_stack([y >= 1, y >= 2]) + 0.05 * rng.standard_normal((160, 2))
    qid = np.arange(160) // 4
    dorm = StructuredRankSVM("ndcg", feature_map="dorm", alpha=1e-3).fit(x, y, qid=qid)
    binary = StructuredRankSVM("ndcg", relevance=1, alpha=1e-3).fit(x, y, qid=qid)
    assert dorm.score(x, y, qid=qid) > 0.99
    assert abs(binary.coef_[1]) < 0.2 * abs(dorm.coef_[1])
    assert dorm.relevance_ is None
    assert dorm.thresholds_ is None


def test_the_feature_map_goes_to_the_targets_that_have_it():
    rng = np.random.default_rng(7)
    x, y, qid = rng.standard_normal((200, 3)), np.arange(200) % 4 == 0, np.arange(200) // 4
    x[y] += 1.0
    model = StructuredRankSVM({"map": 1.0, "mrr": 1.0}, feature_map="mrr", alpha=0.1).fit(x, y, qid=qid)
    view = RankingData(x, y, qid=qid).training_view()
    scores = x @ model.coef_
    expected = structured_loss(view, "map").at(scores).value
    expected += structured_loss(view, "mrr", "mrr").at(scores).value + 0.05 * model.coef_ @ model.coef_
    assert bounds_from_above(model.objective_, expected)


def test_query_weights_mean_repetition():
    weight = {q: 1.0 + q % 3 for q in range(30)}
    times = np.array([int(weight[q]) for q in QID])
    rows = np.repeat(np.arange(len(Y)), times)
    copy = np.concatenate([np.arange(t) for t in times])
    weighted = StructuredRankSVM(tol=1e-7).fit(X, Y, qid=QID, query_weight=weight)
    repeated = StructuredRankSVM(tol=1e-7).fit(X[rows], Y[rows], qid=QID[rows] + 100 * copy)
    same_minimum(weighted, repeated)


# The certificate


@every_target
def test_both_solvers_are_certified_and_agree(target):
    bundle, lbfgs = (
        StructuredRankSVM(target, solver=s, tol=1e-5).fit(X, Y, qid=QID) for s in ("bundle", "lbfgs")
    )
    for model in (bundle, lbfgs):
        assert 0.0 <= model.gap_ <= 1e-5
        assert model.lower_bound_ <= min(bundle.objective_, lbfgs.objective_)
    same_minimum(bundle, lbfgs)


def test_auto_takes_the_bundle_for_searches_and_wide_data():
    grid = {"alpha": "auto", "alphas": [0.1, 0.01], "cv": 2}
    wide = np.hstack([X, np.random.default_rng(8).standard_normal((len(X), len(X)))])
    for x, parameters, expected in [(X, {}, "lbfgs"), (X, grid, "bundle"), (wide, {}, "bundle")]:
        auto, bundle, lbfgs = (
            StructuredRankSVM("map", solver=s, **parameters).fit(x, Y, qid=QID)
            for s in ("auto", "bundle", "lbfgs")
        )
        same = {"bundle": bundle, "lbfgs": lbfgs}
        np.testing.assert_array_equal(auto.coef_, same.pop(expected).coef_)
        assert (auto.coef_ != next(iter(same.values())).coef_).any()


def test_a_run_that_is_cut_short_warns_and_keeps_a_gap_that_holds():
    with pytest.warns(ConvergenceWarning, match="StructuredRankSVM stopped after 2 iterations"):
        short = StructuredRankSVM(max_iter=2).fit(X, Y, qid=QID)
    full = StructuredRankSVM(tol=1e-6).fit(X, Y, qid=QID)
    assert short.objective_ * (1 - short.gap_) <= full.objective_
    assert not short.degenerate_


@every_target
def test_threads_do_not_change_a_bit(target):
    one, two = (StructuredRankSVM(target, n_jobs=k).fit(X, Y, qid=QID) for k in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_the_order_of_queries_and_ids_does_not_matter():
    order = np.random.default_rng(3).permutation(len(Y))
    model = StructuredRankSVM(tol=1e-7).fit(X, Y, qid=QID)
    other = StructuredRankSVM(tol=1e-7).fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    same_minimum(model, other)


# Warm start, callbacks, Ctrl-C


def test_a_warm_start_needs_fewer_passes():
    model = StructuredRankSVM(warm_start=True).fit(X, Y, qid=QID)
    cold = model.n_iter_
    model.fit(X, Y, qid=QID)
    assert model.n_iter_ < cold
    same_minimum(model, StructuredRankSVM().fit(X, Y, qid=QID))


def test_callbacks_see_every_iteration_and_may_stop_quietly():
    seen = []
    model = StructuredRankSVM(tol=1e-9).fit(
        X, Y, qid=QID, callbacks=[seen.append, lambda progress: progress.iteration == 3]
    )
    assert model.n_iter_ == 3
    assert seen == model.history_
    np.testing.assert_array_equal(seen[-1].w, model.coef_)


def test_an_interrupt_after_training_leaves_the_model(monkeypatch):
    # While it is found out why w = 0 is the best model.
    def interrupt(training):
        raise KeyboardInterrupt

    monkeypatch.setattr(CertifiedTrainer, "balance", interrupt)
    model = StructuredRankSVM("map", alpha=1e4)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID)
    assert model.gap_ <= 1e-3
    assert not model.degenerate_
    assert model.predict(X).shape == Y.shape


def test_an_interrupt_leaves_the_best_model_so_far():
    def interrupt(progress):
        if progress.iteration == 3:
            raise KeyboardInterrupt

    model = StructuredRankSVM(tol=1e-9)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID, callbacks=interrupt)
    assert model.n_iter_ == 3
    assert not model.degenerate_
    assert model.score(X, Y, qid=QID) > 0.6


# Validation and alpha="auto"


def test_the_default_metric_is_the_target_with_its_cutoff():
    model = StructuredRankSVM("ndcg@3").fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    ((name, figures),) = model.evals_result_["validation_0"].items()
    assert name == "ndcg(ties=average)@3"
    expected = evaluate(YV, model.predict(XV), qid=QV, metrics="ndcg@3")["ndcg@3"]
    assert figures[-1] == pytest.approx(expected)


def test_of_several_targets_all_are_measured_and_the_heaviest_selects():
    options = {"eval_set": (XV, YV), "eval_qid": QV}
    model = StructuredRankSVM({"map": 1.0, "auc": 1.0, "mrr@5": 2.0}).fit(X, Y, qid=QID, **options)
    names = ["mrr(ties=average)@5", "map(rel=all,ties=average)", "pairwise_error(weighting=queries)"]
    assert list(model.evals_result_["validation_0"]) == names
    search = StructuredRankSVM({"map": 1.0, "auc": 1.0, "mrr@5": 2.0}, alpha="auto", alphas=[0.1, 1e-3])
    search.fit(X, Y, qid=QID, **options)
    figure = evaluate(YV, search.predict(XV), qid=QV, metrics="mrr@5")["mrr@5"]
    assert search.best_score_ == pytest.approx(figure)


def test_a_sorted_file_does_not_make_the_zero_model_look_perfect():
    # At alpha 1e3 all scores are zero, and in the order of the file the ranking is ideal.
    order, order_v = np.lexsort((-Y, QID)), np.lexsort((-YV, QV))
    model = StructuredRankSVM(alpha="auto", alphas=[1e3, 1e-2])
    model.fit(X[order], Y[order], qid=QID[order], eval_set=(XV[order_v], YV[order_v]), eval_qid=QV[order_v])
    assert model.alpha_ == 1e-2


@every_target
def test_alpha_auto_on_a_validation_set_costs_little_more_than_its_hardest_alpha(target):
    grid = np.logspace(-1, -4, 13)
    model = StructuredRankSVM(target, alpha="auto", alphas=grid)
    model.fit(X, Y, qid=QID, eval_set=(XV, YV), eval_qid=QV)
    separate = [StructuredRankSVM(target, alpha=a).fit(X, Y, qid=QID).n_passes_ for a in grid]
    assert model.n_passes_ < 3.5 * max(separate)
    assert model.n_passes_ < 0.6 * sum(separate)
    alone = StructuredRankSVM(target, alpha=model.alpha_).fit(X, Y, qid=QID)
    assert abs(model.objective_ - alone.objective_) <= 1e-3 * alone.objective_


def test_alpha_auto_by_folds_shares_planes_within_each_fold():
    grid = np.logspace(-1, -4, 13)
    model = StructuredRankSVM("map", alpha="auto", alphas=grid, cv=3).fit(X, Y, qid=QID)
    hardest = StructuredRankSVM("map", alpha=grid[-1]).fit(X, Y, qid=QID).n_passes_
    # Three folds and the final model, each counted as whole passes over its own rows.
    assert model.n_passes_ < 4 * 3.5 * hardest
    figures = model.validation_curve_
    assert model.alpha_ == grid[np.argmax(figures >= (1.0 - 1e-3) * figures.max())]  # within tol is equal
    assert model.best_score_ == figures[grid == model.alpha_][0]


# score, models and pipelines


def test_score_is_one_minus_the_pairwise_error_over_queries():
    model = StructuredRankSVM("mrr").fit(X, Y, qid=QID)
    expected = 1 - pairwise_error(YV, model.predict(XV), qid=QV, weighting="queries")
    assert model.score(XV, YV, qid=QV) == expected


def test_a_model_file_gives_the_same_bits_and_knows_the_target(tmp_path):
    ranker = StructuredRankSVM(COMBO, alpha=1e-2).fit(X, Y, qid=QID)
    path = tmp_path / "model.mrk"
    ranker.to_model().save(path)
    loaded = RankingModel.load(path)
    np.testing.assert_array_equal(loaded.predict(X), ranker.predict(X))
    assert loaded.metadata["estimator"] == "StructuredRankSVM"
    assert loaded.metadata["parameters"]["target"] == COMBO
    assert loaded.metadata["gap"] == ranker.gap_


def test_a_pipeline_is_folded_into_a_model():
    raw = 100.0 * X + 7.0
    pipeline = make_pipeline(StandardScaler(), StructuredRankSVM("map"))
    pipeline.fit(raw, Y, structuredranksvm__qid=QID)
    model = RankingModel.from_estimator(pipeline)
    direct = pipeline.predict(raw)
    np.testing.assert_allclose(np.diff(model.predict(raw)), np.diff(direct), atol=1e-9)


def test_one_global_ranking_and_sparse_data():
    dense = StructuredRankSVM("map", tol=1e-6).fit(X, Y)
    thin = StructuredRankSVM("map", tol=1e-6).fit(sparse.csr_array(X), Y)
    same_minimum(dense, thin)
    assert dense.n_queries_ == 1


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not StructuredRankSVM().fit(X, Y, qid=QID).degenerate_


# Labels 2 and 3 have the gains 3 and 7, whose shares of the ideal sum are no numbers of float64.
@pytest.mark.parametrize("labels", [(0, 1), (2, 3)], ids=str)
@pytest.mark.parametrize("rank_weight", ["fourth_root", "discount"])
@pytest.mark.parametrize("feature_map", ["po", "dorm"])
def test_where_no_ranking_loses_anything_the_optimum_is_zero_and_reached(feature_map, rank_weight, labels):
    y = np.tile(labels, 10)
    model = StructuredRankSVM(
        "ndcg", feature_map=feature_map, discount="letor", relevance=max(labels), rank_weight=rank_weight
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("ignore", ZeroModelWarning)
        model.fit(X[: len(y)], y, qid=np.repeat(np.arange(10), 2))
    assert (model.objective_, model.gap_) == (0.0, 0.0)
    assert not model.coef_.any()
