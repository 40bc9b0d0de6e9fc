"""Facts about real data. ``MARGINRANK_DATA`` names a folder with

- ``MQ2008/S1.txt`` to ``S5.txt`` (LETOR 4.0), ``OHSUMED/S1.txt.gz`` to ``S5.txt.gz`` (LETOR 3.0);
- ``IMDB/{train,test}.X.npz`` (tf-idf of film reviews, scipy CSR) and ``.labels.npz`` (``y``: the stars).
"""

from functools import cache

import numpy as np
import pytest
from explicit_pairs import problem_over_queries
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC

from marginrank import RankingData, RankSVM
from marginrank.metrics import pairwise_error


@cache
def letor(folder, *parts):
    """Read parts of a LETOR data set: dense X, y, qid."""
    n_features = 46 if folder.name == "MQ2008" else 45
    read = [
        load_svmlight_file(str(next(folder.glob(f"S{part}.txt*"))), n_features=n_features, query_id=True)
        for part in parts
    ]
    X, y, qid = zip(*read, strict=True)
    return sparse.vstack(X).toarray(), np.concatenate(y), np.concatenate(qid)


@pytest.fixture
def mq2008(real_data):
    return letor(real_data / "MQ2008", 1, 2, 3), letor(real_data / "MQ2008", 5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_mq2008_is_certified_and_ranks_new_queries(mq2008, loss):
    (X, y, qid), (X_test, y_test, qid_test) = mq2008
    model = RankSVM(loss, alpha=1e-3).fit(X, y, qid=qid)
    assert model.gap_ <= 1e-3
    assert model.n_queries_ == len(np.unique(qid))
    score = model.score(X_test, y_test, qid=qid_test)
    # The best of 46 features, chosen on the test queries themselves, is a hard opponent.
    best_feature = max(1 - pairwise_error(y_test, feature, qid=qid_test) for feature in X_test.T)
    assert score > best_feature - 0.01
    assert score > 0.7


def test_mq2008_agrees_with_linear_svc_on_all_pairs(mq2008):
    (X, y, qid), (X_test, y_test, qid_test) = mq2008
    alpha = 1e-3
    problem = problem_over_queries(X, y, qid, alpha=alpha, loss="squared_hinge")
    sign = np.where(np.arange(len(problem.weight)) % 2 == 0, 1.0, -1.0)
    svc = LinearSVC(C=1 / (alpha * len(sign)), fit_intercept=False, dual=False, tol=1e-8)
    svc.fit(problem.differences * sign[:, None], sign)
    model = RankSVM("squared_hinge", alpha=alpha, tol=1e-5).fit(X, y, qid=qid)
    assert model.n_pairs_ == len(sign)
    assert model.objective_ == pytest.approx(problem.value(svc.coef_.ravel()), rel=1e-5)
    score = model.score(X_test, y_test, qid=qid_test)
    model.coef_ = svc.coef_.ravel()
    assert score == pytest.approx(model.score(X_test, y_test, qid=qid_test), abs=1e-3)


def test_ohsumed_has_one_optimum_for_all_solvers(real_data):
    X, y, qid = letor(real_data / "OHSUMED", 1, 2, 3)
    models = [
        RankSVM("squared_hinge", alpha=1e-4, tol=1e-4, solver=solver).fit(X, y, qid=qid)
        for solver in ("lbfgs", "newton", "bundle")
    ]
    values = [model.objective_ for model in models]
    assert max(values) <= min(values) / (1 - 1e-4)


def test_imdb_as_one_ranking_reaches_the_error_of_the_best_alpha(real_data):
    X, X_test = (sparse.load_npz(real_data / "IMDB" / f"{half}.X.npz") for half in ("train", "test"))
    y, y_test = (np.load(real_data / "IMDB" / f"{half}.labels.npz")["y"] for half in ("train", "test"))
    # Of 1e-3, 3e-4, 1e-4, 3e-5 and 1e-5 this alpha is best: .178, .171, .169, .176, .191. A certificate of
    # 1e-3 leaves the test error open by a few units of its third digit.
    model = RankSVM(alpha=1e-4).fit(X, y)
    assert model.gap_ <= 1e-3
    assert 1 - model.score(X_test, y_test) == pytest.approx(0.1692, abs=0.003)


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_what_letor_normalised_stays_as_it_is(real_data, name):
    X, y, qid = letor(real_data / name, 1, 2, 3, 4, 5)
    np.testing.assert_array_equal(RankingData(X, y, qid=qid).normalized_by_query().X, X)
