"""Metrics as scorers of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from joblib import parallel_config
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginrank import QueryKFold, RankingData, RankSVM, ranking_scorer
from marginrank.datasets import make_ranking
from marginrank.exceptions import MarginRankError
from marginrank.metrics import evaluate
from marginrank.system import threads

X, Y, QID = make_ranking(40, 8, 5)
NAMES = [f"f{k}" for k in range(5)]
FRAME = pd.DataFrame(X, columns=NAMES).assign(qid=QID)
GRID = {"alpha": [1e-3, 1.0, 100.0]}


def by_hand(metric):
    means = []
    for alpha in GRID["alpha"]:
        values = []
        for a, b in QueryKFold(4).split(X, groups=QID):
            scores = RankSVM(alpha=alpha).fit(X[a], Y[a], qid=QID[a]).predict(X[b])
            values.append(next(iter(evaluate(Y[b], scores, qid=QID[b], metrics=metric).values())))
        means.append(np.mean(values))
    return np.array(means)


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(FRAME.to_dict("list"))], ids=["pandas", "polars"])
def test_grid_search_over_a_frame_with_ids_needs_nothing_else(frame):
    search = GridSearchCV(RankSVM(), GRID, scoring=ranking_scorer("ndcg@10"), cv=QueryKFold(4))
    found = search.fit(frame, Y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, by_hand("ndcg@10"))
    assert list(search.best_estimator_.feature_names_in_) == NAMES


def test_grid_search_over_arrays_by_metadata_routing():
    search = GridSearchCV(RankSVM(), GRID, scoring=ranking_scorer("map"), cv=QueryKFold(4))
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, Y, qid=QID)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand("map"))


def test_a_pipeline_by_metadata_routing_and_several_scorers():
    scoring = {"ndcg": ranking_scorer("ndcg@5"), "error": ranking_scorer("pairwise_error")}
    pipeline = make_pipeline(StandardScaler(), RankSVM())
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(pipeline, X, Y, scoring=scoring, cv=QueryKFold(2), params={"qid": QID})
    for k, (a, b) in enumerate(QueryKFold(2).split(X, groups=QID)):
        scaler = StandardScaler().fit(X[a])
        ranker = RankSVM().fit(scaler.transform(X[a]), Y[a], qid=QID[a])
        scores = ranker.predict(scaler.transform(X[b]))
        expected = evaluate(Y[b], scores, qid=QID[b], metrics=["ndcg@5", "pairwise_error"])
        assert found["test_ndcg"][k] == expected["ndcg@5"]
        assert found["test_error"][k] == -expected["pairwise_error"]


def test_scorers_take_data_and_weights():
    ranker = RankSVM().fit(X, Y, qid=QID)
    data = RankingData(X, Y, qid=QID, query_weight=np.arange(40) + 1.0)
    expected = evaluate(Y, ranker.predict(X), qid=QID, query_weight=np.arange(40) + 1.0)["ndcg@10"]
    scorer = ranking_scorer("ndcg@10")
    assert scorer(ranker, data) == expected
    assert scorer(ranker, X, Y, qid=QID, query_weight=np.arange(40) + 1.0) == expected


def test_flavors_decide_what_a_name_leaves_open():
    ranker = RankSVM().fit(X, Y, qid=QID)
    expected = evaluate(Y, ranker.predict(X), qid=QID, metrics="ndcg@3", flavor="letor")["ndcg@3"]
    scorer = ranking_scorer("ndcg@3", flavor="letor")
    assert repr(scorer) == "ranking_scorer('ndcg@3')"
    assert scorer(ranker, X, Y, qid=QID) == expected


def test_permutation_importance_leaves_given_ids_alone():
    ranker = RankSVM().fit(FRAME, Y)
    scorer = ranking_scorer("ndcg@10", qid=QID)
    by_frame = permutation_importance(ranker, FRAME, Y, scoring=scorer, n_repeats=3, random_state=0)
    np.testing.assert_array_equal(by_frame.importances[-1], 0.0)  # the column qid
    assert (by_frame.importances_mean[:-1] > 0.0).any()
    rng = np.random.RandomState(0)
    alone = RankSVM().fit(X, Y, qid=QID)
    by_array = permutation_importance(alone, X, Y, scoring=scorer, n_repeats=3, random_state=rng)
    assert by_array.importances.shape == (5, 3)


def test_other_estimators_are_scored_by_given_ids_only():
    ridge = Ridge().fit(X, Y)
    expected = evaluate(Y, ridge.predict(X), qid=QID)["ndcg@10"]
    assert ranking_scorer("ndcg@10")(ridge, X, Y, qid=QID) == expected
    with pytest.raises(MarginRankError, match="would treat all rows as one query"):
        ranking_scorer("ndcg@10")(ridge, X, Y)


def test_a_ranker_without_queries_is_scored_on_one_ranking():
    ranker = RankSVM().fit(X, Y)
    assert ranking_scorer("ndcg@10")(ranker, X, Y) == evaluate(Y, ranker.predict(X))["ndcg@10"]


def test_wrong_uses_are_sentences():
    ranker, scorer = RankSVM().fit(X, Y, qid=QID), ranking_scorer("ndcg@10")
    with pytest.raises(MarginRankError, match="would treat all rows as one query"):
        scorer(make_pipeline(StandardScaler(), ranker), X, Y)
    with pytest.raises(MarginRankError, match="has qid of its own"):
        ranking_scorer("ndcg@10", qid=QID)(ranker, X, Y, qid=QID)
    with pytest.raises(MarginRankError, match="column 'qid' and qid was given"):
        scorer(ranker, FRAME, Y, qid=QID)
    with pytest.raises(MarginRankError, match="carries y and qid"):
        scorer(ranker, RankingData(X, Y, qid=QID), Y)
    with pytest.raises(MarginRankError, match="y is None"):
        scorer(ranker, X)
    with pytest.raises(MarginRankError, match="has no value on the validation rows"):
        ranking_scorer("auc")(ranker, X, np.zeros(len(Y)), qid=QID)
    with pytest.raises(MarginRankError, match="can request qid, query_weight; got 'weight'"):
        scorer.set_score_request(weight=True)


def test_scorers_are_pickled():
    ranker, scorer = RankSVM().fit(X, Y, qid=QID), ranking_scorer("ndcg@10", qid=QID)
    assert pickle.loads(pickle.dumps(scorer))(ranker, X, Y) == scorer(ranker, X, Y)


def test_searches_in_threads_of_joblib_use_one_thread_each(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    used = set()
    resolve = threads.default_threads

    def spy():
        used.add(resolve())
        return resolve()

    monkeypatch.setattr(threads, "default_threads", spy)
    search = GridSearchCV(
        RankSVM(), GRID, scoring=ranking_scorer("ndcg@10"), cv=QueryKFold(4), n_jobs=2, refit=False
    )
    with parallel_config(backend="threading"):
        found = search.fit(FRAME, Y).cv_results_["mean_test_score"]
    assert used == {1}
    np.testing.assert_array_equal(found, by_hand("ndcg@10"))
