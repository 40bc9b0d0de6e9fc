"""Query ids through scikit-learn's meta-estimators."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from packaging.version import Version
from ranking_cases import ranking_case
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from marginrank import RankSVM
from marginrank.metrics import pairwise_error

X, Y, QID = ranking_case()
ALPHAS = {"alpha": [1e-3, 1e-1, 10.0]}


@pytest.fixture(autouse=True)
def _routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def routed(**parameters):
    return RankSVM(**parameters).set_fit_request(qid=True).set_score_request(qid=True)


def test_grid_search_scores_whole_queries():
    search = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    by_hand = []
    for alpha in ALPHAS["alpha"]:
        folds = GroupKFold(3).split(X, Y, QID)
        by_hand.append(
            np.mean(
                [
                    RankSVM(alpha=alpha).fit(X[a], Y[a], qid=QID[a]).score(X[b], Y[b], qid=QID[b])
                    for a, b in folds
                ]
            )
        )
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], by_hand, rtol=1e-12)
    assert search.best_estimator_.n_queries_ == len(np.unique(QID))


def test_grid_search_takes_string_ids_in_any_order():
    names = np.array([f"query {q}" for q in QID])
    by_name = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=names, groups=QID)
    by_number = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    np.testing.assert_array_equal(
        by_name.cv_results_["mean_test_score"], by_number.cv_results_["mean_test_score"]
    )


def test_fits_in_two_threads_at_once_give_the_same_scores():
    here = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    with parallel_config(backend="threading", n_jobs=2):
        there = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    np.testing.assert_array_equal(here.cv_results_["mean_test_score"], there.cv_results_["mean_test_score"])


def test_search_that_does_not_route_qid_to_score_says_what_to_do():
    search = GridSearchCV(
        RankSVM().set_fit_request(qid=True).set_score_request(qid=False), ALPHAS, cv=2, error_score="raise"
    )
    with pytest.raises(ValueError, match=r"score got no qid .*Pass qid="):
        search.fit(X, Y, qid=QID)


@pytest.mark.parametrize("scaler", [StandardScaler(), MaxAbsScaler()])
def test_pipeline_passes_qid_to_the_ranker(scaler):
    pipeline = make_pipeline(scaler, routed()).fit(X, Y, qid=QID)
    scaled = scaler.fit_transform(X)
    alone = RankSVM().fit(scaled, Y, qid=QID)
    np.testing.assert_array_equal(pipeline[-1].coef_, alone.coef_)
    assert pipeline.score(X, Y, qid=QID) == alone.score(scaled, Y, qid=QID)


def search_over_a_pipeline(scoring=None):
    pipeline = make_pipeline(StandardScaler(), routed())
    search = GridSearchCV(pipeline, {"ranksvm__alpha": [1e-2, 1.0]}, cv=GroupKFold(2), scoring=scoring)
    return search.fit(X, Y, qid=QID, groups=QID)


@pytest.mark.skipif(
    Version(sklearn.__version__) < Version("1.8"),
    reason="before scikit-learn 1.8 a search hands no qid to the score of a pipeline",
)
def test_grid_search_over_a_pipeline():
    assert search_over_a_pipeline().best_score_ > 0.7


def test_grid_search_over_a_pipeline_by_a_scorer_that_requests_qid():
    scorer = make_scorer(pairwise_error, greater_is_better=False).set_score_request(qid=True)
    search = search_over_a_pipeline(scorer)
    for alpha, found in zip((1e-2, 1.0), search.cv_results_["mean_test_score"], strict=True):
        by_hand = []
        for a, b in GroupKFold(2).split(X, Y, QID):
            alone = make_pipeline(StandardScaler(), routed(alpha=alpha)).fit(X[a], Y[a], qid=QID[a])
            by_hand.append(alone.score(X[b], Y[b], qid=QID[b]))
        assert 1.0 + found == pytest.approx(np.mean(by_hand), rel=1e-12)


def test_cross_validate_passes_qid_and_weights():
    model = routed().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    weight = np.random.default_rng(1).integers(1, 4, size=len(Y)).astype(float)
    params = {"qid": QID, "groups": QID, "sample_weight": weight}
    scores = cross_validate(model, X, Y, cv=GroupKFold(2), params=params)["test_score"]
    folds = GroupKFold(2).split(X, Y, QID)
    for score, (a, b) in zip(scores, folds, strict=True):
        alone = RankSVM().fit(X[a], Y[a], qid=QID[a], sample_weight=weight[a])
        assert score == alone.score(X[b], Y[b], qid=QID[b], sample_weight=weight[b])


def test_requests_survive_clone():
    model = sklearn.clone(routed())
    assert model.get_metadata_routing().fit.requests["qid"] is True
    assert model.get_metadata_routing().score.requests["qid"] is True


def test_a_frame_with_a_qid_column_needs_no_routing():
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]).assign(qid=QID)
    with sklearn.config_context(enable_metadata_routing=False):
        search = GridSearchCV(RankSVM(), ALPHAS, cv=GroupKFold(3)).fit(frame, Y, groups=QID)
    routed_search = GridSearchCV(routed(), ALPHAS, cv=GroupKFold(3)).fit(X, Y, qid=QID, groups=QID)
    np.testing.assert_array_equal(
        search.cv_results_["mean_test_score"], routed_search.cv_results_["mean_test_score"]
    )
